package policy

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"durward"
)

// planKey is what rules are indexed by.
type planKey struct {
	response     bool
	method       string // or the type of an event that has none: http, sandbox
	server, tool string
}

// plan is what can match an event with a key: in the order of (layer, id) for each
// purpose. It is worked out once for a key and then shared.
type plan struct {
	preprocess []*rule
	rewrites   []*rule
	deciding   []*rule // allow, ask, block
	certain    []*rule // those of deciding that can hide something by themselves
	post       []*rule
	tools      [layers]*toolDefault
	bytes      []*rule // with a limit on bytes
}

// idle reports whether nothing of the plan can have a say.
func (p *plan) idle() bool {
	return len(p.preprocess)+len(p.rewrites)+len(p.deciding)+len(p.post) == 0 && p.tools == [layers]*toolDefault{}
}

// index finds the rules that can match. Each rule is in one place, by the most
// selective thing it names; so what it costs to find candidates does not grow with
// rules for other methods, servers and tools. Candidates are checked in full.
type index struct {
	set   *Set
	phase [2]map[string]*places // by method; "" has the rules that name none, or all

	plans kept
}

// places are the rules of one phase and method.
type places struct {
	pairs    map[[2]string][]*rule // server and tool
	tools    names
	servers  names
	anything []*rule
}

// names finds rules by a name: exactly, or by what it begins with.
type names struct {
	exact    map[string][]*rule
	prefixes map[string][]*rule
	lengths  []int // of prefixes
}

const (
	maxPairs = 64     // places of one rule
	maxPlans = 16_384 // that are kept
)

func (x *index) build(s *Set) {
	x.set = s
	for i := range x.phase {
		x.phase[i] = make(map[string]*places)
	}
	for _, r := range s.rules {
		methods := r.methods
		if len(methods) == 0 {
			methods = []string{""}
		}
		for _, m := range methods {
			at := x.phase[phaseOf(r.response)]
			if at[m] == nil {
				at[m] = &places{pairs: make(map[[2]string][]*rule), tools: newNames(), servers: newNames()}
			}
			at[m].put(r)
		}
	}
	for i := range x.phase {
		for _, p := range x.phase[i] {
			p.tools.finish()
			p.servers.finish()
		}
	}
	x.plans.seed = maphash.MakeSeed()
}

func phaseOf(response bool) int {
	if response {
		return 1
	}
	return 0
}

func newNames() names {
	return names{exact: make(map[string][]*rule), prefixes: make(map[string][]*rule)}
}

// put files a rule under the most selective thing it names.
func (p *places) put(r *rule) {
	servers, tools := allPlain(r.servers), allPlain(r.tools)
	switch {
	case servers && tools && len(r.servers)*len(r.tools) <= maxPairs:
		for i := range r.servers {
			for j := range r.tools {
				key := [2]string{r.servers[i].text, r.tools[j].text}
				p.pairs[key] = append(p.pairs[key], r)
			}
		}
	case servers:
		p.servers.put(r, r.servers)
	case tools || allPrefixed(r.tools):
		p.tools.put(r, r.tools)
	case allPrefixed(r.servers):
		p.servers.put(r, r.servers)
	default:
		p.anything = append(p.anything, r)
	}
}

func allPlain(globs []glob) bool {
	return len(globs) > 0 && !slices.ContainsFunc(globs, func(g glob) bool { return !g.plain() })
}

func allPrefixed(globs []glob) bool {
	return len(globs) > 0 && !slices.ContainsFunc(globs, func(g glob) bool { return g.prefix() == "" })
}

func (n *names) put(r *rule, globs []glob) {
	for i := range globs {
		if globs[i].plain() {
			n.exact[globs[i].text] = append(n.exact[globs[i].text], r)
		} else {
			n.prefixes[globs[i].prefix()] = append(n.prefixes[globs[i].prefix()], r)
		}
	}
}

func (n *names) finish() {
	for prefix := range maps.Keys(n.prefixes) {
		if !slices.Contains(n.lengths, len(prefix)) {
			n.lengths = append(n.lengths, len(prefix))
		}
	}
	slices.Sort(n.lengths)
}

