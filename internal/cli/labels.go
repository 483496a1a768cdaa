package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"durward/client"
)

func newLabels(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "labels",
		Short: "List the sessions that have labels",
		Long: "List the sessions that plugins marked, with their labels, which rules read as session.labels. Calls that belong to no\n" +
			"session, as those of clients of 2026-07-28, share the labels of PRINCIPAL/ENTRANCE. Labels go with their session, when\n" +
			"nothing was heard of it for 24 hours, or when somebody clears them; they survive a restart, unless there is no ledger.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLabels(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	cmd.AddCommand(newLabelsClear(std))
	return cmd
}

func runLabels(ctx context.Context, json bool, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	all, err := service.Labels(ctx)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, all)
	}
	if len(all) == 0 {
		note(std, "no session has labels")
		return nil
	}
	rows := [][]cell{{{text: "SESSION"}, {text: "LABELS"}, {text: "CALLS"}, {text: "LAST CALL"}}}
	for i := range all {
		l := &all[i]
		rows = append(rows, []cell{
			{text: l.Session}, {text: strings.Join(l.Labels, " ")}, {text: fmt.Sprint(l.Calls)}, {text: l.Used.Local().Format("2006-01-02 15:04:05")},
		})
	}
	return newTable(std.Out).print(rows)
}

func newLabelsClear(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "clear SESSION",
		Short: "Take all labels from a session",
		Long: "Take all labels from a session, as durward labels names it: what it read is then taken for forgotten, so do that when\n" +
			"the agent begins with something new. It is on record.\n" + approverHelp + exitHelp,
		Example: "  durward labels clear local/http",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
				all, err := c.Labels(ctx)
				var ids []string
				for i := range all {
					ids = append(ids, all[i].Session+"\t"+inline(strings.Join(all[i].Labels, " ")))
				}
				return ids, err
			})
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLabelsClear(cmd.Context(), args[0], json, std)
		},
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runLabelsClear(ctx context.Context, session string, json bool, std Streams) error {
	service, err := approverAPI(ctx)
	if err != nil {
		return err
	}
	had, err := service.ClearLabels(ctx, session)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, had)
	}
	_, err = fmt.Fprintln(std.Out, inline(had.Session)+" has no labels any more; it had "+inline(strings.Join(had.Labels, ", ")))
	return err
}
