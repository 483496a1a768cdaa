package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// pairs are the eras of client and server, in the order of the table.
func pairs() []string {
	return []string{"modern × modern", "modern × legacy", "legacy × modern", "legacy × legacy"}
}

// features are the rows of the matrix, by the names of the checks. What cannot be
// told apart in a pair is not asked for there.
func features() []string {
	return []string{
		"tools", "echo", "unknown-tool", "prompt", "completion", "resource", "template",
		"progress", "logging", "list-changed", "subscription", "cancel",
		"elicit", "decline", "elicit-url", "sampling", "roots", "two-questions", "three-rounds",
		"held-progress", "held-cancel", "cannot-ask",
	}
}

// matrix says which features worked between which real clients and servers.
type matrix struct {
	cells map[cell]map[string]score
}

type cell struct{ feature, pair string }

type score struct{ passed, all int }

func newMatrix() *matrix { return &matrix{cells: make(map[cell]map[string]score)} }

func (m *matrix) empty() bool { return len(m.cells) == 0 }

// add counts the checks of a job with a client of a known era.
func (m *matrix) add(j job, checks []check) {
	if j.Client == "" {
		return
	}
	client := "legacy"
	if j.Era == modernRevision {
		client = "modern"
	}
	for _, c := range checks {
		at := slices.IndexFunc(j.Servers, func(s server) bool { return s.Name == c.Server })
		if c.Feature == "" || at < 0 || c.Skipped != "" {
			continue
		}
		m.count(cell{c.Feature, client + " × " + j.Servers[at].Era}, j.Client+"→"+family(c.Server), c.OK)
	}
}

// family is the server's program: how it is reached and restricted says the pair.
func family(server string) string {
	name, _, _ := strings.Cut(server, "-")
	return name
}

func (m *matrix) count(at cell, peers string, ok bool) {
	if m.cells[at] == nil {
		m.cells[at] = make(map[string]score)
	}
	s := m.cells[at][peers]
	s.all++
	if ok {
		s.passed++
	}
	m.cells[at][peers] = s
}

// missing are the cells in which nothing worked.
func (m *matrix) missing() []check {
	var all []check
	for _, f := range features() {
		for _, p := range pairs() {
			works := false
			for _, s := range m.cells[cell{f, p}] {
				works = works || s.passed > 0
			}
			if !works {
				all = append(all, check{Name: "matrix/" + p + "/" + f, Error: "no client did this with any server"})
			}
		}
	}
	return all
}

// print writes a table for each pair of eras: a row for each feature, a column for
// each client and the program of the server. "1/2" are connections of which not all
// did it, "-" is what was not tried.
func (m *matrix) print(w io.Writer) error {
	var text strings.Builder
	for _, p := range pairs() {
		names := m.peers(p)
		fmt.Fprintf(&text, "\n%s\t%s\n", p, strings.Join(names, "\t"))
		for _, f := range features() {
			text.WriteString("  " + f)
			for _, name := range names {
				text.WriteString("\t" + m.cells[cell{f, p}][name].String())
			}
			text.WriteByte('\n')
		}
	}
	text.WriteByte('\n')
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(t, text.String()); err != nil {
		return err
	}
	return t.Flush()
}

// peers are the columns of a pair.
func (m *matrix) peers(pair string) []string {
	found := make(map[string]bool)
	for at, peers := range m.cells {
		if at.pair == pair {
			for name := range peers {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (s score) String() string {
	switch {
	case s.all == 0:
		return "-"
	case s.passed == s.all:
		return "ok"
	default:
		return fmt.Sprintf("%d/%d", s.passed, s.all)
	}
}
