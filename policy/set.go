package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"durward"
	"durward/internal/yamlx"
)

// Document is the policy of a layer, or a file of rules that belongs to one.
type Document struct {
	Layer Layer
	Name  string // of the file, for messages; with Src nil also for places
	Spec  Spec
	// Src is the document that Spec was decoded from, and Path where in it Spec
	// stands, so that problems point at the place. Problems are added to Src as well.
	// Nil: Spec was made by a program.
	Src  *yamlx.Source
	Path yamlx.Path
}

// CompileOptions are what [Compile] knows besides the documents.
type CompileOptions struct {
	// Plugins are names that rules may run besides the built-in plugins and those
	// that the documents configure.
	Plugins []string
}

// builtinPlugins are the names that need no wasm.
func builtinPlugins() []string {
	return []string{"secrets", "invisible", "pii", "size", "injection", "taint"}
}

// pluginsInModes are those that rules may run in a mode of their own, such as
// redact-secrets.
func pluginsInModes() (names []string) {
	for _, plugin := range []string{"secrets", "pii", "invisible"} {
		for _, mode := range []string{"observe", "redact", "block"} {
			names = append(names, mode+"-"+plugin)
		}
	}
	return names
}

// Set is the rules of all layers, checked and indexed. It does not change and may be
// used by many goroutines.
type Set struct {
	rules    []*rule // in (layer, id) order
	defaults [layers]fallback
	tools    [layers]map[string][]toolDefault // by server
	groups   map[string][]string              // of each principal, sorted
	plugins  map[string]PluginSpec            // merged
	merged   Spec                             // refusal, pins, approvals: what counts
	origins  map[string]Layer                 // of what counts, by key, for Effective
	speaks   bool                             // some layer has a default
	digest   string
	index    index
}

// fallback is the default of a layer.
type fallback struct {
	set    bool
	action durward.Action
	pos    Pos
}

// toolDefault is one line of the key tools.
type toolDefault struct {
	server string
	glob   glob
	action durward.Action
	pos    Pos
}

