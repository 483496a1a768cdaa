package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"durward/client"
)

type statsOptions struct {
	filter client.CallFilter
	json   bool
}

func newStats(std Streams) *cobra.Command {
	var opt statsOptions
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count calls: by status, decision, server and tool",
		Long: "Count calls: by status, decision, server and tool, and how long they took. Filters are those of durward calls.\n" +
			"A time is RFC 3339, a date, or how long ago: 90s, 1h, 2d.\n" + exitHelp,
		Example: "  durward stats --since 7d\n  durward stats --server github --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runStats(cmd.Context(), opt, std) },
	}
	filterFlags(cmd, &opt.filter)
	since := cmd.Flags().Lookup("since") // here it has a default
	since.DefValue = "24h"
	_ = since.Value.Set(since.DefValue) // a text takes everything
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runStats(ctx context.Context, opt statsOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	stats, err := service.CallStats(ctx, opt.filter)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, stats)
	}
	return printStats(std, stats)
}

// mostRows is how many servers and tools are shown; --json has 100.
const mostRows = 20

func printStats(std Streams, s *client.CallStats) error {
	_, err := fmt.Fprintf(std.Out, "%d calls, %s in, %s out\n", s.Calls, bytesText(s.BytesIn), bytesText(s.BytesOut))
	if err != nil || s.Calls == 0 {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "status    %s\ndecision  %s\ntook      %s\n", counts(s.ByStatus), counts(s.ByAction), quantilesText(s.Duration))
	if err != nil {
		return err
	}
	servers := [][]cell{{{text: "SERVER"}, {text: "CALLS"}, {text: "NOT OK"}, {text: "IN"}, {text: "OUT"}}}
	for _, v := range s.ByServer[:min(len(s.ByServer), mostRows)] {
		servers = append(servers, []cell{{text: cmp.Or(v.Server, "(durward)")}, number(v.Calls, ""), number(v.NotOK, red), {text: bytesText(v.BytesIn)}, {text: bytesText(v.BytesOut)}})
	}
	tools := [][]cell{{{text: "TOOL"}, {text: "CALLS"}, {text: "NOT OK"}, {text: "TOOK"}}}
	for _, v := range s.ByTool[:min(len(s.ByTool), mostRows)] {
		tools = append(tools, []cell{{text: strings.TrimPrefix(v.Server+" "+v.Tool, " ")}, number(v.Calls, ""), number(v.NotOK, red), {text: quantilesText(v.Duration)}})
	}
	for _, rows := range [][][]cell{servers, tools} {
		if len(rows) == 1 {
			continue
		}
		if _, err := io.WriteString(std.Out, "\n"); err != nil {
			return err
		}
		if err := newTable(std.Out).print(rows); err != nil {
			return err
		}
	}
	return nil
}

func number(n int64, colour string) cell {
	if n == 0 {
		return cell{text: "0"}
	}
	return cell{text: strconv.FormatInt(n, 10), colour: colour}
}

// counts are numbers with their names, the largest first.
func counts(m map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", inline(name), m[name]))
	}
	return strings.Join(parts, ", ")
}

func quantilesText(q client.Quantiles) string {
	if q.P99 == 0 {
		return "-"
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s", took(q.P50), took(q.P95), took(q.P99))
}
