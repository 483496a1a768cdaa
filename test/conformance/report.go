package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints what broke a promise (verbose: every difference), a line for each
// cell through the gateway, and last the line that measures.md asks for. It
// returns whether all promises are kept.
func report(w io.Writer, o options, cells []cell, results map[string]*result, baselines map[string][]accepted) bool {
	p := printer{w: w, verbose: o.verbose}
	used := make(map[string]map[accepted]bool)
	ok := true
	var fields, lines []string
	for _, c := range cells {
		r := results[c.String()]
		fields = append(fields, fmt.Sprintf("%s=%d/%d", c, r.passed(), len(r.scored)))
		if c.isDirect() {
			ok = p.failing(c, r) && ok
			lines = append(lines, cellLine(c, r, ""))
			continue
		}
		if used[c.baseline()] == nil {
			used[c.baseline()] = make(map[accepted]bool)
		}
		direct := results[cell{suite: c.suite, route: routeDirect}.String()]
		n := p.differences(c, r, compare(direct.scenarios, r.scenarios), baselines[c.baseline()], used[c.baseline()])
		lines = append(lines, cellLine(c, r, fmt.Sprintf(" baseline=%d worse=%d better=%d", n.accepted, n.worse, n.better)))
		ok = n.worse == 0 && ok
	}
	if o.only == "" && o.scenario == "" && !o.direct {
		ok = p.stale(baselines, used) && ok
	}
	for _, l := range lines {
		p.printf("%s\n", l)
	}
	p.printf("conformance: %s\n", strings.Join(fields, " "))
	return ok
}

func cellLine(c cell, r *result, compared string) string {
	return fmt.Sprintf("cell %s passed=%d scored=%d%s seconds=%.1f", c, r.passed(), len(r.scored), compared, r.took.Seconds())
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

// detail is for those who ask for it.
func (p printer) detail(format string, args ...any) {
	if p.verbose {
		p.printf(format, args...)
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

// count says how many checks of a cell came out otherwise than directly:
// better, worse with a reason in the baseline, and worse without.
type count struct{ better, accepted, worse int }

func (p printer) differences(c cell, r *result, diffs []difference, known []accepted, used map[accepted]bool) count {
	var n count
	for _, d := range diffs {
		d.message = p.shorten(d.message)
		a, found := find(known, c.route, d)
		switch {
		case !d.worse():
			n.better++
			p.detail("better %s %s\n", c, d)
		case found:
			n.accepted++
			used[a] = true
			p.detail("accepted (%s) %s %s\n", a.Reason, c, d)
		default:
			n.worse++
			p.printf("WORSE %s %s\n", c, d)
			if d.details != "" {
				p.detail("    %s\n", line(d.details, 4000))
			}
		}
	}
	if n.worse > 0 || p.verbose {
		p.printf("    results and logs of %s: %s\n", c, r.dir)
	}
	return n
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
	for _, name := range sortedKeys(baselines) {
		for _, a := range baselines[name] {
			if !used[name][a] && !a.Sometimes {
				p.printf("stale baseline entry in baseline-%s.yml: %s/%s %s\n", name, a.Scenario, a.Check, a.Route)
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