// Compile turns the documents of all layers into a set. It reports everything that
// is wrong with all of them at once, sorted by file and place; the set is nil then.
// A layer may have several documents.
func Compile(docs []Document, opt CompileOptions) (*Set, yamlx.Problems) {
	c := &compiler{set: &Set{groups: make(map[string][]string), plugins: make(map[string]PluginSpec), origins: make(map[string]Layer)}}
	c.plugins = pluginNames(docs, opt.Plugins)
	c.compileAll(docs)
	seen := make(map[string]Pos)
	for i := range docs {
		c.begin(&docs[i])
		c.rules(seen)
		c.defaults()
		c.toolDefaults()
		c.settings()
		c.end()
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.finish(docs), nil
}

func pluginNames(docs []Document, more []string) []string {
	names := slices.Concat(builtinPlugins(), pluginsInModes(), more)
	for i := range docs {
		names = append(names, slices.Collect(maps.Keys(docs[i].Spec.Plugins))...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (c *compiler) rules(seen map[string]Pos) {
	path := c.doc.Path.In("rules")
	for i := range c.doc.Spec.Rules {
		src := &c.doc.Spec.Rules[i]
		if c.count[c.doc.Layer]++; c.count[c.doc.Layer] > maxRules {
			c.report(yamlx.CodeSize, path, "the layer %s has more than %d rules", c.doc.Layer, maxRules)
			return
		}
		at := path.In(itoa(i))
		r := c.check(src, at)
		if first, twice := seen[r.name()]; twice {
			c.report(yamlx.CodeDuplicate, at.In("id"), "another rule of the layer %s has this id%s", c.doc.Layer, first.where())
		}
		seen[r.name()] = r.src.Pos
		c.set.rules = append(c.set.rules, r)
	}
}

// defaults takes the default of the layer; its documents must not contradict each other.
func (c *compiler) defaults() {
	word := c.doc.Spec.Default
	if word == "" {
		return
	}
	at := c.doc.Path.In("default")
	act, ok := parseAction(word)
	d := &c.set.defaults[c.doc.Layer]
	switch {
	case !ok:
		c.report(yamlx.CodeValue, at, "must be one of allow, ask, block, is %q", clip(word))
	case d.set && d.action != act:
		c.report(CodeConflict, at, "the layer %s has the default %s already%s", c.doc.Layer, d.action, d.pos.where())
	default:
		c.set.speaks = true
		*d = fallback{set: true, action: act, pos: c.pos(at)}
	}
}

func parseAction(word string) (durward.Action, bool) {
	for _, a := range []durward.Action{durward.Allow, durward.Ask, durward.Block} {
		if word == a.String() {
			return a, true
		}
	}
	return durward.Block, false
}

func (c *compiler) toolDefaults() {
	for _, server := range slices.Sorted(maps.Keys(c.doc.Spec.Tools)) {
		patterns := c.doc.Spec.Tools[server]
		for _, text := range slices.Sorted(maps.Keys(patterns)) {
			at := c.doc.Path.In("tools", server, text)
			g, ok := parseGlob(text)
			act, known := parseAction(patterns[text])
			switch {
			case !ok:
				c.reportKey(yamlx.CodeValue, at, "must be the name of a tool or a pattern with *, ? and [a-z], is %q", clip(text))
			case !known:
				c.report(yamlx.CodeValue, at, "must be one of allow, ask, block, is %q", clip(patterns[text]))
			}
			if c.set.tools[c.doc.Layer] == nil {
				c.set.tools[c.doc.Layer] = make(map[string][]toolDefault)
			}
			c.set.tools[c.doc.Layer][server] = append(c.set.tools[c.doc.Layer][server], toolDefault{server, g, act, c.pos(at)})
		}
	}
}

// settings merges what is not rules: the highest layer that says something counts.
// A lower layer can make a plugin stricter, and pins.
func (c *compiler) settings() {
	spec, l := &c.doc.Spec, c.doc.Layer
	for group, members := range spec.Groups {
		for _, principal := range members {
			if !slices.Contains(c.set.groups[principal], group) {
				c.set.groups[principal] = append(c.set.groups[principal], group)
				slices.Sort(c.set.groups[principal])
			}
		}
	}
	for name, p := range spec.Plugins {
		c.plugin(name, p, l)
	}
	if c.wins("refusal", spec.Refusal != "") {
		c.set.merged.Refusal = spec.Refusal
	}
	if spec.Pins.FirstUse == "hold" || c.wins("pins.first_use", spec.Pins.FirstUse != "") && c.set.merged.Pins.FirstUse != "hold" {
		c.set.merged.Pins.FirstUse = spec.Pins.FirstUse
		c.set.origins["pins.first_use"] = l
	}
	a, merged := &spec.Approvals, &c.set.merged.Approvals
	if c.wins("approvals.timeout", a.Timeout != 0) {
		merged.Timeout = a.Timeout
	}
	if c.wins("approvals.attended", a.Attended) {
		merged.Attended = true
	}
	if c.wins("approvals.desktop", a.Desktop != "") {
		merged.Desktop = a.Desktop
	}
	if c.wins("approvals.webhook", a.Webhook != "") {
		merged.Webhook = a.Webhook
	}
}

// wins notes that the document says something under key, and reports whether it
// counts: that no higher layer said it.
func (c *compiler) wins(key string, says bool) bool {
	if !says {
		return false
	}
	if before, ok := c.set.origins[key]; ok && before > c.doc.Layer {
		return false
	}
	c.set.origins[key] = c.doc.Layer
	return true
}

func (c *compiler) plugin(name string, p PluginSpec, l Layer) {
	at := c.doc.Path.In("plugins", name)
	if p.SHA256 != "" && (p.WASM == "" || !isDigest(p.SHA256)) {
		c.report(yamlx.CodeValue, at.In("sha256"), "must be the SHA-256 digest of the file that wasm names: 64 of 0-9 and a-f")
	}
	builtin := slices.Contains(builtinPlugins(), name)
	switch {
	case builtin && p.WASM != "":
		c.report(CodeConflict, at.In("wasm"), "%s is a built-in plugin; give your own another name", name)
	case !builtin && !ruleID.MatchString(name):
		c.reportKey(yamlx.CodeValue, at, "must be a lower-case letter or digit, then up to 63 of a-z, 0-9, dot, hyphen and underscore")
	case p.WASM == "" && slices.Contains(pluginsInModes(), name):
		mode, plugin, _ := strings.Cut(name, "-")
		c.reportKey(yamlx.CodeValue, at, "%s is what rules call %s with mode: %s; write %s: {mode: %s} to run it on every event", name, plugin, mode, plugin, mode)
	case !builtin && p.WASM == "":
		c.reportKey(yamlx.CodeValue, at, "no plugin is called %q; one of your own needs wasm%s", clip(name), yamlx.DidYouMean(name, builtinPlugins()))
	}
	before, known := c.set.plugins[name]
	if known && !c.wins("plugins."+name, true) {
		before.Mode = stricter(before.Mode, p.Mode)
		c.set.plugins[name] = before
		return
	}
	c.set.origins["plugins."+name] = l
	p.Mode = stricter(before.Mode, p.Mode)
	c.set.plugins[name] = p
}

func isDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(s) == s
}

func stricter(a, b string) string {
	modes := []string{"", "observe", "redact", "block"}
	return modes[max(slices.Index(modes, a), slices.Index(modes, b), 0)]
}

// finish sorts, indexes and digests what was checked.
func (c *compiler) finish(docs []Document) *Set {
	s := c.set
	slices.SortFunc(s.rules, func(a, b *rule) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), strings.Compare(a.src.ID, b.src.ID))
	})
	for i, r := range s.rules {
		r.order = i
		if r.src.Plugin != "" {
			if _, ok := s.plugins[r.src.Plugin]; !ok && slices.Contains(builtinPlugins(), r.src.Plugin) {
				s.plugins[r.src.Plugin] = PluginSpec{}
			}
		}
	}
	s.digest = digestOf(docs, s.rules)
	s.index.build(s)
	return s
}

