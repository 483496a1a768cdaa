package journal

import (
	"context"
	"slices"
	"time"

	"durward"
	"durward/ledger"
)

// run has the store take what waits: a moment after the first came, so that many share
// a transaction; at once when there are many already, or when somebody waits for it.
func (j *Journal) run() {
	defer close(j.done)
	timer := time.NewTimer(j.opt.sizes.takeAfter)
	defer timer.Stop()
	for {
		wait, waits := j.pause()
		timer.Reset(wait)
		if !waits {
			timer.Stop()
		}
		select {
		case <-j.some:
			continue // the moment begins
		case <-timer.C:
		case <-j.hurry:
		case <-j.quit:
			return
		}
		j.take()
	}
}

// pause returns how long to wait for more, if anything waits at all.
func (j *Journal) pause() (d time.Duration, waits bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return j.opt.sizes.retryAfter, true
	case j.records >= j.opt.sizes.takeRecords:
		return 0, true
	case len(j.queue) > 0:
		return j.opt.sizes.takeAfter, true
	}
	return j.opt.sizes.retryAfter, j.full != nil
}

// take has the store take what waits, or a part of it.
func (j *Journal) take() {
	j.mu.Lock()
	batches, records, bytes := j.next()
	again := j.failed != nil
	j.trying = true
	j.mu.Unlock()
	err := j.give(batches, again)
	j.mu.Lock()
	if err == nil {
		clear(j.queue[:len(batches)]) // the records may go
		j.queue = j.queue[len(batches):]
		j.records, j.bytes = j.records-records, j.bytes-bytes
		if len(batches) > 0 {
			j.taken = batches[len(batches)-1].Link.Seq
		}
	}
	j.failed, j.trying = err, false
	waiting := j.records
	close(j.tried)
	j.tried = make(chan struct{})
	j.mu.Unlock()
	switch {
	case err != nil && !again:
		j.opt.Log.Error("the ledger's database takes nothing; what was recorded lately waits in its journal", "records", waiting, "file", j.opt.Path, "error", err)
	case err == nil && again:
		j.opt.Log.Info("the ledger's database has taken what waited in its journal", "file", j.opt.Path)
	}
	if err == nil {
		j.clean()
	}
	j.tend()
}

// next returns what the next transaction takes. mu is held.
func (j *Journal) next() (batches []*ledger.Batch, records, bytes int) {
	for i := range j.queue {
		e := &j.queue[i]
		if i > 0 && records+len(e.batch.Records) > j.opt.sizes.takeMost {
			break
		}
		batches = append(batches, e.batch)
		records, bytes = records+len(e.batch.Records), bytes+e.bytes
	}
	return batches, records, bytes
}

// give writes batches to the store. After a failure it may have some already: the error
// may have come when all was done.
func (j *Journal) give(batches []*ledger.Batch, again bool) error {
	if len(batches) == 0 {
		return nil
	}
	ctx, last := context.Background(), batches[len(batches)-1].Link
	if again {
		head, err := j.opt.Store.Head(ctx)
		if err != nil {
			return err
		}
		for i, b := range batches {
			if b.Link == head {
				batches = batches[i+1:]
				break
			}
		}
		if len(batches) == 0 {
			return nil
		}
		lost, err := j.lost(head, batches[0].Link)
		if err != nil {
			return err
		}
		batches = append(lost, batches...)
	}
	err := j.opt.Store.WriteAll(ctx, batches)
	if err != nil {
		if head, failed := j.opt.Store.Head(ctx); failed == nil && head == last {
			return nil
		}
	}
	return err
}

// lost returns the batches between the store's last link and the first that waits for it.
// It had them, and somebody took away what they were in before it was synced, such as the
// log of a database; the files have them until then.
func (j *Journal) lost(head, first ledger.Link) ([]*ledger.Batch, error) {
	if first.Follows(&head) || first.Seq <= head.Seq {
		return nil, nil
	}
	all, err := Read(j.opt.Path)
	if err != nil {
		return nil, err
	}
	lost := following(all, head)
	upto := slices.IndexFunc(lost, func(b *ledger.Batch) bool { return b.Link == first })
	if upto <= 0 { // the store says that what it is given does not follow
		return nil, nil
	}
	j.opt.Log.Warn("the ledger's database lost what it had; it is given it again", "file", j.opt.Path, "links", upto)
	return lost[:upto:upto], nil
}

// clean empties files of which the store has everything.
func (j *Journal) clean() {
	old, now := j.due()
	if !old && !now {
		return
	}
	err := j.opt.Store.Sync(context.Background())
	// The older one first: the last batch in the files is never older than the store's last.
	if err == nil && old {
		err = j.emptyOld()
	}
	if err == nil && now {
		err = j.emptyNow()
	}
	j.mu.Lock()
	first := j.full == nil
	if j.full = nil; err != nil {
		j.full = durward.Errorf(durward.Unavailable, "ledger", "the ledger's journal cannot be emptied: %w", err)
	}
	j.mu.Unlock()
	if err != nil && first { // it is tried again
		j.opt.Log.Error("the ledger's journal grows, because what the database has cannot be taken out of it", "error", err)
	}
}

// due reports which of the files are to be emptied: the one that does not have its turn,
// and the one that has.
func (j *Journal) due() (old, now bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now = j.dueNow() && j.writing.TryLock(); now {
		j.writing.Unlock()
	}
	return j.files[1-j.active].end > 0 && !j.needed(1-j.active), now
}

// dueNow reports whether the file that has its turn is to be emptied. To do so keeps
// callers from writing: it is done only where it is quick. mu is held.
func (j *Journal) dueNow() bool {
	return !j.opt.Full && j.files[j.active].end >= j.opt.sizes.emptyAt && !j.needed(j.active)
}

// needed reports whether the store lacks something that is in a file. mu is held.
func (j *Journal) needed(file int) bool {
	return slices.ContainsFunc(j.queue, func(e entry) bool { return e.file == file })
}

// emptyOld empties the file that does not have its turn. It does not get it before it is
// empty, so nobody writes to it meanwhile.
func (j *Journal) emptyOld() error {
	j.emptying.Lock()
	defer j.emptying.Unlock()
	j.mu.Lock()
	f := j.files[1-j.active]
	size := f.end
	if j.needed(1 - j.active) { // the other was made anew meanwhile, and got its turn
		size = 0
	}
	j.mu.Unlock()
	if size == 0 {
		return nil
	}
	var err error
	if j.opt.Full {
		err = f.wipe(size)
	} else {
		err = f.clear(size)
	}
	if err == nil {
		j.mu.Lock()
		f.end = 0
		j.mu.Unlock()
	}
	return err
}

// emptyNow empties the file that has its turn, unless somebody writes.
func (j *Journal) emptyNow() error {
	if !j.writing.TryLock() {
		return nil
	}
	defer j.writing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.dueNow() {
		return nil
	}
	f := j.files[j.active]
	err := f.clear(f.end)
	if err == nil {
		f.end = 0
	}
	return err
}
