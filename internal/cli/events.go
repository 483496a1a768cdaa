package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/paths"
	"durward/internal/reveal"
)

type eventsOptions struct{ json bool }

func newEvents(std Streams) *cobra.Command {
	var opt eventsOptions
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Follow what happens in the service",
		Long: "Follow what happens in the service that runs, until you interrupt it: states of servers, changes of what is offered,\n" +
			"and reloads of the configuration. It ends with status 6 when the service ends.\n" + exitHelp,
		Example: "  durward events\n  durward events --json | jq -c 'select(.type == \"server\") | .server | [.name, .state]'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runEvents(cmd.Context(), opt, std) },
	}
	cmd.Flags().BoolVar(&opt.json, "json", false, "print one JSON document a line, as each event comes")
	return cmd
}

func runEvents(ctx context.Context, opt eventsOptions, std Streams) error {
	service := client.New(paths.Socket())
	if _, err := service.Status(ctx); err != nil {
		return err
	}
	note(std, "following; Ctrl-C ends it")
	var printed error
	err := service.Events(ctx, func(e client.Event) bool {
		if opt.json {
			printed = printJSON(std.Out, e)
		} else {
			_, printed = fmt.Fprintf(std.Out, "%s  %s\n", e.At.Local().Format(time.TimeOnly), eventText(std.Out, e))
		}
		return printed == nil // a reader that went away ends it
	})
	if err != nil {
		return err
	}
	return printed
}

// eventText says on one line what happened.
func eventText(out io.Writer, e client.Event) string {
	switch {
	case e.Type == client.EventServer && e.Server != nil:
		return serverEvent(out, e.Server)
	case e.Type == client.EventLists:
		return reveal.Text(e.List) + ": what is offered changed"
	case e.Type == client.EventPins && e.Pins != nil:
		return heldEvent(e.Pins)
	case e.Type == client.EventReload && e.Reload != nil && e.Reload.Problem != "":
		return "config: the file has problems, the last good one runs: " + firstLine(e.Reload.Problem, 200)
	case e.Type == client.EventReload && e.Reload != nil:
		return fmt.Sprintf("config: %s was read; %d servers are configured", e.Reload.File, e.Reload.Servers)
	case e.Type == client.EventLost:
		return fmt.Sprintf("%d events were lost: they came faster than they were read", e.Lost)
	}
	return reveal.Text(e.Type) // of a newer service
}

func serverEvent(out io.Writer, s *durward.ServerStatus) string {
	text := "server " + s.Name + ": " + paint(out, stateColour(s.State), string(s.State))
	if s.State == durward.StateReady {
		text += fmt.Sprintf(", %d tools, %d prompts, %d resources", s.Tools, s.Prompts, s.Resources+s.Templates)
	}
	if s.Reason != "" {
		text += ": " + firstLine(s.Reason, 200)
	}
	return text
}
