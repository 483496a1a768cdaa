package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/config"
	"durward/internal/reveal"
)

type configExplainOptions struct {
	config string
	json   bool
}

func newConfigExplain(std Streams) *cobra.Command {
	var opt configExplainOptions
	cmd := &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Show every value with the file and line it comes from",
		Long: "Show every value of the configuration, or those below KEY (servers.github, limits), with the layer, file and line it\n" +
			"comes from. Of what may hold a secret only references are shown. Needs no service.\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runConfigExplain(args, opt, std) },
	}
	cmd.Flags().StringVar(&opt.config, "config", "", "configuration file (default: your own)")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runConfigExplain(args []string, opt configExplainOptions, std Streams) error {
	load := loadOptions(opt.config)
	if opt.config == "" {
		load.User, load.Optional = configFile(nil), true
	}
	c, err := config.Load(load)
	if err != nil {
		return withHint(err, "%s", configHint(err))
	}
	settings := []config.Setting{}
	for _, s := range c.Settings() {
		if len(args) == 0 || s.Path == args[0] || strings.HasPrefix(s.Path, args[0]+".") || strings.HasPrefix(s.Path, args[0]+"[") {
			settings = append(settings, s)
		}
	}
	if len(settings) == 0 && len(args) > 0 {
		return withHint(durward.Errorf(durward.NotFound, "", "nothing is configured at %s", args[0]),
			"durward config explain without a key shows everything that is")
	}
	if opt.json {
		return printJSON(std.Out, map[string]any{"settings": settings})
	}
	table := tabwriter.NewWriter(std.Out, 0, 8, 2, ' ', 0)
	for _, s := range settings {
		from := string(s.Layer)
		if s.File != "" {
			from = fmt.Sprintf("%s %s:%d", s.Layer, s.File, s.Line)
		}
		for _, o := range s.Overruled {
			from += fmt.Sprintf(", overrules %s:%d", o.File, o.Line)
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", s.Path, reveal.Text(s.Value), from)
	}
	return table.Flush() // the writer keeps the first error
}
