package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/yamlx"
	"durward/policy"
)

type ruleAddOptions struct {
	rule    policy.Rule
	limit   string
	example string
	json    bool
}

func newRuleAdd(std Streams) *cobra.Command {
	var opt ruleAddOptions
	cmd := &cobra.Command{
		Use:   "add ID ACTION | add FILE | add -",
		Short: "Add a rule to your configuration, and prove it",
		Long: "Add a rule to policy.rules of your configuration file, whose comments and layout stay. The rule is made of flags, or\n" +
			"read from a FILE with one rule in YAML (- is standard input). It is checked before anything is written, and in use when\n" +
			"the command returns. Then a call is evaluated, with the arguments of --example, and it is told what decides.\n" + approverHelp + exitHelp,
		Example: "  durward rule add no-force-push block --server github --tool 'push_*' \\\n" +
			"    --when 'mcp.tool.arguments.force == true' --reason 'force pushes need a person' --example '{\"force\": true}'",
		Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []string{"allow", "ask", "block"}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runRuleAdd(cmd.Context(), args, opt, std) },
	}
	flags, r := cmd.Flags(), &opt.rule
	flags.StringArrayVar(&r.On, "on", nil, "method the rule is for, such as tools/call; may be repeated (default: tools/call with --tool, else any)")
	flags.StringArrayVar(&r.Servers, "server", nil, "server the rule is for, or a pattern; may be repeated")
	flags.StringArrayVar(&r.Tools, "tool", nil, "tool the rule is for, by its server's own name, or a pattern; may be repeated")
	flags.StringVar(&r.When, "when", "", "condition in CEL; durward rule fields lists the fields")
	flags.StringVar(&r.Phase, "phase", "", "request or response (default: request)")
	flags.StringVar(&r.Reason, "reason", "", "shown to the operator and to who is asked")
	flags.StringVar(&r.Detection, "detection", "", "how much a match weighs: none, info, low, medium, high, critical")
	flags.StringVar(&r.Until, "until", "", "when the rule ends: a date or a time")
	flags.StringVar(&opt.limit, "limit", "", "the action applies beyond this only: '30 calls per 1m by principal+tool'")
	flags.StringVar(&opt.example, "example", "", "arguments of the call that is evaluated, a JSON object")
	jsonFlag(cmd, &opt.json)
	_ = cmd.RegisterFlagCompletionFunc("server", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return serverNames(cmd, nil, word)
	}) // the flag was declared above
	_ = cmd.RegisterFlagCompletionFunc("tool", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		server := ""
		if len(r.Servers) == 1 {
			server = r.Servers[0]
		}
		return nativeTools(cmd, server)
	}) // as above
	return cmd
}

func runRuleAdd(ctx context.Context, args []string, opt ruleAddOptions, std Streams) error {
	text, err := ruleText(args, opt, std)
	if err != nil {
		return err
	}
	rule, err := checkRule(text)
	if err != nil {
		return err
	}
	if opt.example != "" && !json.Valid([]byte(opt.example)) {
		return usage(fmt.Errorf("--example is no JSON object"))
	}
	service, err := rulesAPI(ctx, std)
	if err != nil {
		return err
	}
	edit, err := service.AddRule(ctx, client.NewRule{Text: text})
	if err != nil {
		return withHint(err, "nothing was changed; durward rule list shows the rules there are")
	}
	out := toolOutput{Edit: edit}
	if err := proveRule(ctx, service, rule, opt.example, &out); err != nil {
		return withHint(err, "the rule is in %s and in use, but no call could be evaluated", where(edit.File, edit.Line))
	}
	if opt.json {
		return printJSON(std.Out, out)
	}
	return printRuleAdded(std, rule, &out)
}

