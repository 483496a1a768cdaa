package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/yamlx"
	"durward/policy"
)

func newRule(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rule",
		Short: "Look at, try and change the rules that decide calls",
		Long: "Look at, try and change the rules that decide calls. lint, test and fields need no service.\n" +
			"docs/how-to/write-rules.md tells how rules are written.\n" + exitHelp,
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newRuleList(std), newRuleAdd(std), newRuleLint(std), newRuleExplain(std), newRuleTable(std), newRuleReplay(std), newRuleFields(std), newRuleImport(std))
	return cmd
}

// ruleIDs completes the ids of rules in effect.
func ruleIDs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
		all, err := c.PolicyRules(ctx)
		var ids []string
		for i := range all.Rules {
			ids = append(ids, all.Rules[i].ID+"\t"+all.Rules[i].Action+" "+firstLine(all.Rules[i].Reason, 60))
		}
		return ids, err
	})
}

// maxRuleFile bounds what is read of a file, in bytes; the policy says so more kindly.
const maxRuleFile = 64 << 20

// readInput reads a file, or standard input for "-".
func readInput(name string, std Streams) (data []byte, err error) {
	in := std.In
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user named it
		if err != nil {
			return nil, durward.Errorf(kindOfFile(err), "", "%w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	data, err = io.ReadAll(io.LimitReader(in, maxRuleFile+1))
	if err == nil && len(data) > maxRuleFile {
		err = durward.Errorf(durward.Invalid, name, "it has more than %d bytes", maxRuleFile)
	}
	return data, err
}

func kindOfFile(err error) durward.Kind {
	if errors.Is(err, os.ErrNotExist) {
		return durward.NotFound
	}
	return durward.Invalid
}

// compileRules compiles files of rules as the user's layer; plugins are names of
// plugins that the configuration has besides the built-in ones.
func compileRules(files, plugins []string, std Streams) (*policy.Set, error) {
	var docs []policy.Document
	var all yamlx.Problems
	for _, file := range files {
		data, err := readInput(file, std)
		if err != nil {
			return nil, err
		}
		doc, problems := policy.ParseFile(file, data, policy.User)
		all = append(all, problems...)
		if doc != nil {
			for name, p := range doc.Spec.Plugins {
				if p.WASM != "" && !filepath.IsAbs(p.WASM) { // as in a configuration: relative to the file
					p.WASM = filepath.Join(filepath.Dir(file), p.WASM)
					doc.Spec.Plugins[name] = p
				}
			}
			docs = append(docs, *doc)
		}
	}
	if len(all) > 0 {
		return nil, withHint(all, "durward rule fields lists the fields; docs/how-to/write-rules.md has examples")
	}
	set, problems := policy.Compile(docs, policy.CompileOptions{Plugins: plugins})
	if len(problems) > 0 {
		return nil, withHint(problems, "durward rule fields lists the fields; docs/how-to/write-rules.md has examples")
	}
	return set, nil
}

// rulesOrOwn compiles files of rules, or what the user's configuration would decide by.
func rulesOrOwn(files, plugins []string, std Streams) (*policy.Set, error) {
	if len(files) > 0 {
		return compileRules(files, plugins, std)
	}
	load := loadOptions(configFile(nil))
	load.Optional = true
	c, err := config.Load(load)
	if err != nil {
		return nil, withHint(err, "--rules names a file of rules to be used instead")
	}
	return c.Policy.Rules, nil
}

// where is a place in a file, as compilers write it.
func where(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file, line)
}

func newRuleList(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the rules in effect",
		Long: "List the rules in effect, in the order in which matches are recorded: by layer, then by id. Order does not decide:\n" +
			"of all rules that match the most restrictive action wins. HITS counts matches since the service began.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRuleList(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runRuleList(ctx context.Context, json bool, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	all, err := service.PolicyRules(ctx)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, all)
	}
	if len(all.Rules) == 0 {
		note(std, "there are no rules; durward init writes some, durward rule add adds one")
		return nil
	}
	rows := [][]cell{{{text: "LAYER"}, {text: "ID"}, {text: "ACTION"}, {text: "HITS"}, {text: "FOR"}, {text: "WHEN"}}}
	for i := range all.Rules {
		r := &all.Rules[i]
		rows = append(rows, []cell{
			{text: r.Layer}, {text: r.ID}, {text: ruleAction(r), colour: decisionColour(r.Action)}, {text: fmt.Sprint(r.Hits)},
			{text: ruleIndex(r)}, {text: r.When},
		})
	}
	return newTable(std.Out).print(rows)
}

func ruleAction(r *client.PolicyRule) string {
	text := r.Action
	if r.Phase == "response" {
		text += " result"
	}
	if r.Limit != "" {
		text += " over " + r.Limit
	}
	return text
}

// ruleIndex says what a rule is for, in words.
func ruleIndex(r *client.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		word string
		all  []string
	}{{"", r.On}, {"servers ", r.Servers}, {"tools ", r.Tools}} {
		if len(part.all) > 0 {
			parts = append(parts, part.word+strings.Join(part.all, ","))
		}
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, " ")
}
