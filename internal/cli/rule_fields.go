package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"durward/policy"
)

func newRuleFields(std Streams) *cobra.Command {
	var json, page bool
	cmd := &cobra.Command{
		Use:   "fields [PREFIX]",
		Short: "List the fields that conditions may name",
		Long: "List the fields that conditions may name, with the type of each. --reference prints the whole reference of the\n" +
			"language, as in docs/reference/rule-fields.md. Needs no service.\n" + exitHelp,
		Example: "  durward rule fields mcp.tool",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if page {
				_, err := std.Out.Write(policy.FieldsReference())
				return err
			}
			return runRuleFields(strings.Join(args, ""), json, std)
		},
	}
	jsonFlag(cmd, &json)
	cmd.Flags().BoolVar(&page, "reference", false, "print the reference of the language")
	cmd.MarkFlagsMutuallyExclusive("json", "reference")
	return cmd
}

func runRuleFields(prefix string, json bool, std Streams) error {
	var some []policy.FieldInfo
	for _, f := range policy.Fields() {
		if strings.HasPrefix(f.Name, prefix) {
			some = append(some, f)
		}
	}
	if json {
		return printJSON(std.Out, map[string]any{"fields": some})
	}
	rows := [][]cell{{{text: "FIELD"}, {text: "TYPE"}, {text: "WHAT IT IS"}}}
	for _, f := range some {
		rows = append(rows, []cell{{text: f.Name}, {text: f.Type}, {text: strings.ReplaceAll(f.Doc, "`", "")}})
	}
	return newTable(std.Out).print(rows)
}
