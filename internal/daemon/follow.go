package daemon

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"durward"
	"durward/client"
	"durward/internal/control"
	"durward/internal/ledgerapi"
	"durward/ledger"
)

// Bounds of following.
const (
	followQueue = 4096 // records that wait for one follower; then it is behind
	followBatch = 256  // calls that are handed out at once while a follower catches up
	followOpen  = 8192 // calls of which a follower remembers how they began
	followers   = 64   // at a time
)

// hub tells followers what is committed. Its zero value is ready.
type hub struct {
	mu        sync.Mutex // guards all below, and the queues of followers
	head      uint64     // the last link that was told
	followers map[*follower]struct{}
	closed    bool
}

// begin says where the chain is.
func (h *hub) begin(head uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = max(h.head, head)
}

// committed is called with each committed batch, in order. It does not block.
func (h *hub) committed(link ledger.Link, records []ledger.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head = link.Seq
	for f := range h.followers {
		f.put(committed{link.Seq, records})
	}
}

// close wakes all followers; they end.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for f := range h.followers {
		f.wake()
	}
}

// committed is one batch.
type committed struct {
	seq     uint64
	records []ledger.Record
}

// lookup finds calls, of which a follower was not told when they began. Of one that a
// committed outcome is of, it has the intent, or gives an error other than NotFound.
type lookup interface {
	Call(ctx context.Context, id string) (*ledger.Story, error)
}

// follower is one reader of what is committed.
type follower struct {
	hub    *hub
	store  ledger.Auditor
	reader lookup
	filter ledger.Filter
	more   chan struct{} // has an element when something waits

	// Of the goroutine that calls Next alone.
	last uint64 // the last link that was handed out
	live bool   // it has caught up: what comes is in queue
	open map[durward.CallID]*ledger.Intent

	// Guarded by hub.mu.
	queue   []committed
	waiting int // records in queue
	behind  bool
}

var _ control.Follower = (*follower)(nil)

// follow makes a follower of what comes after a link; from now on if after is "".
func (h *hub) follow(store ledger.Auditor, reader lookup, filter ledger.Filter, after string) (*follower, error) {
	f := &follower{
		hub: h, store: store, reader: reader, filter: filter, more: make(chan struct{}, 1), open: map[durward.CallID]*ledger.Intent{},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f.last = h.head
	if after != "" {
		var err error
		if f.last, err = strconv.ParseUint(after, 10, 64); err != nil || f.last > h.head {
			return nil, durward.Errorf(durward.Invalid, "", "after must be a cursor that a follower was told")
		}
	}
	if h.followers == nil {
		h.followers = map[*follower]struct{}{}
	}
	if len(h.followers) >= followers {
		return nil, durward.Errorf(durward.Unavailable, "", "%d readers follow the calls already; end one of them", followers)
	}
	h.followers[f] = struct{}{}
	return f, nil
}

// put takes a batch. The hub's mutex is held.
func (f *follower) put(c committed) {
	if f.behind {
		return
	}
	if f.waiting += len(c.records); f.waiting > followQueue {
		f.queue, f.behind = nil, true
	} else {
		f.queue = append(f.queue, c)
	}
	f.wake()
}

func (f *follower) wake() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// take returns what waits.
func (f *follower) take() (queue []committed, behind, closed bool) {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	queue, behind = f.queue, f.behind
	f.queue, f.waiting = nil, 0
	return queue, behind, f.hub.closed
}

// Close ends it.
func (f *follower) Close() {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	delete(f.hub.followers, f)
}

// Next implements control.Follower.
func (f *follower) Next(ctx context.Context) ([]client.Followed, error) {
	for !f.live {
		some, err := f.catchUp(ctx)
		if len(some) > 0 || err != nil {
			return some, err
		}
	}
	for {
		queue, behind, closed := f.take()
		var out []client.Followed
		var err error
		for _, c := range queue {
			if c.seq <= f.last { // it was read from the store
				continue
			}
			var some []client.Followed
			if some, err = f.told(ctx, c); err != nil {
				f.live = false // it is read from the store, with what comes after it
				break
			}
			out = append(out, some...)
		}
		switch {
		case err != nil:
			return orError(out, err)
		case behind:
			return append(out, client.Followed{Cursor: cursor(f.last)}), nil
		case len(out) > 0:
			return out, nil
		case closed:
			return nil, durward.Errorf(durward.Unavailable, "", "the service ends")
		}
		select {
		case <-f.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

var errEnough = errors.New("enough for now")

// catchUp reads what was committed from the store, until there is no more.
func (f *follower) catchUp(ctx context.Context) ([]client.Followed, error) {
	var out []client.Followed
	before := f.last
	err := f.store.Links(ctx, f.last+1, func(l ledger.Link, records []ledger.Record) error {
		some, err := f.told(ctx, committed{l.Seq, records})
		if out = append(out, some...); err == nil && len(out) >= followBatch {
			err = errEnough
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return orError(out, err)
	}
	if f.last == before {
		f.hub.mu.Lock()
		defer f.hub.mu.Unlock()
		// What was committed meanwhile is in the queue, or will be read now.
		if f.live = f.hub.head <= f.last || len(f.queue) > 0 && f.queue[0].seq <= f.last+1; !f.live {
			f.queue, f.waiting, f.behind = nil, 0, false
		}
	}
	return out, nil
}

// orError is what a follower is told, or, if that is nothing, what kept it from being
// told more: that comes again, or is over then.
func orError(out []client.Followed, err error) ([]client.Followed, error) {
	if len(out) > 0 {
		return out, nil
	}
	return nil, err
}

func cursor(seq uint64) string { return strconv.FormatUint(seq, 10) }

// told makes of a batch what the follower is told of it: all of that, or nothing.
func (f *follower) told(ctx context.Context, c committed) ([]client.Followed, error) {
	var out []client.Followed
	for _, r := range c.records {
		row, ok, err := f.row(ctx, r)
		if err != nil {
			return nil, err
		}
		if ok && ledgerapi.Matches(&f.filter, &row) {
			call := ledgerapi.Call(&row)
			// Who goes on after it gets the others of its batch, too.
			out = append(out, client.Followed{Cursor: cursor(c.seq - 1), Call: &call})
		}
	}
	f.last = c.seq
	if len(out) > 0 {
		out[len(out)-1].Cursor = cursor(c.seq)
	}
	return out, nil
}

// row returns the call that a record is about, if it is one that is told: calls
// are told when they end, or when they begin if the filter says so.
func (f *follower) row(ctx context.Context, r ledger.Record) (row ledger.Row, ok bool, err error) {
	switch r := r.(type) {
	case *ledger.Intent:
		if f.filter.Status == client.StatusDispatched {
			return ledger.Row{Intent: *r}, true, nil
		}
		if len(f.open) < followOpen {
			f.open[r.ID] = r
		}
	case *ledger.Outcome:
		if f.filter.Status == client.StatusDispatched {
			return ledger.Row{}, false, nil
		}
		if i, ok := f.open[r.Call]; ok {
			delete(f.open, r.Call)
			return ledger.Row{Intent: *i, Outcome: r}, true, nil
		}
		story, err := f.reader.Call(ctx, string(r.Call)) // it began before the follower did
		switch {
		case err == nil:
			return ledger.Row{Intent: story.Intent, Outcome: r}, true, nil
		case durward.KindOf(err) != durward.NotFound: // that it was pruned meanwhile
			return ledger.Row{}, false, err
		}
	}
	return ledger.Row{}, false, nil
}