// ruleText is the rule in YAML, as it is to be written.
func ruleText(args []string, opt ruleAddOptions, std Streams) (string, error) {
	if len(args) == 1 {
		data, err := readInput(args[0], std)
		if durward.KindOf(err) == durward.NotFound && err != nil {
			err = withHint(err, "durward rule add ID ACTION makes a rule of flags")
		}
		return string(data), err
	}
	r := &opt.rule
	if len(r.On) == 0 && len(r.Tools) > 0 {
		r.On = []string{"tools/call"}
	}
	limit, err := limitText(opt.limit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, line := range []struct{ key, value string }{
		{"id", yamlx.Quote(args[0])}, {"on", listText(r.On)}, {"servers", listText(r.Servers)}, {"tools", listText(r.Tools)}, {"when", scalarText(r.When)},
		{"action", yamlx.Quote(args[1])}, {"limit", limit}, {"phase", scalarText(r.Phase)}, {"detection", scalarText(r.Detection)}, {"reason", scalarText(r.Reason)}, {"until", scalarText(r.Until)},
	} {
		if line.value != "" {
			b.WriteString(line.key + ": " + line.value + "\n")
		}
	}
	return b.String(), nil
}

func scalarText(text string) string {
	if text == "" {
		return ""
	}
	return yamlx.Quote(text)
}

func listText(all []string) string {
	if len(all) == 0 {
		return ""
	}
	out := make([]string, len(all))
	for i, text := range all {
		out[i] = yamlx.Quote(text)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// limitText reads "30 calls per 1m by principal+tool".
func limitText(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	words := strings.Fields(text)
	if len(words) != 4 && len(words) != 6 || words[2] != "per" || len(words) == 6 && words[4] != "by" || !slices.Contains([]string{"calls", "bytes", "approvals"}, words[1]) {
		return "", usage(fmt.Errorf("--limit is written as '30 calls per 1m by principal+tool'; calls may be bytes or approvals"))
	}
	out := words[1] + ": " + yamlx.Quote(words[0]) + ", per: " + words[3]
	if words[1] != "bytes" {
		out = words[1] + ": " + words[0] + ", per: " + words[3]
	}
	if len(words) == 6 {
		out += ", by: " + words[5]
	}
	return "{" + out + "}", nil
}

// checkRule compiles a rule by itself, so that what is wrong is shown in the words
// of the user, and returns it. Plugins are known to the service only.
func checkRule(text string) (*policy.Rule, error) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	doc, problems := policy.ParseFile("rule", []byte("rules:\n  - "+strings.Join(lines, "\n    ")+"\n"), policy.User)
	if len(problems) == 0 && len(doc.Spec.Rules) == 1 {
		var plugins []string
		if p := doc.Spec.Rules[0].Plugin; p != "" {
			plugins = append(plugins, p)
		}
		_, problems = policy.Compile([]policy.Document{*doc}, policy.CompileOptions{Plugins: plugins})
	}
	switch {
	case len(problems) > 0:
		for i := range problems { // the two lines and the indentation in front are ours
			problems[i].Line = max(1, problems[i].Line-1)
		}
		return nil, withHint(problems, "durward rule fields lists the fields; docs/how-to/write-rules.md has examples")
	case len(doc.Spec.Rules) != 1:
		return nil, durward.Errorf(durward.Invalid, "rule", "one rule is expected: a mapping with id and action")
	}
	return &doc.Spec.Rules[0], nil
}

// proveRule evaluates a call that the rule is for.
func proveRule(ctx context.Context, service *client.Client, rule *policy.Rule, example string, out *toolOutput) error {
	if len(rule.On) > 0 && !slices.Contains(rule.On, "tools/call") {
		return nil
	}
	items, err := service.Tools(ctx, client.Filter{})
	if err != nil {
		return err
	}
	r := client.ExplainRequest{}
	for i := range items {
		if fits(rule.Servers, items[i].Server) && fits(rule.Tools, items[i].Native) {
			r.Server, r.Tool = items[i].Server, items[i].Native
			break
		}
	}
	if r.Tool == "" && len(rule.Servers) == 1 && len(rule.Tools) == 1 && plainName(rule.Servers[0]) && plainName(rule.Tools[0]) {
		r.Server, r.Tool = rule.Servers[0], rule.Tools[0] // what the rule blocks is not listed any more
	}
	if r.Tool == "" {
		return nil
	}
	if example != "" {
		r.Arguments = json.RawMessage(example)
	}
	out.Tool = r.Server + "/" + r.Tool
	out.Explanation, err = service.ExplainPolicy(ctx, r)
	return err
}

func printRuleAdded(std Streams, rule *policy.Rule, out *toolOutput) error {
	if _, err := fmt.Fprintf(std.Out, "%s: rule %s is in use; %s\n", where(out.Edit.File, out.Edit.Line), inline(rule.ID), digests(out.Edit)); err != nil {
		return err
	}
	if out.Explanation == nil {
		_, err := fmt.Fprintln(std.Out, "no tool is offered now that it is for, so that nothing could be evaluated; durward rule explain evaluates any event")
		return err
	}
	said := fmt.Sprintf("a call of %s now: %s\n", inline(out.Tool), decided(std.Out, out.Explanation))
	for _, r := range out.Explanation.Rules {
		if r.ID == rule.ID && r.Layer == policy.User.String() && !r.Decides {
			said += "the rule itself: " + inline(r.Why) + "\n"
		}
	}
	_, err := fmt.Fprint(std.Out, said)
	return err
}
