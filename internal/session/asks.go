package session

import (
	"bytes"
	"strconv"
	"sync"

	"durward"
	"durward/internal/exchange"
)

// asks are our requests that the client has not answered.
type asks struct {
	mu    sync.Mutex // guards everything below
	last  uint64
	open  map[uint64]chan exchange.Reply
	ended bool
}

// Expect mints the id of a request to the client and returns it with the channel
// on which its answer will arrive, once. The caller must call Forget with the id
// when it does not wait any more. The error, kind Unavailable, names limits.asks.
func (s *Session) Expect() (id []byte, answer <-chan exchange.Reply, err error) {
	a := &s.asks
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return nil, nil, durward.Errorf(durward.Unavailable, "session", "the client's session has ended")
	}
	if len(a.open) >= s.store.opts.Asks {
		return nil, nil, durward.Errorf(durward.Unavailable, "session",
			"the client has left %d requests unanswered, which is the bound limits.asks", len(a.open))
	}
	if a.open == nil {
		a.open = make(map[uint64]chan exchange.Reply)
	}
	a.last++
	ch := make(chan exchange.Reply, 1)
	a.open[a.last] = ch
	return strconv.AppendUint(nil, a.last, 10), ch, nil
}

// Answer hands over the client's answer. False: nobody waits for that id.
func (s *Session) Answer(id []byte, reply exchange.Reply) bool {
	s.touch()
	n, ok := askID(id)
	if !ok {
		return false
	}
	s.asks.mu.Lock()
	ch, ok := s.asks.open[n]
	delete(s.asks.open, n)
	s.asks.mu.Unlock()
	if ok {
		ch <- reply
	}
	return ok
}

// Forget says that nobody waits for the answer to id any more.
func (s *Session) Forget(id []byte) {
	n, _ := askID(id)
	s.asks.mu.Lock()
	defer s.asks.mu.Unlock()
	delete(s.asks.open, n)
}

// askID reads an id of ours. Only the digits that were sent count: neither 1.0 nor "1" is 1.
func askID(raw []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(raw), 10, 64)
	return n, err == nil && bytes.Equal(strconv.AppendUint(nil, n, 10), raw)
}

func (a *asks) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for n, ch := range a.open {
		delete(a.open, n)
		ch <- exchange.Fail(durward.Errorf(durward.Unavailable, "session", "the client's session has ended"))
	}
}
