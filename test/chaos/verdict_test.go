package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"durward/test/chaos/fault"
	"durward/test/chaos/journal"
)

func TestVerdictOfACall(t *testing.T) {
	const once, safe = "stdio-legacy", "idem-http"
	for _, tc := range []struct {
		outcome             outcome
		server              string
		executions          int
		problems            int
		duplicates, repeats int
	}{
		{ok, once, 1, 0, 0, 0},
		{ok, once, 0, 1, 0, 0}, // answered by nobody
		{ok, once, 2, 1, 1, 0},
		{ok, safe, 2, 0, 0, 1}, // the operator permits it
		{ok, safe, 0, 1, 0, 0},
		{refused, once, 0, 0, 0, 0},
		{refused, once, 1, 1, 0, 0}, // said not to be executed
		{refused, safe, 1, 1, 0, 0},
		{refused, once, 2, 2, 1, 0},
		{unknown, once, 0, 0, 0, 0},
		{unknown, once, 1, 0, 0, 0},
		{unknown, once, 2, 1, 1, 0},
		{unknown, safe, 3, 0, 0, 2},
		{toolError, once, 0, 0, 0, 0},
		{toolError, once, 1, 0, 0, 0},
		{toolError, once, 2, 1, 1, 0},
		{broken, once, 0, 1, 0, 0},
		{pendingCall, once, 0, 1, 0, 0}, // a hang
		{pendingCall, once, 1, 1, 0, 0},
	} {
		t.Run(fmt.Sprintf("%s %d times by %s", tc.outcome, tc.executions, tc.server), func(t *testing.T) {
			b := newBook()
			b.begin(record{id: "call-000001", server: tc.server, client: "alice", tool: "work"})
			b.settle("call-000001", tc.outcome, "said so")
			b.settle("call-000001", ok, "what comes later changes nothing")
			entries := slices.Repeat([]journal.Entry{{Kind: journal.Execution, Server: tc.server, Call: "call-000001"}}, tc.executions)
			v := judge(b.close(entries), terms{idempotent: map[string]bool{safe: true}})
			if len(v.problems) != tc.problems || v.duplicates != tc.duplicates || v.repeats != tc.repeats {
				t.Errorf("problems %q, duplicates %d, repeats %d; wanted %d, %d, %d", v.problems, v.duplicates, v.repeats, tc.problems, tc.duplicates, tc.repeats)
			}
			if v.by[tc.outcome] != 1 || v.executions != tc.executions || v.calls != 1 {
				t.Errorf("%+v", v)
			}
			if got := v.hangs() == 1; got != (tc.outcome == pendingCall) {
				t.Errorf("%d hangs", v.hangs())
			}
		})
	}
}

func TestVerdictOfARun(t *testing.T) {
	calm := func() *book {
		b := newBook()
		b.begin(record{id: "call-000001", server: "http-both"})
		b.settle("call-000001", refused, "")
		b.fault(injected{kind: fault.Delay, server: "http-both"})
		return b
	}
	for name, tc := range map[string]struct {
		change  func(b *book)
		entries []journal.Entry
		terms   terms
		want    string // in the one problem; empty: there is none
	}{
		"nothing wrong":        {terms: terms{faults: 1}},
		"faults of servers":    {terms: terms{faults: 2}, entries: []journal.Entry{{Kind: journal.Fault, Fault: fault.Wedge, Server: "http-both"}}},
		"too few faults":       {terms: terms{faults: 2}, want: "1 faults were injected, fewer than the 2"},
		"never asked for":      {entries: []journal.Entry{{Kind: journal.Execution, Call: "call-000009", Server: "http-both"}}, want: "which nobody asked for"},
		"wrong person asked":   {change: func(b *book) { b.stray("bob was asked what is for alice") }, want: "misdirected: bob"},
		"wrong person answers": {entries: []journal.Entry{{Kind: journal.Misdirected, Call: "call-000001", Server: "http-both", Text: "answered by bob"}}, want: "answered by bob"},
		"another server": {
			change:  func(b *book) { b.calls["call-000001"].outcome = unknown },
			entries: []journal.Entry{{Kind: journal.Execution, Call: "call-000001", Server: "http-modern"}}, want: "executed by [http-modern]",
		},
		"nobody is ever asked": {
			change: func(b *book) {
				for n := range enough {
					id := fmt.Sprintf("call-1%05d", n)
					b.begin(record{id: id, server: "stdio-modern", era: "legacy", tool: "ask"})
					b.settle(id, toolError, "")
				}
			},
			want: "of 20 calls during which stdio-modern asked legacy clients none",
		},
		"never settled": {change: func(b *book) { b.begin(record{id: "call-000002"}) }, want: "hang: "},
	} {
		t.Run(name, func(t *testing.T) {
			b := calm()
			if tc.change != nil {
				tc.change(b)
			}
			v := judge(b.close(tc.entries), tc.terms)
			switch {
			case tc.want == "" && len(v.problems) > 0, tc.want != "" && len(v.problems) != 1:
				t.Fatalf("problems: %q", v.problems)
			case tc.want != "" && !strings.Contains(v.problems[0], tc.want):
				t.Errorf("problem %q, wanted %q in it", v.problems[0], tc.want)
			}
			if strings.HasPrefix(tc.want, "misdirected") && v.misdirected != 1 {
				t.Errorf("misdirected=%d", v.misdirected)
			}
		})
	}
}

