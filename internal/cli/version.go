package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"durward/internal/wire"
)

func newVersion(std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the protocol revisions it speaks",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.Out, "durward %s (%s, %s/%s), MCP %v and %v\n",
				Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ModernRevisions(), wire.LegacyRevisions())
			return err
		},
	}
}
