package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/policy"
)

const threeAMinute = "rules: [{id: a, action: block, limit: {calls: 3, per: 1m, by: principal+tool}}]\n"

func TestALimitAppliesBeyondIt(t *testing.T) {
	now := newClock()
	e := engine(t, compile(t, user(threeAMinute)), now.set)
	for i := range 3 {
		d := decide(t, e, call(`{}`))
		if d.Action != durward.Allow || d.Matches[0].Effective != "below limit" {
			t.Fatalf("call %d: %+v", i, d)
		}
		now.pass(time.Second)
	}
	d := decide(t, e, call(`{}`))
	if short(d) != "block user/a limit" || d.RetryAfter != 57*time.Second || d.Matches[0].Effective != "block" {
		t.Fatalf("%s after %s", short(d), d.RetryAfter)
	}
	if d := decide(t, e, call(`{}`, tool("github", "pull"))); d.Action != durward.Allow {
		t.Error("another tool has the same counter")
	}
	if d := decide(t, e, call(`{}`, func(c *durward.Call) { c.Caller.Principal = "bob" })); d.Action != durward.Allow {
		t.Error("somebody else has the same counter")
	}
	now.pass(d.RetryAfter)
	if d := decide(t, e, call(`{}`)); d.Action != durward.Allow {
		t.Error("it does not end")
	}
	if d := decide(t, e, call(`{}`)); d.Action != durward.Block {
		t.Error("more than one came back")
	}
}

func TestRefusedCallsDoNotCount(t *testing.T) {
	e := engine(t, compile(t, user("rules:\n- {id: a, action: block, limit: {calls: 1, per: 1m}}\n- {id: b, action: block, when: mcp.tool.arguments.bad == true}\n")), newClock().set)
	for range 3 {
		if d := decide(t, e, call(`{"bad":true}`)); short(d) != "block user/b rule" {
			t.Fatal(short(d))
		}
	}
	if d := decide(t, e, call(`{}`)); d.Action != durward.Allow {
		t.Fatal(short(d))
	}
}

func TestBudgetOfBytes(t *testing.T) {
	now := newClock()
	e := engine(t, compile(t, user("rules: [{id: a, action: block, limit: {bytes: 1KiB, per: 1d, by: principal}}]\n")), now.set)
	c := call(`{}`)
	if d := decide(t, e, c); d.Action != durward.Allow {
		t.Fatal(d)
	}
	result := []byte(fmt.Sprintf(`{"content":[{"type":"text","text":"%01000d"}]}`, 0))
	if d, err := e.DecideResult(t.Context(), c, result); err != nil || d.Action != durward.Allow {
		t.Fatal(d, err)
	}
	if d := decide(t, e, call(`{}`)); d.Cause != "limit" {
		t.Fatalf("the result was not counted: %s", short(d))
	}
	now.pass(25 * time.Hour)
	if d := decide(t, e, call(`{}`)); d.Action != durward.Allow {
		t.Fatal(short(d))
	}
}

func TestBudgetOfApprovals(t *testing.T) {
	now := newClock()
	e := engine(t, compile(t, user("rules:\n- {id: a, action: ask}\n- {id: b, action: block, limit: {approvals: 2, per: 1d}}\n- {id: c, action: block, limit: {calls: 1, per: 1d}}\n")), now.set)
	for range 2 {
		if d := decide(t, e, call(`{}`)); d.Action != durward.Ask {
			t.Fatal(short(d))
		}
	}
	if d := decide(t, e, call(`{}`)); short(d) != "block user/b limit" {
		t.Fatal(short(d))
	}
	now.pass(25 * time.Hour)
	d := decide(t, e, call(`{}`))
	if d.Action != durward.Ask {
		t.Fatal("calls that nobody let pass were counted")
	}
	e.Count(call(`{}`), &d)
	if d := decide(t, e, call(`{}`)); short(d) != "block user/c limit" {
		t.Fatal("a call that was approved is not counted")
	}
}

func TestBeyondALimitPeopleCanBeAsked(t *testing.T) {
	e := engine(t, compile(t, user("rules: [{id: a, action: ask, limit: {calls: 1, per: 1d}}]\n")))
	decide(t, e, call(`{}`))
	if d := decide(t, e, call(`{}`)); short(d) != "ask user/a limit" || d.Question == nil {
		t.Fatal(short(d))
	}
}

