package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"durward/internal/config"
	"durward/internal/paths"
)

func newConfig(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration",
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newConfigValidate(std))
	return cmd
}

func newConfigValidate(std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Check a configuration file and report every problem",
		Long:  "Check a configuration file (default: your own) and report every problem with its line. Needs no service.\n" + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file := paths.Config()
			if len(args) == 1 {
				file = args[0]
			}
			return runConfigValidate(file, std)
		},
	}
}

func runConfigValidate(file string, std Streams) error {
	c, err := config.Load(config.Options{User: file, Corp: config.CorpFile, Env: os.LookupEnv})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "%s is valid: %d servers, %d toolsets, listening on %s\n", file, len(c.Servers), len(c.Toolsets), c.Listen)
	return err
}
