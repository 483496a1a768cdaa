package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"durward/internal/wire"
)

// versionInfo is what version --json prints.
type versionInfo struct {
	Version string   `json:"version"`
	Go      string   `json:"go"`
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	Modern  []string `json:"modern"` // protocol revisions without sessions
	Legacy  []string `json:"legacy"` // protocol revisions with initialize
}

func newVersion(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the protocol revisions it speaks",
		Long:  "Print the version and the protocol revisions it speaks.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return runVersion(json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runVersion(json bool, std Streams) error {
	v := versionInfo{Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, wire.ModernRevisions(), wire.LegacyRevisions()}
	if json {
		return printJSON(std.Out, v)
	}
	_, err := fmt.Fprintf(std.Out, "durward %s (%s, %s/%s), MCP %v and %v\n", v.Version, v.Go, v.OS, v.Arch, v.Modern, v.Legacy)
	return err
}
