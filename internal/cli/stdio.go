package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/stdiobridge"
)

type stdioOptions struct {
	server, toolset string
	noStart         bool
}

func newStdio(std Streams) *cobra.Command {
	var opt stdioOptions
	cmd := &cobra.Command{
		Use:   "stdio [--server NAME | --toolset NAME]",
		Short: "Be an MCP server on stdin and stdout, for desktop clients",
		Long: "Be an MCP server on stdin and stdout: connects a desktop client to the service, " +
			"which is started in the background if none runs and ends after ten minutes without clients.\n" +
			"When the service ends, it is waited for and, if it does not come back by itself, started again; the client notices\n" +
			"only that calls which were under way fail with 50402.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStdio(cmd.Context(), opt, std) },
	}
	cmd.Flags().StringVar(&opt.server, "server", "", "offer this server only, with its own names")
	cmd.Flags().StringVar(&opt.toolset, "toolset", "", "offer this toolset only")
	cmd.Flags().BoolVar(&opt.noStart, "no-start", false, "start no service: another program does")
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
	entrance := &stdioEntrance{service: service, route: route, noStart: opt.noStart}
	bridge, err := stdiobridge.New(stdiobridge.Options{
		In: std.In, Out: std.Out, Dial: entrance.dial,
		Say: func(text string) { _, _ = fmt.Fprintln(std.Err, "durward:", text) }, // clients keep it as their log
	})
	if err != nil {
		return err
	}
	return bridge.Run(ctx)
}

// Bounds of dialling the stdio entrance.
const (
	// openTimeout is how long a service that listens may take to open the entrance.
	openTimeout = 10 * time.Second
	// comeBack is how long a service that ended has to come back by itself before
	// another one is started: it may be a person who restarts it, or the system.
	comeBack = time.Second
	// comeBackInstalled is for one that the system runs, which starts it anew after
	// RestartSec, see [systemd]. One that was started meanwhile would keep that from running.
	comeBackInstalled = 15 * time.Second
)

// stdioEntrance is how a bridge reaches the service.
type stdioEntrance struct {
	service *client.Client
	route   durward.Route
	noStart bool
}

// dial opens the entrance. Down is how long there has been no service, 0 at first.
func (e *stdioEntrance) dial(ctx context.Context, down time.Duration) (io.ReadWriteCloser, error) {
	conn, err := e.open(ctx)
	if err == nil || durward.KindOf(err) != durward.Unavailable || e.noStart || down > 0 && down < patienceWithService() {
		return conn, err
	}
	if err := startService(ctx, e.service); err != nil {
		return nil, err
	}
	return e.open(ctx)
}

func (e *stdioEntrance) open(ctx context.Context) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	return e.service.Stdio(ctx, e.route)
}

// patienceWithService is how long a service has to come back by itself.
func patienceWithService() time.Duration {
	if m, err := thisManager(); err == nil {
		if _, err := os.Stat(m.file); err == nil {
			return comeBackInstalled
		}
	}
	return comeBack
}
