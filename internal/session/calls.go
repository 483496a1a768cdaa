package session

import (
	"context"
	"sync"

	"durward"
	"durward/internal/wire"
)

// calls are the requests of the client that have no answer yet.
type calls struct {
	mu      sync.Mutex // guards everything below
	byID    map[string]*call
	running int
	waiting []*call // for their turn, in order
	ended   bool
}

type call struct {
	cancel    context.CancelFunc
	turn      chan struct{} // closed when it may run; nil for those that never waited
	cancelled bool          // by the client
}

// Enter notes that request id is in flight. The context it returns ends when ctx
// does, when the client cancels the request and when the session ends. The
// request may run when turn, if it is not nil, is closed. On success the caller
// must call Leave with the same id, also when it did not wait for its turn.
//
// Errors: code -32600 when a request with these id bytes is in flight;
// Unavailable, naming limits.in_flight, when as many wait as may; NotFound when
// the session has ended.
func (s *Session) Enter(ctx context.Context, id []byte) (inner context.Context, turn <-chan struct{}, err error) {
	inner, cancel := context.WithCancel(ctx)
	turn, err = s.calls.add(string(id), cancel, s.store.opts.InFlight)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return inner, turn, nil
}

// Leave notes that request id is answered, and reports whether the client had
// cancelled it, in which case it wants no answer.
func (s *Session) Leave(id []byte) (cancelled bool) {
	s.touch()
	return s.calls.remove(id)
}

// Cancel ends the context of request id, which is compared byte for byte, for its
// client, which wants no answer any more. False: there is none.
func (s *Session) Cancel(id []byte) bool { return s.calls.stop(id, true) }

// Stop ends the context of request id for a reason of ours: its client is to get
// an answer still. False: there is none.
func (s *Session) Stop(id []byte) bool { return s.calls.stop(id, false) }

// InFlight returns how many requests run and how many wait.
func (s *Session) InFlight() (running, waiting int) {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return s.calls.running, len(s.calls.waiting)
}

func (c *calls) add(id string, cancel context.CancelFunc, most int) (turn <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, durward.Errorf(durward.NotFound, "session", "the session has ended; send initialize to begin a new one")
	}
	if _, ok := c.byID[id]; ok {
		return nil, &wire.CodeError{Code: wire.CodeInvalidRequest, Message: "a request with id " + id + " is in flight; every request needs an id of its own"}
	}
	if c.byID == nil {
		c.byID = make(map[string]*call)
	}
	added := &call{cancel: cancel}
	if c.running < most {
		c.running++
		c.byID[id] = added
		return nil, nil
	}
	if len(c.waiting) >= most {
		return nil, durward.Errorf(durward.Unavailable, "session",
			"%d requests of this session are in flight and as many wait, which is the bound limits.in_flight; wait for answers or raise it", most)
	}
	added.turn = make(chan struct{})
	c.waiting = append(c.waiting, added)
	c.byID[id] = added
	return added.turn, nil
}

func (c *calls) stop(id []byte, cancelled bool) bool {
	c.mu.Lock()
	found, ok := c.byID[string(id)]
	if ok {
		found.cancelled = found.cancelled || cancelled
	}
	c.mu.Unlock()
	if ok {
		found.cancel()
	}
	return ok
}

func (c *calls) remove(id []byte) (cancelled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone, ok := c.byID[string(id)]
	if !ok {
		return false
	}
	delete(c.byID, string(id))
	gone.cancel()
	for i, w := range c.waiting {
		if w == gone { // it never ran
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
			return gone.cancelled
		}
	}
	c.running--
	if len(c.waiting) > 0 && !c.ended {
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.running++
		close(next.turn)
	}
	return gone.cancelled
}

func (c *calls) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byID) > 0
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, live := range c.byID {
		live.cancel()
	}
}
