package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/policy"
)

// pastOf is what the ledger has of a decision.
func pastOf(c *durward.Call, d *durward.Decision, at time.Time, made bool) (all []policy.Past) {
	for _, m := range d.Matches {
		all = append(all, policy.Past{
			At: at, Layer: m.Layer, Rule: m.Rule, Effective: m.Effective, Detail: m.Detail, Action: d.Action, Made: made,
			Caller: c.Caller, Server: c.Server, Tool: c.Name, Bytes: int64(len(c.Params)),
		})
	}
	return all
}

// again is an engine that was told of the past as a service is that starts.
func again(t testing.TB, set *policy.Set, past []policy.Past, more ...func(*policy.Options)) *policy.Engine {
	t.Helper()
	e := engine(t, set, more...)
	for _, m := range e.Remembers() {
		for i := range past {
			if m.Wants(past[i].Layer, past[i].Rule) && slices.Contains(m.Rules, past[i].Rule) && !past[i].At.Before(m.Since) {
				e.Recall(&past[i])
			}
		}
	}
	return e
}

// An engine that was made anew and told of the past decides as the one that was there
// all the time.
func TestARestartResetsNoBudget(t *testing.T) {
	set := compile(t, user(`rules:
- {id: calls, action: block, limit: {calls: 5, per: 1d}}
- {id: bytes, action: block, tools: [b], limit: {bytes: 300, per: 1h, by: principal+tool}}
- {id: asks, action: block, tools: [c], limit: {approvals: 2, per: 1d, by: session}}
- {id: ask, action: ask, tools: [c]}
- {id: beyond, action: ask, tools: [d], limit: {calls: 2, per: 2h}}
`))
	rapid.Check(t, func(rt *rapid.T) {
		at := newClock()
		e := engine(t, set, at.set)
		var past []policy.Past
		for i := range rapid.IntRange(1, 25).Draw(rt, "calls") {
			at.pass(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Minute, 3 * time.Hour}).Draw(rt, "pause"))
			c := call(`{}`, tool("s", rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "tool")), func(c *durward.Call) {
				c.Caller.Principal = rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "principal")
				c.Caller.Session = durward.SessionID(rapid.SampledFrom([]string{"", "s1"}).Draw(rt, "session"))
			})
			if rapid.Bool().Draw(rt, "restart") {
				e = again(t, set, past, at.set)
			}
			d, _ := e.Decide(t.Context(), c)
			if other, _ := again(t, set, past, at.set).Decide(t.Context(), c); short(other) != short(d) {
				rt.Fatalf("call %d: %s after a restart, %s without", i, short(other), short(d))
			}
			made := d.Action == durward.Ask && rapid.Bool().Draw(rt, "approved")
			past = append(past, pastOf(c, &d, at.now, made)...)
			if made {
				e.Count(c, &d)
			}
		}
	})
}

func TestARestartForgetsNoLabel(t *testing.T) {
	set := compile(t, user("rules:\n- {id: a, action: block, when: '\"private-data\" in session.labels'}\n"))
	r, at := &runner{always: []string{"taint"}}, newClock()
	e := engine(t, set, r.set, at.set)
	var past []policy.Past
	told := 0
	for range 100 { // two days and more of calls, each of which would set the label, and is blocked
		c := call(`{}`)
		d, _ := e.Decide(t.Context(), c)
		past = append(past, pastOf(c, &d, at.now, false)...)
		for _, m := range d.Matches {
			if m.Rule == policy.RuleLabels {
				if told++; m.Detail != "private-data" {
					t.Errorf("%+v", m)
				}
			}
		}
		at.pass(30 * time.Minute)
	}
	if told < 4 || told > 6 {
		t.Errorf("the labels were recorded %d times", told)
	}
	silent := &runner{}
	if d := decide(t, again(t, set, past, silent.set, at.set), call(`{}`)); d.Action != durward.Block {
		t.Errorf("after a restart: %s", short(d))
	}
	if d := decide(t, again(t, set, past, silent.set, at.set), call(`{}`, func(c *durward.Call) { c.Caller.Session = "another" })); d.Action != durward.Allow {
		t.Errorf("another session: %s", short(d))
	}
	at.pass(40 * time.Hour)
	if d := decide(t, again(t, set, past, silent.set, at.set), call(`{}`)); d.Action != durward.Allow {
		t.Errorf("long after: %s", short(d))
	}
}

// A session that is in use keeps its labels; one of which nothing was heard for a day
// has none any more.
func TestLabelsEndWithTheUseOfTheirSession(t *testing.T) {
	set := compile(t, user("rules:\n- {id: a, action: block, when: '\"private-data\" in session.labels'}\n"))
	at := newClock()
	e := engine(t, set, at.set)
	c := call(`{}`)
	if err := e.Mark(&c.Caller, "private-data"); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		at.pass(20 * time.Hour)
		if d := decide(t, e, c); d.Action != durward.Block {
			t.Fatalf("%s: refused calls are calls, too", short(d))
		}
	}
	at.pass(25 * time.Hour)
	if d := decide(t, e, c); d.Action != durward.Allow || len(e.Labels(&c.Caller)) != 0 {
		t.Errorf("%s %v", short(d), e.Labels(&c.Caller))
	}
}

// What is recalled leaves room for sessions that come, whose labels matter as much.
func TestWhatIsRecalledLeavesRoom(t *testing.T) {
	set := compile(t, user("rules:\n- {id: a, action: block, when: '\"x\" in session.labels'}\n"))
	at := newClock()
	var past []policy.Past
	for i := range 1000 {
		past = append(past, policy.Past{
			At: at.now, Layer: "builtin", Rule: policy.RuleLabels, Detail: "x", Caller: durward.Caller{Session: durward.SessionID(fmt.Sprint("old", i))},
		})
	}
	e := again(t, set, past, at.set, func(o *policy.Options) { o.Sessions = 64 })
	if d := decide(t, e, call(`{}`, func(c *durward.Call) { c.Caller.Session = "old999" })); d.Action != durward.Block {
		t.Errorf("the last one is forgotten: %s", short(d))
	}
	if d := decide(t, e, call(`{}`, func(c *durward.Call) { c.Caller.Session = "new" })); d.Action != durward.Allow {
		t.Errorf("there is no room: %s", short(d))
	}
}

func TestALimitThatPermitsMoreGoesOnCounting(t *testing.T) {
	limited := func(n int) *policy.Set {
		return compile(t, user(fmt.Sprintf("rules:\n- {id: a, action: block, limit: {calls: %d, per: 1d}}\n", n)))
	}
	e := engine(t, limited(2))
	var got []string
	try := func(n int) {
		for range n {
			got = append(got, decide(t, e, call(`{}`)).Action.String())
		}
	}
	try(3)
	e.Swap(limited(3), nil)
	try(2)
	e.Swap(limited(1), nil)
	try(1)
	if all := strings.Join(got, " "); all != "allow allow block allow block block" {
		t.Error(all)
	}
}
