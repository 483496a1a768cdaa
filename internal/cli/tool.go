package cli

import (
	"context"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

func newTool(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tool",
		Short: "Say what happens by default with a tool: allow, ask or block",
		Long: "Say what happens by default with a tool. It is written into policy.tools of your configuration, is in use when the\n" +
			"command returns, and is then proven: a call of the tool is evaluated, and it is told what decides.\n" + exitHelp,
		RunE: needsSubcommand,
	}
	for _, action := range [][2]string{{"allow", "Let a tool be called"}, {"ask", "Ask a person before a tool is called"}, {"block", "Let a tool not be called"}} {
		cmd.AddCommand(newToolAction(action[0], action[1], std))
	}
	return cmd
}

func newToolAction(action, short string, std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   action + " SERVER TOOL",
		Short: short,
		Long: short + ". TOOL is its server's own name, or a pattern with *, ? and [a-z]. Only a rule that matches overrides it,\n" +
			"of your own layer or of the corp layer: then it is told which one, and the exit status is 5.\n" + approverHelp + exitHelp,
		Example: fmt.Sprintf("  durward tool %s github 'push_*'", action),
		Args:    cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nativeTools(cmd, args[0])
			}
			return serverNames(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTool(cmd.Context(), client.ToolAction{Server: args[0], Tool: args[1], Action: action}, json, std)
		},
	}
	jsonFlag(cmd, &json)
	return cmd
}

// toolOutput is what tool says as JSON.
type toolOutput struct {
	Edit *client.PolicyEdit `json:"edit"`
	Tool string             `json:"tool,omitempty"` // the one that was evaluated; empty: none is offered that the pattern fits
	// Explanation of a call of the tool, without arguments, by the policy as it is now.
	Explanation *client.Explanation `json:"explanation,omitempty"`
}

func runTool(ctx context.Context, a client.ToolAction, json bool, std Streams) error {
	service, err := rulesAPI(ctx, std)
	if err != nil {
		return err
	}
	edit, err := service.SetToolAction(ctx, a)
	if err != nil {
		return withHint(err, "durward server list shows the servers, durward tools their tools")
	}
	out := toolOutput{Edit: edit}
	if out.Tool, err = exampleTool(ctx, service, []string{a.Server}, []string{a.Tool}); err != nil {
		return err
	}
	if out.Tool != "" {
		out.Explanation, err = service.ExplainPolicy(ctx, client.ExplainRequest{Server: a.Server, Tool: out.Tool})
		if err != nil {
			return withHint(err, "the edit is in %s and in use, but it could not be proven", where(edit.File, edit.Line))
		}
	}
	if json {
		err = printJSON(std.Out, out)
	} else {
		err = printTool(std, a, &out)
	}
	if err == nil && out.Explanation != nil && out.Explanation.Action != a.Action {
		err = withHint(durward.Errorf(durward.Conflict, "", "the default is written, but something else decides: %s", decided(nil, out.Explanation)),
			"durward rule explain --server %s --tool %s shows every rule", shellQuote(a.Server), shellQuote(out.Tool))
	}
	return err
}

func printTool(std Streams, a client.ToolAction, out *toolOutput) error {
	if _, err := fmt.Fprintf(std.Out, "%s: %s of %s: %s; %s\n", where(out.Edit.File, out.Edit.Line), inline(a.Tool), a.Server, a.Action, digests(out.Edit)); err != nil {
		return err
	}
	if out.Explanation == nil {
		_, err := fmt.Fprintf(std.Out, "no tool of %s is offered now that %s fits, so that nothing could be proven\n", a.Server, inline(a.Tool))
		return err
	}
	_, err := fmt.Fprintf(std.Out, "a call of %s now: %s\n", inline(out.Tool), decided(std.Out, out.Explanation))
	return err
}

// digests says from which policy to which an edit led.
func digests(e *client.PolicyEdit) string {
	if e.Old == e.New {
		return "the policy was " + cut(e.New, 13) + " before"
	}
	return "policy " + cut(e.Old, 13) + " → " + cut(e.New, 13)
}

// exampleTool is a tool that is offered and that patterns over servers and tools
// fit; "" if there is none. No pattern fits everything.
func exampleTool(ctx context.Context, service *client.Client, servers, tools []string) (string, error) {
	items, err := service.Tools(ctx, client.Filter{})
	for i := range items {
		if fits(servers, items[i].Server) && fits(tools, items[i].Native) {
			return items[i].Native, err
		}
	}
	if err == nil && len(tools) == 1 && plainName(tools[0]) {
		return tools[0], nil // what is blocked is not listed, and can be evaluated all the same
	}
	return "", err
}

func fits(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return len(patterns) == 0
}

// plainName reports whether a pattern is the name of one tool.
func plainName(pattern string) bool {
	for _, r := range pattern {
		if r == '*' || r == '?' || r == '[' {
			return false
		}
	}
	return pattern != ""
}
