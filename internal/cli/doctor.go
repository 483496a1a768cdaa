package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/reveal"
)

// finding is what one check of the doctor found.
type finding struct {
	Check  string `json:"check"`
	Level  string `json:"level"` // ok, warning or error
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// The levels of findings.
const (
	levelOK      = "ok"
	levelWarning = "warning"
	levelError   = "error"
)

func newDoctor(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong and say how to fix it",
		Long: "Look for what is wrong and say how to fix it: the configuration, the modes of the socket and the token, the service,\n" +
			"each server, the programs that servers need, how processes are held together, and what killed services left behind.\n" +
			"It changes nothing. With an error among the findings the exit status is 6.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runDoctor(ctx context.Context, json bool, std Streams) error {
	findings := examine(ctx)
	bad := 0
	for _, f := range findings {
		if f.Level == levelError {
			bad++
		}
	}
	if json {
		if err := printJSON(std.Out, map[string]any{"healthy": bad == 0, "findings": findings}); err != nil {
			return err
		}
	} else if err := printFindings(std, findings); err != nil {
		return err
	}
	if bad > 0 {
		return durward.Errorf(durward.Unavailable, "", "the doctor found %d errors", bad)
	}
	return nil
}

func printFindings(std Streams, findings []finding) error {
	colours := map[string]string{levelOK: green, levelWarning: yellow, levelError: red}
	for _, f := range findings {
		level := paint(std.Out, colours[f.Level], fmt.Sprintf("%-7s", f.Level))
		text := strings.ReplaceAll(reveal.Text(f.Detail), "\n", "\n          ")
		if _, err := fmt.Fprintf(std.Out, "%s  %s: %s\n", level, f.Check, text); err != nil {
			return err
		}
		if f.Fix != "" {
			if _, err := fmt.Fprintf(std.Out, "         fix: %s\n", f.Fix); err != nil {
				return err
			}
		}
	}
	return nil
}
