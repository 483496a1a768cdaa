package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newConfigReload(std Streams) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make the service read its configuration anew",
		Long:  "Make the service read its configuration anew, and say what is wrong with it. A broken file changes nothing.\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runConfigReload(cmd.Context(), json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runConfigReload(ctx context.Context, json bool, std Streams) error {
	service, err := serviceAPI()
	if err != nil {
		return err
	}
	r, err := service.Reload(ctx)
	if err != nil {
		return err
	}
	if json {
		return printJSON(std.Out, r)
	}
	_, err = fmt.Fprintf(std.Out, "%s was read; %d servers are configured\n", r.File, r.Servers)
	return err
}
