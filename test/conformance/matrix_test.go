package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durward/test/harness"
)

func TestSelectCellsBringsTheDirectRun(t *testing.T) {
	for _, tc := range []struct {
		o    options
		want []string
	}{
		{options{only: "2026-07-28@cross-stdio"}, []string{"2026-07-28@direct", "2026-07-28@cross-stdio"}},
		{options{only: "client-2025-11-25"}, []string{"client-2025-11-25@direct", "client-2025-11-25@servers-http"}},
		{options{only: "2025-11-25", direct: true}, []string{"2025-11-25@direct"}},
		{options{only: "nothing"}, []string{}},
		{options{}, cellNames(matrix())},
	} {
		if d := cmp.Diff(tc.want, cellNames(selectCells(tc.o))); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.o, d)
		}
	}
}

func TestACrossingHasAServerOfTheOtherEra(t *testing.T) {
	tools := &harness.Toolbox{Bin: "bin"}
	want := map[string]string{"0.1.16": "-only=modern", "2025-11-25": "-only=modern", "2026-07-28": "-only=legacy"}
	crossings := 0
	for _, c := range matrix() {
		path, args := program(tools, c)
		if !c.crosses() {
			if strings.Contains(path, "oneera") {
				t.Errorf("%s talks to %s", c, path)
			}
			continue
		}
		crossings++
		if !strings.HasSuffix(path, "oneera") || !slices.Contains(args, want[c.suite.name]) {
			t.Errorf("%s talks to %s %q, want %s", c, path, args, want[c.suite.name])
		}
		if c.baseline() != "cross-"+c.suite.name {
			t.Errorf("%s has the baseline %s", c, c.baseline())
		}
	}
	if crossings != 6 {
		t.Errorf("%d crossings, want 6", crossings)
	}
}

func TestClientScenariosLeaveAuthorizationOut(t *testing.T) {
	need := requirement{
		Client:    []string{"initialize", "auth/basic-cimd", "tools_call"},
		NotScored: []unscored{{"schemas", "client"}, {"lifecycle", "server"}, {"auth/dpop", "client"}},
	}
	scored, rest := clientScenarios(need)
	if d := cmp.Diff([][]string{{"initialize", "tools_call"}, {"schemas"}}, [][]string{scored, rest}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestQuote(t *testing.T) {
	if got, want := quote("/a b/it's"), `'/a b/it'\''s'`; got != want {
		t.Errorf("quote: %s, want %s", got, want)
	}
}

func TestReport(t *testing.T) {
	s := suite{name: "2026-07-28", era: eraModern}
	cells := []cell{{s, routeDirect}, {s, routeCrossStdio}}
	results := map[string]*result{
		cells[0].String(): {scored: []string{"x", "y"}, scenarios: map[string][]check{"x": {{ID: "a", Status: "SUCCESS"}}, "y": {{ID: "b", Status: "SUCCESS"}}}},
		cells[1].String(): {scored: []string{"x", "y"}, scenarios: map[string][]check{"x": {{ID: "a", Status: "FAILURE"}}, "y": {{ID: "b", Status: "SUCCESS"}}}},
	}
	entry := accepted{Scenario: "x", Check: "a", Gateway: "FAILURE", Reason: "r"}
	race := accepted{Scenario: "y", Check: "b", Gateway: "FAILURE", Reason: "r", Sometimes: true}
	stale := accepted{Scenario: "y", Check: "b", Gateway: "FAILURE", Reason: "r"}
	for name, tc := range map[string]struct {
		known []accepted
		o     options
		ok    bool
		want  []string
	}{
		"worse without an entry": {nil, options{}, false, []string{
			"WORSE 2026-07-28@cross-stdio x/a direct=SUCCESS gateway=FAILURE\n",
			"cell 2026-07-28@cross-stdio passed=1 scored=2 baseline=0 worse=1 better=0",
		}},
		"accepted": {[]accepted{entry}, options{}, true, []string{
			"cell 2026-07-28@cross-stdio passed=1 scored=2 baseline=1 worse=0 better=0",
			"\nconformance: 2026-07-28@direct=2/2 2026-07-28@cross-stdio=1/2\n",
		}},
		"stale":                   {[]accepted{entry, stale}, options{}, false, []string{"stale baseline entry in baseline-cross-2026-07-28.yml: y/b"}},
		"a race is not stale":     {[]accepted{entry, race}, options{}, true, []string{"baseline=1"}},
		"stale is for whole runs": {[]accepted{entry, stale}, options{only: "cross-stdio"}, true, []string{"baseline=1"}},
	} {
		var out bytes.Buffer
		ok := report(&out, tc.o, cells, results, map[string][]accepted{"cross-2026-07-28": tc.known})
		if ok != tc.ok {
			t.Errorf("%s: kept = %t", name, ok)
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out.String())
			}
		}
	}
}

func TestBaselinesAreReadable(t *testing.T) {
	known, err := loadBaselines(&harness.Toolbox{Root: "../.."})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range matrix() {
		if _, ok := known[c.baseline()]; !ok {
			t.Errorf("%s has no baseline file", c)
		}
	}
}
