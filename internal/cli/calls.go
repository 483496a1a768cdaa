package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/ledgerapi"
)

type callsOptions struct {
	filter client.CallFilter
	follow bool
	json   bool
}

func newCalls(std Streams) *cobra.Command {
	var opt callsOptions
	cmd := &cobra.Command{
		Use:   "calls",
		Short: "List what was called: every call, newest first",
		Long: "List what was called: every call, newest first, with what was decided and how it ended. Several filters must all\n" +
			"hold. A time is RFC 3339, a date, or how long ago: 90s, 1h, 2d. durward show ID shows everything about one call.\n" +
			"With --follow calls are shown as they end, or with --status dispatched as they begin, until you interrupt it; with\n" +
			"--since those are shown first that are on record, at most the newest 1,000.\n" + exitHelp,
		Example: "  durward calls --since 1h --tool files__write_file\n  durward calls --decision block\n" +
			"  durward calls --follow\n  durward calls --since 1d --limit 0 --json | jq -r .full_name | sort | uniq -c",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opt.filter.Limit < 0 {
				return usage(errNegativeLimit)
			}
			if opt.follow {
				return runFollow(cmd.Context(), opt, std)
			}
			return runCalls(cmd.Context(), opt, std)
		},
	}
	filterFlags(cmd, &opt.filter)
	cmd.Flags().IntVar(&opt.filter.Limit, "limit", 50, "how many; 0: all")
	cmd.Flags().BoolVarP(&opt.follow, "follow", "f", false, "show calls as they end")
	cmd.Flags().BoolVar(&opt.json, "json", false, "print one JSON document a line")
	cmd.MarkFlagsMutuallyExclusive("follow", "limit")
	cmd.MarkFlagsMutuallyExclusive("follow", "until")
	return cmd
}

// filterFlags are the flags that choose calls.
func filterFlags(cmd *cobra.Command, f *client.CallFilter) {
	flags := cmd.Flags()
	flags.StringVar(&f.Since, "since", "", "taken at or after this time")
	flags.StringVar(&f.Until, "until", "", "taken before this time")
	flags.StringVar(&f.Principal, "principal", "", "of this principal")
	flags.StringVar(&f.Session, "session", "", "of this session")
	flags.StringVar(&f.Server, "server", "", "to this server")
	flags.StringVar(&f.Tool, "tool", "", "of this tool, by its own or its offered name")
	flags.StringVar(&f.Method, "method", "", "of this method, such as tools/call")
	flags.StringVar(&f.Status, "status", "", "with this status: "+strings.Join(ledgerapi.Statuses(), ", ")+"; dispatched: under way")
	flags.StringVar(&f.Decision, "decision", "", "with this decision: "+strings.Join(ledgerapi.Decisions(), ", "))
	flags.StringVar(&f.Rule, "rule", "", "decided by this rule")
	flags.StringVar(&f.Trace, "trace", "", "of this trace: 32 hex digits")
	flags.StringVar(&f.Entrance, "entrance", "", "by this entrance: "+strings.Join(ledgerapi.Entrances(), ", "))
	flags.StringVar(&f.Origin, "origin", "", "of this origin: "+strings.Join(ledgerapi.Origins(), ", "))
	flags.DurationVar(&f.MinDuration, "min-duration", 0, "that took at least so long")
	for name, complete := range map[string]func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective){
		"rule":     ruleIDs,
		"server":   serverNames,
		"tool":     itemNames((*client.Client).Tools),
		"status":   words(ledgerapi.Statuses()...),
		"decision": words(ledgerapi.Decisions()...),
		"entrance": words(ledgerapi.Entrances()...),
		"origin":   words(ledgerapi.Origins()...),
		"method":   words("tools/call", "tools/list", "resources/read", "prompts/get"),
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd, nil, word)
		}) // the flag was declared above
	}
}

// errNegativeLimit is said of --limit.
var errNegativeLimit = errors.New("--limit is how many are shown; 0 shows all")

