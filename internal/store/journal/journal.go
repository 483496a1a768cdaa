package journal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"durward"
	"durward/internal/store/dirwatch"
	"durward/ledger"
)

// Store is what batches are taken into.
type Store interface {
	ledger.Store
	// WriteAll is Write for batches that follow each other: all of them, or none.
	WriteAll(ctx context.Context, batches []*ledger.Batch) error
	// Sync returns when everything that was written outlasts a loss of power. It may be
	// called after Close.
	Sync(ctx context.Context) error
	// Links is that of [ledger.Auditor].
	Links(ctx context.Context, from uint64, f func(l ledger.Link, records []ledger.Record) error) error
	// Present says, at once, what happened to the store if it is no longer there.
	Present() error
}

// frameKept bounds the buffer for frames that is kept, in bytes.
const frameKept = 1 << 20

// sizes say when the store takes what waits, and how much may wait for it.
type sizes struct {
	takeAfter   time.Duration // since the first that waits
	takeRecords int           // or so many of them wait
	takeMost    int           // records, about, of one transaction
	waitMost    int           // bytes of what waits; then Write waits
	turnAt      int64         // bytes of a file, after which the other has its turn
	emptyAt     int64         // bytes after which a file is emptied, when nothing in it waits
	fileMost    int64         // bytes of a file, after which nothing is accepted
	window      int64         // bytes of a file that are in memory: whole pages
	retryAfter  time.Duration // between attempts of the store when nobody writes
}

func usualSizes() sizes {
	return sizes{
		takeAfter: 20 * time.Millisecond, takeRecords: 1024, takeMost: 2048, waitMost: 8 << 20,
		turnAt: 4 << 20, emptyAt: 256 << 10, fileMost: 256 << 20, window: 4 << 20, retryAfter: time.Second,
	}
}

// Options configure a [Journal].
type Options struct {
	Store Store        // required; Close closes it
	Path  string       // of the files, without their endings; required
	Full  bool         // what is written outlasts a loss of power
	Log   *slog.Logger // default: discard

	// Strict makes Open refuse, with an error of kind Conflict, what it would keep aside
	// otherwise. The files are as they were then.
	Strict bool

	sizes sizes // smaller ones in tests; default: the usual ones
}

func (o *Options) check() error {
	if o.Store == nil || o.Path == "" {
		return durward.Errorf(durward.Invalid, "ledger", "a journal needs a Store and a Path")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.sizes == (sizes{}) {
		o.sizes = usualSizes()
	}
	return nil
}

// Journal is a [ledger.Store]. It is safe for concurrent use. Whoever opens one calls
// Close.
type Journal struct {
	opt   Options
	names *dirwatch.Dir // of the files
	aside []string      // files of batches that the store could not take when it was opened

	some   chan struct{} // has an element when something waits
	hurry  chan struct{} // has one when it is to be taken at once
	quit   chan struct{} // closed to end the one who takes
	done   chan struct{} // closed when it has ended
	closes sync.Once
	ended  error // of Close

	writing sync.Mutex // held by Write; guards frame and broken, and what is in the file that has its turn
	frame   []byte
	broken  bool // a file could not be made anew the last time, which was told

	// emptying is held while the file that does not have its turn is emptied, and while one
	// is made anew: that takes the memory away which is wiped. Guards no field; may be
	// taken while writing is held, and mu while it is.
	emptying sync.Mutex

	mu      sync.Mutex // guards all below; may be taken while writing is held
	files   [2]*file
	active  int // the one of files that has its turn; it changes only while writing is held too
	closed  bool
	head    ledger.Link
	open    map[durward.CallID]struct{} // calls without an outcome
	queue   []entry                     // what the store has not taken, in order
	records int                         // in queue
	bytes   int                         // in queue
	taken   uint64                      // seq of the last link that the store has
	failed  error                       // why the store took nothing the last time; nil: it did
	full    error                       // why the files could not be emptied the last time; nil: they could
	trying  bool                        // an attempt of the store is under way
	tried   chan struct{}               // closed after each attempt of the store, and made anew
}

// entry is a batch that waits for the store.
type entry struct {
	batch *ledger.Batch
	bytes int
	file  int // that it is in
}

var _ ledger.Store = (*Journal)(nil)

// Head implements [ledger.Store].
func (j *Journal) Head(context.Context) (ledger.Link, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ledger.Link{}, errClosed
	}
	return j.head, nil
}

