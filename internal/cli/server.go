package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/reveal"
)

func newServer(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Add, look at and steer MCP servers",
		RunE:  needsSubcommand,
	}
	cmd.AddCommand(
		newServerAdd(std), newServerList(std), newServerShow(std), newServerRemove(std), newServerEnable(std),
		newServerDisable(std), newServerRefresh(std), newServerRestart(std), newServerLogs(std),
	)
	return cmd
}

// printServer shows a server with what it offers.
func printServer(std Streams, s *client.Server) error {
	st := &s.Status
	line := st.Name + " is " + paint(std.Out, stateColour(st.State), string(st.State))
	if st.Era != "" {
		line += fmt.Sprintf(" (%s, %s)", st.Era, st.Revision)
	}
	if st.State == durward.StateReady || st.State == durward.StateDegraded {
		line += fmt.Sprintf(": %d tools, %d prompts, %d resources", st.Tools, st.Prompts, st.Resources+st.Templates)
	}
	if _, err := fmt.Fprintln(std.Out, line); err != nil {
		return err
	}
	for _, text := range details(st) {
		if _, err := fmt.Fprintln(std.Out, "  "+reveal.Text(text)); err != nil {
			return err
		}
	}
	return printItems(std.Out, s.Tools)
}

// printSettings shows what the configuration says of a server.
func printSettings(w io.Writer, name string, settings []client.Setting) error {
	for _, s := range settings {
		if _, err := fmt.Fprintf(w, "  %s: %s\n", strings.TrimPrefix(s.Path, "servers."+name+"."), reveal.Text(s.Value)); err != nil {
			return err
		}
	}
	return nil
}

// failing says what to do about a server that is there and does not work; nil for
// one that does.
func failing(st *durward.ServerStatus) error {
	if st.State != durward.StateBackoff {
		return nil
	}
	return withHint(durward.Errorf(durward.Unavailable, "server "+st.Name, "it does not come up"),
		"correct the cause above, then: durward server restart %s", st.Name)
}

// serverNames completes the names of servers from a service that runs.
func serverNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completed(cmd.Context(), func(ctx context.Context, c *client.Client) ([]string, error) {
		servers, err := c.Servers(ctx)
		var names []string
		for i := range servers {
			names = append(names, servers[i].Name+"\t"+string(servers[i].State))
		}
		return names, err
	})
}
