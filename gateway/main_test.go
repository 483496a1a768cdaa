package gateway_test

import (
	"context"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/launch"
	"durward/internal/testkit/hostile"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/taskserver"
)

// The test binary is also the hostile server, the one with tasks, the first one's grandchild, and the init of
// the servers' process trees.
func TestMain(m *testing.M) {
	launch.MaybeInit()
	if hostile.Asked() {
		hostile.Main()
	}
	if taskserver.Asked() {
		taskserver.Main()
	}
	if hostile.Grandchild() {
		hostile.Linger()
	}
	os.Exit(m.Run())
}

// hostileServer is a stdio server with the hostile server's flags.
func hostileServer(name string, flags ...string) durward.Server {
	command, args := hostile.Command(flags...)
	return durward.Server{Name: name, Command: command, Args: args}
}

// running is a gateway behind a real HTTP listener.
type running struct {
	*gateway.Gateway
	url string
}

func start(t *testing.T, opt gateway.Options) *running {
	t.Helper()
	opt.Access.NoAuth = len(opt.Access.Tokens) == 0
	g, err := gateway.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(g.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		if err := g.Close(); err != nil {
			t.Error("close:", err)
		}
		web.Close()
	})
	return &running{Gateway: g, url: web.URL}
}

// legacy opens a legacy session on a route.
func (r *running) legacy(t *testing.T, route string) *rawclient.Client {
	t.Helper()
	c := &rawclient.Client{URL: r.url + route}
	if _, err := c.Initialize(t.Context(), `{}`); err != nil {
		t.Fatal(err)
	}
	return c
}

// modern is a modern client of a route.
func (r *running) modern(route string) *rawclient.Client {
	return &rawclient.Client{URL: r.url + route, Modern: true}
}

// clients are one client of each era.
func (r *running) clients(t *testing.T, route string) map[string]*rawclient.Client {
	t.Helper()
	return map[string]*rawclient.Client{"legacy": r.legacy(t, route), "modern": r.modern(route)}
}

// do sends a request and fails the test if nothing comes back.
func do(t *testing.T, c *rawclient.Client, method, params string) *rawclient.Answer {
	t.Helper()
	a, err := c.Do(t.Context(), method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return a
}

// call calls a tool and fails the test if nothing comes back.
func call(t *testing.T, c *rawclient.Client, name, arguments string) *rawclient.Answer {
	t.Helper()
	a, err := c.CallTool(t.Context(), name, arguments)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a
}

// ready is start that waits until all servers are ready. A test that is not about servers
// that come up begins so: one that is held up between two of its lists is one that
// lacks something, for a while.
func ready(t *testing.T, opt gateway.Options) *running {
	t.Helper()
	r := start(t, opt)
	for _, s := range r.Status().Servers {
		r.await(t, s.Name, isReady)
	}
	return r
}

// await polls the state of a server until ok says so. What a server lists that is
// ready is there as well.
func (r *running) await(t *testing.T, name string, ok func(durward.ServerStatus) bool) durward.ServerStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, s := range r.Status().Servers {
			if s.Name == name && ok(s) {
				return s
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("server %s never came to the state: %+v", name, r.Status().Servers)
		case <-tick.C:
		}
	}
}

// await returns what comes from a channel, and fails the test if nothing does.
func await[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(time.Minute):
		t.Fatalf("%s never came", what)
	}
	return got
}

// untilTold reads events until what they tell of is there. A change may be told more
// than once, where the server that makes it is held up.
func untilTold[T any](t *testing.T, events <-chan T, there func() bool) (told int) {
	t.Helper()
	for {
		await(t, "an event", events)
		if told++; there() {
			return told
		}
	}
}

func isReady(s durward.ServerStatus) bool { return s.State == durward.StateReady }
