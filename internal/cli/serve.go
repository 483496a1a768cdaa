package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/internal/daemon"
)

type serveOptions struct {
	config   string
	demo     bool
	lastGood bool
	idleExit time.Duration
}

func newServe(std Streams) *cobra.Command {
	var opt serveOptions
	cmd := &cobra.Command{
		Use:   "serve [--config FILE]",
		Short: "Run the service in the foreground",
		Long: "Run the service in the foreground: start the configured MCP servers and serve them as one endpoint.\n" +
			"The configuration is read anew when its file changes, and on SIGHUP; a broken file changes nothing.\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.config, "config", "", "configuration file (default: your own)")
	flags.BoolVar(&opt.demo, "demo", false, "run the embedded configuration: Durward's own tools on loopback")
	flags.BoolVar(&opt.lastGood, "last-good", false, "start with the copy of the configuration that ran last, as when the file is broken")
	flags.DurationVar(&opt.idleExit, "idle-exit", 0, "end after so long without clients; 0: never")
	cmd.MarkFlagsMutuallyExclusive("config", "demo")
	return cmd
}

func runServe(ctx context.Context, opt serveOptions, std Streams) error {
	service, err := daemon.Start(daemon.Options{
		ConfigFile: opt.config, Demo: opt.demo, LastGood: opt.lastGood, Version: Version(), IdleExit: opt.idleExit, LogTo: std.Err,
	})
	if err != nil {
		return withHint(err, "%s", serveHint(err, opt))
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

// serveHint says what to do when the service does not start.
func serveHint(err error, opt serveOptions) string {
	var ledger *daemon.LedgerError
	if errors.As(err, &ledger) {
		return fmt.Sprintf("durward ledger verify --file %s says what is there; ledger.path in the configuration names another file, and ledger: {enabled: false} serves without a record", shellQuote(ledger.Path))
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return otherAddress(opt)
	}
	switch durward.KindOf(err) {
	case durward.Invalid:
		return "correct the file, or start with the copy that ran last: durward serve --last-good"
	case durward.NotFound:
		return "durward server add NAME -- COMMAND writes a first configuration, durward serve --demo needs none"
	case durward.Conflict:
		return "durward status shows the service that runs"
	default:
		return "durward doctor looks for the cause"
	}
}

// otherAddress says how the service gets an address that nobody else uses.
func otherAddress(opt serveOptions) string {
	const why = "another program listens there (ss -ltnp or lsof -i names it); "
	file := configFile(nil)
	if opt.config != "" {
		file = opt.config
	}
	if opt.demo {
		return why + "end it, or serve a configuration of your own, in which listen: 127.0.0.1:0 takes any free port"
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return why + fmt.Sprintf("take any free port instead: mkdir -p %s && printf 'version: 1\\nlisten: 127.0.0.1:0\\n' > %s",
			shellQuote(filepath.Dir(file)), shellQuote(file))
	}
	return why + "end it, or take any free port: listen: 127.0.0.1:0 in " + file
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
	header, how := "", "to that URL, without a token (auth: none)"
	if s.TokenFile() != "" {
		how = "to that URL with the bearer token in " + s.TokenFile()
		// Through a file descriptor, so that the token stands in no process's arguments.
		header = fmt.Sprintf(` -H @<(printf 'Authorization: Bearer %%s' "$(<%s)")`, s.TokenFile())
	}
	_, _ = fmt.Fprintf(std.Out, `Durward serves %s

Connect a client %s,
or let a desktop client run:  durward stdio

A first call to paste:

curl -s %s%s \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: local__echo' \
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"local__echo","arguments":{"message":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'

`, url, how, url, header)
}
