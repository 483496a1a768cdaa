package plugin

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/internal/yamlx"
)

// The built-in plugins.
const (
	nameSecrets   = "secrets"
	nameInvisible = "invisible"
	namePII       = "pii"
	nameSize      = "size"
	nameInjection = "injection"
	nameTaint     = "taint"
)

// Builtin lists the built-in plugins in the order in which they come into play.
func Builtin() []string {
	return []string{nameSecrets, namePII, nameInvisible, nameInjection, nameSize, nameTaint}
}

// InMode reads a name such as redact-secrets: a built-in plugin that finds things, to be
// run by a rule in a mode of its own, whatever its configured one is. These are
// observe-, redact- and block- with secrets, pii and invisible.
func InMode(name string) (mode, plugin string, ok bool) {
	mode, plugin, _ = strings.Cut(name, "-")
	ok = slices.Contains([]string{nameSecrets, namePII, nameInvisible}, plugin) && slices.Contains([]string{"observe", "redact", "block"}, mode)
	return mode, plugin, ok
}

// inModes are the plugins of [InMode], of which base has the options.
func inModes(base map[string]*one, taken map[string]Config) (list []*one) {
	for _, name := range [...]string{nameSecrets, namePII, nameInvisible} {
		for m := observe; m <= block; m++ {
			own := *base[name]
			own.name, own.mode, own.always = m.String()+"-"+name, m, false
			if _, ok := taken[own.name]; !ok {
				list = append(list, &own)
			}
		}
	}
	return list
}

// Config is one plugin as the policy's `plugins` have it.
type Config struct {
	// Mode is observe (note what is found), redact (replace it) or block. Empty: the
	// plugin runs only where a rule names it, and redacts.
	Mode string
	// WASM is the file of a plugin of one's own; empty for a built-in one.
	WASM string
	// SHA256 is the digest that the file has to have, in hex. Empty: any.
	SHA256 string
	// Detect are the kinds of findings that count; of taint, what sets labels. Empty:
	// the default ones.
	Detect []string
	// Max is the largest result or arguments that pass (size), in bytes. 1 KiB at
	// least; 0: 1 MiB.
	Max int64
	// Threshold is the score from which on a result is noted (injection): above 0, at
	// most 1. 0: 0.5.
	Threshold float64
	// Labels are set on sessions that have a result of SERVER or SERVER/TOOL (taint).
	// Patterns with *, ? and [a-z] are permitted.
	Labels map[string][]string
	// Timeout bounds one run (wasm). 1 ms to 10 s; 0: 100 ms.
	Timeout time.Duration
}

// mode is what a plugin does with what it finds.
type mode uint8

const (
	observe mode = iota
	redact
	block
)

func (m mode) String() string { return [...]string{"observe", "redact", "block"}[min(m, block)] }

// one is a plugin that is ready to run.
type one struct {
	name      string
	by        what
	always    bool // on every event, and not only where a rule names it
	mode      mode
	kinds     map[string]bool // that count; nil: all
	max       int
	threshold float64
	labels    []labelled
	wasm      *module
}

// labelled are the labels for results of servers and tools.
type labelled struct {
	server, tool string
	labels       []string
}

// Defaults and bounds.
const (
	defaultMax       = 1 << 20
	leastMax         = 1 << 10
	defaultThreshold = 0.5
	defaultTimeout   = 100 * time.Millisecond
	maxLabel         = 64
)

// check makes one of a configuration, with all that is wrong with it.
func check(name string, c Config) (*one, []error) {
	o := &one{name: name, always: c.Mode != "", max: int(c.Max), threshold: c.Threshold}
	var problems []error
	bad := func(key, format string, args ...any) {
		problems = append(problems, durward.Errorf(durward.Invalid, "policy.plugins."+name+key, format, args...))
	}
	builtin := slices.Contains(Builtin(), name)
	switch {
	case builtin && c.WASM != "":
		bad(".wasm", "%s is a built-in plugin; give your own another name", name)
	case !builtin && c.WASM == "":
		bad("", "no built-in plugin is called %q%s; a plugin of your own needs wasm: FILE", name, yamlx.DidYouMean(name, Builtin()))
	}
	switch c.Mode {
	case "observe":
		o.mode = observe
	case "redact", "":
		o.mode = redact
	case "block":
		o.mode = block
	default:
		bad(".mode", "%q is no mode%s", c.Mode, yamlx.DidYouMean(c.Mode, []string{"observe", "redact", "block"}))
	}
	if name == nameInjection || name == nameTaint {
		if c.Mode == "block" || c.Mode == "redact" {
			bad(".mode", "%s only observes; write a rule on %s to decide by it", name, map[string]string{nameInjection: "mcp.result.injection_score", nameTaint: "session.labels"}[name])
		}
		o.mode = observe
	}
	o.by = map[string]what{nameSecrets: wantSecrets, nameInvisible: wantInvisible, namePII: wantPII, nameInjection: wantInjection}[name]
	problems = append(problems, checkBelonging(name, c)...)
	o.kinds = checkKinds(name, c.Detect, bad)
	checkBounds(o, c, bad)
	o.labels = checkLabels(c.Labels, bad)
	return o, problems
}

