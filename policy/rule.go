package policy

import (
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
	"durward/internal/yamlx"
)

// Codes of problems with rules, besides those of package yamlx.
const (
	CodeCondition yamlx.Code = "E_CONDITION" // a condition or value that is not CEL, or not of the right type
	CodeNever     yamlx.Code = "E_NEVER"     // a rule that can never match
	CodeConflict  yamlx.Code = "E_CONFLICT"  // two keys that exclude each other, or one that needs another
)

// Bounds of a rule. They are far beyond what people write and keep a mistake from
// taking the machine.
const (
	maxRules     = 20_000 // of a layer
	maxReason    = 1024
	maxCondition = 64 << 10
	maxIndex     = 1000 // entries of on, servers or tools
	maxSets      = 64
)

// action is what a rule does.
type action uint8

const (
	actAllow action = iota
	actAsk
	actBlock
	actRewrite
	actPreprocess
	actPostprocess
)

func actions() []string {
	return []string{"allow", "ask", "block", "rewrite", "preprocess", "postprocess"}
}

func (a action) String() string { return actions()[a] }

// rule is a rule that was checked. It does not change.
type rule struct {
	layer    Layer
	src      Rule
	order    int // its place in the order of (layer, id)
	act      action
	response bool
	methods  []string
	servers  []glob
	tools    []glob
	when     *condition // nil: always
	sets     []setting
	limit    *limit // nil: none
	until    time.Time
	path     yamlx.Path // within its document
}

// setting is one value that a rewrite changes.
type setting struct {
	at    pointer
	value *value // nil: removed
}

// name is the rule with its layer, as questions and records of limits call it.
func (r *rule) name() string { return r.layer.String() + "/" + r.src.ID }

// needs is what the condition and the values of the rule look at.
func (r *rule) needs() needs {
	var n needs
	if r.when != nil {
		n = r.when.needs()
	}
	for i := range r.sets {
		if r.sets[i].value != nil {
			n |= r.sets[i].value.needs()
		}
	}
	return n
}

// covers reports whether the index of the rule takes such an event.
func (r *rule) covers(k planKey) bool {
	return r.response == k.response && (len(r.methods) == 0 || slices.Contains(r.methods, k.method)) &&
		matchAny(r.servers, k.server) && matchAny(r.tools, k.tool)
}

// ended reports whether the rule's time is over.
func (r *rule) ended(now time.Time) bool { return !r.until.IsZero() && !now.Before(r.until) }

var ruleID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) // a constant

// eventNames are what "on" may name.
func eventNames() []string {
	return []string{
		wire.MethodToolsCall, wire.MethodToolsList, wire.MethodPromptsGet, wire.MethodPromptsList,
		wire.MethodResourcesRead, wire.MethodResourcesList, wire.MethodTemplatesList, wire.MethodSubscribe, wire.MethodUnsubscribe,
		wire.MethodComplete, wire.MethodInitialize, wire.MethodDiscover, wire.MethodPing, wire.MethodSetLevel, wire.MethodListen,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksUpdate, wire.MethodTasksCancel, wire.MethodTasksList,
		wire.MethodSampling, wire.MethodElicit, wire.MethodRootsList, EventHTTP, EventSandbox,
	}
}

// opens reports whether a method only begins a conversation, lists, or looks after what
// was allowed already. Without it nobody could use what a rule allows, so the default of
// a layer is not for it; rules are.
func opens(method string) bool {
	switch method {
	case wire.MethodInitialize, wire.MethodDiscover, wire.MethodPing, wire.MethodSetLevel,
		wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList,
		wire.MethodListen, wire.MethodUnsubscribe,
		wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksList, wire.MethodTasksCancel:
		return true
	}
	return false
}

