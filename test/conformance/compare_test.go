package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	direct := map[string][]check{
		"same":   {{ID: "a", Status: "SUCCESS"}, {ID: "traffic", Status: "INFO"}},
		"twice":  {{ID: "a", Status: "SUCCESS"}, {ID: "a", Status: "SUCCESS"}},
		"gone":   {{ID: "a", Status: "SUCCESS"}},
		"weaker": {{ID: "a", Status: "SUCCESS"}},
		"better": {{ID: "a", Status: "FAILURE"}},
		"named":  {{ID: "a", Name: "One", Status: "SUCCESS"}, {ID: "a", Name: "Two", Status: "SUCCESS"}, {ID: "b", Name: "Seen", Status: "SUCCESS"}},
	}
	gateway := map[string][]check{
		"same":   {{ID: "a", Status: "SUCCESS"}},
		"twice":  {{ID: "a", Status: "SUCCESS"}, {ID: "a", Status: "FAILURE", Message: "no"}},
		"weaker": {{ID: "a", Status: "INFO"}},
		"better": {{ID: "a", Status: "SUCCESS"}},
		// In another order, and b under the name it has when it could not be made.
		"named": {{ID: "b", Name: "NotObserved", Status: "SUCCESS"}, {ID: "a", Name: "Two", Status: "FAILURE"}, {ID: "a", Name: "One", Status: "SUCCESS"}},
	}
	var got []string
	for _, d := range compare(direct, gateway) {
		kind := "better "
		if d.worse() {
			kind = "worse "
		}
		got = append(got, kind+d.String())
	}
	want := []string{
		"better better/a direct=FAILURE gateway=SUCCESS",
		"worse gone/a direct=SUCCESS gateway=absent",
		"worse named/a/Two direct=SUCCESS gateway=FAILURE",
		"worse twice/a#2 direct=SUCCESS gateway=FAILURE: no",
		"worse weaker/a direct=SUCCESS gateway=INFO",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("compare (-want +got):\n%s", d)
	}
}

func TestAcceptedCoversOnlyWhatItNames(t *testing.T) {
	a := accepted{Scenario: "s", Check: "c", Gateway: "INFO", Route: routeMCPStdio, Reason: "r"}
	for _, tc := range []struct {
		route string
		d     difference
		want  bool
	}{
		{routeMCPStdio, difference{scenario: "s", check: "c#2", gateway: "INFO"}, true},
		{routeMCPStdio, difference{scenario: "s", check: "c", gateway: "FAILURE"}, false},
		{routeMCPHTTP, difference{scenario: "s", check: "c", gateway: "INFO"}, false},
		{routeMCPStdio, difference{scenario: "s", check: "other", gateway: "INFO"}, false},
	} {
		if got := a.covers(tc.route, tc.d); got != tc.want {
			t.Errorf("covers(%s, %v) = %t, want %t", tc.route, tc.d, got, tc.want)
		}
	}
}
