package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// TestTheHotPathAllocatesLittle runs without fake time: it measures.
func TestTheHotPathAllocatesLittle(t *testing.T) {
	w := &quickWorld{}
	s, err := upstream.New(upstream.Options{Spec: stdio(), Opener: w})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	out, req, ctx := &stream{}, tool(), context.Background()
	least := func(call func()) float64 { // of two: each counts what the rest of the process allocates meanwhile
		return min(testing.AllocsPerRun(1000, call), testing.AllocsPerRun(1000, call))
	}
	n := least(func() {
		if r := s.Do(ctx, alice(), req, out); r.Error != nil {
			t.Fatalf("%s", r.Error)
		}
	})
	if n > 3 { // the call message, and the response of the test's connection
		t.Errorf("%v allocations per call", n)
	}
	timed := *req
	timed.Deadline = time.Now().Add(time.Hour)
	n = least(func() { s.Do(ctx, alice(), &timed, out) })
	if n > 3 {
		t.Errorf("%v allocations per call with a deadline", n)
	}
}

// quickWorld answers everything at once, from another goroutine.
type quickWorld struct{}

func (quickWorld) Open(_ context.Context, _ durward.Server, _ exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	c := &quickConn{sink: sink, calls: make(chan uint64, 256)}
	c.done.Go(c.run)
	return c, nil
}

type quickConn struct {
	sink  exchange.Sink
	calls chan uint64
	once  sync.Once
	done  sync.WaitGroup
}

func (c *quickConn) run() {
	c.sink.Receive(&exchange.Opened{Era: wire.Legacy, Revision: wire.RevisionLegacy})
	result := []byte(`{"tools":[]}`)
	for id := range c.calls {
		c.sink.Receive(&exchange.Response{ID: id, Reply: exchange.Reply{Result: result}})
	}
	c.sink.Receive(&exchange.Closed{Phase: exchange.PhaseStopped})
}

func (c *quickConn) Send(m exchange.Message) error {
	if call, ok := m.(*exchange.Call); ok {
		c.calls <- call.ID
	}
	return nil
}
func (c *quickConn) Close()           {}
func (c *quickConn) Diagnose() string { return "" }
func (c *quickConn) Confined() string { return "" }
func (c *quickConn) Stop(context.Context) error {
	c.once.Do(func() { close(c.calls) })
	c.done.Wait()
	return nil
}

func BenchmarkDo(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s, err := upstream.New(upstream.Options{Spec: stdio(), Opener: quickWorld{}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Refresh(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				out, req := &stream{}, tool()
				for pb.Next() {
					if r := s.Do(context.Background(), alice(), req, out); r.Error != nil {
						b.Fatal(strings.TrimSpace(string(r.Error)))
					}
				}
			})
		})
	}
}
