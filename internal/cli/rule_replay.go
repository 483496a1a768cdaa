package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/plugin"
	"durward/policy"
)

type ruleReplayOptions struct {
	filter client.CallFilter
	limit  int
	json   bool
}

func newRuleReplay(std Streams) *cobra.Command {
	var opt ruleReplayOptions
	cmd := &cobra.Command{
		Use:   "replay [RULES…]",
		Short: "Say what rules would have decided about the calls on record",
		Long: "Say what files of rules, or the policy of your configuration file, would have decided about the calls on record, compared\n" +
			"to what was decided. Nothing is called. Limits count as the calls came, those before --since included. Plugins run on\n" +
			"what was kept, as the files configure them, else as your configuration does; what they found when the call was made\n" +
			"counts as found. Labels of sessions are those on record, and those that the plugins set now. What pins held stays held,\n" +
			"and what was a tool's risk is. What tools say of themselves is what they say now.\n\n" +
			"Where something is needed that was not recorded, as arguments that were not kept, or whether a tool was pinned, the\n" +
			"call is shown as unknown, with what is missing, and nothing is said of what would have been decided.\n" + exitHelp,
		Example: "  durward rule replay --since 24h new-rules.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return runRuleReplay(cmd.Context(), args, opt, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opt.filter.Since, "since", "24h", "taken at or after this time, or how long ago")
	flags.StringVar(&opt.filter.Until, "until", "", "taken before this time")
	flags.StringVar(&opt.filter.Server, "server", "", "to this server")
	flags.StringVar(&opt.filter.Tool, "tool", "", "of this tool, by its own or its offered name")
	flags.StringVar(&opt.filter.Principal, "principal", "", "of this principal")
	flags.IntVar(&opt.limit, "limit", 100, "how many calls with another decision are shown; 0: all")
	flags.BoolVar(&opt.json, "json", false, "print one JSON document a line: the calls with another decision, then the counts")
	for name, complete := range map[string]func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective){
		"server": serverNames, "tool": itemNames((*client.Client).Tools),
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd, nil, word)
		}) // the flag was declared above
	}
	return cmd
}

// replayed is a call about which another decision would have been taken, or of which
// that is not known.
type replayed struct {
	ID     durward.CallID `json:"id"`
	At     time.Time      `json:"at"`
	Call   string         `json:"call"`
	Was    string         `json:"was"`
	WasBy  string         `json:"was_by,omitempty"`
	Now    string         `json:"now"` // allow, ask, block, or unknown
	NowBy  string         `json:"now_by,omitempty"`
	Reason string         `json:"reason,omitempty"` // of unknown: what is missing
}

// unknown is what is said where something needed was not recorded.
const unknown = "unknown"

// replayCounts is what came of all calls.
type replayCounts struct {
	Calls   int            `json:"calls"`
	Changed int            `json:"changed"`
	Unknown int            `json:"unknown"` // of which something needed was not recorded
	Changes map[string]int `json:"changes"` // "allow → block"
	Missing map[string]int `json:"missing"` // what that was
}

func runRuleReplay(ctx context.Context, files []string, opt ruleReplayOptions, std Streams) error {
	set, plugins, err := rulesAndPlugins(files, std)
	if err != nil {
		return err
	}
	defer plugins.Close() //nolint:errcheck // nothing of it is used any more
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	p, err := newReplay(ctx, set, plugins, service, opt, std)
	if err != nil {
		return err
	}
	from, to, err := replaySpan(ctx, service, opt.filter)
	if err != nil {
		return err
	}
	if to.IsZero() {
		return p.report() // there are no calls
	}
	p.from = from
	if from = p.widen(from, set); from.Before(p.from) {
		p.filter = client.CallFilter{}
	}
	f := p.filter
	f.Since = from.UTC().Format(time.RFC3339Nano)
	stats, err := service.CallStats(ctx, f)
	if err != nil {
		return err
	}
	b := newBar(std, "replaying")
	p.progress = func(done int) { b.tell(int64(done), stats.Calls) }
	err = p.between(ctx, from, to)
	b.end()
	if err != nil {
		return err
	}
	return p.report()
}

// rulesAndPlugins compiles the rules, and loads the plugins that they run: those of the
// files, else those of the configuration.
func rulesAndPlugins(files []string, std Streams) (*policy.Set, *plugin.Set, error) {
	load := loadOptions(configFile(nil))
	load.Optional = true
	c, err := config.Load(load)
	if err != nil && len(files) == 0 {
		return nil, nil, err
	}
	known := map[string]policy.PluginSpec{}
	if err == nil {
		known = c.Policy.Rules.Plugins()
	}
	set, err := rulesOrOwn(files, slices.Sorted(maps.Keys(known)), std)
	if err != nil {
		return nil, nil, err
	}
	specs := set.Plugins()
	if !slices.ContainsFunc(slices.Collect(maps.Values(specs)), func(p policy.PluginSpec) bool { return p.Mode != "" || p.WASM != "" }) {
		specs = known
	}
	opt := plugin.Options{Plugins: map[string]plugin.Config{}}
	for name, p := range specs {
		opt.Plugins[name] = plugin.Config{
			Mode: p.Mode, WASM: p.WASM, SHA256: p.SHA256, Detect: p.Detect, Max: int64(p.Max), Threshold: p.Threshold, Labels: p.Labels, Timeout: p.Timeout,
		}
	}
	plugins, err := plugin.New(opt)
	return set, plugins, err
}

