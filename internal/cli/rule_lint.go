package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/policy"
)

type ruleLintOptions struct {
	plugins         []string
	running, strict bool
	json            bool
}

func newRuleLint(std Streams) *cobra.Command {
	var opt ruleLintOptions
	cmd := &cobra.Command{
		Use:   "lint [FILE…]",
		Short: "Check files of rules and report every problem",
		Long: "Check files of rules, or the policy of your configuration, and report every problem with its line: what does not\n" +
			"compile, and what can have no effect. A FILE holds the key rules, a whole policy, or a configuration with one; - is\n" +
			"standard input. Needs no service; with --running the servers and tools of the one that runs are known, too.\n" + exitHelp,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runRuleLint(cmd.Context(), args, opt, std) },
	}
	cmd.Flags().StringArrayVar(&opt.plugins, "plugin", nil, "name of a plugin of yours that the rules may run; may be repeated")
	cmd.Flags().BoolVar(&opt.running, "running", false, "compare with the servers and tools of the service that runs")
	cmd.Flags().BoolVar(&opt.strict, "strict", false, "what can have no effect is an error, too (exit status 2)")
	jsonFlag(cmd, &opt.json)
	return cmd
}

// lintOutput is what lint says as JSON.
type lintOutput struct {
	Problems []client.Problem `json:"problems"` // that make the rules unusable
	Findings []lintFinding    `json:"findings"` // that are hardly meant
}

type lintFinding struct {
	Code    string `json:"code"`
	Rule    string `json:"rule,omitempty"`
	Layer   string `json:"layer"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

func runRuleLint(ctx context.Context, files []string, opt ruleLintOptions, std Streams) error {
	set, err := rulesOrOwn(files, opt.plugins, std)
	if err != nil {
		if opt.json {
			if printed := printJSON(std.Out, lintOutput{Problems: validated(err).Problems, Findings: []lintFinding{}}); printed != nil {
				return printed
			}
		}
		return err
	}
	var catalog policy.Catalog
	if opt.running {
		if catalog, err = runningCatalog(ctx); err != nil {
			return err
		}
	}
	findings := set.Lint(catalog, time.Now())
	if opt.json {
		out := lintOutput{Problems: []client.Problem{}, Findings: []lintFinding{}}
		for _, f := range findings {
			out.Findings = append(out.Findings, lintFinding{f.Code, f.Rule, f.Layer.String(), f.Pos.File, f.Pos.Line, f.Message})
		}
		err = printJSON(std.Out, out)
	} else {
		err = printLint(findings, len(set.Rules()), std)
	}
	if err == nil && opt.strict && len(findings) > 0 {
		err = durward.Errorf(durward.Invalid, "", "%d rules can have no effect", len(findings))
	}
	return err
}

func printLint(findings []policy.Finding, rules int, std Streams) error {
	for _, f := range findings {
		name := f.Layer.String()
		if f.Rule != "" {
			name += "/" + f.Rule
		}
		at := where(f.Pos.File, f.Pos.Line)
		if at != "" {
			at += ": "
		}
		if _, err := fmt.Fprintf(std.Out, "%s%s: %s: %s\n", at, f.Code, name, f.Message); err != nil {
			return err
		}
	}
	said := "nothing is wrong with them"
	if len(findings) > 0 {
		said = fmt.Sprintf("%d findings", len(findings))
	}
	_, err := fmt.Fprintf(std.Out, "%d rules, %s\n", rules, said)
	return err
}

// serviceCatalog is what the running service offers.
type serviceCatalog struct {
	servers []string
	up      map[string]bool
	tools   map[string][]string
}

var _ policy.Catalog = (*serviceCatalog)(nil)

// Servers implements policy.Catalog.
func (c *serviceCatalog) Servers() []string { return c.servers }

// Tools implements policy.Catalog.
func (c *serviceCatalog) Tools(server string) (names []string, connected bool) {
	return c.tools[server], c.up[server]
}

func runningCatalog(ctx context.Context) (*serviceCatalog, error) {
	service, err := serviceAPI()
	if err != nil {
		return nil, err
	}
	servers, err := service.Servers(ctx)
	if err != nil {
		return nil, err
	}
	c := &serviceCatalog{up: map[string]bool{}, tools: map[string][]string{}}
	for i := range servers {
		c.servers = append(c.servers, servers[i].Name)
		c.up[servers[i].Name] = servers[i].State == durward.StateReady
	}
	slices.Sort(c.servers)
	tools, err := service.Tools(ctx, client.Filter{})
	for i := range tools {
		c.tools[tools[i].Server] = append(c.tools[tools[i].Server], tools[i].Native)
	}
	return c, err
}