// find calls use with the rules that a name can belong to.
func (n *names) find(name string, use func([]*rule)) {
	if name == "" {
		return
	}
	use(n.exact[name])
	for _, length := range n.lengths {
		if length > len(name) {
			return
		}
		use(n.prefixes[name[:length]])
	}
}

// plan returns what can match events with a key. keep says that the key is one of
// those there are few of, so that it is worth remembering: nobody can fill the memory
// with names that they made up.
func (x *index) plan(k planKey, keep bool) *plan {
	if x.phase[0][k.method] == nil && x.phase[1][k.method] == nil {
		k.method = "" // no rule names it: all such methods are alike
	}
	at := x.plans.bucket(&k)
	if p := at.find(&k); p != nil {
		return p
	}
	p := x.work(k)
	if keep {
		x.plans.put(at, &k, p)
	}
	return p
}

// work finds the candidates of a key and sorts them by purpose.
func (x *index) work(k planKey) *plan {
	var found []*rule
	use := func(rules []*rule) {
		for _, r := range rules {
			if r.covers(k) {
				found = append(found, r)
			}
		}
	}
	for _, method := range [...]string{"", k.method} {
		at := x.phase[phaseOf(k.response)][method]
		if at == nil {
			continue
		}
		use(at.pairs[[2]string{k.server, k.tool}])
		at.servers.find(k.server, use)
		at.tools.find(k.tool, use)
		use(at.anything)
	}
	slices.SortFunc(found, func(a, b *rule) int { return cmp.Compare(a.order, b.order) })
	found = slices.Compact(found)
	p := &plan{}
	for _, r := range found {
		p.add(r)
	}
	if k.tool != "" && !k.response {
		x.toolDefaults(k, p)
	}
	return p
}

func (p *plan) add(r *rule) {
	if r.limit != nil && r.limit.unit == unitBytes {
		p.bytes = append(p.bytes, r)
	}
	switch r.act {
	case actPreprocess:
		p.preprocess = append(p.preprocess, r)
	case actRewrite:
		p.rewrites = append(p.rewrites, r)
	case actPostprocess:
		p.post = append(p.post, r)
	default:
		p.deciding = append(p.deciding, r)
		if r.act == actBlock && r.limit == nil && (r.when == nil || r.when.certain) {
			p.certain = append(p.certain, r)
		}
	}
}

// closed reports whether some default of a tool is to block.
func (p *plan) closed() bool {
	for _, t := range p.tools {
		if t != nil && t.action == durward.Block {
			return true
		}
	}
	return false
}

// toolDefaults finds the line of each layer that counts: the plain name, else the
// most restrictive pattern.
func (x *index) toolDefaults(k planKey, p *plan) {
	for l := range x.set.tools {
		for server, list := range x.set.tools[l] {
			g, _ := parseGlob(server)
			if !g.match(k.server) {
				continue
			}
			for i := range list {
				if list[i].glob.match(k.tool) {
					p.tools[l] = better(p.tools[l], &list[i])
				}
			}
		}
	}
}

// better chooses between two lines for the same tool.
func better(a, b *toolDefault) *toolDefault {
	switch {
	case a == nil:
		return b
	case a.glob.plain() != b.glob.plain():
		if a.glob.plain() {
			return a
		}
		return b
	case b.action > a.action || b.action == a.action && strings.Compare(b.glob.text, a.glob.text) < 0:
		return b
	default:
		return a
	}
}

// keyOf is the key of an event.
func keyOf(ev *Event) planKey {
	k := planKey{response: ev.Response, method: ev.Method, server: ev.Server.Name, tool: ev.Tool.Name}
	if ev.Type != EventMCP {
		k.method = ev.Type
	}
	return k
}

// keyOfCall is the key of the event of a call, without making that event.
func keyOfCall(call *durward.Call, response bool) planKey {
	k := planKey{response: response, method: call.Method, server: call.Server}
	if hasTool(call.Method) {
		k.tool = call.Name
	}
	return k
}
