package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward/client"
	"durward/internal/pin"
	"durward/internal/reveal"
)

func newPins(std Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pins",
		Short: "Look at what servers offer, and accept or reject what they changed",
		Long: "Durward records what a server offers when it is seen first: the definitions of its tools, prompts and resource templates,\n" +
			"and its instructions. What changes is held, and so is what is added after a verdict: it is neither listed nor passed on until somebody\n" +
			"accepted it. A definition that was accepted is also believed what it says of its risk.",
		RunE: needsSubcommand,
	}
	cmd.AddCommand(newPinsList(std), newPinsShow(std), newPinsDiff(std), newPinsDecide(std, true), newPinsDecide(std, false))
	return cmd
}

type pinsListOptions struct {
	held, json bool
}

func newPinsList(std Streams) *cobra.Command {
	var opt pinsListOptions
	cmd := &cobra.Command{
		Use:     "list [SERVER]",
		Aliases: []string{"ls"},
		Short:   "List what servers offer and what of it was accepted",
		Long: "List what servers offer, or one of them, and what is known of each definition: accepted; first (seen when the server\n" +
			"was seen first, accepted by nobody yet); held (came later); changed (is another one than before); rejected.\n" + exitHelp,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: serverNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPinsList(cmd.Context(), strings.Join(args, ""), opt, std)
		},
	}
	cmd.Flags().BoolVar(&opt.held, "held", false, "only what is held")
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runPinsList(ctx context.Context, server string, opt pinsListOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	all, err := service.Pins(ctx, server)
	if err != nil {
		return err
	}
	shown := []client.Pin{}
	held := 0
	for i := range all {
		if all[i].Held {
			held++
		}
		if all[i].Held || !opt.held {
			shown = append(shown, all[i])
		}
	}
	if opt.json {
		return printJSON(std.Out, client.PinList{Pins: shown})
	}
	if err := newTable(std.Out).print(pinRows(shown)); err != nil {
		return err
	}
	if held > 0 {
		note(std, fmt.Sprintf("%d are held; see what is new: durward pins diff", held))
	}
	return nil
}

func pinRows(pins []client.Pin) [][]cell {
	rows := [][]cell{{{text: "SERVER"}, {text: "STATE"}, {text: "KIND"}, {text: "NAME"}, {text: "SEEN"}, {text: "BY"}}}
	for i := range pins {
		p := &pins[i]
		kind := p.Kind
		if p.Legacy {
			kind += " (legacy)"
		}
		state := p.State
		if !p.Listed {
			state += ", not listed"
		}
		rows = append(rows, []cell{
			{text: p.Server}, {text: state, colour: pinColour(p.State)}, {text: kind}, {text: reveal.Line(p.Name)},
			{text: p.Seen.Local().Format(time.DateTime)}, {text: reveal.Line(p.By)},
		})
	}
	return rows
}

func pinColour(state string) string {
	switch state {
	case pin.Accepted:
		return green
	case pin.First:
		return yellow
	default:
		return red
	}
}

type pinsDiffOptions struct{ json bool }

func newPinsDiff(std Streams) *cobra.Command {
	var opt pinsDiffOptions
	cmd := &cobra.Command{
		Use:   "diff [SERVER [NAME]]",
		Short: "Say in words what a server changed",
		Long: "Say in words what is new in the definitions that nobody accepted yet. [-Words that are gone-] and {+words that are new+}\n" +
			"are marked; characters that nobody would see are written out, such as <U+200B>, and words that look like others are told.\n" + exitHelp,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: serverNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPinsDiff(cmd.Context(), append(args, "", ""), opt, std)
		},
	}
	jsonFlag(cmd, &opt.json)
	return cmd
}

func newPinsShow(std Streams) *cobra.Command {
	var opt pinsDiffOptions
	cmd := &cobra.Command{
		Use:   "show SERVER NAME",
		Short: "Show a definition, how it differs from the one before, and who accepted it",
		Long: "Show what is known of a tool, prompt or resource template, by the server's own name for it, or of its instructions\n" +
			"(instructions). Where a tool and a prompt have one name, say which: tool:NAME, prompt:NAME, template:NAME.\n" + exitHelp,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: serverNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return runPinsDiff(cmd.Context(), args, opt, std) },
	}
	jsonFlag(cmd, &opt.json)
	return cmd
}

func runPinsDiff(ctx context.Context, args []string, opt pinsDiffOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	diffs, err := service.PinDiffs(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(std.Out, diffs)
	}
	if len(diffs.Diffs) == 0 {
		_, err := fmt.Fprintln(std.Out, "nothing waits to be accepted")
		return err
	}
	if err := printDiffs(std.Out, diffs); err != nil {
		return err
	}
	note(std, "to take it: durward pins accept SERVER [NAME]; to keep it out: durward pins reject SERVER NAME")
	return nil
}

// printDiffs says what is new. The texts of the service are safe to show.
func printDiffs(w io.Writer, diffs *client.PinDiffs) error {
	for i := range diffs.Diffs {
		d := &diffs.Diffs[i]
		title := strings.TrimSpace(d.Server + ": " + d.Kind + " " + reveal.Line(d.Name))
		about := d.State
		if d.Legacy {
			about += ", as legacy clients are told"
		}
		if d.By != "" {
			about += " by " + reveal.Line(d.By)
		}
		if _, err := fmt.Fprintf(w, "%s (%s)\n", paint(w, bold, title), paint(w, pinColour(d.State), about)); err != nil {
			return err
		}
		for _, one := range d.Differences {
			if _, err := fmt.Fprintln(w, "  "+reveal.Line(one.Text)); err != nil {
				return err
			}
		}
		for _, text := range d.Warnings {
			if _, err := fmt.Fprintln(w, "  "+paint(w, red, "warning: "+reveal.Line(text))); err != nil {
				return err
			}
		}
	}
	if diffs.More > 0 {
		_, err := fmt.Fprintf(w, "and %d more\n", diffs.More)
		return err
	}
	return nil
}

// heldEvent says on one line what is held from now on.
func heldEvent(held *client.PinsHeld) string {
	names := make([]string, 0, len(held.Held))
	for i := range held.Held {
		names = append(names, strings.TrimSpace(held.Held[i].Kind+" "+reveal.Line(held.Held[i].Name)))
	}
	text := "server " + reveal.Line(held.Server) + " changed what it offers; held: " + cut(strings.Join(names, ", "), 200)
	if held.More > 0 {
		text += fmt.Sprintf(" and %d more", held.More)
	}
	return text
}