// Open implements [ledger.Store].
func (j *Journal) Open(ctx context.Context, limit int) ([]durward.CallID, error) {
	if err := j.Flush(ctx); err != nil {
		return nil, err
	}
	return j.opt.Store.Open(ctx, limit)
}

// Unanswered implements [ledger.Store].
func (j *Journal) Unanswered(ctx context.Context, limit int) ([]*ledger.Approval, error) {
	if err := j.Flush(ctx); err != nil {
		return nil, err
	}
	return j.opt.Store.Unanswered(ctx, limit)
}

// Aside returns the names of files that were kept aside when the journal was opened,
// because what is in them does not follow what the store has, or cannot be read: the
// store was replaced by another, or by an older copy, while they waited, or the file
// was damaged. Nothing reads them any more.
func (j *Journal) Aside() []string { return j.aside }

// Write appends a batch. Its errors are those of the store: of kind Conflict when the
// link does not follow the last one, or a call has an outcome already or no intent; else
// Unavailable, and the batch was not accepted. A second intent of a call that has ended
// is not noticed, and is a defect of who calls: the store takes nothing any more then,
// and what it did not take is kept aside when the journal is opened again.
func (j *Journal) Write(ctx context.Context, b *ledger.Batch) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	if err := j.admit(ctx, b); err != nil {
		return err
	}
	j.frame = frameOf(j.frame, b)
	i, err := j.append(j.frame)
	if errors.Is(err, errFault) { // once more, to a file that is made anew
		i, err = j.append(j.frame)
	}
	own := &ledger.Batch{Records: b.Records, Bodies: b.Bodies, Link: b.Link} // the rest is of who writes
	j.accept(entry{own, len(j.frame), i}, err)
	if cap(j.frame) > frameKept {
		j.frame = nil
	}
	return err
}

// append appends a frame to the file that it returns. writing is held.
func (j *Journal) append(frame []byte) (file int, err error) {
	if file, err = j.place(); err == nil {
		err = j.files[file].appendFrame(frame, j.opt.Full)
	}
	return file, err
}

// frameOf returns the frame of a batch, in space.
func frameOf(space []byte, b *ledger.Batch) []byte {
	return b.AppendTo(append(space[:0], make([]byte, frameHead)...))
}

// room is how many bytes of a file are in memory: none if the disk has to have them.
func (j *Journal) room() int64 {
	if j.opt.Full {
		return 0
	}
	return j.opt.sizes.window
}

// place returns the file that the next frame goes to. writing is held.
func (j *Journal) place() (int, error) {
	if err := j.files[j.active].cut(); err != nil { // also if the other has its turn: there must not be two frames that follow the same
		return 0, err
	}
	j.mu.Lock()
	if j.files[j.active].end >= j.opt.sizes.turnAt && j.files[1-j.active].end == 0 {
		j.active = 1 - j.active
	}
	j.mu.Unlock()
	if j.files[0].spoilt || j.files[1].spoilt {
		return j.active, j.mend()
	}
	return j.active, j.names.Check(j.mend)
}

