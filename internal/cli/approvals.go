package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/identity"
	"durward/internal/paths"
	"durward/internal/tui"
)

// approverHelp says in help what an answer takes.
const approverHelp = `
This takes the approver credential: the file approver-token in the state directory
of the service, which no client and no sandbox is given. With DURWARD_API, name it in
DURWARD_API_TOKEN_FILE.
`

type approvalsOptions struct{ json, once bool }

func newApprovals(std Streams) *cobra.Command {
	var opt approvalsOptions
	cmd := &cobra.Command{
		Use:   "approvals [ID]",
		Short: "See what waits for your answer, and answer it",
		Long: "See the calls that rules ask about, what each would do, and answer with one key. While this is open, calls wait for\n" +
			"an answer; where nobody could answer they are denied at once. Where there is no terminal, or with --once, the calls\n" +
			"that wait are listed instead. With an ID everything about one is printed; 4 letters of it are enough if no other\n" +
			"begins with them.\n" + approverHelp + exitHelp,
		Example:           "  durward approvals\n  durward approvals k7m2\n  durward approvals --json | jq -r '.[].id'",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: approvalIDs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return runApproval(cmd.Context(), args[0], opt, std)
			}
			return runApprovals(cmd.Context(), opt, std)
		},
	}
	cmd.Flags().BoolVar(&opt.once, "once", false, "list what waits, and end")
	jsonFlag(cmd, &opt.json)
	return cmd
}

// approvalIDs completes the ids of the calls that wait.
func approvalIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
		all, err := c.Approvals(ctx)
		var ids []string
		for i := range all {
			ids = append(ids, all[i].ID+"\t"+inline(asksFor(&all[i])))
		}
		return ids, err
	})
}

// asksFor names what waits: the offered name, or else what is asked for.
func asksFor(a *client.Approval) string {
	switch {
	case a.FullName != "":
		return a.FullName
	case a.Tool != "":
		return a.Method + " " + a.Tool
	default:
		return a.Method
	}
}

// approverAPI returns a client of the service that runs, with the approver
// credential. It starts none: nothing could wait there.
func approverAPI(ctx context.Context) (*client.Client, error) {
	service, err := runningService(ctx)
	switch {
	case err != nil:
		return nil, err
	case service == nil:
		return nil, durward.Errorf(durward.Unavailable, "", "no service runs, so nothing waits for an answer; start one with: durward serve")
	case os.Getenv(envAPI) != "":
		return service, nil // with the token that the environment names
	}
	token, err := identity.ReadToken(paths.ApproverToken())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, durward.Errorf(durward.NotFound, "", "there is no %s: the service that runs is of another version, or has another state directory", paths.ApproverToken())
	}
	if err != nil {
		return nil, withHint(err, "answers, verdicts about pins and changes of rules take the approver credential; who may not read it may not give them")
	}
	return service.WithToken(token)
}

// rulesAPI returns a client of the service, which is started if none runs, that may
// change what decides calls.
func rulesAPI(ctx context.Context, std Streams) (*client.Client, error) {
	if _, err := connect(ctx, std); err != nil {
		return nil, err
	}
	return approverAPI(ctx)
}

func runApprovals(ctx context.Context, opt approvalsOptions, std Streams) error {
	if !opt.once && !opt.json && isTerminal(std.In) && isTerminal(std.Out) && os.Getenv("TERM") != "dumb" {
		service, err := approverAPI(ctx)
		if err != nil {
			return err
		}
		return tui.Run(ctx, tui.Options{Service: service, In: std.In, Out: std.Out})
	}
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	all, err := service.Approvals(ctx)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, all)
	}
	if len(all) == 0 {
		note(std, "nothing waits for an answer")
		return nil
	}
	rows := [][]cell{{{text: "AGE"}, {text: "LEFT"}, {text: "ID"}, {text: "RISK"}, {text: "CALL"}, {text: "FOR"}, {text: "CLIENT"}, {text: "RULES"}}}
	now := time.Now()
	for i := range all {
		a := &all[i]
		rows = append(rows, []cell{
			{text: now.Sub(a.Asked).Round(time.Second).String()}, {text: max(0, a.Deadline.Sub(now)).Round(time.Second).String()}, {text: a.ID},
			{text: a.Risk}, {text: asksFor(a)}, {text: a.Principal}, {text: strings.TrimSpace(a.Client.Name + " " + a.Client.Version)}, {text: strings.Join(a.Rules, " ")},
		})
	}
	return newTable(std.Out).print(rows)
}

func runApproval(ctx context.Context, id string, opt approvalsOptions, std Streams) error {
	service, err := approverAPI(ctx)
	if err != nil {
		return err
	}
	d, err := service.Approval(ctx, id)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, d)
	}
	_, err = fmt.Fprintf(std.Out, "%s, until %s\n\n%s\n", d.ID, d.Deadline.Local().Format(time.TimeOnly), strings.Join(tui.Describe(d), "\n"))
	return err
}