// widen is from when on calls have to be looked at, so that limits and labels are as
// they were at the first that is told of.
func (p *replay) widen(from time.Time, set *policy.Set) time.Time {
	back := set.Longest()
	if p.labels {
		back = max(back, labelsBack)
	}
	return from.Add(-back)
}

// labelsBack is how far back the labels of a session are on record, if it is in use.
const labelsBack = 36 * time.Hour

// replaySpan is the time from the first to after the last call that a filter chooses.
func replaySpan(ctx context.Context, service *client.Client, f client.CallFilter) (from, to time.Time, err error) {
	f.Limit = 1
	newest, err := service.Calls(ctx, f)
	if err != nil || len(newest.Calls) == 0 {
		return from, to, err
	}
	to = newest.Calls[0].IntentAt.Add(time.Microsecond)
	if from, err = timeOf(f.Since, time.Now()); err != nil {
		return from, to, usage(err)
	}
	return from, to, nil
}

// timeOf reads a time as filters have it.
func timeOf(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	days := strings.HasSuffix(text, "d")
	if days {
		text = strings.TrimSuffix(text, "d") + "h"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("--since must be a time, a date, or how long ago: 90s, 1h, 2d")
	}
	if days {
		d *= 24
	}
	return now.Add(-d), nil
}

// shortest is the span that is not divided any further.
const shortest = time.Millisecond

// between decides the calls of a time, in the order in which they came: the list is
// the newest first, so a span with more than a page of them is halved.
func (p *replay) between(ctx context.Context, from, to time.Time) error {
	if !from.Before(to) {
		return nil
	}
	f := p.filter
	f.Since, f.Until, f.Limit = from.UTC().Format(time.RFC3339Nano), to.UTC().Format(time.RFC3339Nano), pageMost
	page, err := p.service.Calls(ctx, f)
	if err != nil {
		return err
	}
	if page.Next != "" && to.Sub(from) > shortest {
		middle := from.Add(to.Sub(from) / 2).Truncate(time.Microsecond)
		if err := p.between(ctx, from, middle); err != nil {
			return err
		}
		return p.between(ctx, middle, to)
	}
	all := page.Calls
	for page.Next != "" {
		f.Cursor = page.Next
		if page, err = p.service.Calls(ctx, f); err != nil {
			return err
		}
		all = append(all, page.Calls...)
	}
	slices.Reverse(all)
	for i := range all {
		if err := p.one(ctx, &all[i]); err != nil {
			return err
		}
	}
	p.progress(p.read)
	return nil
}

// changed tells of a call that is decided otherwise, or of which that is not known.
func (p *replay) changed(c *client.CallRecord, r replayed) error {
	r.ID, r.At, r.Call = c.ID, c.IntentAt, what(c)
	if r.Now == unknown {
		p.counts.Unknown++
		p.counts.Missing[r.Reason]++
	} else {
		p.counts.Changed++
		p.counts.Changes[r.Was+" → "+r.Now]++
	}
	if p.opt.limit > 0 && p.counts.Changed+p.counts.Unknown > p.opt.limit {
		return nil
	}
	if p.opt.json {
		return printJSON(p.std.Out, r)
	}
	var rows [][]cell
	if p.counts.Changed+p.counts.Unknown == 1 {
		rows = append(rows, []cell{{text: "WHEN"}, {text: "ID"}, {text: "WAS"}, {text: "NOW"}, {text: "BY"}, {text: "CALL"}})
	}
	by := r.NowBy
	if r.Now == unknown {
		by = r.Reason
	}
	return p.rows.print(append(rows, []cell{
		{text: c.IntentAt.Local().Format("2006-01-02 15:04:05")}, {text: string(c.ID)}, {text: r.Was, colour: decisionColour(r.Was)},
		{text: r.Now, colour: decisionColour(r.Now)}, {text: by}, {text: r.Call},
	}))
}

func byWhat(layer, rule string) string {
	if rule == "" {
		return layer
	}
	return layer + "/" + rule
}

func (p *replay) report() error {
	if p.opt.json {
		return printJSON(p.std.Out, p.counts)
	}
	said := fmt.Sprintf("%d calls, %d of them decided otherwise", p.counts.Calls, p.counts.Changed) + listed(": ", p.counts.Changes)
	if p.counts.Unknown > 0 {
		said += fmt.Sprintf("; of %d it is not known", p.counts.Unknown) + listed(", because something is not on record: ", p.counts.Missing)
	}
	if told := p.counts.Changed + p.counts.Unknown; p.opt.limit > 0 && told > p.opt.limit {
		said += fmt.Sprintf("; %d are shown, --limit 0 shows all", p.opt.limit)
	}
	_, err := fmt.Fprintln(p.std.Out, said)
	return err
}

// listed are counts in words, the largest first; nothing where there are none.
func listed(before string, counts map[string]int) string {
	if len(counts) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return before + strings.Join(names, ", ")
}
