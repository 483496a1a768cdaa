package policy_test

import (
	"strings"
	"testing"
	"time"

	"durward"
	"durward/policy"
)

// compile makes a set of YAML: each text is a layer, written "user:" and so on in
// front of its document.
func compile(t testing.TB, docs map[policy.Layer]string) *policy.Set {
	t.Helper()
	set, problems := tryCompile(t, docs)
	if len(problems) > 0 {
		t.Fatalf("the policy has problems:\n%v", problems)
	}
	return set
}

func tryCompile(t testing.TB, docs map[policy.Layer]string) (*policy.Set, string) {
	t.Helper()
	var parsed []policy.Document
	for _, layer := range []policy.Layer{policy.Builtin, policy.Package, policy.User, policy.Corp} {
		text, ok := docs[layer]
		if !ok {
			continue
		}
		doc, problems := policy.ParseFile(layer.String()+".yaml", []byte(text), layer)
		if len(problems) > 0 {
			return nil, problems.Error()
		}
		parsed = append(parsed, *doc)
	}
	set, problems := policy.Compile(parsed, policy.CompileOptions{})
	if len(problems) > 0 {
		return nil, problems.Error()
	}
	return set, ""
}

func user(text string) map[policy.Layer]string { return map[policy.Layer]string{policy.User: text} }

func engine(t testing.TB, set *policy.Set, more ...func(*policy.Options)) *policy.Engine {
	t.Helper()
	opt := policy.Options{Set: set}
	for _, f := range more {
		f(&opt)
	}
	e, err := policy.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// call is a tools/call of github's push with arguments.
func call(args string, more ...func(*durward.Call)) *durward.Call {
	c := &durward.Call{
		ID: durward.NewCallID(), Caller: durward.Caller{Principal: "local", Entrance: durward.EntranceHTTP, Session: "s1"},
		Method: "tools/call", Received: time.Unix(1_800_000_000, 0), RequestID: []byte("1"),
		Server: "github", Name: "push", FullName: "github__push", Transport: durward.TransportStdio,
		Tool: &durward.Tool{Hash: "h", Floor: durward.RiskMedium}, Risk: durward.RiskMedium,
	}
	if args != "" {
		c.Arguments = []byte(args)
		c.Params = []byte(`{"name":"push","arguments":` + args + `,"_meta":{"k":1}}`)
	} else {
		c.Params = []byte(`{"name":"push"}`)
	}
	for _, f := range more {
		f(c)
	}
	return c
}

func tool(server, name string) func(*durward.Call) {
	return func(c *durward.Call) { c.Server, c.Name, c.FullName = server, name, server+"__"+name }
}

func hints(json string, floor durward.Risk) func(*durward.Call) {
	return func(c *durward.Call) {
		c.Tool = &durward.Tool{Annotations: []byte(json), Hash: "h", Floor: floor}
	}
}

func method(name string) func(*durward.Call) {
	return func(c *durward.Call) { c.Method, c.Server, c.Name, c.FullName = name, "", "", "" }
}

func decide(t testing.TB, e *policy.Engine, c *durward.Call) durward.Decision {
	t.Helper()
	d, err := e.Decide(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// clock is a time that tests move.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func (c *clock) set(o *policy.Options) { o.Now = func() time.Time { return c.now } }
func (c *clock) pass(d time.Duration)  { c.now = c.now.Add(d) }

// pins answers with one state for everything, or by name.
type pins map[string]string

func (p pins) Pin(_, kind, name, _ string) string {
	if s, ok := p[kind+"/"+name]; ok {
		return s
	}
	return p[""]
}

func (p pins) set(o *policy.Options) { o.Pins = p }

func short(d durward.Decision) string {
	parts := []string{d.Action.String(), d.Layer + "/" + d.Rule}
	if d.Cause != "" {
		parts = append(parts, d.Cause)
	}
	return strings.Join(parts, " ")
}
