package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"durward"
)

type stdioOptions struct{ server, toolset string }

func newStdio(std Streams) *cobra.Command {
	var opt stdioOptions
	cmd := &cobra.Command{
		Use:   "stdio [--server NAME | --toolset NAME]",
		Short: "Be an MCP server on stdin and stdout, for desktop clients",
		Long: "Be an MCP server on stdin and stdout: connects a desktop client to the service, " +
			"which is started in the background if none runs and ends after ten minutes without clients.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStdio(cmd.Context(), opt, std) },
	}
	cmd.Flags().StringVar(&opt.server, "server", "", "offer this server only, with its own names")
	cmd.Flags().StringVar(&opt.toolset, "toolset", "", "offer this toolset only")
	cmd.MarkFlagsMutuallyExclusive("server", "toolset")
	return cmd
}

func runStdio(ctx context.Context, opt stdioOptions, std Streams) error {
	route := durward.Route{}
	switch {
	case opt.server != "":
		route = durward.Route{Kind: durward.RouteServer, Name: opt.server}
	case opt.toolset != "":
		route = durward.Route{Kind: durward.RouteToolset, Name: opt.toolset}
	}
	service, err := serviceAPI()
	if err != nil {
		return err
	}
	conn, err := service.Stdio(ctx, route)
	if durward.KindOf(err) == durward.Unavailable {
		if err = startService(ctx, service); err == nil {
			conn, err = service.Stdio(ctx, route)
		}
	}
	if err != nil {
		return err
	}
	return pump(ctx, conn, std)
}

// pump copies until the service closes its side. The end of stdin is passed on,
// so that the service can answer what is in flight; what it then still sends is copied.
func pump(ctx context.Context, conn io.ReadWriteCloser, std Streams) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		// Reading stdin cannot be interrupted; the process ends when the other direction does.
		_, _ = io.Copy(conn, std.In)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	_, err := io.Copy(std.Out, conn)
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(err, conn.Close())
}
