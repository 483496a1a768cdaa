package main

import (
	"fmt"
	"slices"

	"durward/test/chaos/fault"
)

// history is all that happened in a run.
type history struct {
	calls      []record
	faults     []injected
	executions map[string][]string // by call: the servers that executed it, once for each time
	strays     []string
}

// terms are what a verdict depends on besides what happened.
type terms struct {
	faults     int             // at least so many must have been injected
	idempotent map[string]bool // servers that the operator declared safe to call twice
}

// verdict is what a run comes to.
type verdict struct {
	calls, faults, executions int
	by                        tally
	duplicates                int // calls that were executed twice and must not be
	repeats                   int // executions beyond the first where the operator permits them
	misdirected               int
	problems                  []string // every broken promise, in words
}

// judge holds what happened against what was promised:
//
//   - a call that was answered was executed exactly once;
//   - one that was refused was not executed;
//   - whatever else came of it, it was executed at most once;
//   - every call ends, and nothing reaches the wrong person.
//
// A server with retry: idempotent may execute a call more than once, never one
// that was refused.
func judge(h *history, t terms) *verdict {
	v := &verdict{calls: len(h.calls), faults: len(h.faults), misdirected: len(h.strays)}
	for _, s := range h.strays {
		v.problem("misdirected: %s", s)
	}
	issued := make(map[string]bool, len(h.calls))
	for i := range h.calls {
		issued[h.calls[i].id] = true
		v.judge(&h.calls[i], h.executions[h.calls[i].id], t)
	}
	for id, servers := range h.executions {
		v.executions += len(servers)
		if !issued[id] {
			v.problem("%v executed %q, which nobody asked for", servers, id)
		}
	}
	for _, p := range pairs(h) {
		if p.all() >= enough && p.by[ok] == 0 {
			v.problem("of %d calls during which %s asked %s clients none was answered", p.all(), p.server, p.era)
		}
	}
	if v.faults < t.faults {
		v.problem("%d faults were injected, fewer than the %d that were wanted", v.faults, t.faults)
	}
	return v
}

// enough calls, of which one at least must succeed in spite of all faults.
const enough = 20

// judge takes one call into account.
func (v *verdict) judge(r *record, servers []string, t terms) {
	n := len(servers)
	v.by[r.outcome]++
	if n > 1 {
		if t.idempotent[r.server] {
			v.repeats += n - 1
		} else {
			v.duplicates++
			v.problem("duplicate: %s", r.tell(n))
		}
	}
	switch {
	case slices.ContainsFunc(servers, func(s string) bool { return s != r.server }):
		v.problem("executed by %v: %s", servers, r.tell(n))
	case r.outcome == pendingCall:
		v.problem("hang: %s", r.tell(n))
	case r.outcome == broken:
		v.problem("no promise covers this answer: %s", r.tell(n))
	case r.outcome == ok && n == 0:
		v.problem("answered without being executed: %s", r.tell(n))
	case r.outcome == refused && n > 0:
		v.problem("said not to be executed: %s", r.tell(n))
	}
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (r *record) tell(n int) string {
	return fmt.Sprintf("%s of %s by %s at %s, begun %s, %s after %s, executions=%d: %s",
		r.tool, r.id, r.client, r.server, r.begin.Format("15:04:05.000"), r.outcome, r.end.Sub(r.begin).Round(1e6), n, r.detail)
}

// hangs is how many calls got neither an answer nor an error.
func (v *verdict) hangs() int { return v.by[pendingCall] }

// row is one line of the matrix: a kind of fault at a server.
type row struct {
	kind, server       string
	injected, affected int
	by                 tally
	executions         int
}

// matrix tells what came of the calls that each kind of fault concerned. One
// call may be concerned by several.
func matrix(h *history) []row {
	rows := map[[2]string]*row{}
	calls := map[string]*record{}
	for i := range h.calls {
		calls[h.calls[i].id] = &h.calls[i]
	}
	for _, f := range h.faults {
		where := f.server
		if where == "" {
			where = "(" + map[bool]string{true: "gateway", false: "client"}[fault.ScopeOf(f.kind) == fault.EveryServer] + ")"
		}
		at := rows[[2]string{f.kind, where}]
		if at == nil {
			at = &row{kind: f.kind, server: where}
			rows[[2]string{f.kind, where}] = at
		}
		at.injected++
		for _, r := range concerned(h, calls, f) {
			at.affected++
			at.by[r.outcome]++
			at.executions += len(h.executions[r.id])
		}
	}
	out := make([]row, 0, len(rows))
	for _, r := range rows {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(x, y row) int {
		return slices.Compare([]string{x.kind, x.server}, []string{y.kind, y.server})
	})
	return out
}

// pair is what came of the questions between clients of one era and a server.
type pair struct {
	era, server string
	by          tally
}

func (p *pair) all() (n int) {
	for _, of := range p.by {
		n += of
	}
	return n
}

// pairs tells what came of calls during which a person was asked.
func pairs(h *history) []pair {
	found := map[[2]string]*pair{}
	for i := range h.calls {
		r := &h.calls[i]
		if r.tool != "ask" {
			continue
		}
		at := found[[2]string{r.era, r.server}]
		if at == nil {
			at = &pair{era: r.era, server: r.server}
			found[[2]string{r.era, r.server}] = at
		}
		at.by[r.outcome]++
	}
	out := make([]pair, 0, len(found))
	for _, p := range found {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(x, y pair) int {
		return slices.Compare([]string{x.era, x.server}, []string{y.era, y.server})
	})
	return out
}

// concerned returns the calls that a fault concerns.
func concerned(h *history, calls map[string]*record, f injected) []*record {
	scope := fault.ScopeOf(f.kind)
	if scope == fault.OneCall {
		if r := calls[f.call]; r != nil {
			return []*record{r}
		}
		return nil
	}
	var out []*record
	for i := range h.calls {
		r := &h.calls[i]
		if r.begin.After(f.at) {
			break
		}
		under := r.end.IsZero() || !r.end.Before(f.at)
		if under && (scope == fault.EveryServer || scope == fault.OneServer && r.server == f.server || scope == fault.OneClient && r.client == f.client) {
			out = append(out, r)
		}
	}
	return out
}
