package upstream

import (
	"log/slog"
	"sync"
	"time"

	"durward"
)

// eventQueue tells the Observer what happened, one after the other and without
// any lock held, so that an Observer may ask the Server back.
type eventQueue struct {
	mu      sync.Mutex // guards the fields below
	pending []event
	stopped bool

	wake chan struct{} // one slot
	done chan struct{} // closed when the announcer has ended
}

// event is a new state or a new catalog.
type event struct {
	status  *durward.ServerStatus
	listing *Listing
	told    chan struct{} // closed once the Observer has it; may be nil
}

// maxEvents bounds the queue towards an Observer that is slow against its
// contract. States are dropped, oldest first; a catalog replaces an older one.
const maxEvents = 256

func (q *eventQueue) start(s *Server) {
	q.wake, q.done = make(chan struct{}, 1), make(chan struct{})
	go q.run(s)
}

// stop tells what is left and ends the announcer. Nothing may be put after it.
func (q *eventQueue) stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.nudge()
	<-q.done
}

func (q *eventQueue) put(e event) {
	q.mu.Lock()
	if len(q.pending) >= maxEvents {
		q.shrink()
	}
	q.pending = append(q.pending, e)
	q.mu.Unlock()
	q.nudge()
}

// shrink drops the oldest state. There are few catalogs: they are coalesced at
// their source. mu of the queue is held.
func (q *eventQueue) shrink() {
	for i, e := range q.pending {
		if e.listing == nil {
			q.pending = append(q.pending[:i], q.pending[i+1:]...)
			return
		}
	}
}

func (q *eventQueue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *eventQueue) run(s *Server) {
	defer close(q.done)
	for range q.wake {
		q.mu.Lock()
		batch, stopped := q.pending, q.stopped
		q.pending = nil
		q.mu.Unlock()
		for _, e := range batch {
			s.tell(e)
		}
		if stopped {
			return
		}
	}
}

func (s *Server) tell(e event) {
	if e.status != nil {
		s.logState(e.status)
		s.opt.Observer.State(s.name, *e.status)
	}
	if e.listing != nil {
		s.opt.Observer.Catalog(s.name, e.listing)
	}
	if e.told != nil {
		close(e.told)
	}
}

func (s *Server) logState(st *durward.ServerStatus) {
	level := slog.LevelInfo
	if st.State == durward.StateBackoff || st.State == durward.StateDegraded {
		level = slog.LevelWarn
	}
	attrs := []any{"server", s.name, "state", string(st.State)}
	if st.Reason != "" {
		attrs = append(attrs, "reason", st.Reason)
	}
	if !st.NextTry.IsZero() {
		attrs = append(attrs, "next_try", st.NextTry.Format(time.RFC3339))
	}
	s.opt.Log.Log(s.ctx, level, "server state", attrs...)
}

// announceState needs mu, which orders the events.
func (s *Server) announceState() {
	st := s.status()
	s.events.put(event{status: &st})
}

// publish makes l the current catalog of a shelf and announces it. The channel is
// closed once the Observer has it. mu is held.
func (s *Server) publish(at *shelf, l *Listing) <-chan struct{} {
	at.listing = l
	told := make(chan struct{})
	s.events.put(event{listing: l, told: told})
	return told
}
