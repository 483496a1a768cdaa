package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"durward"
	"durward/internal/store/dirwatch"
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
		if err != nil || info.Size() == 0 {
			continue
		}
		switch some, err := holdsSome(name); {
		case err != nil:
			return false, explain(name, err)
		case some:
			return true, nil
		}
	}
	return false, nil
}

// holdsSome reports whether there is anything but zeros in a file.
func holdsSome(name string) (bool, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) { // whoever had it has taken all, and removed it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	for buf := make([]byte, 1<<16); ; {
		n, err := f.Read(buf)
		if len(bytes.TrimLeft(buf[:n], "\x00")) > 0 {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
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
		names: dirwatch.Open(filepath.Dir(opt.Path)),
	}
	err := j.begin(ctx)
	if err != nil {
		err = errors.Join(err, j.names.Close())
		for _, f := range j.files {
			if f != nil {
				err = errors.Join(err, f.close())
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
		if j.files[i], err = openFile(name, j.room()); err != nil {
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

// recover gives the store what it lacks and empties the files.
func (j *Journal) recover(ctx context.Context) error {
	all, err := j.readAll()
	if err != nil {
		return err
	}
	var batches []*ledger.Batch
	for i := range all {
		batches = append(batches, all[i].batches...)
	}
	head, err := j.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	lacks := following(batches, head)
	for i := range all {
		if j.opt.Strict && j.foreign(ctx, &all[i], head, lacks) {
			return j.errForeign(&all[i])
		}
	}
	given, err := j.giveAll(ctx, lacks)
	if err != nil {
		return err
	}
	for i := range all {
		if !j.foreign(ctx, &all[i], head, lacks[:given]) {
			continue
		}
		if j.opt.Strict { // the store refused something
			return j.errForeign(&all[i])
		}
		if err := j.setAside(&all[i]); err != nil {
			return err
		}
	}
	return j.emptyAll(ctx, all)
}

func (j *Journal) errForeign(l *left) error {
	return durward.Errorf(durward.Conflict, "ledger", "%s is damaged, or does not follow what is in %s; move it away to go on without it", j.files[l.file].path, j.opt.Path)
}

// readAll reads both files. The one that begins with the older links is the first.
func (j *Journal) readAll() ([]left, error) {
	all := make([]left, 0, len(j.files))
	for i, f := range j.files {
		l, err := f.read()
		if err != nil {
			return nil, err
		}
		l.file = i
		all = append(all, l)
		if l.rest > 0 {
			j.opt.Log.Warn("the end of a file of the ledger's journal cannot be read: it was being written when the process ended and was not accepted, or it is damaged",
				"file", f.path, "bytes", l.rest)
		}
	}
	slices.SortStableFunc(all, func(a, b left) int {
		switch {
		case a.last() == nil || b.last() == nil:
			return 0
		default:
			return cmp.Compare(a.batches[0].Link.Seq, b.batches[0].Link.Seq)
		}
	})
	return all, nil
}

// following returns those of the batches that follow a link, as far as they follow each
// other.
func following(batches []*ledger.Batch, head ledger.Link) []*ledger.Batch {
	from := slices.IndexFunc(batches, func(b *ledger.Batch) bool { return b.Link.Follows(&head) })
	if from < 0 {
		return nil
	}
	upto := from + 1
	for upto < len(batches) && batches[upto].Link.Follows(&batches[upto-1].Link) {
		upto++
	}
	return batches[from:upto]
}

// foreign reports whether a file holds something that is not in the store, which had
// the links up to head and was given others.
func (j *Journal) foreign(ctx context.Context, l *left, head ledger.Link, given []*ledger.Batch) bool {
	upto := head.Seq + uint64(len(given))
	last := l.last()
	switch {
	case l.beyond > upto:
		return true
	case last == nil || *last == head:
		return false
	case last.Seq > head.Seq:
		return !slices.ContainsFunc(given, func(b *ledger.Batch) bool { return b.Link == *last })
	}
	has := false
	_ = j.opt.Store.Links(ctx, last.Seq, func(l ledger.Link, _ []ledger.Record) error { // what cannot be read is not known to be there
		has = l == *last
		return errEnough
	})
	return !has
}

// errEnough ends a walk.
var errEnough = errors.New("enough was read")

// giveAll writes batches to the store, a part at a time, and returns how many it took:
// not all when it refuses one for good.
func (j *Journal) giveAll(ctx context.Context, batches []*ledger.Batch) (given int, err error) {
	if len(batches) > 0 {
		j.opt.Log.Warn("the ledger's database takes what a process that was killed left in its journal", "links", len(batches))
	}
	for given < len(batches) {
		next := batches[given:]
		n, records := 0, 0
		for n < len(next) && (n == 0 || records+len(next[n].Records) <= j.opt.sizes.takeMost) {
			records += len(next[n].Records)
			n++
		}
		err := j.opt.Store.WriteAll(ctx, next[:n])
		for ; refused(err) && n > 1; err = j.opt.Store.WriteAll(ctx, next[:n]) {
			n /= 2 // as many as it takes
		}
		if refused(err) {
			j.opt.Log.Error("the ledger's database refuses what is in its journal", "link", next[0].Link.Seq, "error", err)
			return given, nil
		}
		if err != nil {
			return given, err
		}
		given += n
	}
	return given, nil
}

// refused reports whether a store will not take something later either.
func refused(err error) bool {
	kind := durward.KindOf(err)
	return err != nil && (kind == durward.Conflict || kind == durward.Invalid)
}

// emptyAll empties the files, the older first.
func (j *Journal) emptyAll(ctx context.Context, older []left) error {
	if err := j.opt.Store.Sync(ctx); err != nil {
		return err
	}
	for _, l := range older {
		if err := j.files[l.file].clear(0); err != nil {
			return err
		}
	}
	return nil
}

// asideMost bounds the files with the same name that are kept aside.
const asideMost = 1000

// setAside gives a file another name, so that nothing in it is lost.
func (j *Journal) setAside(l *left) error {
	f := j.files[l.file]
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.aside-%d", f.path, n)
		if _, err := os.Lstat(name); err == nil && n < asideMost {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return durward.Errorf(durward.Conflict, "ledger",
				"%s holds records that do not follow what is in %s, and cannot be kept aside as %s; move it away", f.path, j.opt.Path, name)
		}
		_ = f.close() // nothing was written to it; not every system renames what is open
		if err := os.Rename(f.path, name); err != nil {
			return explain(f.path, err)
		}
		next, err := openFile(f.path, j.room())
		if err != nil {
			return err
		}
		j.files[l.file] = next
		j.aside = append(j.aside, name)
		j.opt.Log.Error("a file of the ledger's journal is kept aside: it is damaged, or its records do not follow what is in the database, which was replaced by another or an older one",
			"file", name, "links", len(l.batches))
		return nil
	}
}
