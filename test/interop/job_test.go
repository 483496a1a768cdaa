package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseChecks(t *testing.T) {
	got, err := parse("{\"name\":\"a\",\"ok\":true}\n{\"name\":\"b\",\"ok\":false,\"error\":\"no\"}\n{\"name\":\"c\",\"skipped\":\"why\"}\n")
	want := []check{{Name: "a", OK: true}, {Name: "b", Error: "no"}, {Name: "c", Skipped: "why"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("parse (-want +got):\n%s error %v", d, err)
	}
	for _, text := range []string{"hello\n", "{\"ok\":true}\n", "{\"name\":\"a\"} {\n"} {
		if _, err := parse(text); err == nil {
			t.Errorf("parse(%q) took something that is no check", text)
		}
	}
}

func TestTally(t *testing.T) {
	var total tally
	for _, c := range []check{{Name: "a", OK: true}, {Name: "b", Error: "no"}, {Name: "c", Skipped: "why"}, {Name: "d", OK: true}} {
		total.add(c)
	}
	if want := (tally{passed: 2, failed: 1, skipped: 1}); total != want {
		t.Errorf("tally %+v, want %+v", total, want)
	}
}
