package cli

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/config"
)

type configUpgradeOptions struct{ dryRun, json bool }

func newConfigUpgrade(std Streams) *cobra.Command {
	var opt configUpgradeOptions
	cmd := &cobra.Command{
		Use:   "upgrade [FILE]",
		Short: "Bring a configuration file to the newest version of the format",
		Long: "Bring a configuration file (default: your own) to the newest version of the format. Comments and order stay.\n" +
			"The old file is kept beside it as FILE.old. Needs no service.\n" + exitHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runConfigUpgrade(configFile(args), opt, std) },
	}
	cmd.Flags().BoolVar(&opt.dryRun, "dry-run", false, "say what would be changed and change nothing")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runConfigUpgrade(file string, opt configUpgradeOptions, std Streams) error {
	data, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return durward.Errorf(durward.NotFound, "config "+file, "it cannot be read: %w", err)
	}
	next, changes, err := config.Upgrade(file, data)
	if err != nil {
		return withHint(err, "durward config validate %s shows every problem", shellQuote(file))
	}
	write := !opt.dryRun && !bytes.Equal(data, next)
	if write {
		if err := config.Write(file+".old", data); err != nil {
			return err
		}
		if err := config.Write(file, next); err != nil {
			return err
		}
	}
	if opt.json {
		if changes == nil {
			changes = []config.Change{}
		}
		return printJSON(std.Out, map[string]any{"file": file, "changes": changes, "written": write})
	}
	for _, c := range changes {
		if _, err := fmt.Fprintf(std.Out, "%s:%d: %s: %s\n", file, c.Line, c.Path, c.Message); err != nil {
			return err
		}
	}
	switch {
	case write:
		_, err = fmt.Fprintf(std.Out, "%s was upgraded; the old one is %s.old\n", file, file)
	case len(changes) == 0:
		_, err = fmt.Fprintf(std.Out, "%s has the newest version already\n", file)
	}
	return err
}
