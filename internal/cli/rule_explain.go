package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/policy"
)

type ruleExplainOptions struct {
	request   client.ExplainRequest
	arguments string
	rules     []string
	plugins   []string
	all       bool
	json      bool
}

func newRuleExplain(std Streams) *cobra.Command {
	var opt ruleExplainOptions
	cmd := &cobra.Command{
		Use:   "explain [EVENT.json | -]",
		Short: "Say what would be decided for a call, and by which rules",
		Long: "Say what would be decided for a call, and what came of each rule. Nothing is called and no limit is used up. An\n" +
			"event is a JSON object with the names that conditions use: {\"mcp\": {\"tool\": {\"name\": \"push\"}}}; or --server, --tool\n" +
			"and --args name a call. The service that runs is asked, or with --rules those files alone, without a service.\n" + exitHelp,
		Example: "  durward rule explain --server github --tool push_files --args '{\"force\": true}'\n" +
			"  durward rule explain event.json --rules rules.yaml",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRuleExplain(cmd.Context(), args, opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.request.Server, "server", "", "server of the call")
	flags.StringVar(&opt.request.Tool, "tool", "", "tool of the call, by its server's own name")
	flags.StringVar(&opt.arguments, "args", "", "arguments of the call, a JSON object")
	flags.StringVar(&opt.request.Principal, "principal", "", "who calls (default: local)")
	flags.StringVar(&opt.request.Session, "session", "", "session of the call, for its labels")
	flags.StringArrayVar(&opt.rules, "rules", nil, "file of rules that decides instead of the service; may be repeated")
	flags.StringArrayVar(&opt.plugins, "plugin", nil, "name of a plugin of yours that the rules may run; with --rules")
	flags.BoolVar(&opt.all, "all", false, "show the rules that are for other calls, too")
	jsonFlag(cmd, &opt.json)
	_ = cmd.RegisterFlagCompletionFunc("server", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return serverNames(cmd, nil, word)
	}) // the flag was declared above
	_ = cmd.RegisterFlagCompletionFunc("tool", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return nativeTools(cmd, opt.request.Server)
	}) // as above
	return cmd
}

func runRuleExplain(ctx context.Context, args []string, opt ruleExplainOptions, std Streams) error {
	r := opt.request
	if len(args) == 0 && r.Tool == "" {
		return usage(fmt.Errorf("what is to be explained? Give an event, or --server and --tool"))
	}
	if len(args) > 0 {
		event, err := readInput(args[0], std)
		if err != nil {
			return err
		}
		r.Event = event
		if !json.Valid(event) {
			return durward.Errorf(durward.Invalid, args[0], "it is no JSON")
		}
	}
	if opt.arguments != "" {
		if r.Arguments = json.RawMessage(opt.arguments); !json.Valid(r.Arguments) {
			return usage(fmt.Errorf("--args is no JSON object"))
		}
	}
	var e *client.Explanation
	var err error
	if len(opt.rules) > 0 {
		e, err = explainOffline(ctx, r, opt, std)
	} else {
		e, err = explainRunning(ctx, r, std)
	}
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, e)
	}
	return printExplanation(std, e, opt.all)
}

func explainRunning(ctx context.Context, r client.ExplainRequest, std Streams) (*client.Explanation, error) {
	service, err := connect(ctx, std)
	if err != nil {
		return nil, err
	}
	e, err := service.ExplainPolicy(ctx, r)
	if durward.KindOf(err) == durward.NotFound && err != nil {
		err = withHint(err, "durward tools lists what there is; an event in a file may name what there is not")
	}
	return e, err
}

// explainOffline decides by files of rules alone.
func explainOffline(ctx context.Context, r client.ExplainRequest, opt ruleExplainOptions, std Streams) (*client.Explanation, error) {
	set, err := compileRules(opt.rules, opt.plugins, std)
	if err != nil {
		return nil, err
	}
	ev := &policy.Event{Type: policy.EventMCP, Method: "tools/call", Caller: policy.EventCaller{Principal: "local", Entrance: string(durward.EntranceConsole)}}
	if r.Event != nil {
		if ev, err = policy.EventFromJSON(r.Event); err != nil {
			return nil, err
		}
	}
	if r.Server != "" {
		ev.Server.Name = r.Server
	}
	if r.Tool != "" {
		ev.Method, ev.Tool.Name, ev.Tool.FullName = "tools/call", r.Tool, r.Server+"__"+r.Tool
	}
	if r.Arguments != nil {
		ev.Args = r.Arguments
	}
	if r.Principal != "" {
		ev.Caller.Principal = r.Principal
	}
	engine, err := policy.New(policy.Options{Set: set, Plugins: noPlugins{}})
	if err != nil {
		return nil, err
	}
	x := engine.Explain(ctx, ev)
	return explanation(&x), nil
}

