package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// shownProblems bounds how many broken promises are told in words.
const shownProblems = 40

// report prints the matrix, what is worth a number, every broken promise, and
// the line that says it all.
func report(w io.Writer, h *history, v *verdict, counts map[string]int) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, matrixText(h)+pairsText(h)); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s: %d\n", what, counts[what])
	}
	for i, p := range v.problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "… and %d more\n", len(v.problems)-i)
			break
		}
		fmt.Fprintln(&b, "BROKEN", p)
	}
	_, err := io.WriteString(w, b.String()+lastLine(v)+"\n")
	return err
}

const outcomeColumns = "calls\tok\trefused\tunknown\ttool-error\tother"

func (by *tally) columns() string {
	all := 0
	for _, n := range by {
		all += n
	}
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d", all, by[ok], by[refused], by[unknown], by[toolError], by[broken]+by[pendingCall])
}

func matrixText(h *history) string {
	var b strings.Builder
	fmt.Fprintln(&b, "fault\tserver\tinjected\t"+outcomeColumns+"\texecutions")
	for _, r := range matrix(h) {
		fmt.Fprintf(&b, "%s\t%s\t%d\t%s\t%d\n", r.kind, r.server, r.injected, r.by.columns(), r.executions)
	}
	return b.String()
}

func pairsText(h *history) string {
	var b strings.Builder
	fmt.Fprintln(&b, "\nquestions of\tto clients\t\t"+outcomeColumns)
	for _, p := range pairs(h) {
		fmt.Fprintf(&b, "%s\t%s\t\t%s\n", p.server, p.era, p.by.columns())
	}
	return b.String()
}

// lastLine is the line that other programs read.
func lastLine(v *verdict) string {
	return fmt.Sprintf("chaos: calls=%d faults=%d executions=%d duplicates=%d unknown=%d misdirected=%d hangs=%d "+
		"ok=%d refused=%d tool_errors=%d idempotent_repeats=%d broken=%d",
		v.calls, v.faults, v.executions, v.duplicates, v.by[unknown], v.misdirected, v.hangs(),
		v.by[ok], v.by[refused], v.by[toolError], v.repeats, len(v.problems))
}

// keep writes what happened to every call beside the logs, one a line.
func keep(dir string, h *history) error {
	f, err := os.Create(filepath.Join(dir, "calls"))
	if err != nil {
		return err
	}
	defer f.Close()
	out := json.NewEncoder(f)
	for _, r := range h.calls {
		if err := out.Encode(map[string]any{
			"id": r.id, "tool": r.tool, "server": r.server, "client": r.client, "begin": r.begin, "end": r.end,
			"outcome": r.outcome.String(), "detail": r.detail, "executions": h.executions[r.id],
		}); err != nil {
			return err
		}
	}
	for _, x := range h.faults {
		if err := out.Encode(map[string]any{"fault": x.kind, "server": x.server, "client": x.client, "call": x.call, "at": x.at}); err != nil {
			return err
		}
	}
	return nil
}
