package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/yamlx"
	"durward/policy/policytest"
)

type ruleTableOptions struct{ rules []string }

func newRuleTable(std Streams) *cobra.Command {
	var opt ruleTableOptions
	cmd := &cobra.Command{
		Use:   "test FILE…",
		Short: "Run tables of events and expected decisions",
		Long: "Run tables of events and expected decisions, for your own CI. The rules are those of --rules, else the policy of your\n" +
			"configuration. Needs no service; nothing is called. Plugins run as the files configure them, or, if these are rules only,\n" +
			"as your configuration does; limits are as if nothing had happened before.\n" +
			"docs/how-to/test-policy.md tells how a table is written.\n" +
			"\nExit status: 0 all pass, 1 some fail, 2 a file is not sound.\n",
		Example: "  durward rule test policy.test.yaml --rules policy.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runRuleTable(cmd.Context(), args, opt, std) },
	}
	cmd.Flags().StringArrayVar(&opt.rules, "rules", nil, "file of rules to test; may be repeated (default: your configuration)")
	return cmd
}

func runRuleTable(ctx context.Context, files []string, opt ruleTableOptions, std Streams) error {
	set, plugins, err := rulesAndPlugins(opt.rules, std)
	if err != nil {
		return err
	}
	defer plugins.Close() //nolint:errcheck // nothing of it is used any more
	var tables []*policytest.Table
	var all yamlx.Problems
	for _, file := range files {
		data, err := readInput(file, std)
		if err != nil {
			return err
		}
		table, problems := policytest.Parse(file, data)
		all = append(all, problems...)
		tables = append(tables, table)
	}
	if len(all) > 0 {
		return withHint(all, "docs/how-to/test-policy.md tells how a table is written")
	}
	cases, failed := 0, 0
	for _, table := range tables {
		n, err := table.RunWith(ctx, set, policytest.Options{Plugins: plugins}, std.Out)
		if err != nil {
			return err
		}
		cases, failed = cases+table.Len(), failed+n
	}
	if failed > 0 {
		return &verdict{durward.Errorf(durward.Conflict, "", "%d of %d cases fail", failed, cases), 1}
	}
	_, err = fmt.Fprintf(std.Out, "%d cases pass\n", cases)
	return err
}
