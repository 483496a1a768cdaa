package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"durward/internal/reveal"
)

type serverLogsOptions struct {
	lines int
	json  bool
}

func newServerLogs(std Streams) *cobra.Command {
	var opt serverLogsOptions
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show the end of what a server wrote to its stderr",
		Long: "Show the end of what a server wrote to its stderr, of the process that runs or of the last one that ran.\n" +
			"Known secrets are masked. Remote servers have no stderr.\n" + exitHelp,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: serverNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return runServerLogs(cmd.Context(), args[0], opt, std) },
	}
	cmd.Flags().IntVar(&opt.lines, "lines", 100, "how many lines; 0: all that are kept")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runServerLogs(ctx context.Context, name string, opt serverLogsOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	logs, err := service.ServerLogs(ctx, name)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(strings.TrimRight(logs.Stderr, "\n"), "\n")
	if opt.lines > 0 && len(lines) > opt.lines {
		lines = lines[len(lines)-opt.lines:]
	}
	logs.Stderr = strings.Join(lines, "")
	if opt.json {
		return printJSON(std.Out, logs)
	}
	if logs.Stderr == "" {
		note(std, name+" wrote nothing to its stderr")
		return nil
	}
	_, err = io.WriteString(std.Out, reveal.Text(logs.Stderr)+"\n")
	return err
}
