package cli

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/internal/plugin"
	"durward/internal/wire"
	"durward/policy"
)

// replay decides calls on record anew. It holds a page of them at a time.
type replay struct {
	service  *client.Client
	engine   *policy.Engine
	plugins  *plugin.Set
	hints    map[string]json.RawMessage // what tools say of themselves now, by server and own name
	labels   bool                       // some rule looks at labels
	opt      ruleReplayOptions
	filter   client.CallFilter // of what is read
	from     time.Time         // of the first call that is told of
	std      Streams
	rows     *table
	counts   replayCounts
	now      time.Time // of the call that is being decided
	progress func(done int)
	read     int
}

func newReplay(ctx context.Context, set *policy.Set, plugins *plugin.Set, service *client.Client, opt ruleReplayOptions, std Streams) (*replay, error) {
	p := &replay{
		service: service, plugins: plugins, opt: opt, filter: opt.filter, std: std, rows: newTable(std.Out), hints: map[string]json.RawMessage{},
		labels: slices.Contains(set.Fields(), "session.labels"),
		counts: replayCounts{Changes: map[string]int{}, Missing: map[string]int{}},
	}
	var err error
	p.engine, err = policy.New(policy.Options{Set: set, Plugins: plugin.Replayed{Set: plugins}, Now: func() time.Time { return p.now }})
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

// told reports whether a call is one of those that were asked for, and not only one
// that counts for others.
func (p *replay) told(c *client.CallRecord) bool {
	f := &p.opt.filter
	return !c.IntentAt.Before(p.from) && (f.Server == "" || f.Server == c.Server) && (f.Principal == "" || f.Principal == c.Principal) &&
		(f.Tool == "" || f.Tool == c.Tool || f.Tool == c.FullName)
}

// one decides one call anew.
func (p *replay) one(ctx context.Context, c *client.CallRecord) error {
	p.read++
	p.now = c.IntentAt
	now, err := p.decided(ctx, c)
	if err != nil || !p.told(c) {
		return err
	}
	p.counts.Calls++
	now.Was, now.WasBy = c.Decision, byWhat(c.Layer, c.Rule)
	if c.Decision == durward.Allow.String() && c.Status == string(durward.StatusRefused) {
		now.Was, now.WasBy = durward.Block.String(), "its result was withheld"
	}
	if now.Now == now.Was {
		return nil
	}
	return p.changed(c, now)
}

// The reasons why nothing can be said of a call. That which is missing of a rule is
// named by its field.
const (
	missingArguments = "its arguments, which were not kept as a whole"
	missingUnseen    = "its arguments, which no plugin could look at"
	missingResult    = "its result, which was not kept as a whole"
)

// decided is what would be decided about a call.
func (p *replay) decided(ctx context.Context, c *client.CallRecord) (replayed, error) {
	story, err := p.story(ctx, c)
	if err != nil {
		return replayed{}, err
	}
	if held(story) { // no rule opens what pins hold
		return replayed{Now: durward.Block.String(), NowBy: byWhat("builtin", policy.RulePins)}, nil
	}
	params, missing, err := p.body(ctx, c.RequestBody, c.Request, c.BytesIn, missingArguments)
	if err != nil || missing != "" {
		return replayed{Now: unknown, Reason: missing}, err
	}
	call := p.call(c, params)
	p.mark(call, story, true)
	d := p.engine.Replay(ctx, call)
	defer p.mark(call, story, false)
	if d.Action == durward.Ask && c.Attempts > 0 {
		p.engine.Count(call, &d) // it went on
	}
	if d.Action == durward.Block && d.Cause != "default" && notRecorded(p.engine.RuleLooksAt(d.Layer, d.Rule)) == "" {
		return decidedBy(&d), nil // nothing that is not known makes it less
	}
	fields, _ := p.engine.LooksAt(call, false)
	if field := notRecorded(fields); field != "" {
		return replayed{Now: unknown, Reason: field}, nil
	}
	if d.Action != durward.Allow || c.Attempts == 0 {
		return decidedBy(&d), nil
	}
	return p.decidedResult(ctx, c, call, &d)
}

func decidedBy(d *durward.Decision) replayed {
	return replayed{Now: d.Action.String(), NowBy: byWhat(d.Layer, d.Rule), Reason: d.Reason}
}

// decidedResult is what would be decided about a call whose request is allowed.
func (p *replay) decidedResult(ctx context.Context, c *client.CallRecord, call *durward.Call, d *durward.Decision) (replayed, error) {
	fields, rules := p.engine.LooksAt(call, true)
	if !rules && !p.plugins.Runs() || c.Error != "" && c.Status != string(durward.StatusRefused) {
		return decidedBy(d), nil
	}
	result, missing, err := p.body(ctx, c.ResponseBody, c.Response, c.BytesOut, missingResult)
	if c.Status == string(durward.StatusRefused) {
		missing = missingResult // it was withheld
	}
	if err != nil || missing != "" {
		return replayed{Now: unknown, Reason: missing}, err
	}
	of, err := p.engine.DecideResult(ctx, call, result)
	if err != nil || of.Action == durward.Block && notRecorded(p.engine.RuleLooksAt(of.Layer, of.Rule)) == "" {
		return decidedBy(&of), err
	}
	if field := notRecorded(fields); field != "" {
		return replayed{Now: unknown, Reason: field}, nil
	}
	return decidedBy(d), nil
}

// notRecorded names a field of a list that is not on record; empty: there is none.
func notRecorded(fields []string) string {
	for _, field := range fields {
		switch field {
		case "mcp.tool.pinned", "mcp.tool.drifted", "mcp.tool.schema_hash", "mcp.server.risk", "session.calls", "session.started",
			"caller.sandbox.id", "caller.sandbox.name":
			return field
		}
	}
	return ""
}

// story is what is on record of a call besides itself, where that is needed.
func (p *replay) story(ctx context.Context, c *client.CallRecord) (*client.CallStory, error) {
	blocked := c.Decision == durward.Block.String() && c.Rule == ""
	if !p.labels && !blocked {
		return nil, nil
	}
	story, err := p.service.CallStory(ctx, string(c.ID))
	if err != nil && durward.KindOf(err) == durward.NotFound {
		return nil, nil // it was pruned meanwhile
	}
	return story, err
}

// held reports whether a call was of something that pins held.
func held(story *client.CallStory) bool {
	return story != nil && slices.ContainsFunc(story.Decisions, func(d client.DecisionRecord) bool { return d.Layer == "builtin" && d.Rule == policy.RulePins })
}

// mark gives the session of a call the labels that it had: those that are on record
// from before the call, or from its result.
func (p *replay) mark(call *durward.Call, story *client.CallStory, before bool) {
	if story == nil {
		return
	}
	for _, d := range story.Decisions {
		if d.Layer == "builtin" && d.Rule == policy.RuleLabels && (d.Stage != "postprocess") == before {
			_ = p.engine.Mark(&call.Caller, strings.Split(d.Detail, ", ")...) // what is none, nobody wrote that we know
		}
	}
}

// body is what was recorded of a request or a result, or what is missing of it.
func (p *replay) body(ctx context.Context, digest, preview string, length int, missing string) (raw []byte, lacks string, err error) {
	switch {
	case digest == "" && length == 0:
		return nil, "", nil
	case digest == "" && (!whole(preview, length) || !json.Valid([]byte(preview))):
		return nil, missing, nil
	case digest == "":
		raw = []byte(preview)
	default:
		if raw, err = p.stored(ctx, digest); err != nil || raw == nil {
			return nil, missing, err
		}
	}
	if wire.Lookup(raw, wire.MemberWithheld).Present() {
		return nil, missingUnseen, nil
	}
	return raw, "", nil
}

// stored is a body of the ledger; nil if it is not there, or not whole.
func (p *replay) stored(ctx context.Context, digest string) ([]byte, error) {
	body, info, err := p.service.Body(ctx, digest)
	if durward.KindOf(err) == durward.NotFound && err != nil {
		return nil, nil // what is kept of bodies is kept for a shorter time
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it was only read
	if info.Truncated {
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxRuleFile))
	if err != nil || !json.Valid(raw) {
		return nil, err
	}
	return raw, nil
}

// call is a call as it was made.
func (p *replay) call(c *client.CallRecord, params []byte) *durward.Call {
	call := &durward.Call{
		ID: c.ID, Method: c.Method, Received: c.IntentAt, Params: params, Server: c.Server, Name: c.Tool, FullName: c.FullName, Transport: c.Transport,
		RequestID: []byte(c.RequestID), Era: c.Era, Parent: c.Parent,
		Caller: durward.Caller{
			Principal: c.Principal, Session: c.Session, Entrance: c.Entrance, Process: c.Process,
			Client: durward.ClientInfo{Name: c.Client.Name, Version: c.Client.Version},
		},
	}
	if c.Server == "" && c.Tool == "" { // it was asked for, but is nobody's: rules did not see it
		call.FullName = ""
	}
	call.Risk, _ = durward.ParseRisk(c.Risk) // of what has none: none
	if c.Method == wire.MethodToolsCall || c.Method == wire.MethodPromptsGet {
		call.Arguments = wire.Get(params, "arguments")
	}
	if c.Method == wire.MethodToolsCall {
		call.Tool = &durward.Tool{Annotations: p.hints[c.Server+"/"+c.Tool]}
	}
	return call
}