// check turns a rule as written into one that can be evaluated, and reports all
// that is wrong with it. What it returns is of use only if nothing was.
func (c *compiler) check(src *Rule, path yamlx.Path) *rule {
	r := &rule{layer: c.doc.Layer, src: *src, path: path}
	r.src.Pos = c.pos(path)
	if src.ID != "" && !ruleID.MatchString(src.ID) {
		c.report(yamlx.CodeValue, path.In("id"), "must be a lower-case letter or digit, then up to 63 of a-z, 0-9, dot, hyphen and underscore, is %q", clip(src.ID))
	}
	if i := slices.Index(actions(), src.Action); i >= 0 {
		r.act = action(i)
	} else {
		c.report(yamlx.CodeValue, path.In("action"), "must be one of %s, is %q", strings.Join(actions(), ", "), clip(src.Action))
	}
	r.response = src.Phase == "response" || r.act == actPostprocess
	if src.Phase == "request" && r.act == actPostprocess {
		c.report(CodeConflict, path.In("phase"), "postprocess runs after the result; remove phase, or use preprocess")
	}
	c.checkIndex(r, path)
	c.checkAction(r, path)
	c.checkAsk(r, path)
	r.limit = c.checkLimit(r, path)
	c.checkWords(r, path)
	r.until = c.until(src.Until, path.In("until"))
	c.checkWhen(r, path)
	return r
}

func (c *compiler) checkIndex(r *rule, path yamlx.Path) {
	known := eventNames()
	for i, method := range r.src.On {
		if !slices.Contains(known, method) {
			c.report(yamlx.CodeValue, path.In("on", strconv.Itoa(i)), "%q is no method that rules can be for%s", clip(method), yamlx.DidYouMean(method, known))
		}
	}
	r.methods = r.src.On
	if takesArguments := []string{wire.MethodToolsCall, wire.MethodPromptsGet}; r.act == actRewrite && !r.response && len(r.methods) > 0 &&
		!slices.ContainsFunc(r.methods, func(m string) bool { return slices.Contains(takesArguments, m) }) {
		c.report(CodeNever, path.In("on"), "the rule can never rewrite anything: only %s have arguments", strings.Join(takesArguments, " and "))
	}
	r.servers = c.globs(r.src.Servers, path.In("servers"))
	r.tools = c.globs(r.src.Tools, path.In("tools"))
	for _, list := range []struct {
		key string
		n   int
	}{{"on", len(r.src.On)}, {"servers", len(r.src.Servers)}, {"tools", len(r.src.Tools)}} {
		if list.n > maxIndex {
			c.report(yamlx.CodeSize, path.In(list.key), "has %d entries, more than %d; use patterns", list.n, maxIndex)
		}
	}
	if len(r.tools) > 0 && len(r.methods) > 0 && !slices.Contains(r.methods, wire.MethodToolsCall) {
		c.report(CodeNever, path.In("tools"), "the rule can never match: only tools/call has a tool, and \"on\" does not name it")
	}
	if r.response && len(r.methods) > 0 && !slices.ContainsFunc(r.methods, func(m string) bool { return m != EventHTTP && m != EventSandbox }) {
		c.report(CodeNever, path.In("on"), "the rule can never match: %s has no response phase", strings.Join(r.methods, " and "))
	}
}

func (c *compiler) globs(list []string, path yamlx.Path) []glob {
	out := make([]glob, 0, len(list))
	for i, text := range list {
		g, ok := parseGlob(text)
		if !ok {
			c.report(yamlx.CodeValue, path.In(strconv.Itoa(i)), "must be a name or a pattern with *, ? and [a-z], is %q", clip(text))
		}
		out = append(out, g)
	}
	return out
}

// checkAction checks what belongs to some actions only.
func (c *compiler) checkAction(r *rule, path yamlx.Path) {
	switch {
	case r.act == actRewrite && len(r.src.Set) == 0:
		c.report(yamlx.CodeRequired, path.In("set"), "rewrite needs set: JSON pointers, each with a CEL value")
	case r.act != actRewrite && len(r.src.Set) > 0:
		c.report(CodeConflict, path.In("set"), "set belongs to action: rewrite; this one is %s", r.act)
	case len(r.src.Set) > maxSets:
		c.report(yamlx.CodeSize, path.In("set"), "has %d entries, more than %d; use several rules", len(r.src.Set), maxSets)
	default:
		c.checkSet(r, path.In("set"))
	}
	runs := r.act == actPreprocess || r.act == actPostprocess
	switch {
	case runs && r.src.Plugin == "":
		c.report(yamlx.CodeRequired, path.In("plugin"), "%s needs plugin: the name of the one to run", r.act)
	case !runs && r.src.Plugin != "":
		c.report(CodeConflict, path.In("plugin"), "plugin belongs to the actions preprocess and postprocess; this one is %s", r.act)
	case runs && !slices.Contains(c.plugins, r.src.Plugin):
		c.report(yamlx.CodeValue, path.In("plugin"), "no plugin is called %q%s", clip(r.src.Plugin), yamlx.DidYouMean(r.src.Plugin, c.plugins))
	}
	switch {
	case r.act == actPreprocess && r.response:
		c.report(CodeConflict, path.In("phase"), "preprocess runs before the call; for results use postprocess")
	case r.act == actAsk && r.response:
		c.report(CodeConflict, path.In("action"), "nobody is asked about results; use block, or ask in the request phase")
	}
}

