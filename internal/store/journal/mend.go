package journal

import (
	"context"
	"errors"
	"slices"
)

// tend makes files anew where that is needed. Whoever writes now does it where the
// directory tells.
func (j *Journal) tend() {
	if !j.writing.TryLock() {
		return
	}
	defer j.writing.Unlock()
	err := j.mend()
	if err != nil && !j.broken { // it is tried again
		j.opt.Log.Error("a file of the ledger's journal was removed or cut short, and cannot be made anew yet", "error", err)
	}
	j.broken = err != nil
}

// mend makes files anew that have lost their names, or a part of what is in them.
// writing is held.
func (j *Journal) mend() error {
	for i, f := range j.files {
		what := "cut short"
		if !f.spoilt && (i != j.active || !f.short()) {
			if what = "removed"; !f.lost() {
				continue
			}
		}
		if err := j.remake(i); err != nil {
			return err
		}
		j.opt.Log.Warn("a file of the ledger's journal was "+what+" while the service was using it; it was made anew, and nothing is lost", "file", f.path)
	}
	return nil
}

// remake makes a file anew, with what the store has not taken of it. What it has is on
// its disk then. While the store is not where it was, what is there now may be the journal
// of another. writing is held.
func (j *Journal) remake(i int) error {
	if err := j.opt.Store.Present(); err != nil {
		return err
	}
	j.emptying.Lock()
	defer j.emptying.Unlock()
	old := j.files[i]
	next, err := openFile(old.path, j.room())
	if err != nil {
		return err
	}
	if err = next.clear(0); err == nil {
		err = j.copyTo(next, i)
	}
	if err == nil { // what the store has is in no file then
		err = j.opt.Store.Sync(context.Background())
	}
	if err != nil {
		return errors.Join(err, next.close())
	}
	j.mu.Lock()
	j.files[i] = next
	j.mu.Unlock()
	_ = old.close() // nobody needs it
	return nil
}

// copyTo writes what the store has not taken of a file to another.
func (j *Journal) copyTo(next *file, i int) error {
	var frame []byte
	j.mu.Lock()
	waits := slices.Clone(j.queue)
	j.mu.Unlock()
	for _, e := range waits {
		if e.file != i {
			continue
		}
		frame = frameOf(frame, e.batch)
		if err := next.appendFrame(frame, false); err != nil {
			return err
		}
		next.end += int64(len(frame))
	}
	if j.opt.Full {
		return explained(next.path, syncData(next.f))
	}
	return nil
}
