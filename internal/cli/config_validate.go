package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/yamlx"
)

func newConfigValidate(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a configuration file and report every problem",
		Long: "Check a configuration file (default: your own) and report every problem with its line. Needs no service.\n" +
			"What the codes mean is in docs/reference/config-errors.md.\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runConfigValidate(configFile(args), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runConfigValidate(file string, json bool, std Streams) error {
	c, err := config.Load(loadOptions(file))
	if json {
		if printed := printJSON(std.Out, validated(err)); printed != nil {
			return printed
		}
		return err
	}
	if err != nil {
		return withHint(err, "%s", configHint(err))
	}
	_, err = fmt.Fprintf(std.Out, "%s is valid: %d servers, %d toolsets, listening on %s\n", file, len(c.Servers), len(c.Toolsets), c.Listen)
	return err
}

func configHint(err error) string {
	if durward.KindOf(err) == durward.NotFound {
		return "durward server add NAME -- COMMAND writes a first one"
	}
	return "docs/reference/configuration.md has every key; durward config schema prints a schema for your editor"
}

// validated makes the problems of a file what the service API says of them.
func validated(err error) client.Validated {
	out := client.Validated{Problems: []client.Problem{}}
	var all yamlx.Problems
	switch {
	case err == nil:
	case errors.As(err, &all):
		for _, p := range all {
			out.Problems = append(out.Problems, client.Problem{
				Code: string(p.Code), File: p.File, Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message,
			})
		}
	default:
		out.Problems = append(out.Problems, client.Problem{Message: err.Error()})
	}
	return out
}
