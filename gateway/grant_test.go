package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"durward"
	"durward/internal/approval"
	"durward/internal/wire"
	"durward/policy"
)

// A grant lets the call pass that it was given for, for as long as it was given, and
// nothing else: by real calls, in both eras.
func TestB23_AGrantHoldsForWhatItSays(t *testing.T) {
	const corpAsks = "rules: [{id: corp-asks, tools: [echo], action: ask%s}]\n"
	type step struct {
		what      string
		do        func(t *testing.T, r *ruled) // before the call
		arguments string
		asks      bool
	}
	grant := approval.Reply{Approve: true, Scope: durward.ScopeGrant, For: time.Hour}
	widened := approval.Reply{Approve: true, Scope: durward.ScopeGrant, For: time.Hour, Patterns: map[string]string{"/text": "a*"}}
	pass := func(d time.Duration) func(*testing.T, *ruled) {
		return func(_ *testing.T, r *ruled) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.later += d
		}
	}
	for name, tt := range map[string]struct {
		reply approval.Reply
		steps []step
	}{
		"a grant": {grant, []step{
			{"the same", nil, `{"n":1,"text":"ab"}`, false},
			{"the same, spelled otherwise", nil, `{ "text": "\u0061b", "n": 1 }`, false},
			{"another value", nil, `{"n":1,"text":"ac"}`, true},
			{"one more", nil, `{"n":1,"text":"ab","raw":"x"}`, true},
			{"one less", nil, `{"text":"ab"}`, true},
			{"just in time", pass(59 * time.Minute), `{"n":1,"text":"ab"}`, false},
			{"too late", pass(2 * time.Minute), `{"n":1,"text":"ab"}`, true},
		}},
		"a grant with a pattern": {widened, []step{
			{"the same", nil, `{"n":1,"text":"ab"}`, false},
			{"what the pattern takes", nil, `{"n":1,"text":"anything"}`, false},
			{"what it does not take", nil, `{"n":1,"text":"b"}`, true},
			{"a path that leads out", nil, `{"n":1,"text":"a/../b"}`, true},
			{"another value elsewhere", nil, `{"n":2,"text":"ab"}`, true},
			{"one more", nil, `{"n":1,"text":"ab","raw":"x"}`, true},
			{"too late", pass(61 * time.Minute), `{"n":1,"text":"ab"}`, true},
		}},
		"this call only": {approval.Reply{Approve: true}, []step{{"the same", nil, `{"n":1,"text":"ab"}`, true}}},
		"the tool changes": {grant, []step{
			{"as it was accepted now", func(t *testing.T, r *ruled) {
				t.Helper()
				replace(&r.surface, "Says it again.", "Says it.")
				r.shift(t)
				r.accept(t)
			}, `{"n":1,"text":"ab"}`, true},
		}},
		"corp asks, too": {grant, []step{
			{"and lets nothing be remembered", func(t *testing.T, r *ruled) {
				t.Helper()
				r.swap(t, map[policy.Layer]string{policy.User: asksAboutEcho, policy.Corp: fmt.Sprintf(corpAsks, "")})
			}, `{"n":1,"text":"ab"}`, true},
			{"and lets grants be given, for itself", func(t *testing.T, r *ruled) {
				t.Helper()
				r.swap(t, map[policy.Layer]string{policy.User: asksAboutEcho, policy.Corp: fmt.Sprintf(corpAsks, ", ask: {remember: grant}")})
			}, `{"n":1,"text":"ab"}`, true},
			{"and no more", func(t *testing.T, r *ruled) { t.Helper(); r.swap(t, userRules(asksAboutEcho)) }, `{"n":1,"text":"ab"}`, false},
		}},
		"it is revoked": {grant, []step{
			{"", func(t *testing.T, r *ruled) {
				t.Helper()
				if _, err := r.desk.Revoke(t.Context(), r.desk.Grants()[0].ID); err != nil {
					t.Fatal(err)
				}
			}, `{"n":1,"text":"ab"}`, true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRuled(t, userRules(asksAboutEcho))
			id := r.begin(t, r.modern("/mcp"), `{"n":1,"text":"ab"}`)
			r.reply(t, id, tt.reply)
			if a := await(t, "the end of the call", r.done); a.Text() != "ab" {
				t.Fatalf("%s %s", a.Msg.Result, a.Msg.Error)
			}
			for _, s := range tt.steps {
				if s.do != nil {
					s.do(t, r)
				}
				for era, c := range r.clients(t, "/mcp") {
					if got := r.asks(t, c, s.arguments); got != s.asks {
						t.Errorf("%s, %s: asked %v", s.what, era, got)
					}
				}
			}
		})
	}
}

