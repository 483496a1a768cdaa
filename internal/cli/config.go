package cli

import (
	"os"

	"github.com/spf13/cobra"

	"durward/internal/config"
	"durward/internal/paths"
)

func newConfig(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, explain and upgrade the configuration",
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(newConfigValidate(std), newConfigExplain(std), newConfigSchema(std), newConfigUpgrade(std), newConfigReload(std))
	return cmd
}

// configFile is the file that is named, or else the user's own.
func configFile(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return paths.Config()
}

// loadOptions are how a file is read without a service: in the environment of
// this process.
func loadOptions(file string) config.Options {
	return config.Options{User: file, Corp: config.CorpFile, Env: os.LookupEnv}
}
