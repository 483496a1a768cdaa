package gateway_test

import (
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

func TestCallsThroughEveryRoute(t *testing.T) {
	g := ready(t, gateway.Options{
		Builtin: true, Servers: []durward.Server{hostileServer("h")},
		Toolsets: []durward.Toolset{{Name: "mine", Tools: []string{"h__echo", "local__*"}}},
	})
	for _, tt := range []struct{ route, tool, arguments, want string }{
		{"/mcp", "h__echo", `{"text":"hello"}`, "hello"},
		{"/mcp", "local__echo", `{"message":"hello"}`, "hello"},
		{"/servers/h/mcp", "echo", `{"text":"hello"}`, "hello"},
		{"/servers/local/mcp", "echo", `{"message":"hello"}`, "hello"},
		{"/toolsets/mine/mcp", "h__echo", `{"text":"hello"}`, "hello"},
	} {
		for era, c := range g.clients(t, tt.route) {
			t.Run(era+tt.route+" "+tt.tool, func(t *testing.T) {
				a := call(t, c, tt.tool, tt.arguments)
				if a.Text() != tt.want {
					t.Errorf("status %d, %s %s", a.Status, a.Msg.Result, a.Msg.Error)
				}
			})
		}
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	g := ready(t, gateway.Options{
		Builtin: true, Servers: []durward.Server{hostileServer("h")},
		Toolsets: []durward.Toolset{{Name: "mine", Tools: []string{"local__*"}}},
	})
	for _, tt := range []struct {
		route, tool string
		code        int
	}{
		{"/mcp", "h__nope", -32602},
		{"/mcp", "nobody__echo", -32602},
		{"/mcp", "echo", -32602},
		{"/servers/h/mcp", "h__echo", -32602},
		{"/toolsets/mine/mcp", "h__echo", -32602},
	} {
		for era, c := range g.clients(t, tt.route) {
			if a := call(t, c, tt.tool, `{}`); a.Code() != tt.code || a.Status >= 500 {
				t.Errorf("%s %s %s: status %d, %s", era, tt.route, tt.tool, a.Status, a.Msg.Error)
			}
		}
	}
	for _, route := range []string{"/servers/nobody/mcp", "/toolsets/nobody/mcp"} {
		a, err := g.modern(route).Do(t.Context(), "tools/list", `{}`)
		if err != nil || a.Msg.Error == nil || !strings.Contains(a.Message(), "nobody") {
			t.Errorf("%s: %v %s", route, err, a.Body)
		}
	}
}

func TestErrorsRepeatLittleOfWhatTheyWereSent(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("a"), hostileServer("b")}})
	g.await(t, "a", isReady)
	g.await(t, "b", isReady)
	long := strings.Repeat("x", 1<<16)
	for era, c := range g.clients(t, "/mcp") {
		for _, a := range []*rawclient.Answer{
			call(t, c, long, `{}`),
			do(t, c, "resources/read", `{"uri":"`+long+`"}`),
			do(t, c, "prompts/get", `{"name":"`+long+`"}`),
			do(t, c, long, `{}`),
		} {
			if a.Msg.Error == nil || len(a.Msg.Error) > 1000 {
				t.Errorf("%s: %d bytes of error for a name of %d", era, len(a.Msg.Error), len(long))
			}
		}
		a := do(t, c, "resources/read", `{"uri":"no:such/thing"}`)
		if a.Code() != -32602 || string(wire.Get(wire.Get(a.Msg.Error, "data"), "uri")) != `"no:such/thing"` {
			t.Errorf("%s: %s", era, a.Msg.Error)
		}
		// Both servers list it: the caller has to say whose it means.
		if a := do(t, c, "resources/read", `{"uri":"hostile://state"}`); a.Code() != -32602 || !strings.Contains(a.Message(), "servers a, b") {
			t.Errorf("%s: %s", era, a.Msg.Error)
		}
		if a := do(t, c, "resources/read", `{"uri":"durward://b/hostile://state"}`); a.Msg.Error != nil {
			t.Errorf("%s: %s", era, a.Msg.Error)
		}
	}
}
