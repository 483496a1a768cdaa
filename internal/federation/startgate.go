package federation

import (
	"context"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
)

// startGate bounds how many servers launch at the same time. What it bounds is
// the work of starting; a server that hangs gives its place back after
// startGrace, so that it cannot keep the others from starting (B1).
type startGate struct {
	upstream.Opener
	places chan struct{}
}

const startGrace = 2 * time.Second

func newStartGate(opener upstream.Opener, places int) *startGate {
	return &startGate{Opener: opener, places: make(chan struct{}, places)}
}

// Open waits for a place, then opens.
func (g *startGate) Open(ctx context.Context, server durward.Server, spec exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	select {
	case g.places <- struct{}{}:
	case <-ctx.Done():
		return nil, durward.Errorf(durward.Timeout, "server "+server.Name, "%d other servers were starting (limits.start_parallel)", cap(g.places))
	}
	var once sync.Once
	leave := func() { once.Do(func() { <-g.places }) }
	time.AfterFunc(startGrace, leave)
	conn, err := g.Opener.Open(ctx, server, spec, &startSink{Sink: sink, leave: leave})
	if err != nil {
		leave()
	}
	return conn, err
}

// startSink gives the place back with the first message: Opened or Closed.
type startSink struct {
	exchange.Sink
	leave func()
	began bool // only touched by Receive, which is called by one goroutine at a time
}

// Receive passes the message on.
func (s *startSink) Receive(m exchange.Message) {
	if !s.began {
		s.began = true
		s.leave()
	}
	s.Sink.Receive(m)
}