// noPlugins stands for plugins where nothing is to be changed: they find nothing.
type noPlugins struct{}

// Preprocess implements policy.Runner.
func (noPlugins) Preprocess(context.Context, *durward.Call, []string) (d durward.Decision, labels []string, err error) {
	return durward.Decision{}, nil, nil
}

// Postprocess implements policy.Runner.
func (noPlugins) Postprocess(context.Context, *durward.Call, []byte, []string) (d durward.Decision, labels []string, score float64, err error) {
	return durward.Decision{}, nil, -1, nil
}

// explanation puts an explanation in the words of the service API.
func explanation(x *policy.Explanation) *client.Explanation {
	d := &x.Decision
	e := &client.Explanation{
		Digest: x.Digest, Action: d.Action.String(), Rule: d.Rule, Layer: d.Layer, Cause: d.Cause, Reason: d.Reason, Pin: x.Pin, Rules: []client.ExplainedRule{},
	}
	if x.Risk != durward.RiskUnset {
		e.Risk = x.Risk.String()
	}
	for i := range x.Rules {
		r := &x.Rules[i]
		e.Rules = append(e.Rules, client.ExplainedRule{
			Layer: r.Layer.String(), ID: r.ID, File: r.Pos.File, Line: r.Pos.Line, Stage: r.Stage, Action: r.Action,
			Indexed: r.Indexed, Matched: r.Matched, Decides: r.Decides, Why: r.Why,
		})
	}
	return e
}

func printExplanation(std Streams, e *client.Explanation, all bool) error {
	var out strings.Builder
	out.WriteString(decided(std.Out, e) + "\n")
	about := "policy " + cut(e.Digest, 13)
	if e.Risk != "" {
		about += ", risk " + e.Risk
	}
	if e.Pin != "" {
		about += ", pin " + e.Pin
	}
	out.WriteString(about + "\n")
	if _, err := io.WriteString(std.Out, out.String()); err != nil {
		return err
	}
	rows := [][]cell{{{text: "RULE"}, {text: "ACTION"}, {text: "MATCHED"}, {text: "WHY"}, {text: "WHERE"}}}
	left := 0
	for i := range e.Rules {
		r := &e.Rules[i]
		if !all && !r.Matched && !r.Indexed {
			left++
			continue
		}
		matched := "no"
		if r.Matched {
			matched = "yes"
		}
		if r.Decides {
			matched = "decides"
		}
		rows = append(rows, []cell{{text: r.Layer + "/" + r.ID}, {text: r.Action, colour: decisionColour(r.Action)}, {text: matched}, {text: r.Why}, {text: where(r.File, r.Line)}})
	}
	if len(rows) > 1 {
		if err := newTable(std.Out).print(rows); err != nil {
			return err
		}
	}
	if left > 0 {
		note(std, fmt.Sprintf("%d rules are for other calls; --all shows them", left))
	}
	return nil
}

// decided says in a line what is decided and by what.
func decided(stream any, e *client.Explanation) string {
	text := paint(stream, decisionColour(e.Action), e.Action)
	switch {
	case e.Rule != "":
		text += ", by the rule " + inline(e.Layer+"/"+e.Rule)
	case e.Layer != "":
		text += ", by the layer " + inline(e.Layer)
	}
	if e.Reason != "" {
		text += ": " + inline(e.Reason)
	}
	return text
}

// nativeTools completes the own names of a server's tools.
func nativeTools(cmd *cobra.Command, server string) ([]string, cobra.ShellCompDirective) {
	return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
		items, err := c.Tools(ctx, client.Filter{Server: server})
		var names []string
		for i := range items {
			names = append(names, items[i].Native+"\t"+description(&items[i], 60))
		}
		return names, err
	})
}