// checkSet compiles what a rewrite sets, in the order of the pointers: what stands
// above another value is set before it.
func (c *compiler) checkSet(r *rule, path yamlx.Path) {
	texts := make([]string, 0, len(r.src.Set))
	for text := range r.src.Set {
		texts = append(texts, text)
	}
	sort.Strings(texts)
	for _, text := range texts {
		at, err := parsePointer(text)
		if err != nil {
			c.reportKey(yamlx.CodeValue, path.In(text), "%v", err)
			continue
		}
		if r.response && !slices.Contains(resultRoots(), at[0]) {
			c.reportKey(yamlx.CodeValue, path.In(text), "in phase response a pointer must begin with /%s", strings.Join(resultRoots(), ", /"))
		}
		s := setting{at: at}
		if src := r.src.Set[text]; src != "" {
			s.value = c.value(src, path.In(text))
		}
		r.sets = append(r.sets, s)
	}
}

// resultRoots are what of a result rules may rewrite: what a model is shown.
func resultRoots() []string {
	return []string{"structuredContent", "content", "contents", "messages"}
}

func (c *compiler) checkAsk(r *rule, path yamlx.Path) {
	ask := r.src.Ask
	if r.act != actAsk {
		if ask.Timeout != 0 || ask.Remember != "" || len(ask.Via) > 0 {
			c.report(CodeConflict, path.In("ask"), "ask belongs to action: ask; this one is %s", r.act)
		}
		return
	}
	if ask.Timeout != 0 && (ask.Timeout < time.Second || ask.Timeout > 24*time.Hour) {
		c.report(yamlx.CodeRange, path.In("ask", "timeout"), "must be between 1s and 24h")
	}
	if !slices.Contains([]string{"", string(durward.ScopeCall), string(durward.ScopeSession), string(durward.ScopeGrant)}, ask.Remember) {
		c.report(yamlx.CodeValue, path.In("ask", "remember"), "must be one of call, session, grant, is %q", clip(ask.Remember))
	}
	ways := []string{durward.ViaConsole, durward.ViaCLI, durward.ViaClient}
	for i, via := range ask.Via {
		if !slices.Contains(ways, via) {
			c.report(yamlx.CodeValue, path.In("ask", "via", strconv.Itoa(i)), "must be one of %s, is %q", strings.Join(ways, ", "), clip(via))
		}
	}
}

func (c *compiler) checkWords(r *rule, path yamlx.Path) {
	if n := len([]rune(r.src.Reason)); n > maxReason {
		c.report(yamlx.CodeSize, path.In("reason"), "has %d characters, more than %d", n, maxReason)
	}
	for _, word := range []struct {
		key, value string
		known      []string
	}{
		{"phase", r.src.Phase, []string{"request", "response"}},
		{"disclose", r.src.Disclose, []string{"id"}},
		{"detection", r.src.Detection, detections()},
	} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			c.report(yamlx.CodeValue, path.In(word.key), "must be one of %s, is %q", strings.Join(word.known, ", "), clip(word.value))
		}
	}
}

func detections() []string { return []string{"none", "info", "low", "medium", "high", "critical"} }

func (r *rule) detection() string {
	if r.src.Detection == "" {
		return "none"
	}
	return r.src.Detection
}

// until reads a date or a time.
func (c *compiler) until(text string, path yamlx.Path) time.Time {
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	c.report(yamlx.CodeValue, path, "must be a date (2027-01-31) or a time with zone (2027-01-31T18:00:00Z), is %q", clip(text))
	return time.Time{}
}

// clip bounds what of a file is quoted in a message.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