// words completes one of some words.
func words(all ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// pageMost is how many calls the service gives at once.
const pageMost = 1000

func runCalls(ctx context.Context, opt callsOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	f, left := opt.filter, opt.filter.Limit
	rows, any := newTable(std.Out), false
	for {
		if f.Limit = pageMost; left > 0 {
			f.Limit = min(left, pageMost)
		}
		page, err := service.Calls(ctx, f)
		if err != nil {
			return err
		}
		if err := printCalls(std, rows, page.Calls, opt.json, !any); err != nil {
			return err
		}
		any = any || len(page.Calls) > 0
		left -= len(page.Calls)
		if f.Cursor = page.Next; f.Cursor == "" || opt.filter.Limit > 0 && left <= 0 {
			break
		}
	}
	if !any {
		note(std, "no call is on record that fits")
	}
	return nil
}

func printCalls(std Streams, t *table, calls []client.CallRecord, asJSON, first bool) error {
	if asJSON {
		for i := range calls {
			if err := printJSON(std.Out, &calls[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]cell
	if first && len(calls) > 0 {
		rows = append(rows, []cell{{text: "WHEN"}, {text: "ID"}, {text: "STATUS"}, {text: "DECISION"}, {text: "TOOK"}, {text: "CALL"}, {text: "BY"}})
	}
	now := time.Now()
	for i := range calls {
		rows = append(rows, callCells(ago(calls[i].IntentAt, now), &calls[i]))
	}
	return t.print(rows)
}

func callCells(when string, c *client.CallRecord) []cell {
	decision := c.Decision
	if c.Rule != "" {
		decision += " (" + c.Rule + ")"
	}
	return []cell{
		{text: when}, {text: shortID(string(c.ID))}, {text: c.Status, colour: statusColour(c.Status)},
		{text: decision, colour: decisionColour(c.Decision)}, {text: took(c.DurationUS)}, {text: what(c)}, {text: by(c)},
	}
}

func runFollow(ctx context.Context, opt callsOptions, std Streams) error {
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	show := newFollowed(std, opt.json)
	after, filter := "", opt.filter
	if filter.Since != "" {
		if after, err = show.before(ctx, service, filter); err != nil {
			return err
		}
		filter.Since = "" // what comes is later
	}
	note(std, "following; Ctrl-C ends it")
	err = service.FollowCalls(ctx, filter, after, func(e client.Followed) bool { return show.call(e.Call) })
	if err != nil {
		return err
	}
	return show.err
}

// followed shows calls as they come, each once.
type followed struct {
	std   Streams
	json  bool
	table *table
	seen  map[durward.CallID]bool // of those that were listed first
	err   error                   // of printing
}

func newFollowed(std Streams, asJSON bool) *followed {
	t := newTable(std.Out)
	t.widths = []int{len(time.TimeOnly), len(shortID(string(durward.NewCallID()))), len("dispatched"), len("allow"), len("9.9ms"), 32, 0}
	return &followed{std: std, json: asJSON, table: t, seen: map[durward.CallID]bool{}}
}

// call shows a call; false when that cannot be done any more: a reader that went
// away ends it.
func (s *followed) call(c *client.CallRecord) bool {
	switch {
	case s.seen[c.ID]:
	case s.json:
		s.err = printJSON(s.std.Out, c)
	default:
		s.err = s.table.print([][]cell{callCells(c.IntentAt.Local().Format(time.TimeOnly), c)})
	}
	return s.err == nil
}

// before shows the newest of the calls that are on record, oldest first, and
// returns the cursor after which others come.
func (s *followed) before(ctx context.Context, service *client.Client, f client.CallFilter) (after string, err error) {
	info, err := service.Ledger(ctx) // before the list, so that none is between the two
	if err != nil {
		return "", err
	}
	f.Limit = pageMost
	page, err := service.Calls(ctx, f)
	if err != nil {
		return "", err
	}
	shown := 0
	for _, c := range slices.Backward(page.Calls) {
		if c.Status == client.StatusDispatched && f.Status != client.StatusDispatched {
			continue // it is told when it ends
		}
		if !s.call(&c) {
			return "", s.err
		}
		s.seen[c.ID] = true
		shown++
	}
	if page.Next != "" { // behind them, where it is seen
		_, _ = fmt.Fprintf(s.std.Err, "durward: only the newest %d calls are shown first; durward calls with --limit 0 lists all\n", shown) // there is nobody else to tell
	}
	return strconv.FormatUint(info.Head.Seq, 10), nil
}
