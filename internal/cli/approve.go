package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

type approveOptions struct {
	reach    string // --for
	reason   string
	patterns []string
	json     bool
}

func newApprove(std Streams) *cobra.Command {
	var opt approveOptions
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Approve a call that waits",
		Long: "Approve a call that waits for an answer. The first answer counts. 4 letters of the ID are enough if no other begins\n" +
			"with them; durward approvals ID shows what it would do.\n\n" +
			"With --for the approval holds again, if the rules that ask permit it: for the same tool as it is defined now, with\n" +
			"the same arguments, for the same principal. --args-pattern lets one value of them differ: a glob, in which * is any\n" +
			"text without a slash, ** any text, and ? one character. No wildcard stands for .. or for a character that is not\n" +
			"visible.\n" + approverHelp + exitHelp,
		Example:           "  durward approve k7m2\n  durward approve k7m2 --for session\n  durward approve k7m2 --for 30d --args-pattern '/path=src/*.go'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: approvalIDs,
		RunE:              func(cmd *cobra.Command, args []string) error { return runApprove(cmd.Context(), args[0], opt, std) },
	}
	cmd.Flags().StringVar(&opt.reach, "for", "call", "call, session, or for how long a grant holds (12h, 30d)")
	cmd.Flags().StringVar(&opt.reason, "reason", "", "why, for the record")
	cmd.Flags().StringArrayVar(&opt.patterns, "args-pattern", nil, "POINTER=GLOB: what one argument may be; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("for", words("call", "session", "1h", "1d", "30d")) // the flag was declared above
	jsonFlag(cmd, &opt.json)
	return cmd
}

func newDeny(std Streams) *cobra.Command {
	var opt approveOptions
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny a call that waits",
		Long: "Deny a call that waits for an answer. The first answer counts. The agent learns that a person denied it, not why: the\n" +
			"reason is for the record. 4 letters of the ID are enough if no other begins with them.\n" + approverHelp + exitHelp,
		Example:           "  durward deny k7m2 --reason 'not before the release'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: approvalIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return sendAnswer(cmd.Context(), args[0], client.ApprovalAnswer{Reason: opt.reason}, opt.json, std)
		},
	}
	cmd.Flags().StringVar(&opt.reason, "reason", "", "why, for the record")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runApprove(ctx context.Context, id string, opt approveOptions, std Streams) error {
	a := client.ApprovalAnswer{Approve: true, Reason: opt.reason}
	switch opt.reach {
	case "call", "session":
		a.Scope = durward.Scope(opt.reach)
	default:
		a.Scope, a.For = durward.ScopeGrant, opt.reach
	}
	for _, p := range opt.patterns {
		pointer, glob, ok := strings.Cut(p, "=")
		if !ok || !strings.HasPrefix(pointer, "/") || glob == "" {
			return usage(fmt.Errorf("--args-pattern is POINTER=GLOB, such as '/path=src/*', not %q", p))
		}
		if a.Patterns == nil {
			a.Patterns = map[string]string{}
		}
		a.Patterns[pointer] = glob
	}
	return sendAnswer(ctx, id, a, opt.json, std)
}

func sendAnswer(ctx context.Context, id string, a client.ApprovalAnswer, json bool, std Streams) error {
	service, err := approverAPI(ctx)
	if err != nil {
		return err
	}
	rec, err := service.Answer(ctx, id, a)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, rec)
	}
	text := rec.ID + " is " + rec.Status
	switch {
	case rec.Scope == string(durward.ScopeGrant):
		text += "; it holds again until it runs out or is revoked: durward grants revoke " + rec.ID
	case rec.Scope != "":
		text += " for this " + rec.Scope
	}
	return printLine(std, inline(text))
}