// digestOf identifies what the documents say, in whatever order and place.
func digestOf(docs []Document, rules []*rule) string {
	type part struct {
		Layer Layer
		Spec  Spec
	}
	type line struct {
		Layer Layer
		Rule  Rule
	}
	var parts []part
	for i := range docs {
		p := part{docs[i].Layer, docs[i].Spec}
		p.Spec.Rules, p.Spec.Files = nil, nil
		parts = append(parts, p)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.Layer, b.Layer) })
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, p := range parts {
		_ = enc.Encode(p) // plain data: it cannot fail
	}
	for _, r := range rules {
		l := line{r.layer, r.src}
		l.Rule.Pos = Pos{}
		_ = enc.Encode(l)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Digest identifies what the set says: SHA-256 in hex. Two sets with the same rules
// and settings have the same one, wherever these were written.
func (s *Set) Digest() string { return s.digest }

// Refusal is how refused calls are answered: error (also when nobody said), or result.
func (s *Set) Refusal() string { return cmp.Or(s.merged.Refusal, "error") }

// FirstUse is accept (also when nobody said) or hold.
func (s *Set) FirstUse() string { return cmp.Or(s.merged.Pins.FirstUse, "accept") }

// Approvals are the settings that count, with defaults.
func (s *Set) Approvals() ApprovalsSpec {
	a := s.merged.Approvals
	a.Timeout = cmp.Or(a.Timeout, defaultAskTimeout)
	a.Desktop = cmp.Or(a.Desktop, "auto")
	return a
}

// Plugins are the plugins that are configured or named by a rule, merged over the
// layers. The caller may keep the map.
func (s *Set) Plugins() map[string]PluginSpec { return maps.Clone(s.plugins) }

// Groups returns the groups of a principal, sorted; the caller must not change them.
func (s *Set) Groups(principal string) []string { return s.groups[principal] }
