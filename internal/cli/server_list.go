package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"durward/client"
)

type serverListOptions struct{ json bool }

func newServerList(std Streams) *cobra.Command {
	var opt serverListOptions
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the servers and their states",
		Long:    "List the servers and their states. The service is started in the background if none runs.\n" + exitHelp,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runServerList(cmd.Context(), opt, std) },
	}
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runServerList(ctx context.Context, opt serverListOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	servers, err := service.Servers(ctx)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, client.ServerList{Servers: servers})
	}
	_, err = io.WriteString(std.Out, serverTable(servers))
	return err
}
