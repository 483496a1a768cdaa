package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"durward"
	"durward/ledger"
)

// names are the files of a journal.
func names(path string) [2]string { return [2]string{path + ".journal.1", path + ".journal.2"} }

// Pending reports whether the files of a journal have something in them that the store
// may lack, because a process was killed.
func Pending(path string) (bool, error) {
	for _, name := range names(path) {
		info, err := os.Lstat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, explain(name, err)
		}
		if err == nil && info.Size() > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Open opens a journal, and gives the store what it lacks. Errors are those of the store
// and the files: Denied for a file that others may read or that is not ours, else
// Unavailable; the store stays open then.
func Open(ctx context.Context, opt Options) (*Journal, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	j := &Journal{
		opt: opt, some: make(chan struct{}, 1), hurry: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		open: map[durward.CallID]struct{}{}, tried: make(chan struct{}),
	}
	err := j.begin(ctx)
	if err != nil {
		for _, f := range j.files {
			if f != nil {
				err = errors.Join(err, f.f.Close())
			}
		}
		return nil, err
	}
	go j.run()
	return j, nil
}

// openMost bounds the calls without an outcome that are looked for at a time.
const openMost = 1 << 30

func (j *Journal) begin(ctx context.Context) error {
	for i, name := range names(j.opt.Path) {
		var err error
		if j.files[i], err = openFile(name); err != nil {
			return err
		}
	}
	if err := j.recover(ctx); err != nil {
		return err
	}
	head, err := j.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	open, err := j.opt.Store.Open(ctx, openMost)
	if err != nil {
		return err
	}
	for _, id := range open {
		j.open[id] = struct{}{}
	}
	j.head, j.taken = head, head.Seq
	return nil
}

// left is what a process that was killed left in a file.
type left struct {
	file    int
	batches []*ledger.Batch
}

// recover gives the store what it lacks and empties the files.
func (j *Journal) recover(ctx context.Context) error {
	var all []left
	for i, f := range j.files {
		l := left{file: i}
		rest, err := f.read(func(b *ledger.Batch) error { l.batches = append(l.batches, b); return nil })
		if err != nil {
			return err
		}
		if rest > 0 {
			j.opt.Log.Warn("the end of the ledger's journal was being written when the process ended, and was not accepted", "file", f.path, "bytes", rest)
		}
		if len(l.batches) > 0 {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b left) int { return cmp.Compare(a.batches[0].Link.Seq, b.batches[0].Link.Seq) })
	var batches []*ledger.Batch
	for _, l := range all {
		batches = append(batches, l.batches...)
	}
	lacks, err := j.lacks(ctx, batches)
	if err != nil {
		return err
	}
	if lacks == nil && len(batches) > 0 {
		if err := j.setAside(all, batches[0].Link.Seq); err != nil {
			return err
		}
	}
	if err := j.giveAll(ctx, lacks); err != nil {
		return err
	}
	return j.emptyAll(ctx, all)
}

// lacks returns those of the batches that the store does not have: empty when it has
// all, nil when they are none of its own.
func (j *Journal) lacks(ctx context.Context, batches []*ledger.Batch) ([]*ledger.Batch, error) {
	head, err := j.opt.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	own := -1 // the last that the store has
	for i, b := range batches {
		if b.Link == head {
			own = i
		}
	}
	if own < 0 && (len(batches) == 0 || !batches[0].Link.Follows(&head)) {
		return nil, nil
	}
	for i := own + 2; i < len(batches); i++ {
		if !batches[i].Link.Follows(&batches[i-1].Link) {
			return nil, nil
		}
	}
	return batches[own+1:], nil
}

// giveAll writes batches to the store, a part at a time.
func (j *Journal) giveAll(ctx context.Context, batches []*ledger.Batch) error {
	if len(batches) > 0 {
		j.opt.Log.Warn("the ledger's database takes what a process that was killed left in its journal", "links", len(batches))
	}
	for len(batches) > 0 {
		n, records := 0, 0
		for n < len(batches) && (n == 0 || records+len(batches[n].Records) <= takeMost) {
			records += len(batches[n].Records)
			n++
		}
		if err := j.opt.Store.WriteAll(ctx, batches[:n]); err != nil {
			return err
		}
		batches = batches[n:]
	}
	return nil
}

// emptyAll empties the files, the older first.
func (j *Journal) emptyAll(ctx context.Context, older []left) error {
	if err := j.opt.Store.Sync(ctx); err != nil {
		return err
	}
	for _, l := range older {
		if err := j.files[l.file].empty(); err != nil {
			return err
		}
	}
	for _, f := range j.files { // what was not finished
		if err := f.empty(); err != nil {
			return err
		}
	}
	return nil
}

// setAside gives files other names, so that nothing in them is lost.
func (j *Journal) setAside(all []left, first uint64) error {
	for _, l := range all {
		f := j.files[l.file]
		name := fmt.Sprintf("%s.aside-%d", f.path, first)
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return durward.Errorf(durward.Conflict, "ledger",
				"%s holds records that do not follow what is in %s, and there is a file %s already; move one of them away", f.path, j.opt.Path, name)
		}
		if err := os.Rename(f.path, name); err != nil {
			return explain(f.path, err)
		}
		next, err := openFile(f.path)
		if err != nil {
			return err
		}
		_ = f.f.Close() // nothing was written to it
		j.files[l.file] = next
		j.aside = append(j.aside, name)
		j.opt.Log.Error("the ledger's journal holds records that do not follow what is in its database, which was replaced by another or an older one; they are kept aside",
			"file", name, "links", len(l.batches), "first", l.batches[0].Link.Seq)
	}
	return nil
}
