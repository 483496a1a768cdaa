package gateway

import (
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"durward"
	"durward/internal/builtin"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/toolsearch"
	"durward/internal/wire"
)

// Bounds of one search.
const (
	defaultFound   = 5
	maxFound       = 50
	maxSearchQuery = 4 << 10 // bytes
	maxOneLine     = 160     // bytes of a description in the answer
)

// finder is what lazy routes need: which they are, and an index for each that
// was searched. A lazy route lists the tools that find and call others and what
// is pinned; all its tools can be called.
type finder struct {
	lazy    atomic.Pointer[map[durward.Route][]string] // globs of what is pinned, by route; replaced by reload
	indexes sync.Map                                   // indexKey -> *indexed; bounded by the number of lazy routes
}

type indexKey struct {
	route durward.Route
	era   wire.Era
}

// lazyRoutes returns the globs of what is pinned, by lazy route.
func (o *Options) lazyRoutes() map[durward.Route][]string {
	lazy := map[durward.Route][]string{}
	if o.LazyTools {
		lazy[durward.Route{}] = o.PinnedTools
	}
	for _, t := range o.Toolsets {
		if t.Lazy {
			lazy[durward.Route{Kind: durward.RouteToolset, Name: t.Name}] = t.Pinned
		}
	}
	return lazy
}

// checkPins refuses patterns that match nothing because they are malformed.
func (o *Options) checkPins() error {
	for route, globs := range o.lazyRoutes() {
		for _, glob := range globs {
			if _, err := path.Match(glob, ""); err != nil {
				return durward.Errorf(durward.Invalid, "pinned tools of "+route.String(), "the pattern %q is malformed: see path.Match (*, ?, [a-z], \\ to escape)", glob)
			}
		}
	}
	return nil
}

// toolsets returns the configured toolsets; lazy ones have the tools that find the others.
func (o *Options) toolsets() []durward.Toolset {
	sets := slices.Clone(o.Toolsets)
	for i := range sets {
		if sets[i].Lazy {
			sets[i].Tools = slices.Clone(sets[i].Tools)
			for _, name := range builtin.FinderTools() {
				sets[i].Tools = append(sets[i].Tools, builtin.ServerName+"__"+name)
			}
		}
	}
	return sets
}

// local is the server of Durward's own tools, as far as they are wanted.
func (o *Options) local() durward.Server {
	s := durward.Server{Name: builtin.ServerName, Transport: durward.TransportBuiltin, Risk: durward.RiskLow}
	switch lazy := len(o.lazyRoutes()) > 0; {
	case !lazy:
		s.Tools.Deny = builtin.FinderTools()
	case !o.Builtin:
		s.Tools.Allow = builtin.FinderTools()
	}
	return s
}

// apply takes the lazy routes of a configuration and returns those that list
// something else from now on.
func (f *finder) apply(lazy map[durward.Route][]string) (changed []durward.Route) {
	f.indexes.Clear()
	old := f.lazy.Swap(&lazy)
	if old == nil {
		return nil
	}
	routes := maps.Clone(*old)
	maps.Copy(routes, lazy)
	for route := range routes {
		before, was := (*old)[route]
		now, is := lazy[route]
		if was != is || !slices.Equal(before, now) {
			changed = append(changed, route)
		}
	}
	return changed
}

// lists returns the filter of what a route lists; nil when it lists all.
func (f *finder) lists(route durward.Route) func(*catalog.Entry) bool {
	lazy := *f.lazy.Load()
	if len(lazy) == 0 {
		return nil
	}
	pinned, ok := lazy[route]
	if !ok {
		return func(e *catalog.Entry) bool { return !isFinder(e) }
	}
	return func(e *catalog.Entry) bool {
		return isFinder(e) || slices.ContainsFunc(pinned, func(glob string) bool {
			match, err := path.Match(glob, e.Offered)
			return match && err == nil
		})
	}
}

// isFinder reports whether a tool is one of those that find and call others.
func isFinder(e *catalog.Entry) bool {
	return e.Server == builtin.ServerName && slices.Contains(builtin.FinderTools(), e.Name)
}

// indexed is the index of what a route offered when it was last searched.
type indexed struct {
	mu      sync.Mutex // guards all below; who finds it stale builds for all
	view    *catalog.View
	entries []*catalog.Entry
	index   *toolsearch.Index
}

// of returns the tools of a view that can be found, and their index. It is built
// at the first search after a change.
func (x *indexed) of(view *catalog.View) ([]*catalog.Entry, *toolsearch.Index) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view == view {
		return x.entries, x.index
	}
	var entries []*catalog.Entry
	for e := range view.Entries(catalog.Tool) {
		if !isFinder(e) {
			entries = append(entries, e)
		}
	}
	if x.index == nil || !slices.Equal(entries, x.entries) {
		docs := make([]toolsearch.Document, len(entries))
		for i, e := range entries {
			docs[i] = toolsearch.Read(e.AppendOffered(nil))
		}
		x.entries, x.index = entries, toolsearch.New(docs)
	}
	x.view = view
	return x.entries, x.index
}

// resolveFinder gives the tools that find and call others their handler.
func (g *Gateway) resolveFinder(ctx context.Context, p *passage) error {
	if !isFinder(p.to.entry) {
		return nil
	}
	switch p.to.entry.Name {
	case builtin.SearchTools:
		p.serve = g.searchTools
	case builtin.DescribeTool:
		p.serve = g.describeTool
	case builtin.CallTool:
		return g.unwrap(ctx, p)
	}
	return nil
}