// admit returns nil if a batch may be written: the store takes what it is given, there
// is room, and the batch is right.
func (j *Journal) admit(ctx context.Context, b *ledger.Batch) error {
	if err := ctx.Err(); err != nil {
		return durward.Errorf(durward.Unavailable, "ledger", "nothing was written: %w", err)
	}
	if err := j.opt.Store.Present(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for !j.closed && (j.failed != nil || j.bytes >= j.opt.sizes.waitMost) { // perhaps it takes something now
		if err := j.try(ctx); err != nil {
			return err
		}
	}
	switch {
	case j.closed:
		return errClosed
	case j.full != nil && j.files[j.active].end >= j.opt.sizes.fileMost:
		return j.full
	case !b.Link.Follows(&j.head) || b.Link.Records != len(b.Records):
		return durward.Errorf(durward.Conflict, "ledger", "link %d does not follow link %d, the last one", b.Link.Seq, j.head.Seq)
	}
	for n, r := range b.Records {
		if !j.note(r) {
			j.unnote(b.Records[:n])
			return durward.Errorf(durward.Conflict, "ledger", "a record of link %d is of a call that has it already, or has an outcome without an intent", b.Link.Seq)
		}
	}
	return nil
}

var errClosed = durward.Errorf(durward.Unavailable, "ledger", "the ledger is closed")

// note notes which calls are under way. It is false for what the store would refuse,
// which must not be accepted: a second intent or outcome. mu is held.
func (j *Journal) note(r ledger.Record) bool {
	switch r := r.(type) {
	case *ledger.Intent:
		if _, ok := j.open[r.ID]; ok {
			return false
		}
		j.open[r.ID] = struct{}{}
	case *ledger.Outcome:
		if _, ok := j.open[r.Call]; !ok {
			return false
		}
		delete(j.open, r.Call)
	}
	return true
}

// unnote takes back what was noted. mu is held.
func (j *Journal) unnote(records []ledger.Record) {
	for _, r := range slices.Backward(records) {
		switch r := r.(type) {
		case *ledger.Intent:
			delete(j.open, r.ID)
		case *ledger.Outcome:
			j.open[r.Call] = struct{}{}
		}
	}
}

// accept puts a batch into the queue, unless it could not be written.
func (j *Journal) accept(e entry, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.unnote(e.batch.Records)
		return
	}
	j.head = e.batch.Link
	j.files[e.file].end += int64(e.bytes)
	j.queue = append(j.queue, e)
	j.bytes += e.bytes
	if j.records += len(e.batch.Records); j.records >= j.opt.sizes.takeRecords {
		signal(j.hurry)
	} else if len(j.queue) == 1 {
		signal(j.some)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Flush returns when the store has everything that was accepted before.
func (j *Journal) Flush(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for upto := j.head.Seq; j.taken < upto; {
		// When it has been waited for longer than that took, a later attempt may have failed,
		// or the journal be closed.
		if err := j.try(ctx); err != nil && j.taken < upto {
			return err
		}
	}
	return nil
}

// Sync returns when everything that was accepted before outlasts a loss of power,
// whatever Options.Full is. It may be called after Close.
func (j *Journal) Sync(ctx context.Context) error {
	if err := j.Flush(ctx); err != nil {
		return err
	}
	return j.opt.Store.Sync(ctx)
}

// try has the store take something and waits for it. An attempt that began before may
// fail of what is over by now, so then it waits for the next. mu is held, but not meanwhile.
func (j *Journal) try(ctx context.Context) error {
	before := j.trying
	err := j.attempt(ctx)
	if err != nil && before && ctx.Err() == nil {
		err = j.attempt(ctx)
	}
	return err
}

// attempt waits for the end of an attempt of the store.
func (j *Journal) attempt(ctx context.Context) error {
	tried := j.tried
	j.mu.Unlock()
	signal(j.hurry)
	var err error
	select {
	case <-tried:
	case <-j.done:
		err = errClosed
	case <-ctx.Done():
		err = durward.Errorf(durward.Unavailable, "ledger", "the ledger was not waited for any longer: %w", ctx.Err())
	}
	j.mu.Lock()
	if err == nil {
		err = j.failed
	}
	return err
}

// Close has the store take what waits and closes it. What the store does not take stays
// in the files, and is taken when they are opened again.
func (j *Journal) Close() error {
	j.closes.Do(func() { j.ended = j.end() })
	return j.ended
}

func (j *Journal) end() error {
	j.writing.Lock() // whoever writes is done
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.writing.Unlock()
	err := j.Flush(context.Background())
	close(j.quit)
	<-j.done // so the files are ours
	if err == nil {
		err = j.opt.Store.Sync(context.Background())
	}
	for _, f := range j.files {
		if err == nil {
			err = f.remove()
		} else {
			_ = errors.Join(f.cut(), f.close()) // what is in it is read again
		}
	}
	return errors.Join(err, j.names.Close(), j.opt.Store.Close())
}
