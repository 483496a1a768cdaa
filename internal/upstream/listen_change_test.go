package upstream_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// cancelled are the listens whose end the server was asked for without their
// answer being given up.
func cancelled(c *fakeConn) (ids []string) {
	for _, n := range sentTo[*exchange.Notification](c) {
		if n.Method == wire.NoteCancelled {
			ids = append(ids, string(wire.Get(n.Params, "requestId")))
		}
	}
	return ids
}

func listens(c *fakeConn) []*exchange.Call { return callsTo(c, wire.MethodListen) }

func TestOverPipesAListenIsReplacedWhenItHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(everything)})})
		c := r.world.conn(0)
		for round, uri := range []string{"a:1", "b:1"} {
			done := make(chan error, 1)
			go func() { done <- r.Subscribe(context.Background(), uri) }()
			wait(100 * time.Millisecond) // subscriptions are collected
			old := listens(c)[round].ID
			if got := cancelled(c); len(listens(c)) != round+1 || len(got) != round+1 || got[round] != strconv.FormatUint(old, 10) {
				t.Fatalf("%d listens, the ends of %v asked for; want that of %d", len(listens(c)), got, old)
			}
			c.result(old, `{}`)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := len(listens(c)); n != round+2 {
				t.Errorf("%d listens after the old one has ended", n)
			}
		}
		if n := len(sentTo[*exchange.Cancel](c)); n != 0 {
			t.Errorf("%d listens were cancelled once more", n)
		}
	})
}

func TestAServerThatDoesNotEndListensIsWaitedForOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(everything)})})
		c := r.world.conn(0)
		for i, most := range []time.Duration{400 * time.Millisecond, 100 * time.Millisecond} {
			begun := time.Now()
			subscribe(t, r, strconv.Itoa(i)+":1")
			if took := time.Since(begun); took > most {
				t.Errorf("subscription %d took %s", i, took)
			}
		}
		if a, b := len(cancelled(c)), len(sentTo[*exchange.Cancel](c)); a != 1 || b != 2 {
			t.Errorf("%d ends were waited for, %d listens cancelled", a, b)
		}
	})
}

func TestAConnectionThatEndsEndsTheWaitForAListen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(everything)})})
		go func() { _ = r.Subscribe(context.Background(), "a:1") }()
		wait(100 * time.Millisecond)
		r.world.conn(0).die()
		synctest.Wait()
		if got := paramsOf(r.world.conn(1), wire.MethodListen); !contains(got, `["a:1"]`) {
			t.Errorf("a new connection listens to %s", got)
		}
	})
}

func TestOverHTTPAListenIsClosedWhenTheNextIsAcknowledged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(act{opened: modernOpened(everything), handle: func(_ *fakeConn, call *exchange.Call) bool {
			return call.Method == wire.MethodListen && contains(string(call.Params.Raw), "resourceSubscriptions")
		}})})
		c := r.world.conn(0)
		go func() { _ = r.Subscribe(context.Background(), "a:1") }()
		wait(time.Second)
		all := listens(c)
		if len(all) != 2 || len(sentTo[*exchange.Cancel](c)) != 0 {
			t.Fatalf("%d listens, %d of them cancelled", len(all), len(sentTo[*exchange.Cancel](c)))
		}
		lists := len(callsTo(c, wire.MethodToolsList))
		c.emit(&exchange.Notification{Related: all[1].ID, Method: wire.NoteAcknowledged, Params: []byte(`{}`)})
		wait(time.Second)
		if cancels := sentTo[*exchange.Cancel](c); len(cancels) != 1 || cancels[0].ID != all[0].ID {
			t.Errorf("cancelled: %+v", cancels)
		}
		if n := len(callsTo(c, wire.MethodToolsList)); n != lists {
			t.Errorf("the tools were listed %d times more although nothing can have been missed", n-lists)
		}
	})
}

// What changes while a server has nobody to tell is found by reading the lists anew.
func TestListsAreReadAnewAfterNobodyListened(t *testing.T) {
	for name, tc := range map[string]struct {
		opened *exchange.Opened
		pause  func(r *rig, c *fakeConn)
		more   int // times the tools are listed
	}{
		"after a listen that ended": {modernOpened(everything), func(_ *rig, c *fakeConn) {
			c.result(listens(c)[0].ID, `{}`)
		}, 1},
		"after a listen over pipes was replaced": {modernOpened(everything), func(r *rig, _ *fakeConn) {
			_ = r.Subscribe(context.Background(), "a:1")
		}, 1},
		"not when the server announces no changes": {modernOpened(`{"tools":{},"resources":{"subscribe":true}}`), func(r *rig, _ *fakeConn) {
			_ = r.Subscribe(context.Background(), "a:1")
			_ = r.Subscribe(context.Background(), "b:1")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, stdio(), &world{script: always(act{opened: tc.opened})})
				wait(time.Second)
				c := r.world.conn(0)
				before := len(callsTo(c, wire.MethodToolsList))
				tc.pause(r, c)
				wait(5 * time.Second)
				if n := len(callsTo(c, wire.MethodToolsList)) - before; n != tc.more {
					t.Errorf("the tools were listed %d times more, want %d", n, tc.more)
				}
			})
		})
	}
}

func TestListsAreReadAnewOnceSomebodyListens(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var held *exchange.Call
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(everything), handle: func(_ *fakeConn, call *exchange.Call) bool {
			if call.Method == wire.MethodListen {
				held = call
				return true
			}
			return false
		}})})
		wait(time.Second)
		c := r.world.conn(0)
		if n := len(callsTo(c, wire.MethodToolsList)); n != 1 {
			t.Fatalf("the tools were listed %d times before the server listened", n)
		}
		c.emit(&exchange.Notification{Related: held.ID, Method: wire.NoteAcknowledged, Params: []byte(`{}`)})
		wait(time.Second)
		if n := len(callsTo(c, wire.MethodToolsList)); n != 2 {
			t.Errorf("the tools were listed %d times after it did", n)
		}
	})
}
