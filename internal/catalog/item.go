package catalog

import (
	"bytes"
	"crypto/sha256"

	"durward/internal/wire"
)

// Item is one tool, prompt, resource or resource template as its server listed it.
type Item struct {
	Kind   Kind
	Server string
	Name   string   // the server's own: name, uri or uriTemplate
	Raw    []byte   // the item's bytes, exactly as listed
	Digest [32]byte // SHA-256 of Raw
	Hash   string   // SHA-256, in hex, of the canonical form of Raw; empty for resources

	// HeaderParams are the arguments of a tool that clients of the modern era
	// mirror in HTTP headers (x-mcp-header of its inputSchema).
	HeaderParams []wire.HeaderParam
	// UI is the resource that shows the tool's results (MCP Apps,
	// `_meta.ui.resourceUri`), in the server's own words; "" when there is none.
	UI string

	headerProblem string // why HeaderParams is empty though there are annotations

	destructive, readOnly, openWorld bool // hints; nobody's proof
	wantsTask                        bool // execution.taskSupport is "required"

	annotations wire.Span   // of a tool: value of annotations
	key         wire.Span   // value of name, uri or uriTemplate
	description wire.Span   // value of description
	ui          []wire.Span // values of the UI resource's URI
	// flaw says why a typed client would refuse the whole list this item stands
	// in; "" when none would. Such an item is kept off the aggregate, where it
	// would take the other servers' items with it.
	flaw    string
	pattern pattern // of a template
}

// reader reads the lists of one server.
type reader struct {
	opt      *Options
	server   string
	problems *problems
}

// list reads the items of one kind. Of items with the same name the first stays.
func (r *reader) list(k Kind, raws [][]byte, old map[[sha256.Size]byte]*Item) []*Item {
	word, most, limit := k.String(), r.opt.MaxItems, "limits.items"
	if k == Template {
		most, limit = r.opt.MaxTemplates, "limits.templates"
	}
	items := make([]*Item, 0, min(len(raws), most))
	names := make(map[string]bool, min(len(raws), most))
	total := 0
	for i, raw := range raws {
		if len(items) == most {
			r.problems.add("%d %ss are not offered: the limit for one server is %d (%s)", len(raws)-i, word, most, limit)
			break
		}
		if total += len(raw); total > r.opt.MaxListBytes {
			r.problems.add("%d %ss are not offered: together they exceed the limit of %d bytes (limits.list)", len(raws)-i, word, r.opt.MaxListBytes)
			break
		}
		it, why := r.item(k, raw, old)
		switch {
		case why != "":
			r.problems.add("%s number %d is not offered: %s", word, i+1, why)
		case names[it.Name]:
			r.problems.add("%s %q is listed more than once; the first one is offered", word, short(it.Name))
		default:
			names[it.Name] = true
			items = append(items, it)
		}
	}
	return items
}

// item reads one item, or says why it cannot be offered.
func (r *reader) item(k Kind, raw []byte, old map[[sha256.Size]byte]*Item) (it *Item, why string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > r.opt.MaxItemBytes {
		return nil, sizeProblem("it", len(raw), r.opt.MaxItemBytes, "limits.item")
	}
	digest := sha256.Sum256(raw)
	if it := old[digest]; it != nil {
		r.report(it)
		return it, ""
	}
	if !isObject(raw) {
		return nil, "it is no JSON object"
	}
	it = &Item{Kind: k, Server: r.server, Raw: raw, Digest: digest}
	var m members
	if why := m.read(it); why != "" {
		return nil, why
	}
	if why := it.name(m.key); why != "" {
		return nil, why
	}
	if why := r.checkSizes(it, &m); why != "" {
		return nil, named(it, why)
	}
	if k == Tool {
		if why := it.tool(&m); why != "" {
			return nil, named(it, why)
		}
	}
	if k == Template {
		it.pattern = parseTemplate(it.Name)
	}
	if k != Resource {
		it.Hash = hashOf(raw)
	}
	it.flaw = flawOf(it, &m)
	r.report(it)
	return it, ""
}

func named(it *Item, why string) string { return wire.Quote(short(it.Name)) + ": " + why }

// name takes the value that identifies the item.
func (it *Item) name(key wire.Span) string {
	member := it.Kind.info().key
	raw := key.Of(it.Raw)
	if raw == nil {
		return "it has no " + member
	}
	name, ok := wire.Unquote(raw)
	switch {
	case !ok:
		return "its " + member + " is no string"
	case name == "":
		return "its " + member + " is empty"
	case !wire.Valid(raw): // a lone surrogate or bytes that are no UTF-8: nobody could call it
		return "its " + member + " is not valid Unicode"
	}
	it.Name, it.key = name, key
	return ""
}

// tool takes what only tools have.
func (it *Item) tool(m *members) string {
	schema := m.inputSchema.Of(it.Raw)
	if len(schema) == 0 || schema[0] != '{' {
		return "its inputSchema is no object"
	}
	annotations := m.annotations.Of(it.Raw)
	it.annotations = m.annotations
	it.destructive = string(wire.Get(annotations, "destructiveHint")) == "true"
	it.readOnly = string(wire.Get(annotations, "readOnlyHint")) == "true"
	it.openWorld = string(wire.Get(annotations, "openWorldHint")) == "true"
	support, _ := wire.Unquote(wire.Get(m.execution.Of(it.Raw), "taskSupport"))
	it.wantsTask = support == "required"
	it.findUI(m.meta)
	it.readHeaders(schema)
	return ""
}

// findUI notes where `_meta` names the resource that shows the tool's results:
// in `ui.resourceUri`, and in the flat key that came before it.
func (it *Item) findUI(meta wire.Span) {
	note := func(origin uint32, at wire.Span) {
		at = wire.Span{Start: origin + at.Start, End: origin + at.End}
		uri, ok := wire.Unquote(at.Of(it.Raw))
		if !ok || uri == "" {
			return
		}
		if it.ui = append(it.ui, at); it.UI == "" {
			it.UI = uri
		}
	}
	for name, at := range wire.Members(meta.Of(it.Raw)) {
		switch name {
		case "ui/resourceUri":
			note(meta.Start, at)
		case "ui":
			origin := meta.Start + at.Start
			for name, at := range wire.Members(it.Raw[origin : meta.Start+at.End]) {
				if name == "resourceUri" {
					note(origin, at)
				}
			}
		}
	}
}
