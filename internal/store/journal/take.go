package journal

import (
	"context"
	"time"

	"durward/ledger"
)

// run has the store take what waits: a moment after the first came, so that many share
// a transaction; at once when there are many already, or when somebody waits for it.
func (j *Journal) run() {
	defer close(j.done)
	timer := time.NewTimer(takeAfter)
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
		return retryAfter, true
	case j.records >= takeRecords:
		return 0, true
	}
	return takeAfter, len(j.queue) > 0
}

// take has the store take what waits, or a part of it.
func (j *Journal) take() {
	j.mu.Lock()
	batches, records, bytes := j.next()
	again := j.failed != nil
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
	j.failed = err
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
}

// next returns what the next transaction takes. mu is held.
func (j *Journal) next() (batches []*ledger.Batch, records, bytes int) {
	for i := range j.queue {
		e := &j.queue[i]
		if i > 0 && records+len(e.batch.Records) > takeMost {
			break
		}
		batches = append(batches, e.batch)
		records, bytes = records+len(e.batch.Records), bytes+e.bytes
	}
	return batches, records, bytes
}

// give writes batches to the store. After a failure it may have them already: the error
// may have come when all was done.
func (j *Journal) give(batches []*ledger.Batch, again bool) error {
	if len(batches) == 0 {
		return nil
	}
	ctx, last := context.Background(), batches[len(batches)-1].Link
	if again {
		if head, err := j.opt.Store.Head(ctx); err == nil && head == last {
			return nil
		}
	}
	err := j.opt.Store.WriteAll(ctx, batches)
	if err != nil {
		if head, failed := j.opt.Store.Head(ctx); failed == nil && head == last {
			return nil
		}
	}
	return err
}

// clean empties files of which the store has everything, and opens those anew that
// have lost their names. It leaves that for later while somebody writes.
func (j *Journal) clean() {
	if !j.writing.TryLock() {
		return
	}
	// The older one first: the last batch in the files is never older than the store's last.
	order := [2]int{1 - j.active, j.active}
	due := false
	for _, i := range order {
		f := j.files[i]
		if !f.gone && f.lost() {
			f.gone = true
			j.opt.Log.Warn("a file of the ledger's journal was removed while the service was using it; it is made anew, and nothing is lost", "file", f.path)
		}
		due = due || j.due(i)
	}
	j.writing.Unlock()
	if !due {
		return
	}
	err := j.opt.Store.Sync(context.Background())
	for _, i := range order {
		if err == nil {
			err = j.renew(i)
		}
	}
	if err != nil { // it is tried again after the next transaction
		j.opt.Log.Warn("the ledger's journal grows, because what the database has cannot be taken out of it", "error", err)
	}
}

// due reports whether a file is to be emptied or opened anew. writing is held.
func (j *Journal) due(i int) bool {
	f := j.files[i]
	// To wipe takes longer than to cut, and nobody writes meanwhile.
	return (f.gone || f.end > 0 && (i != j.active || f.end >= emptyAt && !j.opt.Full)) && !j.needed(i)
}

// needed reports whether the store lacks something that is in a file.
func (j *Journal) needed(file int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.queue {
		if j.queue[i].file == file {
			return true
		}
	}
	return false
}

// renew empties a file, or opens it anew, if that is due.
func (j *Journal) renew(i int) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if !j.due(i) {
		return nil
	}
	f := j.files[i]
	if !f.gone && !j.opt.Full {
		return f.empty()
	}
	if f.gone {
		next, err := openFile(f.path)
		if err != nil {
			return err
		}
		_ = f.f.Close() // nobody needs it
		j.files[i] = next
		return next.empty()
	}
	// It does not have its turn before it is empty, so nobody writes to it meanwhile.
	j.writing.Unlock()
	err := f.wipe()
	j.writing.Lock()
	if err == nil {
		f.end = 0
	}
	return err
}
