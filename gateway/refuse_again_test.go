package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"durward/internal/approval"
	"durward/internal/wire"
)

const asksAboutEcho = "rules:\n- {id: asks, on: [tools/call], tools: [echo], action: ask, ask: {remember: grant}}\n"

// A person approves a call as it was when it was asked about. What changed while the
// call waited counts: rules, what they rewrite, and what the server offers.
func TestB22_AnApprovalIsForWhatWasAskedAbout(t *testing.T) {
	r := startRuled(t, userRules(asksAboutEcho))
	first := r.surface
	redefine := func(t *testing.T, old, now string) {
		t.Helper()
		r.surface.Tools = append([]json.RawMessage(nil), first.Tools...)
		replace(&r.surface, old, now)
		r.shift(t)
	}
	for name, tt := range map[string]struct {
		meanwhile func(t *testing.T)
		reason    string // empty: the call is made
		detail    string // in the record
	}{
		"nothing changes": {func(*testing.T) {}, "", ""},
		"a rule blocks it": {func(t *testing.T) {
			t.Helper()
			r.swap(t, userRules(asksAboutEcho+"- {id: stop, tools: [echo], action: block, reason: no more}\n"))
		}, "rule", "no more"},
		"the default blocks": {func(t *testing.T) { t.Helper(); r.swap(t, userRules("default: block\n")) }, "default", "the layer user"},
		"another rule asks, too": {func(t *testing.T) {
			t.Helper()
			r.swap(t, userRules(asksAboutEcho+"- {id: more, tools: [echo], action: ask}\n"))
		}, "changed", "other rules ask"},
		"another rule would let it pass": {func(t *testing.T) { t.Helper(); r.swap(t, userRules("rules: []\n")) }, "", ""},
		"rules rewrite it": {func(t *testing.T) {
			t.Helper()
			r.swap(t, userRules(asksAboutEcho+"- {id: other, tools: [echo], action: rewrite, set: {/text: '\"y\"'}}\n"))
		}, "changed", "rewrite"},
		"its description changes": {func(t *testing.T) { t.Helper(); redefine(t, "Says it again.", "Says it to everybody.") }, "pin", "held"},
		"its description changes and is accepted": {func(t *testing.T) {
			t.Helper()
			redefine(t, "Says it again.", "Says it to "+t.Name())
			r.accept(t)
		}, "pin", "another way"},
		"it is gone": {func(t *testing.T) {
			t.Helper()
			r.surface.Tools = first.Tools[1:]
			r.shift(t)
		}, "changed", "does not offer it"},
	} {
		for era, c := range r.clients(t, "/mcp") {
			t.Run(name+", "+era, func(t *testing.T) {
				before := r.executed(t)
				id := r.begin(t, c, `{"text":"x"}`)
				tt.meanwhile(t)
				r.reply(t, id, approval.Reply{Approve: true})
				a := await(t, "the end of the call", r.done)
				match, end := r.last()
				if tt.reason == "" {
					if a.Text() != "x" || r.executed(t) != before+1 || end != "ok" {
						t.Errorf("%s: %s %s", end, a.Msg.Result, a.Msg.Error)
					}
				} else if a.Code() != wire.CodeRefused || !strings.Contains(string(a.Msg.Error), `"reason":"`+tt.reason+`"`) || r.executed(t) != before ||
					end != "refused" || match.Action != "block" || !strings.Contains(match.Detail, "after it was approved: ") || !strings.Contains(match.Detail, tt.detail) {
					t.Errorf("%s, %+v: %s %s", end, match, a.Msg.Result, a.Msg.Error)
				}
				r.swap(t, userRules(asksAboutEcho))
				r.surface = first
				r.shift(t)
				r.accept(t)
			})
		}
	}
}