// No grant beats a block: not of a rule, not of a default, and not of a pin.
func TestB23_AGrantBeatsNoBlock(t *testing.T) {
	r := startRuled(t, userRules(asksAboutEcho))
	r.reply(t, r.begin(t, r.modern("/mcp"), `{"text":"ab"}`), approval.Reply{Approve: true, Scope: durward.ScopeGrant})
	if a := await(t, "the end of the call", r.done); a.Text() != "ab" {
		t.Fatalf("%s %s", a.Msg.Result, a.Msg.Error)
	}
	for what, docs := range map[string]map[policy.Layer]string{
		"a rule of the user": userRules(asksAboutEcho + "- {id: no, tools: [echo], action: block}\n"),
		"a rule of corp":     {policy.User: asksAboutEcho, policy.Corp: "rules: [{id: no, tools: [echo], action: block}]"},
		"a default of corp":  {policy.User: asksAboutEcho, policy.Corp: "tools: {h: {echo: block}}"},
	} {
		r.swap(t, docs)
		for era, c := range r.clients(t, "/servers/h/mcp") {
			if a := call(t, c, "echo", `{"text":"ab"}`); a.Code() != wire.CodeRefused {
				t.Errorf("%s, %s: %s %s", what, era, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	r.swap(t, userRules(asksAboutEcho))
	replace(&r.surface, "Says it again.", "Says it.")
	r.shift(t)
	for era, c := range r.clients(t, "/mcp") {
		heldBack(t, era, call(t, c, "h__echo", `{"text":"ab"}`))
	}
	if n := r.executed(t); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

// An answer for the session is for that session, and ends with it.
func TestB23_AnAnswerForTheSessionIsForThatSession(t *testing.T) {
	r := startRuled(t, userRules(asksAboutEcho))
	c, other := r.legacy(t, "/mcp"), r.legacy(t, "/mcp")
	r.reply(t, r.begin(t, c, `{"text":"ab"}`), approval.Reply{Approve: true, Scope: durward.ScopeSession})
	if a := await(t, "the end of the call", r.done); a.Text() != "ab" {
		t.Fatalf("%s %s", a.Msg.Result, a.Msg.Error)
	}
	if r.asks(t, c, `{"text":"ab"}`) {
		t.Error("the same call in its session is asked about")
	}
	want := durward.Match{Stage: "request", Layer: "user", Rule: "asks", Action: "ask", Effective: "granted by " + r.desk.Grants()[0].ID, Detail: "approved by ann"}
	if m, end := r.last(); m != want || end != "ok" {
		t.Errorf("what let it pass is not on record: %+v %s", m, end)
	}
	if !r.asks(t, c, `{"text":"ac"}`) || !r.asks(t, other, `{"text":"ab"}`) || !r.asks(t, r.modern("/mcp"), `{"text":"ab"}`) {
		t.Error("another call, or another session, is not asked about")
	}
	r.desk.SessionEnded(r.desk.Grants()[0].Session) // as the service tells when it ends
	if len(r.desk.Grants()) != 0 || !r.asks(t, c, `{"text":"ab"}`) {
		t.Error("it outlives its session")
	}
}
