package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints every difference and failing scored scenario, then the line that
// measures.md asks for, and returns whether all promises are kept.
func report(w io.Writer, o options, cells []cell, results map[string]*result, baselines map[string][]accepted) bool {
	p := printer{w: w, verbose: o.verbose}
	used := make(map[string]map[accepted]bool)
	ok := true
	var fields []string
	for _, c := range cells {
		r := results[c.String()]
		fields = append(fields, fmt.Sprintf("%s=%d/%d", c, r.passed(), len(r.scored)))
		if c.isDirect() {
			ok = p.failing(c, r) && ok
			continue
		}
		if used[c.suite.name] == nil {
			used[c.suite.name] = make(map[accepted]bool)
		}
		direct := results[cell{suite: c.suite, route: routeDirect}.String()]
		diffs := compare(direct.scenarios, r.scenarios)
		ok = p.differences(c, r, diffs, baselines[c.suite.name], used[c.suite.name]) && ok
	}
	if o.only == "" && o.scenario == "" && !o.direct {
		ok = p.stale(baselines, used) && ok
	}
	p.printf("conformance: %s\n", strings.Join(fields, " "))
	return ok
}

// printer writes lines and cannot do anything sensible about a closed stdout.
type printer struct {
	w       io.Writer
	verbose bool
}

func (p printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil {
		panic(err)
	}
}

// failing prints the failed checks of a direct run: the reference itself must
// pass what is scored.
func (p printer) failing(c cell, r *result) bool {
	ok := true
	for _, name := range r.scored {
		checks, ran := r.scenarios[name]
		if !ran {
			p.printf("missing %s %s: the suite did not run it\n", c, name)
			ok = false
		}
		for _, f := range failures(checks) {
			p.printf("failed %s %s/%s: %s\n", c, name, f.ID, p.shorten(f.Message))
			ok = false
		}
	}
	return ok
}

func (p printer) differences(c cell, r *result, diffs []difference, known []accepted, used map[accepted]bool) bool {
	ok := true
	for _, d := range diffs {
		d.message = p.shorten(d.message)
		kind := "better"
		if d.worse() {
			kind = "WORSE"
			if a, found := find(known, c.route, d); found {
				used[a] = true
				kind = "accepted (" + a.Reason + ")"
			} else {
				ok = false
			}
		}
		p.printf("%s %s %s\n", kind, c, d)
		if p.verbose && d.worse() && d.details != "" {
			p.printf("    %s\n", line(d.details, 4000))
		}
	}
	if !ok || p.verbose {
		p.printf("    results and logs of %s: %s\n", c, r.dir)
	}
	return ok
}

func find(known []accepted, route string, d difference) (accepted, bool) {
	for _, a := range known {
		if a.covers(route, d) {
			return a, true
		}
	}
	return accepted{}, false
}

// stale refuses baseline entries that nothing needed: a baseline only shrinks.
func (p printer) stale(baselines map[string][]accepted, used map[string]map[accepted]bool) bool {
	ok := true
	for _, s := range suites() {
		for _, a := range baselines[s.name] {
			if !used[s.name][a] {
				p.printf("stale baseline entry in baseline-%s.yml: %s/%s\n", s.name, a.Scenario, a.Check)
				ok = false
			}
		}
	}
	return ok
}

func (p printer) shorten(text string) string {
	if p.verbose {
		return line(text, 4000)
	}
	return line(text, 240)
}
