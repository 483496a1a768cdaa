package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

func newPolicy(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Look at what decides calls",
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newPolicyEffective(std))
	return cmd
}

func newPolicyEffective(std Streams) *cobra.Command {
	var session string
	var json bool
	cmd := &cobra.Command{
		Use:   "effective",
		Short: "Print the merged policy with the layer of each line",
		Long: "Print the merged policy with the layer and the place of each line: rules, defaults of tools, defaults, and the settings\n" +
			"that count. With --session it is also told under which policy that session began; its next message is decided by this one.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runPolicyEffective(cmd.Context(), durward.SessionID(session), json, std)
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "a session, by its id")
	jsonFlag(cmd, &json)
	return cmd
}

func runPolicyEffective(ctx context.Context, session durward.SessionID, json bool, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	p, err := service.EffectivePolicy(ctx, session)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, p)
	}
	return printEffective(std, p)
}

func printEffective(std Streams, p *client.EffectivePolicy) error {
	said := "policy " + p.Digest
	switch {
	case p.Session == "":
	case p.SessionDigest == "":
		said += "\nsession " + inline(p.Session) + " began before policies were noted"
	case p.SessionDigest == p.Digest:
		said += "\nsession " + inline(p.Session) + " began under it"
	default:
		said += "\nsession " + inline(p.Session) + " began under policy " + p.SessionDigest + "; its next message is decided by this one"
	}
	if _, err := fmt.Fprintln(std.Out, said); err != nil {
		return err
	}
	rows := [][]cell{{{text: "LAYER"}, {text: "WHAT"}, {text: "WHERE"}}}
	for _, l := range p.Lines {
		rows = append(rows, []cell{{text: l.Layer}, {text: l.Text}, {text: where(l.File, l.Line)}})
	}
	return newTable(std.Out).print(rows)
}