// unwrap makes of a call of call_tool the call that is meant, before anything
// else looks at it: the rules decide about the tool that will run, and the record
// names it. Its caller could have made the same call by himself.
func (g *Gateway) unwrap(ctx context.Context, p *passage) error {
	if visible := g.visible(p); visible != nil && !visible(p.to.entry) {
		return &wire.CodeError{Code: wire.CodeRefused, Message: "refused by policy", Data: []byte(`{"reason":"policy"}`)}
	}
	name, ok := wire.Unquote(wire.Get(p.call.Arguments, "name"))
	if !ok {
		return invalidParams("argument name must be a string: the name of the tool to call")
	}
	arguments, ok := innerArguments(wire.Get(p.call.Arguments, "arguments"))
	if !ok {
		return invalidParams(`argument arguments must be the text of one JSON object, such as {"title":"Bug"}`)
	}
	in := *p.in
	raw := wire.AppendObject(nil, p.in.Params.Raw, nil,
		wire.Member{Name: "name", Value: wire.AppendQuote(nil, name)}, wire.Member{Name: "arguments", Value: arguments})
	if err := wire.ParseParams(raw, &in.Params); err != nil {
		return invalidParams("argument arguments: " + err.Error())
	}
	in.ParamHeaders = nil // the client mirrored nothing of a tool that it was not listed
	p.in = &in
	p.call.Params, p.call.Arguments = raw, in.Params.Arguments.Of(raw)
	if err := g.find(ctx, p, name, "tool", toolToCall); err != nil {
		return err
	}
	if isFinder(p.to.entry) {
		return invalidParams(name + " is called directly, not through another tool")
	}
	return g.checkCall(p)
}

// innerArguments returns the arguments of the tool to call, byte for byte: the
// text of an object, as our schema asks for, or the object itself.
func innerArguments(raw []byte) ([]byte, bool) {
	if text, ok := wire.Unquote(raw); ok {
		raw = []byte(text)
	}
	raw = wire.CleanLine(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}"), true
	}
	return raw, raw[0] == '{' && wire.Valid(raw)
}

// searchTools answers search_tools.
func (g *Gateway) searchTools(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	query, ok := wire.Unquote(wire.Get(p.call.Arguments, "query"))
	if !ok || len(query) > maxSearchQuery {
		return g.ownText(p, "argument query must be a string of at most "+strconv.Itoa(maxSearchQuery)+" bytes", true)
	}
	g.settle(ctx, p.in.Route)
	view, err := g.view(p)
	if err != nil {
		return exchange.Fail(err)
	}
	x, _ := g.finder.indexes.LoadOrStore(indexKey{p.in.Route, p.in.Client.Era}, &indexed{})
	entries, index := x.(*indexed).of(view)
	visible := g.visible(p)
	hits := index.Search(query, foundLimit(wire.Get(p.call.Arguments, "limit")), func(i int) bool { return visible == nil || visible(entries[i]) })
	return g.ownText(p, foundText(entries, hits), false)
}

// foundLimit reads how many tools are wanted; what is no number counts as the default.
func foundLimit(raw []byte) int {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return defaultFound
	}
	return int(min(max(n, 1), maxFound))
}

// foundText renders what was found.
func foundText(entries []*catalog.Entry, hits []toolsearch.Hit) string {
	if len(hits) == 0 {
		return `{"tools":[],"hint":"nothing fits; try other words for what the tool should do"}`
	}
	b := []byte(`{"tools":[`)
	for i, hit := range hits {
		if i > 0 {
			b = append(b, ',')
		}
		d := toolsearch.Read(entries[hit.Document].AppendOffered(nil))
		b = wire.AppendQuote(append(b, `{"name":`...), entries[hit.Document].Offered)
		b = wire.AppendQuote(append(b, `,"description":`...), toolsearch.OneLine(d.Description, maxOneLine))
		b = strconv.AppendFloat(append(b, `,"score":`...), hit.Score, 'f', 2, 64)
		b = append(b, '}')
	}
	return string(append(b, "]}"...))
}

// describeTool answers describe_tool with the whole tool as the route offers it.
func (g *Gateway) describeTool(ctx context.Context, p *passage, _ exchange.Stream) exchange.Reply {
	name, ok := wire.Unquote(wire.Get(p.call.Arguments, "name"))
	if !ok {
		return g.ownText(p, "argument name must be a string: the name of a tool", true)
	}
	view, err := g.view(p)
	if err != nil {
		return exchange.Fail(err)
	}
	entry, ok := view.Tool(name)
	if !ok {
		if view, err = g.await(ctx, p, name); err != nil {
			return exchange.Fail(err)
		}
		entry, ok = view.Tool(name)
	}
	if visible := g.visible(p); !ok || entry.Held != "" || visible != nil && !visible(entry) {
		return g.ownText(p, "unknown tool "+name+"; search for what it should do", true)
	}
	return g.ownText(p, string(entry.AppendOffered(nil)), false)
}

// ownText is a tool result of the gateway's own, in the era of the caller.
func (g *Gateway) ownText(p *passage, text string, isError bool) exchange.Reply {
	b := wire.AppendQuote([]byte(`{"resultType":"complete","content":[{"type":"text","text":`), text)
	b = append(b, `}]`...)
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return g.translate(p, exchange.Reply{Result: append(b, '}'), ResultType: "complete", IsError: isError, Era: wire.Modern})
}
