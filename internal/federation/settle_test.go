package federation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
)

// waited returns how long a list waits.
func waited(s *settling) time.Duration {
	began := time.Now()
	s.await(context.Background())
	return time.Since(began)
}

func TestB1_ListsWaitForThoseThatComeUpAndNotForThoseThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSettling()
		if d := waited(s); d != 0 {
			t.Errorf("waited %s for nobody", d)
		}
		for _, name := range []string{"quick", "slow", "hung"} {
			s.expect(name, ofServers)
		}
		go func() {
			time.Sleep(2 * time.Second)
			s.settled("quick")
			time.Sleep(500 * time.Millisecond)
			s.settled("slow")
		}()
		if d := waited(s); d != 2500*time.Millisecond+settleQuiet {
			t.Errorf("waited %s", d)
		}
		if d := waited(s); d != 0 {
			t.Errorf("the second list waited %s", d)
		}
	})
}

// What runs in this process is there at once, which says nothing about a server that
// takes seconds to start.
func TestB1_ListsWaitForTheFirstServerThatIsNotOurs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSettling()
		s.expect("local", ofOurs)
		s.expect("npx", ofServers)
		s.expect("hung", ofServers)
		go func() {
			time.Sleep(time.Millisecond)
			s.settled("local")
			time.Sleep(5 * time.Second)
			s.settled("npx")
		}()
		if d := waited(s); d != 5001*time.Millisecond+settleQuiet {
			t.Errorf("waited %s", d)
		}
	})
}

func TestB1_ListsWaitNoLongerThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSettling()
		s.expect("hung", ofServers)
		if d := waited(s); d != settleLimit {
			t.Errorf("waited %s", d)
		}
	})
}

func TestAwaitOneEndsWithTheServerOrTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSettling()
		s.expect("a", ofServers)
		s.expect("b", ofServers)
		go func() {
			time.Sleep(time.Second)
			s.settled("b")
			time.Sleep(time.Second)
			s.settled("a")
		}()
		began := time.Now()
		s.awaitOne(context.Background(), "a")
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("waited %s for a", d)
		}
		s.expect("c", ofServers)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.awaitOne(ctx, "c")
		if ctx.Err() == nil {
			t.Error("returned before the context ended")
		}
	})
}

// A server of which some lists are there is waited for until all are, so that a client
// does not miss what is in those that take longer; but not for one that hangs.
func TestB1_ListsThatTakeLongerThanOthersAreWaitedFor(t *testing.T) {
	some, all := &upstream.Listing{}, &upstream.Listing{Complete: true}
	for name, c := range map[string]struct {
		rest func(*observer)
		want time.Duration
	}{
		"complete": {func(o *observer) { o.Catalog("a", all) }, time.Second},
		"ready":    {func(o *observer) { o.State("a", durward.ServerStatus{State: durward.StateReady}) }, time.Second},
		"degraded": {func(o *observer) { o.State("a", durward.ServerStatus{State: durward.StateDegraded}) }, time.Second},
		"lost":     {func(o *observer) { o.State("a", durward.ServerStatus{State: durward.StateBackoff}) }, time.Second},
		"more":     {func(o *observer) { o.Catalog("a", some) }, settleRest},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Opener: slowOpener{make(chan string, 100)}})
				if err := s.Add(durward.Server{Name: "a", Transport: durward.TransportStdio, Command: "silent"}); err != nil {
					t.Fatal(err)
				}
				o := (*observer)(s)
				began := time.Now()
				o.Catalog("a", some)
				go func() {
					time.Sleep(time.Second)
					c.rest(o)
				}()
				s.AwaitServer(t.Context(), "a", time.Minute)
				if d := time.Since(began); d != c.want {
					t.Errorf("a call waited %s, not %s", d, c.want)
				}
				if d := waited(s.settle); d != 0 {
					t.Errorf("a list waited %s more", d)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// slowOpener opens connections that say nothing, but for the server "good".
type slowOpener struct{ opened chan string }

type silentConn struct{}

func (silentConn) Send(exchange.Message) error { return nil }
func (silentConn) Close()                      {}
func (silentConn) Diagnose() string            { return "" }
func (silentConn) Confined() string            { return "" }
func (silentConn) Stop(context.Context) error  { return nil }

func (o slowOpener) Open(_ context.Context, s durward.Server, _ exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	if s.Name == "broken" {
		return nil, errors.New("no such command")
	}
	o.opened <- s.Name
	if s.Name == "good" {
		go sink.Receive(&exchange.Opened{})
	}
	return silentConn{}, nil
}

type drop struct{}

func (drop) Receive(exchange.Message) {}

func TestB1_HungServersGiveTheirPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opener := slowOpener{make(chan string, 100)}
		gate := newStartGate(opener, 2)
		began := time.Now()
		for range 4 {
			if _, err := gate.Open(context.Background(), durward.Server{Name: "hung"}, exchange.LinkSpec{}, drop{}); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != startGrace {
			t.Errorf("four that hang took %s to pass two places", d)
		}
		time.Sleep(startGrace)
		began = time.Now()
		for range 50 {
			for _, name := range []string{"good", "broken"} {
				_, _ = gate.Open(context.Background(), durward.Server{Name: name}, exchange.LinkSpec{}, drop{}) // broken fails
			}
			synctest.Wait()
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("those that come up or fail kept their place for %s", d)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		for range 3 {
			if _, err := gate.Open(ctx, durward.Server{Name: "hung"}, exchange.LinkSpec{}, drop{}); err != nil && durward.KindOf(err) != durward.Timeout {
				t.Error(err)
			}
		}
		if ctx.Err() == nil {
			t.Error("the third got a place although two hang")
		}
		time.Sleep(2 * startGrace)
	})
}