func TestACallOverOneLimitCountsForNoOther(t *testing.T) {
	e := engine(t, compile(t, user(`
rules:
- {id: a, action: block, limit: {calls: 2, per: 1d, by: principal}}
- {id: b, action: block, limit: {calls: 1, per: 1d, by: principal}, when: mcp.tool.arguments.x == 1}
`)))
	decide(t, e, call(`{"x":1}`))
	for range 5 {
		if d := decide(t, e, call(`{"x":1}`)); short(d) != "block user/b limit" {
			t.Fatal(short(d))
		}
	}
	if d := decide(t, e, call(`{}`)); d.Action != durward.Allow {
		t.Fatal("calls that were refused by b were counted by a")
	}
}

func TestNobodySqueezesPastALimit(t *testing.T) {
	e := engine(t, compile(t, user("rules: [{id: a, action: block, limit: {calls: 50, per: 1h}}, {id: b, action: block, limit: {calls: 80, per: 1h, by: session}}]\n")))
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				if d, _ := e.Decide(t.Context(), call(`{}`)); d.Action == durward.Allow {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 50 {
		t.Fatalf("%d of 50 passed", passed.Load())
	}
}

func TestWhereNoCounterIsLeftTheLimitApplies(t *testing.T) {
	now := newClock()
	e := engine(t, compile(t, user(threeAMinute)), now.set, func(o *policy.Options) { o.Counters = 4 })
	as := func(i int) func(*durward.Call) {
		return func(c *durward.Call) { c.Caller.Principal = fmt.Sprint("p", i) }
	}
	for i := range 4 {
		if d := decide(t, e, call(`{}`, as(i))); d.Action != durward.Allow {
			t.Fatal(short(d))
		}
	}
	if d := decide(t, e, call(`{}`, as(4))); d.Cause != "limit" || !strings.Contains(d.Reason, "limits.policy_counters") {
		t.Fatalf("there is a fifth counter: %+v", d)
	}
	now.pass(2 * time.Minute)
	for i := 4; i < 8; i++ {
		if d := decide(t, e, call(`{}`, as(i))); d.Action != durward.Allow {
			t.Fatalf("counters that count nothing are in the way: %d", i)
		}
	}
}

// TestALimitIsThatOfTheReference: within any period no more passes than the limit
// says, and what is refused would have been more, or nearly so.
func TestALimitIsThatOfTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "n")
		now := newClock()
		e := engine(t, compile(t, user(fmt.Sprintf("rules: [{id: a, action: block, limit: {calls: %d, per: 1m}}]\n", n))), now.set)
		var passed []time.Time
		steps := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		for range 300 {
			now.pass(time.Duration(steps.IntN(4000)) * time.Millisecond)
			within, surely := 0, 0
			for _, at := range passed {
				if now.now.Sub(at) < time.Minute {
					within++
				}
				if now.now.Sub(at) < time.Minute+time.Second {
					surely++
				}
			}
			d := decide(t, e, call(`{}`))
			switch {
			case d.Action == durward.Allow && within >= n:
				rt.Fatalf("call %d within a minute, of %d", within+1, n)
			case d.Action == durward.Block && surely < n:
				rt.Fatalf("refused after %d of %d", surely, n)
			case d.Action == durward.Allow:
				passed = append(passed, now.now)
			case d.RetryAfter <= 0 || d.RetryAfter > time.Minute:
				rt.Fatalf("retry after %s", d.RetryAfter)
			}
		}
	})
}

func TestSwap(t *testing.T) {
	now := newClock()
	e := engine(t, compile(t, user(threeAMinute)), now.set)
	c := call(`{}`)
	for range 3 {
		decide(t, e, c)
	}
	if err := e.Mark(&c.Caller, "private-data"); err != nil {
		t.Fatal(err)
	}
	before := e.Digest()
	e.Swap(compile(t, user(threeAMinute+"groups: {a: [b]}\n")), nil)
	if e.Digest() == before {
		t.Error("the digest is that of other rules")
	}
	if d := decide(t, e, call(`{}`)); d.Cause != "limit" {
		t.Error("a rule that stayed forgot what it counted")
	}
	if got := e.Labels(&c.Caller); len(got) != 1 {
		t.Errorf("labels are %v", got)
	}
	if hits := e.Rules()[0].Hits; hits != 4 {
		t.Errorf("%d hits", hits)
	}
	e.Swap(compile(t, user("rules: [{id: a, action: block, limit: {calls: 4, per: 1m, by: principal+tool}}]\n")), nil)
	if d := decide(t, e, call(`{}`)); d.Action != durward.Allow {
		t.Error("another limit has the counts of the old one")
	}
	e.Swap(compile(t, nil), nil)
	if d := decide(t, e, call(`{}`)); len(d.Matches) != 0 {
		t.Error("the old rules are still there")
	}
}