// checkBelonging refuses what another plugin would understand.
func checkBelonging(name string, c Config) (problems []error) {
	for _, option := range [...]struct {
		key   string
		set   bool
		fits  bool
		owner string
	}{
		{"max", c.Max != 0, name == nameSize, nameSize},
		{"threshold", c.Threshold != 0, name == nameInjection || name == nameTaint, "injection and taint"},
		{"labels", len(c.Labels) > 0, name == nameTaint, nameTaint},
		{"timeout", c.Timeout != 0, c.WASM != "", "plugins with wasm"},
		{"detect", len(c.Detect) > 0, c.WASM == "" && name != nameSize && name != nameInjection, "secrets, invisible, pii and taint"},
	} {
		if option.set && !option.fits {
			problems = append(problems, durward.Errorf(durward.Invalid, "policy.plugins."+name+"."+option.key, "%s belongs to %s", option.key, option.owner))
		}
	}
	return problems
}

func checkKinds(name string, detect []string, bad func(string, string, ...any)) map[string]bool {
	known := kindsOf(name)
	if known == nil {
		return nil
	}
	count := map[string]bool{}
	for _, kind := range known {
		count[kind] = len(detect) == 0 && !(name == namePII && kind == "ip") && kind != sourceDeclared && kind != "ansi-color"
	}
	for _, kind := range detect {
		if !slices.Contains(known, kind) {
			bad(".detect", "%s finds nothing called %q%s", name, kind, yamlx.DidYouMean(kind, known))
			continue
		}
		count[kind] = true
	}
	return count
}

// kindsOf lists the kinds of findings of a plugin.
func kindsOf(name string) (kinds []string) {
	add := func(kind string) {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch name {
	case nameSecrets:
		for _, f := range formats() {
			add(f.kind)
		}
		for _, p := range patterns() {
			add(p.kind)
		}
		for _, kind := range [...]string{"aws-secret-key", "password", "api-key"} {
			add(kind)
		}
	case nameInvisible:
		for _, k := range hiddenKinds() {
			add(k.kind)
		}
	case namePII:
		for _, k := range personalKinds() {
			add(k.kind)
		}
	case nameTaint:
		return []string{sourceOpen, sourceDeclared, sourceInjection, sourceFindings}
	}
	return kinds
}

func checkBounds(o *one, c Config, bad func(string, string, ...any)) {
	if o.max == 0 {
		o.max = defaultMax
	}
	if o.max < leastMax || c.Max > 1<<30 {
		bad(".max", "max is %d bytes; at least %d and at most 1GiB", c.Max, leastMax)
	}
	if o.threshold == 0 {
		o.threshold = defaultThreshold
	}
	if !(o.threshold > 0 && o.threshold <= 1) {
		bad(".threshold", "threshold is %v; it must be above 0 and at most 1", c.Threshold)
	}
	if c.Timeout != 0 && (c.Timeout < time.Millisecond || c.Timeout > 10*time.Second) {
		bad(".timeout", "timeout is %s; at least 1ms and at most 10s", c.Timeout)
	}
}

func checkLabels(labels map[string][]string, bad func(string, string, ...any)) (list []labelled) {
	for _, where := range slices.Sorted(maps.Keys(labels)) {
		l := labelled{labels: labels[where], tool: "*"}
		var ofTool bool
		if l.server, l.tool, ofTool = strings.Cut(where, "/"); !ofTool {
			l.tool = "*"
		}
		for _, pattern := range [...]string{l.server, l.tool} {
			if _, err := path.Match(pattern, "x"); err != nil || pattern == "" {
				bad(".labels", "%q is no SERVER and no SERVER/TOOL; patterns may have *, ? and [a-z]", where)
			}
		}
		for _, label := range l.labels {
			if !isLabel(label) {
				bad(".labels", "%q is no label; at most %d of a-z, 0-9, dot, hyphen and underscore", label, maxLabel)
			}
		}
		list = append(list, l)
	}
	return list
}

func isLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= maxLabel
}

// joined is all problems as one error, each on a line; nil if there are none.
func joined(problems []error) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	return durward.Errorf(durward.Invalid, "", "%w", errors.Join(problems...))
}

// counts of kinds as words: 2 jwt, 1 email.
func counted(counts map[string]int) string {
	var b strings.Builder
	for i, kind := range slices.Sorted(maps.Keys(counts)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d %s", counts[kind], kind)
	}
	return b.String()
}