func TestAnIDIsUsedOnce(t *testing.T) {
	b := newBook()
	b.begin(record{id: "call-000001"})
	defer func() {
		if recover() == nil {
			t.Error("the second call of the same id was taken")
		}
	}()
	b.begin(record{id: "call-000001"})
}

func TestMatrixCountsWhomAFaultConcerns(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	h := &history{
		calls: []record{
			{id: "early", server: "a", client: "x", begin: at(0), end: at(1), outcome: ok},
			{id: "during", server: "a", client: "x", begin: at(1), end: at(3), outcome: unknown},
			{id: "hung", server: "a", client: "y", begin: at(1), outcome: pendingCall},
			{id: "elsewhere", server: "b", client: "x", begin: at(1), end: at(3), outcome: ok},
			{id: "late", server: "a", client: "x", begin: at(3), end: at(4), outcome: ok},
		},
		faults: []injected{
			{kind: fault.Kill, server: "a", at: at(2)},
			{kind: fault.GatewayKill, at: at(2)},
			{kind: fault.ClientKill, client: "x", at: at(2)},
			{kind: fault.CutBody, server: "a", call: "late", at: at(3)},
			{kind: fault.CutBody, server: "a", at: at(3)}, // in a request that was no call
		},
		executions: map[string][]string{"during": {"a"}, "late": {"a"}},
	}
	want := map[string]row{
		fault.Kill:        {injected: 1, affected: 2, executions: 1},
		fault.GatewayKill: {injected: 1, affected: 3, executions: 1},
		fault.ClientKill:  {injected: 1, affected: 2, executions: 1},
		fault.CutBody:     {injected: 2, affected: 1, executions: 1},
	}
	for _, r := range matrix(h) {
		w := want[r.kind]
		if r.injected != w.injected || r.affected != w.affected || r.executions != w.executions {
			t.Errorf("%+v, wanted %+v", r, w)
		}
		delete(want, r.kind)
	}
	if len(want) > 0 {
		t.Errorf("rows are missing: %v", want)
	}
}

func TestLastLineHasTheFormOthersRead(t *testing.T) {
	v := judge(newBook().close(nil), terms{})
	form := regexp.MustCompile(`^chaos: calls=\d+ faults=\d+ executions=\d+ duplicates=\d+ unknown=\d+ misdirected=\d+ hangs=\d+( [a-z_]+=\d+)*$`)
	if line := lastLine(v); !form.MatchString(line) {
		t.Error(line)
	}
}

func TestAnswersSayWhatCameOfACall(t *testing.T) {
	for text, want := range map[string]outcome{
		`{"result":{"content":[{"type":"text","text":"did call-000001"}]}}`:                ok,
		`{"result":{"content":[{"type":"text","text":"did call-000002"}]}}`:                broken,
		`{"result":{"content":[{"type":"text","text":"did call-000001"}],"isError":true}}`: toolError,
		`{"result":{"content":[]}}`:                  broken,
		`{"error":{"code":50301,"message":"x"}}`:     refused,
		`{"error":{"code":50402,"message":"x"}}`:     unknown,
		`{"error":{"code":50401,"message":"x"}}`:     unknown,
		`{"error":{"code":-32602,"message":"x"}}`:    refused,
		`{"error":{"code":-32603,"message":"x"}}`:    broken, // a defect of the gateway
		`{"error":{"code":-32000,"message":"x"}}`:    broken, // no server of ours says that
		`{"result":{"resultType":"input_required"}}`: broken,
	} {
		if got, detail := answerOf(parse(t, text), "call-000001"); got != want {
			t.Errorf("%s: %s (%s), wanted %s", text, got, detail, want)
		}
	}
}
