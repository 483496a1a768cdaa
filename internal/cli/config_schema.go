package cli

import (
	"github.com/spf13/cobra"

	"durward/internal/config"
)

func newConfigSchema(std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Long:  "Print the JSON Schema of the configuration file, for editors. Needs no service.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := std.Out.Write(config.Schema())
			return err
		},
	}
}
