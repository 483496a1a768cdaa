package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/gateway"
)

func owner() durward.Caller {
	return durward.Caller{Principal: "local", Entrance: durward.EntranceConsole}
}

func TestTheOwnersRequestsTakeTheSamePath(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("a")}})
	result, err := g.Do(t.Context(), gateway.Request{
		Caller: owner(), Method: "tools/call", Params: json.RawMessage(`{"name":"a__echo","arguments":{"text":"hello"}}`),
	})
	if err != nil || !strings.Contains(string(result), `"hello"`) {
		t.Errorf("%s %v", result, err)
	}
	var refused *gateway.CallError
	_, err = g.Do(t.Context(), gateway.Request{Caller: owner(), Method: "tools/call", Params: json.RawMessage(`{"name":"a__nothing"}`)})
	if !errors.As(err, &refused) || refused.Code != -32602 || durward.KindOf(err) != durward.Invalid {
		t.Errorf("an unknown tool: %v", err)
	}
	if _, err := g.Do(t.Context(), gateway.Request{Caller: owner(), Method: "tools/call", Params: json.RawMessage(`[`)}); durward.KindOf(err) != durward.Invalid {
		t.Errorf("broken parameters: %v", err)
	}
}

func TestItemsSayWhoseTheyAre(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("a")}})
	g.await(t, "a", isReady)
	items, err := g.Items(t.Context(), owner(), durward.Route{}, "tools")
	if err != nil || len(items) == 0 {
		t.Fatalf("%v %v", items, err)
	}
	for _, it := range items {
		if it.Server != "a" || it.Offered != "a__"+it.Native || !strings.Contains(string(it.Raw), `"`+it.Offered+`"`) {
			t.Errorf("%+v", it)
		}
	}
	if _, err := g.Items(t.Context(), owner(), durward.Route{}, "tool"); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	if _, err := g.Items(t.Context(), owner(), durward.Route{Kind: durward.RouteServer, Name: "b"}, "tools"); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
}

// recorder keeps what it is told.
type recorder struct{ states, lists chan string }

func (r recorder) ServerChanged(s durward.ServerStatus) { r.states <- s.Name + " " + string(s.State) }
func (r recorder) ListsChanged(kind string)             { r.lists <- kind }

func TestWatchTellsOfStatesAndLists(t *testing.T) {
	g := start(t, gateway.Options{})
	w := recorder{make(chan string, 100), make(chan string, 100)}
	stop := g.Watch(w)
	defer stop()
	if err := g.Reload(gateway.Options{Servers: []durward.Server{hostileServer("a")}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		from chan string
		what string
	}{{w.states, "a connecting"}, {w.states, "a ready"}, {w.lists, "tools"}} {
		awaitWord(t, want.from, want.what)
	}
	if err := g.RestartServer(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	awaitWord(t, w.states, "a ready")
	if err := g.RefreshServer(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{g.RestartServer(t.Context(), "b"), g.RefreshServer(t.Context(), "b")} {
		if durward.KindOf(err) != durward.NotFound {
			t.Error(err)
		}
	}
	stop()
	stop()
}

func awaitWord(t *testing.T, from chan string, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		select {
		case got := <-from:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("%q never came", want)
		}
	}
}

// The stderr of a server can be read while it runs and after it has ended.
func TestB26_ServerStderr(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("dead", "-start", "crash")}})
	g.await(t, "dead", func(s durward.ServerStatus) bool {
		return s.State == durward.StateBackoff && strings.Contains(s.Reason, "stderr")
	})
	said, err := g.ServerStderr("dead")
	if err != nil || len(said) == 0 {
		t.Errorf("%q %v", said, err)
	}
	if _, err := g.ServerStderr("nobody"); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
}

// Servers come, change and go while another is called all the time: none of its
// calls fails.
func TestB29_ReloadUnderLoadFailsNoCallOfOthers(t *testing.T) {
	busy := hostileServer("busy")
	g := start(t, gateway.Options{Servers: []durward.Server{busy}})
	g.await(t, "busy", isReady)
	ctx, cancel := context.WithCancel(t.Context())
	var calls, failed atomic.Int64
	var load sync.WaitGroup
	for _, c := range g.clients(t, "/mcp") {
		for range 4 {
			load.Go(func() {
				for ctx.Err() == nil {
					a, err := c.CallTool(context.WithoutCancel(ctx), "busy__echo", `{"text":"x"}`)
					calls.Add(1)
					if err != nil || a.Text() != "x" {
						failed.Add(1)
						t.Errorf("a call failed: %v %+v", err, a)
					}
				}
			})
		}
	}
	changes := hostileServer("changes")
	for i := range 12 {
		servers := []durward.Server{busy}
		switch i % 4 {
		case 0, 1: // comes, then is configured anew
			changes.Env = map[string]string{"ROUND": strings.Repeat("x", i+1)}
			servers = append(servers, changes)
		case 2: // is disabled
			off := changes
			off.Disabled = true
			servers = append(servers, off)
		} // else it goes
		if err := g.Reload(gateway.Options{Servers: servers}); err != nil {
			t.Error(err)
		}
		if broken := append(servers, durward.Server{Name: "Bad Name"}); g.Reload(gateway.Options{Servers: broken}) == nil {
			t.Error("a broken configuration was taken")
		}
		if i%4 < 2 {
			g.await(t, "changes", isReady)
		}
	}
	for calls.Load() < 100 && failed.Load() == 0 {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	cancel()
	load.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d calls, %d failed", calls.Load(), failed.Load())
	}
	t.Logf("%d calls, %d failed", calls.Load(), failed.Load())
}
