package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

func newGrants(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List and revoke approvals that hold again",
		Long: "List and revoke grants: approvals that hold again, for the same tool as it was defined, with the same arguments, for\n" +
			"the same principal. A grant never lets through what a rule blocks.\n" + exitHelp,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newGrantsList(std), newGrantsRevoke(std))
	return cmd
}

func newGrantsList(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the grants in force",
		Long:  "List the grants in force, and the answers that hold for a session, oldest first.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runGrantsList(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runGrantsList(ctx context.Context, json bool, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	all, err := service.Grants(ctx)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, all)
	}
	if len(all) == 0 {
		note(std, "no approval holds again")
		return nil
	}
	rows := [][]cell{{{text: "ID"}, {text: "HOLDS"}, {text: "FOR"}, {text: "CALL"}, {text: "RULES"}, {text: "BY"}, {text: "ARGUMENTS"}}}
	for i := range all {
		g := &all[i]
		rows = append(rows, []cell{
			{text: g.ID}, {text: grantHolds(g)}, {text: g.Principal}, {text: grantCall(g)}, {text: strings.Join(g.Rules, " ")},
			{text: firstLine(g.By, 24)}, {text: grantArguments(g)},
		})
	}
	return newTable(std.Out).print(rows)
}

func grantHolds(g *client.Grant) string {
	if g.Scope == durward.ScopeSession {
		return "session " + cut(string(g.Session), 13)
	}
	return "until " + g.Expires.Local().Format("2006-01-02 15:04")
}

func grantCall(g *client.Grant) string {
	text := g.Tool
	if g.Method != "tools/call" {
		text = g.Method + " " + text
	}
	if g.Server != "" {
		text = g.Server + ": " + text
	}
	return text
}

// grantArguments are the arguments that were approved, and what may differ in them.
func grantArguments(g *client.Grant) string {
	var wide []string
	for pointer, glob := range g.Patterns {
		wide = append(wide, pointer+"="+glob)
	}
	slices.Sort(wide)
	if len(wide) > 0 {
		return strings.Join(wide, " ") + " in " + g.Preview
	}
	return g.Preview
}

func newGrantsRevoke(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a grant",
		Long: "Revoke a grant: the next such call is asked about again. Calls that it let through go on. 4 letters of the ID are\n" +
			"enough if no other begins with them.\n" + approverHelp + exitHelp,
		Example: "  durward grants revoke k7m2",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
				all, err := c.Grants(ctx)
				var ids []string
				for i := range all {
					ids = append(ids, all[i].ID+"\t"+inline(grantCall(&all[i])))
				}
				return ids, err
			})
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runGrantsRevoke(cmd.Context(), args[0], json, std)
		},
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runGrantsRevoke(ctx context.Context, id string, json bool, std Streams) error {
	service, err := approverAPI(ctx)
	if err != nil {
		return err
	}
	g, err := service.RevokeGrant(ctx, id)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, g)
	}
	return printLine(std, inline(fmt.Sprintf("%s is revoked: %s for %s, which %s had approved on %s",
		g.ID, grantCall(g), g.Principal, g.By, g.Created.Local().Format(time.DateOnly))))
}
