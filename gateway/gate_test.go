package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/wire"
)

// gate decides by the name of the tool and notes what passes.
type gate struct {
	mu           sync.Mutex // guards all below
	notes        []string
	refuseIntent bool
}

func (g *gate) note(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.notes = append(g.notes, s)
}

func (g *gate) taken() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := strings.Join(g.notes, "\n")
	g.notes = nil
	return all
}

func (g *gate) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	g.note("decide " + c.Method + " " + c.Server + " " + c.Name + " " + string(c.Arguments))
	switch {
	case c.Name == "set":
		return durward.Decision{Action: durward.Block, Rule: "no-set"}, nil
	case c.Name == "get":
		return durward.Decision{}, errors.New("the rule is broken")
	case c.Name == "env":
		panic("a defect")
	}
	return durward.Decision{Action: durward.Allow}, nil
}

func (g *gate) DecideResult(_ context.Context, _ *durward.Call, result []byte) (durward.Decision, error) {
	g.note("result")
	if strings.Contains(string(result), "classified") {
		return durward.Decision{Action: durward.Block}, nil
	}
	if strings.Contains(string(result), "explosive") {
		panic("a defect")
	}
	return durward.Decision{Action: durward.Allow}, nil
}

func (*gate) Visible(_ *durward.Caller, tool *durward.Call) bool { return tool.Name != "set" }

func (g *gate) Intent(_ context.Context, c *durward.Call, d durward.Decision) error {
	g.note("intent " + d.Action.String() + " " + c.Caller.Principal + " " + string(c.Caller.Entrance))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuseIntent {
		return durward.Errorf(durward.Unavailable, "ledger", "the disk is full")
	}
	return nil
}

func (g *gate) Outcome(_ context.Context, _ *durward.Call, o durward.Outcome) {
	if o.Dispatched.IsZero() != (o.Attempts == 0) || o.Dispatched.After(o.Finished) {
		g.note("not dispatched when it was")
	}
	g.note("outcome " + string(o.Status))
}

func gated(t *testing.T) (*running, *gate) {
	t.Helper()
	g := &gate{}
	r := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Decider: g, Recorder: g})
	r.await(t, "h", isReady)
	return r, g
}

func TestEveryCallIsDecidedWrittenDoneReviewedAndWritten(t *testing.T) {
	r, g := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		g.taken()
		call(t, c, "h__echo", `{"text":"x"}`)
		want := "decide tools/call h echo {\"text\":\"x\"}\nintent allow local http\nresult\noutcome ok"
		if got := g.taken(); got != want {
			t.Errorf("%s:\n%s\nwanted\n%s", era, got, want)
		}
		for method, params := range map[string]string{
			"tools/list": `{}`, "prompts/list": `{}`, "resources/list": `{}`, "resources/templates/list": `{}`,
			"prompts/get": `{"name":"h__greet"}`, "resources/read": `{"uri":"hostile://state"}`,
		} {
			do(t, c, method, params)
			if got := g.taken(); !strings.HasPrefix(got, "decide "+method) || !strings.HasSuffix(got, "outcome ok") {
				t.Errorf("%s %s passed the gate as:\n%s", era, method, got)
			}
		}
	}
}

func TestWhatIsBlockedIsNotDone(t *testing.T) {
	r, g := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		for _, tool := range []string{"h__set", "h__get"} { // by a rule, and because a rule failed
			g.taken()
			a := call(t, c, tool, `{"name":"k","text":"v"}`)
			if a.Code() != wire.CodeRefused || strings.Contains(string(a.Msg.Error), "no-set") || strings.Contains(string(a.Msg.Error), "broken") {
				t.Errorf("%s %s: %s", era, tool, a.Msg.Error)
			}
			if got := g.taken(); !strings.HasSuffix(got, "intent block local http\noutcome refused") {
				t.Errorf("%s %s:\n%s", era, tool, got)
			}
		}
		if list := string(do(t, c, "tools/list", `{}`).Msg.Result); strings.Contains(list, `"h__set"`) || !strings.Contains(list, `"h__echo"`) {
			t.Errorf("%s: a tool that would be blocked is listed, or one that would not is missing", era)
		}
	}
}

func TestARefusedResultNeverReachesTheCaller(t *testing.T) {
	r, _ := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		a := call(t, c, "h__echo", `{"text":"classified"}`)
		if a.Code() != wire.CodeRefused || strings.Contains(string(a.Body), "classified") {
			t.Errorf("%s: %s", era, a.Body)
		}
	}
}

func TestNothingPassesThatCannotBeWritten(t *testing.T) {
	r, g := gated(t)
	c := r.modern("/mcp")
	g.mu.Lock()
	g.refuseIntent = true
	g.mu.Unlock()
	a := call(t, c, "h__echo", `{"text":"x"}`)
	if a.Code() != wire.CodeUnavailable || !strings.Contains(a.Message(), "disk is full") {
		t.Errorf("%s", a.Body)
	}
	if got := g.taken(); strings.Contains(got, "result") {
		t.Errorf("the call was made: %s", got)
	}
}

func TestADefectIsAnsweredAndHarmsNobodyElse(t *testing.T) {
	r, g := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		if a := call(t, c, "h__env", `{"name":"X"}`); a.Code() != wire.CodeInternal {
			t.Errorf("%s: %d %s", era, a.Status, a.Body)
		}
		g.taken()
		if a := call(t, c, "h__echo", `{"text":"explosive"}`); a.Code() != wire.CodeInternal || strings.Contains(string(a.Body), "explosive") {
			t.Errorf("%s: %d %s", era, a.Status, a.Body)
		}
		if got := g.taken(); !strings.HasSuffix(got, "result\noutcome unknown") { // it was made, and has an outcome
			t.Errorf("%s:\n%s", era, got)
		}
		if a := call(t, c, "h__echo", `{"text":"x"}`); a.Text() != "x" {
			t.Errorf("%s: %s", era, a.Body)
		}
	}
}

// What is for nothing we have is decided and recorded too: somebody tried.
func TestRequestsForNothingPassTheGate(t *testing.T) {
	r, g := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		for method, params := range map[string]string{
			"tools/call": `{"name":"h__nothing"}`, "prompts/get": `{"name":"nobody__x"}`, "resources/read": `{"uri":"no://where"}`, "vendor/unknown": `{}`,
		} {
			g.taken()
			a := do(t, c, method, params)
			if got := g.taken(); a.Msg.Error == nil || !strings.HasPrefix(got, "decide "+method) || !strings.HasSuffix(got, "outcome error") {
				t.Errorf("%s %s passed the gate as:\n%s\nand was answered %s", era, method, got, a.Body)
			}
		}
	}
}

// The zero value of the options is a gateway that lets nobody in by HTTP.
func TestTheZeroValueIsClosed(t *testing.T) {
	g, err := gateway.New(gateway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	g.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
}

// A server that fails gets no words past the rules.
func TestErrorsAreReviewedLikeResults(t *testing.T) {
	r, _ := gated(t)
	for era, c := range r.clients(t, "/mcp") {
		a := call(t, c, "h__echo", `{"text":"harmless"}`)
		if a.Text() != "harmless" {
			t.Fatalf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
		a = call(t, c, "h__rpcerror", `{"text":"this is classified"}`)
		if a.Msg.Error == nil || strings.Contains(string(a.Msg.Error), "classified") || a.Code() != wire.CodeRefused {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
	}
}
