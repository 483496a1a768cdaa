package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bridgeRun is a matrix in which one client did everything in all pairs but one.
func bridgeRun() *matrix {
	m := newMatrix()
	servers := []server{{Name: "gosdk-legacy-http", Era: "legacy"}, {Name: "ts-modern", Era: "modern"}}
	for _, era := range []string{modernRevision, legacyRevision} {
		var checks []check
		for _, f := range features() {
			for _, s := range servers {
				c := check{Name: f, Feature: f, Server: s.Name, OK: true}
				if f == "roots" && era == legacyRevision && s.Era == "modern" {
					c.OK = false
				}
				checks = append(checks, c)
			}
		}
		m.add(job{Client: "ts", Era: era, Servers: servers}, checks)
	}
	return m
}

func TestMatrixMissesWhatNobodyDid(t *testing.T) {
	m := bridgeRun()
	want := []check{{Name: "matrix/legacy × modern/roots", Error: "no client did this with any server"}}
	if d := cmp.Diff(want, m.missing()); d != "" {
		t.Errorf("missing (-want +got):\n%s", d)
	}
	if got := len(newMatrix().missing()); got != len(features())*len(pairs()) {
		t.Errorf("an empty matrix misses %d cells", got)
	}
}

func TestMatrixCountsOnlyWhatWasTried(t *testing.T) {
	m := newMatrix()
	servers := []server{{Name: "mcpgo-modern", Era: "modern"}}
	at := cell{"roots", "modern × modern"}
	for _, c := range []check{
		{Feature: "roots", Server: "mcpgo-modern", OK: true},
		{Feature: "roots", Server: "mcpgo-modern", Error: "no"},
		{Feature: "roots", Server: "mcpgo-modern", Skipped: "why"},
		{Feature: "roots", Server: "unknown", OK: true},
		{Server: "mcpgo-modern", OK: true},
	} {
		m.add(job{Client: "gosdk", Era: modernRevision, Servers: servers}, []check{c})
		m.add(job{Era: modernRevision, Servers: servers}, []check{c})
	}
	if got := m.cells[at]["gosdk→mcpgo"]; got != (score{passed: 1, all: 2}) {
		t.Errorf("the cell is %+v", got)
	}
	if len(m.cells) != 1 {
		t.Errorf("cells: %v", m.cells)
	}
}

func TestMatrixPrint(t *testing.T) {
	var out strings.Builder
	if err := bridgeRun().print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"modern × legacy", "ts→gosdk", "0/1", "  roots"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the table:\n%s", want, out.String())
		}
	}
}
