package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// shownProblems bounds how many broken promises are told in words.
const shownProblems = 40

// report prints the matrix, what is worth a number, every broken promise, and
// the line that says it all.
func report(w io.Writer, h *history, v *verdict, counts map[string]int) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fault\tserver\tinjected\tcalls\tok\trefused\tunknown\ttool-error\tother\texecutions")
	for _, r := range matrix(h) {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", r.kind, r.server, r.injected, r.affected,
			r.by[ok], r.by[refused], r.by[unknown], r.by[toolError], r.by[broken]+r.by[pendingCall], r.executions)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s: %d\n", what, counts[what])
	}
	for i, p := range v.problems {
		if i == shownProblems {
			fmt.Fprintf(w, "… and %d more\n", len(v.problems)-i)
			break
		}
		fmt.Fprintln(w, "BROKEN", p)
	}
	_, err := fmt.Fprintln(w, lastLine(v))
	return err
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
