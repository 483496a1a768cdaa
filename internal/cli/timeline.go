package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward/client"
	"durward/internal/ledgerapi"
)

type timelineOptions struct {
	filter client.TimelineFilter
	json   bool
}

func newTimeline(std Streams) *cobra.Command {
	var opt timelineOptions
	cmd := &cobra.Command{
		Use:   "timeline",
		Short: "Show what happened in one order: calls, decisions, connections, changes",
		Long: "Show what happened in one order, newest first: calls, what rules decided, connections, commands, files, sandboxes, and\n" +
			"changes of the configuration. A trace joins what belongs together. A time is RFC 3339, a date, or how long ago: 90s, 1h, 2d.\n" + exitHelp,
		Example: "  durward timeline --since 1h\n  durward timeline --layers security,change --since 7d\n  durward timeline --trace 4bf92f3577b34da6a3ce929d0e0e4736",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.filter.Limit < 0 {
				return usage(errNegativeLimit)
			}
			return runTimeline(cmd.Context(), opt, std)
		},
	}
	flags, f := cmd.Flags(), &opt.filter
	flags.StringVar(&f.Session, "session", "", "of this session")
	flags.StringVar(&f.Sandbox, "sandbox", "", "of this sandbox")
	flags.StringVar(&f.Trace, "trace", "", "of this trace: 32 hex digits")
	flags.StringSliceVar(&f.Layers, "layers", nil, "of these layers: "+strings.Join(ledgerapi.Layers(), ", ")+" (default: all)")
	flags.StringVar(&f.Since, "since", "", "at or after this time")
	flags.StringVar(&f.Until, "until", "", "before this time")
	flags.IntVar(&f.Limit, "limit", 200, "how many; 0: all")
	flags.BoolVar(&opt.json, "json", false, "print one JSON document a line")
	_ = cmd.RegisterFlagCompletionFunc("layers", words(ledgerapi.Layers()...)) // the flag was declared above
	return cmd
}

func runTimeline(ctx context.Context, opt timelineOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	const most = 2000 // that the service gives at once
	f, left, shown := opt.filter, opt.filter.Limit, newTable(std.Out)
	for first := true; ; first = false {
		if f.Limit = most; left > 0 {
			f.Limit = min(left, most)
		}
		page, err := service.Timeline(ctx, f)
		if err != nil {
			return err
		}
		if err := printMoments(std, shown, page.Moments, opt.json, first); err != nil {
			return err
		}
		if first && len(page.Moments) == 0 {
			note(std, "nothing is on record that fits")
		}
		left -= len(page.Moments)
		if f.Cursor = page.Next; f.Cursor == "" || opt.filter.Limit > 0 && left <= 0 {
			return nil
		}
	}
}

func printMoments(std Streams, t *table, moments []client.Moment, asJSON, first bool) error {
	if asJSON {
		for i := range moments {
			if err := printJSON(std.Out, &moments[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]cell
	if first && len(moments) > 0 {
		rows = append(rows, []cell{{text: "WHEN"}, {text: "LAYER"}, {text: "STATUS"}, {text: "TOOK"}, {text: "REF"}, {text: "WHAT"}})
	}
	now := time.Now()
	for i := range moments {
		m := &moments[i]
		colour := ""
		if m.Layer == "tool" {
			colour = statusColour(m.Status)
		}
		rows = append(rows, []cell{{text: ago(m.At, now)}, {text: m.Layer}, {text: m.Status, colour: colour}, {text: took(m.DurationUS)}, {text: shortID(m.Ref)}, {text: m.Summary}})
	}
	return t.print(rows)
}
