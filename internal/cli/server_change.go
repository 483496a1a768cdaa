package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
)

// change is a command that does one thing to one server.
type change struct {
	use, short, long string
	progress         string // what a person at a terminal is told meanwhile
	// run returns the server as it is then, or nil when there is nothing to show.
	run  func(ctx context.Context, c *client.Client, name string) (*client.Server, error)
	done string // what is said when there is nothing to show
}

func newServerRemove(std Streams) *cobra.Command {
	return newChange(std, change{
		use: "remove", short: "Remove a server from the configuration and stop it",
		long: "Remove a server from your configuration file, with the comment above it, and stop it. Clients of other servers notice nothing.",
		run: func(ctx context.Context, c *client.Client, name string) (*client.Server, error) {
			return nil, c.RemoveServer(ctx, name)
		},
		done: "was removed",
	})
}

func newServerEnable(std Streams) *cobra.Command {
	return newChange(std, change{
		use: "enable", short: "Enable a server and try it", progress: "trying",
		long: "Enable a server in your configuration file and try it.",
		run: func(ctx context.Context, c *client.Client, name string) (*client.Server, error) {
			return c.EnableServer(ctx, name)
		},
	})
}

func newServerDisable(std Streams) *cobra.Command {
	return newChange(std, change{
		use: "disable", short: "Disable a server and stop it",
		long: "Disable a server in your configuration file and stop it. It stays in the file.",
		run: func(ctx context.Context, c *client.Client, name string) (*client.Server, error) {
			return nil, c.DisableServer(ctx, name)
		},
		done: "is disabled",
	})
}

func newServerRefresh(std Streams) *cobra.Command {
	return newChange(std, change{
		use: "refresh", short: "Read anew what a server offers", progress: "asking",
		long: "Read anew what a server offers. One that is not connected is tried at once, whatever its back-off says.",
		run: func(ctx context.Context, c *client.Client, name string) (*client.Server, error) {
			return c.RefreshServer(ctx, name)
		},
	})
}

func newServerRestart(std Streams) *cobra.Command {
	return newChange(std, change{
		use: "restart", short: "Stop a server and start it anew", progress: "restarting",
		long: "Stop a server and start it anew. Its calls in flight end with an unknown outcome.",
		run: func(ctx context.Context, c *client.Client, name string) (*client.Server, error) {
			return c.RestartServer(ctx, name)
		},
	})
}

func newChange(std Streams, ch change) *cobra.Command {
	var json bool
	cmd := &cobra.Command{
		Use: ch.use + " NAME", Short: ch.short, Long: ch.long + "\n" + exitHelp,
		Args: cobra.ExactArgs(1), ValidArgsFunction: serverNames,
		RunE: func(cmd *cobra.Command, args []string) error { return runChange(cmd.Context(), ch, args[0], json, std) },
	}
	jsonFlag(cmd, &json)
	return cmd
}

func runChange(ctx context.Context, ch change, name string, json bool, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	if ch.progress != "" {
		note(std, ch.progress+" "+name+" …")
	}
	s, err := ch.run(ctx, service, name)
	switch {
	case durward.KindOf(err) == durward.Unavailable && err != nil:
		return withHint(err, "its stderr: durward server logs %s; its settings: durward server show %s", name, name)
	case err != nil:
		return err
	case s == nil && json:
		return printJSON(std.Out, map[string]string{"server": name, "done": ch.done})
	case s == nil:
		_, err := fmt.Fprintln(std.Out, name, ch.done)
		return err
	case json:
		err = printJSON(std.Out, s)
	default:
		err = printServer(std, s)
	}
	if err != nil {
		return err
	}
	return failing(&s.Status)
}
