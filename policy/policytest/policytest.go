// Package policytest tests a policy with a table of events and of what is to be
// decided about each, so that users test theirs in their own CI:
//
//	tests:
//	  - name: nobody forces a push
//	    event:
//	      mcp: {server: {name: github}, tool: {name: push, arguments: {force: true}}}
//	    expect: {action: block, rule: no-force-push}
//
// An event has the members that conditions use ([policy.EventFromJSON]); its result,
// if it has one, stands in mcp.result. Nothing is called, no plugin runs unless
// [Options] bring them, and limits are as if nothing had happened before.
//
// Start at [Parse] and [Table.Run].
package policytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
	"durward/internal/yamlx"
	"durward/policy"
)

// Bounds of a table: it may be much larger than a configuration.
const (
	maxBytes = 16 << 20
	maxNodes = 2_000_000
)

// Table is a list of cases.
type Table struct {
	cases []testCase
}

// testCase is one event and what is expected.
type testCase struct {
	name   string
	line   int
	event  *policy.Event
	expect expectation
	args   []byte // the arguments as they must go on; nil: not looked at
	result []byte // the result as it must go on; nil: not looked at
}

// tableFile is the file as it is written.
type tableFile struct {
	// Tests are the cases.
	Tests []caseFile `yaml:"tests,required"`
}

type caseFile struct {
	// Name of the case, for the output. Default: its number.
	Name string `yaml:"name"`
	// Event, with the members that conditions use.
	Event yamlx.Any `yaml:"event,required"`
	// Expect is what is to be decided.
	Expect expectation `yaml:"expect,required"`
}

type expectation struct {
	// Action is allow, ask or block.
	Action string `yaml:"action,required" enum:"allow|ask|block"`
	// Rule that decides; none: no rule does. Default: not looked at.
	Rule string `yaml:"rule"`
	// Layer of what decides. Default: not looked at.
	Layer string `yaml:"layer" enum:"builtin|package|user|corp"`
	// Cause of an action that is not allow. Default: not looked at.
	Cause string `yaml:"cause" enum:"rule|default|pin|limit|plugin|evaluation"`
	// Matches are ids of rules that must match; others may. Default: not looked at.
	Matches []string `yaml:"matches"`
	// Arguments as they must go on, compared as JSON. Default: not looked at.
	Arguments yamlx.Any `yaml:"arguments"`
	// Result as it must go on, compared as JSON. Default: not looked at.
	Result yamlx.Any `yaml:"result"`
}

// Parse reads a table; name stands for it in messages. All problems are found at
// once, those of events included.
func Parse(name string, data []byte) (*Table, yamlx.Problems) {
	src := yamlx.Parse(name, data, yamlx.Limits{Bytes: maxBytes, Nodes: maxNodes})
	var file tableFile
	src.Decode(&file)
	t := &Table{}
	for i := range file.Tests {
		t.cases = append(t.cases, caseOf(src, i, &file.Tests[i]))
	}
	if err := src.Err(); err != nil {
		var problems yamlx.Problems
		errors.As(err, &problems)
		return nil, problems
	}
	return t, nil
}

func caseOf(src *yamlx.Source, i int, file *caseFile) testCase {
	path := yamlx.Path{"tests", strconv.Itoa(i)}
	c := testCase{name: file.Name, expect: file.Expect}
	if c.name == "" {
		c.name = "case " + strconv.Itoa(i+1)
	}
	c.line, _ = src.Where(path)
	if raw, ok := src.JSON(path.In("event")); ok {
		ev, err := policy.EventFromJSON(raw)
		if err != nil {
			src.Report(yamlx.CodeValue, path.In("event"), "%v", err)
		}
		c.event = ev
	}
	for _, part := range []struct {
		key  string
		into *[]byte
	}{{"arguments", &c.args}, {"result", &c.result}} {
		at := path.In("expect", part.key)
		if raw, ok := src.JSON(at); ok {
			*part.into = wire.AppendCanonical(nil, raw)
		}
	}
	return c
}

// Len returns the number of cases.
func (t *Table) Len() int { return len(t.cases) }

// Options of a run.
type Options struct {
	Now     time.Time     // where an event does not say; default: the time of the call
	Plugins policy.Runner // default: no plugin runs, and what rules would run one for goes on
}

// Run decides every event by a set without plugins, and otherwise as RunWith does. now
// stands for the time where an event does not say; the zero value is the time of the call.
func (t *Table) Run(ctx context.Context, set *policy.Set, now time.Time, w io.Writer) (failed int, err error) {
	return t.RunWith(ctx, set, Options{Now: now}, w)
}

// RunWith decides every event by a set, each as if it were the first, and writes a
// line for each: ok or FAIL, its name, and how what was decided differs. It returns how
// many failed.
func (t *Table) RunWith(ctx context.Context, set *policy.Set, opt Options, w io.Writer) (failed int, err error) {
	engine := policy.Options{Set: set, Plugins: opt.Plugins}
	if !opt.Now.IsZero() {
		engine.Now = func() time.Time { return opt.Now }
	}
	for i := range t.cases {
		c := &t.cases[i]
		d, err := c.decide(ctx, engine)
		if err != nil {
			return failed, err
		}
		wrong := c.compare(&d)
		line := "ok    " + c.name
		if len(wrong) > 0 {
			failed++
			line = fmt.Sprintf("FAIL  %s (line %d): %s", c.name, c.line, strings.Join(wrong, "; "))
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return failed, durward.Errorf(durward.Unavailable, "rule test", "the results cannot be written: %w", err)
		}
	}
	return failed, nil
}

// decide decides by an engine of its own: no case counts for another.
func (c *testCase) decide(ctx context.Context, opt policy.Options) (durward.Decision, error) {
	engine, err := policy.New(opt)
	if err != nil {
		return durward.Decision{}, err
	}
	if opt.Plugins == nil {
		return engine.Explain(ctx, c.event).Decision, nil
	}
	return engine.Try(ctx, c.event), nil
}

// compare says how a decision differs from what was expected.
func (c *testCase) compare(d *durward.Decision) []string {
	var wrong []string
	differ := func(what, want, got string) {
		if want != "" && want != got && (want != "none" || got != "") {
			wrong = append(wrong, fmt.Sprintf("%s is %s, expected %s", what, orNone(got), want))
		}
	}
	differ("action", c.expect.Action, d.Action.String())
	differ("rule", c.expect.Rule, d.Rule)
	differ("layer", c.expect.Layer, d.Layer)
	differ("cause", c.expect.Cause, d.Cause)
	for _, id := range c.expect.Matches {
		if !slices.ContainsFunc(d.Matches, func(m durward.Match) bool { return m.Rule == id }) {
			wrong = append(wrong, "the rule "+id+" does not match")
		}
	}
	if len(wrong) > 0 && d.Reason != "" {
		wrong = append(wrong, "because: "+d.Reason)
	}
	args, result := c.event.Args, c.event.Result
	if d.Changed != nil {
		args, result = wire.Get(d.Changed, "arguments"), d.Changed
	}
	wrong = append(wrong, sameJSON("the arguments are", c.args, args)...)
	return append(wrong, sameJSON("the result is", c.result, result)...)
}

func sameJSON(what string, want, got []byte) []string {
	if want == nil {
		return nil
	}
	if len(got) == 0 || string(wire.AppendCanonical(nil, got)) != string(want) {
		return []string{fmt.Sprintf("%s %s, expected %s", what, orNone(string(got)), want)}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
