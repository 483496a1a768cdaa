package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
)

type serveOptions struct {
	config   string
	demo     bool
	idleExit time.Duration
}

func newServe(std Streams) *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve [--config FILE]",
		Short: "Run the service in the foreground",
		Long: "Run the service in the foreground: start the configured MCP servers and serve them as one endpoint.\n" +
			"SIGHUP reads the configuration anew; a broken file changes nothing.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.config, "config", "", "configuration file (default "+paths.Config()+")")
	flags.BoolVar(&opt.demo, "demo", false, "run the embedded configuration: Durward's own tools on loopback")
	flags.DurationVar(&opt.idleExit, "idle-exit", 0, "end after so long without clients; 0: never")
	cmd.MarkFlagsMutuallyExclusive("config", "demo")
	return cmd
}

func runServe(ctx context.Context, opt serveOptions, std Streams) error {
	service, err := daemon.Start(daemon.Options{
		ConfigFile: opt.config, Demo: opt.demo, Version: Version(), IdleExit: opt.idleExit, LogTo: std.Err,
	})
	if err != nil {
		return err
	}
	greet(std, service)
	ctx, cancel := context.WithCancel(ctx)
	var reloads sync.WaitGroup
	reloads.Go(func() { reloadOnHangup(ctx, service) })
	service.Run(ctx)
	cancel()
	reloads.Wait()
	return service.Close()
}

// reloadOnHangup reads the configuration anew on each SIGHUP, until ctx ends.
func reloadOnHangup(ctx context.Context, service *daemon.Service) {
	hangups := make(chan os.Signal, 1)
	if which := hangup(); len(which) > 0 { // Notify without signals would mean all of them
		signal.Notify(hangups, which...)
		defer signal.Stop(hangups)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			_ = service.Reload() // it logs what happened, and status shows it
		}
	}
}

// greet tells a person how to connect and gives a first call to paste.
func greet(std Streams, s *daemon.Service) {
	url := "http://" + s.Address() + "/mcp"
	header := ""
	if s.TokenFile() != "" {
		// Through a file descriptor, so that the token stands in no process's arguments.
		header = fmt.Sprintf(` -H @<(printf 'Authorization: Bearer %%s' "$(<%s)")`, s.TokenFile())
	}
	_, _ = fmt.Fprintf(std.Out, `Durward serves %s

Connect a client to that URL with the bearer token in %s,
or let a desktop client run:  durward stdio

A first call to paste:

curl -s %s%s \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: local__echo' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"local__echo","arguments":{"message":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'

`, url, s.TokenFile(), url, header)
}

// Bounds of a start in the background.
const (
	startTimeout = 15 * time.Second
	startPoll    = 20 * time.Millisecond
	idleExit     = 10 * time.Minute
)

// startService starts the service in the background and waits until it answers.
// Of several that start at the same time the state lock lets one live; the
// others' clients then use that one.
func startService(ctx context.Context, service *client.Client) error {
	self, err := os.Executable()
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(paths.ServiceLog()), 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	log, err := os.OpenFile(paths.ServiceLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	defer log.Close()                                                    // the service has its own descriptor
	cmd := exec.Command(self, "serve", "--idle-exit", idleExit.String())
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, detached()
	if err := cmd.Start(); err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return awaitService(ctx, service, ended)
}

func awaitService(ctx context.Context, service *client.Client, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		if _, err := service.Status(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return durward.Errorf(durward.Unavailable, "", "the service did not come up within %s; see %s", startTimeout, paths.ServiceLog())
		case _ = <-ended:
			ended = nil // another one may hold the lock and be about to answer
		case <-tick.C:
		}
	}
}
