package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"durward"
	"durward/client"
	"durward/policy"
)

type ruleReplayOptions struct {
	filter  client.CallFilter
	plugins []string
	limit   int
	json    bool
}

func newRuleReplay(std Streams) *cobra.Command {
	var opt ruleReplayOptions
	cmd := &cobra.Command{
		Use:   "replay [RULES…]",
		Short: "Say what rules would have decided about the calls on record",
		Long: "Say what files of rules, or the policy of your configuration file, would have decided about the calls on record, compared\n" +
			"to what was decided. Nothing is called. Limits count as the calls came. Not on record, and absent here, are labels of\n" +
			"sessions, pins, and what plugins found; what tools say of themselves is what they say now. Known secrets are masked in\n" +
			"the record. Calls whose arguments were not kept as a whole are counted, not decided.\n" + exitHelp,
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
	flags.StringArrayVar(&opt.plugins, "plugin", nil, "name of a plugin of yours that the rules may run")
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

// replayed is a call about which another decision would have been taken.
type replayed struct {
	ID     durward.CallID `json:"id"`
	At     time.Time      `json:"at"`
	Call   string         `json:"call"`
	Was    string         `json:"was"`
	WasBy  string         `json:"was_by,omitempty"`
	Now    string         `json:"now"`
	NowBy  string         `json:"now_by,omitempty"`
	Reason string         `json:"reason,omitempty"`
}

// replayCounts is what came of all calls.
type replayCounts struct {
	Calls   int            `json:"calls"`
	Changed int            `json:"changed"`
	Unseen  int            `json:"unseen"`  // whose arguments were not kept
	Changes map[string]int `json:"changes"` // "allow → block"
}

func runRuleReplay(ctx context.Context, files []string, opt ruleReplayOptions, std Streams) error {
	set, err := rulesOrOwn(files, opt.plugins, std)
	if err != nil {
		return err
	}
	service, err := connect(ctx, std)
	if err != nil {
		return err
	}
	p, err := newReplay(ctx, set, service, opt, std)
	if err != nil {
		return err
	}
	from, to, err := replaySpan(ctx, service, opt.filter)
	if err != nil {
		return err
	}
	stats, err := service.CallStats(ctx, opt.filter)
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

// replay decides calls on record anew. It holds a page of them at a time.
type replay struct {
	service  *client.Client
	engine   *policy.Engine
	hints    map[string]json.RawMessage // what tools say of themselves now, by server and own name
	response bool                       // some rule looks at results
	opt      ruleReplayOptions
	std      Streams
	rows     *table
	counts   replayCounts
	now      time.Time // of the call that is being decided
	progress func(done int)
}

func newReplay(ctx context.Context, set *policy.Set, service *client.Client, opt ruleReplayOptions, std Streams) (*replay, error) {
	p := &replay{service: service, opt: opt, std: std, rows: newTable(std.Out), hints: map[string]json.RawMessage{}, counts: replayCounts{Changes: map[string]int{}}}
	for _, r := range set.Rules() {
		p.response = p.response || r.Stage == "response"
	}
	var err error
	p.engine, err = policy.New(policy.Options{Set: set, Plugins: noPlugins{}, Now: func() time.Time { return p.now }})
	if err != nil {
		return nil, err
	}
	tools, err := service.Tools(ctx, client.Filter{})
	for i := range tools {
		var said struct {
			Annotations json.RawMessage `json:"annotations"`
		}
		_ = json.Unmarshal(tools[i].Raw, &said) // of another form: it says nothing
		p.hints[tools[i].Server+"/"+tools[i].Native] = said.Annotations
	}
	return p, err
}

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
	f := p.opt.filter
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
	p.progress(p.counts.Calls)
	return nil
}

// one decides one call anew.
func (p *replay) one(ctx context.Context, c *client.CallRecord) error {
	p.counts.Calls++
	params, ok, err := p.body(ctx, c.RequestBody, c.Request, c.BytesIn)
	if err != nil {
		return err
	}
	if !ok {
		p.counts.Unseen++
		return nil
	}
	p.now = c.IntentAt
	ev := p.event(c, params)
	d := p.engine.DecideEvent(ctx, ev)
	if d.Action == durward.Allow && p.response && c.Error == "" && c.Response != "" {
		result, ok, err := p.body(ctx, c.ResponseBody, c.Response, c.BytesOut)
		if err != nil {
			return err
		}
		if ok {
			ev.Response, ev.Result = true, result
			x := p.engine.Explain(ctx, ev)
			d = x.Decision
		}
	}
	if d.Action.String() == c.Decision {
		return nil
	}
	return p.changed(c, &d)
}

// body is what was recorded of a request or a result; not ok: not all of it was kept.
func (p *replay) body(ctx context.Context, digest, preview string, length int) (raw []byte, ok bool, err error) {
	switch {
	case digest == "" && length == 0:
		return nil, true, nil
	case digest == "":
		return []byte(preview), whole(preview, length) && json.Valid([]byte(preview)), nil
	}
	body, info, err := p.service.Body(ctx, digest)
	if durward.KindOf(err) == durward.NotFound && err != nil {
		return nil, false, nil // what is kept of bodies is kept for a shorter time
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = body.Close() }() // it was only read
	if info.Truncated {
		return nil, false, nil
	}
	raw, err = io.ReadAll(io.LimitReader(body, maxRuleFile))
	return raw, json.Valid(raw), err
}

func (p *replay) event(c *client.CallRecord, params []byte) *policy.Event {
	call := &durward.Call{
		ID: c.ID, Method: c.Method, Received: c.IntentAt, Params: params, Server: c.Server, Name: c.Tool, FullName: c.FullName, Transport: c.Transport,
		RequestID: []byte(c.RequestID), Arguments: argumentsOf(params),
		Caller: durward.Caller{
			Principal: c.Principal, Session: c.Session, Entrance: c.Entrance, Process: c.Process,
			Client: durward.ClientInfo{Name: c.Client.Name, Version: c.Client.Version},
		},
	}
	ev := policy.EventOf(call, nil)
	if risk, err := durward.ParseRisk(c.Risk); err == nil {
		ev.Tool.Risk = risk
	}
	if ev.Tool.Name != "" {
		ev.Tool.Annotations = p.hints[c.Server+"/"+c.Tool]
	}
	ev.Now = c.IntentAt
	return &ev
}

func argumentsOf(params []byte) []byte {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(params, &p) // no object: no arguments
	return p.Arguments
}

func (p *replay) changed(c *client.CallRecord, d *durward.Decision) error {
	p.counts.Changed++
	p.counts.Changes[c.Decision+" → "+d.Action.String()]++
	if p.opt.limit > 0 && p.counts.Changed > p.opt.limit {
		return nil
	}
	r := replayed{ID: c.ID, At: c.IntentAt, Call: what(c), Was: c.Decision, WasBy: byWhat(c.Layer, c.Rule), Now: d.Action.String(), NowBy: byWhat(d.Layer, d.Rule), Reason: d.Reason}
	if p.opt.json {
		return printJSON(p.std.Out, r)
	}
	var rows [][]cell
	if p.counts.Changed == 1 {
		rows = append(rows, []cell{{text: "WHEN"}, {text: "ID"}, {text: "WAS"}, {text: "NOW"}, {text: "BY"}, {text: "CALL"}})
	}
	return p.rows.print(append(rows, []cell{
		{text: c.IntentAt.Local().Format("2006-01-02 15:04:05")}, {text: string(c.ID)}, {text: r.Was, colour: decisionColour(r.Was)},
		{text: r.Now, colour: decisionColour(r.Now)}, {text: r.NowBy}, {text: r.Call},
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
	said := fmt.Sprintf("%d calls, %d of them decided otherwise", p.counts.Calls, p.counts.Changed)
	var parts []string
	for change, n := range p.counts.Changes {
		parts = append(parts, fmt.Sprintf("%s %d", change, n))
	}
	slices.Sort(parts)
	if len(parts) > 0 {
		said += ": " + strings.Join(parts, ", ")
	}
	if p.counts.Unseen > 0 {
		said += fmt.Sprintf("; of %d the arguments were not kept", p.counts.Unseen)
	}
	if p.opt.limit > 0 && p.counts.Changed > p.opt.limit {
		said += fmt.Sprintf("; %d are shown, --limit 0 shows all", p.opt.limit)
	}
	_, err := fmt.Fprintln(p.std.Out, said)
	return err
}
