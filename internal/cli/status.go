package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

type statusOptions struct{ json bool }

func newStatus(std Streams) *cobra.Command {
	var opt statusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the service and its servers",
		Long:  "Show the service and its servers, and why those that are not ready are not.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), opt, std) },
	}
	cmd.Flags().BoolVar(&opt.json, "json", false, "print one JSON document")
	return cmd
}

func runStatus(ctx context.Context, opt statusOptions, std Streams) error {
	service, err := serviceAPI()
	if err != nil {
		return err
	}
	status, err := service.Status(ctx)
	if err != nil {
		return err
	}
	if opt.json {
		return json.NewEncoder(std.Out).Encode(status)
	}
	return printStatus(std, status)
}

func printStatus(std Streams, s *client.Status) error {
	address := "http://" + s.Address
	if s.Address == "" {
		address = "no HTTP"
	}
	_, err := fmt.Fprintf(std.Out, "durward %s  pid %d, %s, up %s\n", s.Version, s.PID, address, time.Since(s.Started).Round(time.Second))
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "config\t%s\npolicy\t%s\nledger\t%s\n", s.Config.File, s.Policy, ledgerText(std, s))
	if s.LedgerProblem != "" {
		_, _ = fmt.Fprintf(w, "\t%s\n", paint(std.Out, red, firstLine(s.LedgerProblem, 500)))
	}
	if s.APIAddress != "" {
		_, _ = fmt.Fprintf(w, "api\thttp://%s, with a token\n", s.APIAddress)
	}
	if s.Config.Problem != "" {
		_, _ = fmt.Fprintf(w, "\tthe file has problems, the last good one runs: %s\n", s.Config.Problem)
	}
	if err := w.Flush(); err != nil { // the writer keeps the first error
		return err
	}
	_, err = fmt.Fprint(std.Out, "\n", serverTable(s.Servers))
	return err
}

// ledgerText says whether calls are recorded; that they are not is nothing to overlook.
func ledgerText(std Streams, s *client.Status) string {
	if s.LedgerProblem != "" || strings.HasPrefix(s.Ledger, "none") {
		return paint(std.Out, red, s.Ledger)
	}
	return s.Ledger
}

// serverTable has the details of each server below its row. The rows are aligned
// before the details come in, since a line without columns ends a tabwriter's table.
func serverTable(servers []durward.ServerStatus) string {
	var rows strings.Builder
	w := tabwriter.NewWriter(&rows, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "SERVER\tSTATE\tERA\tTOOLS\tPROMPTS\tRESOURCES\tKEPT BY\n")
	for i := range servers {
		server := &servers[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", server.Name, server.State, server.Era,
			server.Tools, server.Prompts, server.Resources+server.Templates, server.Confined)
	}
	_ = w.Flush() // a builder takes everything
	lines := strings.Split(rows.String(), "\n")
	var out strings.Builder
	out.WriteString(lines[0] + "\n")
	for i := range servers {
		out.WriteString(strings.TrimRight(lines[i+1], " ") + "\n")
		for _, line := range details(&servers[i]) {
			out.WriteString("  " + line + "\n")
		}
	}
	return out.String()
}

// details are the lines below a server: why it is not ready, and what is wrong with it.
func details(s *durward.ServerStatus) []string {
	var lines []string
	if s.Reason != "" {
		lines = append(lines, strings.Split(strings.TrimSpace(s.Reason), "\n")...)
	}
	if !s.NextTry.IsZero() {
		lines = append(lines, "next attempt in "+time.Until(s.NextTry).Round(100*time.Millisecond).String())
	}
	return append(lines, s.Problems...)
}
