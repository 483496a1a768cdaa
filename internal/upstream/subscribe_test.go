package upstream_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// paramsOf returns the params of all calls of a method, in order.
func paramsOf(c *fakeConn, method string) string {
	var all []string
	for _, call := range callsTo(c, method) {
		all = append(all, string(call.Params.Raw))
	}
	return strings.Join(all, " ")
}

func subscribe(t *testing.T, r *rig, uris ...string) {
	t.Helper()
	for _, uri := range uris {
		if err := r.Subscribe(context.Background(), uri); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLegacySubscriptionsAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(everything)})})
		subscribe(t, r, "a:1", "a:1", `a:"2"`)
		c := r.world.conn(0)
		if got := paramsOf(c, wire.MethodSubscribe); got != `{"uri":"a:1"} {"uri":"a:\"2\""}` {
			t.Errorf("subscribed %s", got)
		}
		r.Unsubscribe("a:1")
		r.Unsubscribe("never")
		synctest.Wait()
		if got := paramsOf(c, wire.MethodUnsubscribe); got != "" {
			t.Errorf("unsubscribed %s while one is left", got)
		}
		r.Unsubscribe("a:1")
		synctest.Wait()
		if got := paramsOf(c, wire.MethodUnsubscribe); got != `{"uri":"a:1"}` {
			t.Errorf("unsubscribed %s", got)
		}
		c.die()
		synctest.Wait()
		if got := paramsOf(r.world.conn(1), wire.MethodSubscribe); got != `{"uri":"a:\"2\""}` {
			t.Errorf("a new connection was told %s", got)
		}
	})
}

func TestASubscriptionTheServerRefusesDoesNotStand(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(everything), handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodSubscribe {
				return false
			}
			c.failure(call.ID, wire.CodeResourceNotFound, "no such resource")
			return true
		}})})
		for range 2 {
			if err := r.Subscribe(context.Background(), "a:1"); err == nil || !contains(err.Error(), "no such resource") {
				t.Errorf("Subscribe says %v", err)
			}
		}
		r.world.conn(0).die()
		synctest.Wait()
		if got := paramsOf(r.world.conn(1), wire.MethodSubscribe); got != "" {
			t.Errorf("a new connection was told %s", got)
		}
	})
}

func TestModernSubscriptionsShareOneListen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(everything)})})
		const filters = `"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true`
		c := r.world.conn(0)
		if got := paramsOf(c, wire.MethodListen); got != `{"notifications":{`+filters+`}}` {
			t.Fatalf("listens to %s", got)
		}
		began := time.Now()
		done := make(chan error, 3)
		for _, uri := range []string{"b:1", "a:1", "c:1"} {
			go func() { done <- r.Subscribe(context.Background(), uri) }()
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("subscribing took %s", took)
		}
		listens := callsTo(c, wire.MethodListen)
		if n := len(listens); n > 3 {
			t.Errorf("%d listens for three subscriptions at once", n)
		}
		if got := string(listens[len(listens)-1].Params.Raw); got != `{"notifications":{`+filters+`,"resourceSubscriptions":["a:1","b:1","c:1"]}}` {
			t.Errorf("listens to %s", got)
		}
		if cancels := sentTo[*exchange.Cancel](c); len(cancels) != len(listens)-1 || cancels[0].ID != listens[0].ID {
			t.Errorf("%d listens, %d of them closed", len(listens), len(cancels))
		}
		c.die()
		synctest.Wait()
		if got := paramsOf(r.world.conn(1), wire.MethodListen); !contains(got, `["a:1","b:1","c:1"]`) {
			t.Errorf("a new connection listens to %s", got)
		}
		for _, uri := range []string{"b:1", "a:1", "c:1"} {
			r.Unsubscribe(uri)
		}
		wait(time.Second)
		listens = callsTo(r.world.conn(1), wire.MethodListen)
		if got := string(listens[len(listens)-1].Params.Raw); got != `{"notifications":{`+filters+`}}` {
			t.Errorf("listens to %s", got)
		}
	})
}

func TestNothingToListenTo(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(act{opened: modernOpened(`{"tools":{}}`)})})
		if n := len(callsTo(r.world.conn(0), wire.MethodListen)); n != 0 {
			t.Errorf("%d listens", n)
		}
		subscribe(t, r, "a:1")
		if got := paramsOf(r.world.conn(0), wire.MethodListen); got != `{"notifications":{"resourceSubscriptions":["a:1"]}}` {
			t.Errorf("listens to %s", got)
		}
	})
}

func TestAListenThatEndsIsOpenedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		end    exchange.Response
		within time.Duration
		most   int // listens in an hour
	}{
		"in order":       {exchange.Response{Reply: exchange.Reply{Result: []byte(`{}`)}}, 2 * time.Second, 4000},
		"by a fault":     {exchange.Response{Fault: &exchange.Fault{Message: "the stream broke"}}, 10 * time.Second, 30},
		"with a refusal": {exchange.Response{Reply: exchange.Reply{Error: []byte(`{"code":-32601,"message":"no"}`)}}, 10 * time.Second, 30},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, overHTTP(), &world{script: always(act{opened: modernOpened(everything), handle: func(c *fakeConn, call *exchange.Call) bool {
					if call.Method != wire.MethodListen {
						return false
					}
					end := tc.end
					end.ID = call.ID
					c.emit(&end)
					return true
				}})})
				c := r.world.conn(0)
				wait(tc.within)
				if n := len(callsTo(c, wire.MethodListen)); n < 2 {
					t.Errorf("%d listens", n)
				}
				wait(time.Hour)
				if n := len(callsTo(c, wire.MethodListen)); n > tc.most {
					t.Errorf("%d listens in an hour", n)
				}
				if n := len(r.world.openings()); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

func TestAnOpenListenKeepsNobodyBusy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: modernOpened(everything)})})
		wait(5 * time.Minute)
		if n := len(callsTo(r.world.conn(0), wire.MethodDiscover)); n != 0 {
			t.Errorf("an idle connection was probed %d times", n)
		}
		wait(10 * time.Minute)
		if !r.world.conn(0).isStopped() {
			t.Error("it was not stopped although nobody uses it")
		}
	})
}

func TestSubscriptionsKeepTheServerRunning(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(everything)})})
		subscribe(t, r, "a:1")
		wait(time.Hour)
		if r.world.conn(0).isStopped() {
			t.Error("a server with a subscription was stopped")
		}
	})
}

func TestSubscriptionsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(everything)})}, func(o *upstream.Options) { o.Limits.Subscriptions = 2 })
		subscribe(t, r, "a:1", "a:2", "a:1")
		if err := r.Subscribe(context.Background(), "a:3"); err == nil || !contains(err.Error(), "limits.subscriptions") {
			t.Errorf("Subscribe says %v", err)
		}
	})
}
