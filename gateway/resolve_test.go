package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/taskserver"
	"durward/internal/wire"
)

// A method that nobody knows reaches the server that its parameters name.
func TestUnknownMethods(t *testing.T) {
	web := &taskserver.Server{}
	r := start(t, gateway.Options{
		Servers:  []durward.Server{taskOverHTTP(t, "web", web), taskProcess("old", "-legacy"), taskProcess("other")},
		Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"web__work", "old__echo"}}},
	})
	for _, name := range []string{"web", "old", "other"} {
		r.await(t, name, isReady)
	}
	id := begin(t, r.tasker("/mcp", ""), "web__work", `{}`)
	params := func(a *rawclient.Answer) string {
		got := wire.Get(a.Msg.Result, "params")
		return string(wire.AppendObject(nil, got, func(name string) bool { return name == "_meta" }))
	}
	for _, tt := range []struct{ route, params, want string }{
		{"/servers/web/mcp", `{"name":"web__echo","uri":"durward://web/x","x":1e400}`, `{"name":"web__echo","uri":"durward://web/x","x":1e400}`},
		{"/servers/web/mcp", `{}`, `{}`},
		{"/servers/web/mcp", `{"taskId":"` + id + `"}`, `{"taskId":"task-1"}`},
		{"/servers/web/mcp", `{"taskId":"not of ours"}`, `{"taskId":"not of ours"}`},
		{"/mcp", `{"taskId":"` + id + `","name":"other__echo"}`, `{"taskId":"task-1","name":"other__echo"}`},
		{"/mcp", `{"name":"web__echo","x":[1,2]}`, `{"name":"echo","x":[1,2]}`},
		{"/mcp", `{"name":"other__hello"}`, `{"name":"hello"}`}, // a prompt
		{"/mcp", `{"name":"ignored","uri":"durward://other/x%3Ay"}`, `{"name":"ignored","uri":"x:y"}`},
		{"/toolsets/some/mcp", `{"name":"web__work"}`, `{"name":"work"}`},
		{"/toolsets/some/mcp", `{"uri":"ui://taskserver/view.html"}`, ""},
		{"/toolsets/some/mcp", `{"name":"web__echo"}`, ""},
		{"/mcp", `{"name":"web__nope"}`, ""},
		{"/mcp", `{"name":"echo"}`, ""},
		{"/mcp", `{"uri":"nobody:has/this"}`, ""},
		{"/mcp", `{"taskId":"made-up"}`, ""},
		{"/mcp", `{"taskId":"made-up","name":"web__echo"}`, ""},
	} {
		a := do(t, r.tasker(tt.route, ""), "vendor/thing", tt.params)
		if tt.want == "" {
			if a.Code() != wire.CodeInvalidParams {
				t.Errorf("%s %s: %s %s", tt.route, tt.params, a.Msg.Result, a.Msg.Error)
			}
			continue
		}
		if got := params(a); got != tt.want {
			t.Errorf("%s %s: the server got %s %s, want %s", tt.route, tt.params, got, a.Msg.Error, tt.want)
		}
	}
	for _, route := range []string{"/mcp", "/toolsets/some/mcp"} {
		for _, p := range []string{`{}`, `{"x":1}`, `{"ref":{"name":"web__echo"}}`, `{"cursor":"x"}`} {
			if a := do(t, r.modern(route), "vendor/thing", p); a.Code() != wire.CodeMethodNotFound || a.Status != http.StatusNotFound {
				t.Errorf("%s %s: status %d, %s %s", route, p, a.Status, a.Msg.Result, a.Msg.Error)
			}
			if a := do(t, r.legacy(t, route), "vendor/thing", p); a.Code() != wire.CodeMethodNotFound {
				t.Errorf("%s %s: %s %s", route, p, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	for era, c := range r.clients(t, "/mcp") {
		if got := params(do(t, c, "vendor/thing", `{"name":"old__echo"}`)); got != `{"name":"echo"}` {
			t.Errorf("%s: a legacy server got %s", era, got)
		}
	}
}

// The rules see whose an unknown method is.
func TestB15_UnknownMethodsAreDecidedLikeOthers(t *testing.T) {
	r, g := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		g.taken()
		do(t, c, "vendor/thing", `{"name":"h__set"}`)
		if notes := g.taken(); !strings.HasPrefix(notes, "decide vendor/thing h set ") || !strings.Contains(notes, "intent block") {
			t.Errorf("%s:\n%s", era, notes)
		}
	}
}

// What a server says that nobody knows is heard on its own route, by clients that
// hear of things they did not ask for.
func TestUnknownNotificationsStayOnTheServersRoute(t *testing.T) {
	r := start(t, gateway.Options{
		Servers: []durward.Server{taskProcess("old", "-legacy"), hostileServer("h")}, Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"*"}}},
	})
	r.await(t, "old", isReady)
	r.await(t, "h", isReady)
	streams := map[string]*listened{}
	for _, route := range []string{"/mcp", "/servers/old/mcp", "/servers/h/mcp", "/toolsets/some/mcp"} {
		streams[route] = streamOf(t, r.legacy(t, route))
	}
	modern, _ := listenTo(t, r.modern("/servers/old/mcp"), `{"toolsListChanged":true}`)
	teller := r.legacy(t, "/servers/old/mcp")
	tell := func() {
		call(t, teller, "tell", `{"method":"notifications/vendor","params":{"x":1e400}}`)
	}
	tell()
	// Streams may open a moment after the session: it is told until it is heard.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for heard := false; !heard; {
		select {
		case m := <-streams["/servers/old/mcp"].notes:
			if heard = m.Method == "notifications/vendor"; !heard || string(m.Params.Raw) != `{"x":1e400}` {
				t.Fatalf("%s %s", m.Method, m.Params.Raw)
			}
		case <-tick.C:
			tell()
		case <-t.Context().Done():
			t.Fatal("it was never heard")
		}
	}
	delete(streams, "/servers/old/mcp")
	streams["a modern client"] = modern
	for route, l := range streams {
		l.stop()
		for m := range l.notes {
			t.Errorf("%s heard %s %s", route, m.Method, m.Params.Raw)
		}
	}
}
