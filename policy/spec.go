package policy

import (
	"time"

	"durward"
	"durward/internal/yamlx"
)

// Layer is where rules come from. What is higher cannot be widened by what is lower.
type Layer uint8

// The layers, from the lowest: what Durward does by itself, what a package brings,
// the user's configuration, and the corp layer of the machine.
const (
	Builtin Layer = iota
	Package
	User
	Corp
)

const layers = 4

// String returns builtin, package, user or corp.
func (l Layer) String() string {
	return [...]string{"builtin", "package", "user", "corp"}[min(l, Corp)]
}

// ParseLayer reads what [Layer.String] wrote.
func ParseLayer(s string) (Layer, error) {
	for l := Builtin; l <= Corp; l++ {
		if s == l.String() {
			return l, nil
		}
	}
	return Builtin, durward.Errorf(durward.Invalid, "policy", "%q is no layer; known are builtin, package, user, corp", s)
}

// Spec is the policy of one layer as it is written.
type Spec struct {
	// Default is what happens where no rule of this layer or of a higher one
	// matched: allow, ask or block. It is about what is used; to connect, to list and to
	// look after what was allowed is for rules alone. It opens neither addresses that are not public nor
	// what pins hold. Default: none; then tools of risk critical ask, and all else is allowed.
	Default string `yaml:"default" enum:"allow|ask|block"`
	// Refusal is how a refused call is answered: error (a JSON-RPC error), or result
	// (a tool result with isError, for clients whose model never sees errors). Default error.
	Refusal string `yaml:"refusal" enum:"error|result"`
	// Rules of this layer, at most 20,000 with those of files.
	Rules []Rule `yaml:"rules"`
	// Files are more rules: YAML documents with the keys rules and default, relative
	// to this file. Patterns with *, ? and [a-z] are permitted. Default none.
	Files []string `yaml:"files"`
	// Tools is what happens by default with a tool, by server and by the server's own
	// name of the tool or a pattern over it: allow, ask or block. Only a rule that
	// matched, of this layer or of a higher one, overrides it; where several patterns
	// fit, a name without pattern counts, else the most restrictive. Default none.
	Tools map[string]map[string]string `yaml:"tools" enum:"allow|ask|block"`
	// Plugins that look at what calls carry, by name: secrets, invisible, pii, size,
	// injection, taint, or one of your own with wasm. Default none.
	Plugins map[string]PluginSpec `yaml:"plugins"`
	// Groups are principals under one name, for caller.groups. Default none.
	Groups map[string][]string `yaml:"groups"`
	// Pins say what happens with what servers offer and nobody accepted.
	Pins PinsSpec `yaml:"pins"`
	// Approvals say how people are asked.
	Approvals ApprovalsSpec `yaml:"approvals"`
}

// PluginSpec is one plugin. What a mode does and what each built-in one can be
// told is in the reference of the plugins.
type PluginSpec struct {
	// Mode makes the plugin run on every event: observe (note what was found), redact
	// (replace it), or block. Without it the plugin runs where a rule names it, and redacts.
	Mode string `yaml:"mode" enum:"observe|redact|block"`
	// WASM is the file of a plugin of your own, relative to this file.
	WASM string `yaml:"wasm"`
	// SHA256 is the digest that the file of wasm has to have, in hex: another file is
	// refused. Default: that of the file as it is read.
	SHA256 string `yaml:"sha256"`
	// Detect are the kinds of findings that count. Default: those the plugin comes with.
	Detect []string `yaml:"detect"`
	// Max is the largest value that passes (size). Default 1MiB.
	Max Bytes `yaml:"max"`
	// Threshold is the score from which on a result is noted (injection): 0 to 1. Default 0.5.
	Threshold float64 `yaml:"threshold" min:"0" max:"1"`
	// Labels are the session labels that are set (taint), by server or SERVER/TOOL, patterns permitted.
	Labels map[string][]string `yaml:"labels"`
	// Timeout bounds one run (wasm). 1ms to 10s, default 100ms.
	Timeout time.Duration `yaml:"timeout" min:"1ms" max:"10s"`
}

// PinsSpec says what happens with what nobody accepted.
type PinsSpec struct {
	// FirstUse is what happens with what a server offers when it is seen first:
	// accept (it may be called, though its read-only hints are not believed until
	// somebody accepts it), or hold. What changes later is held, and what is added once
	// somebody accepted or rejected anything of the server. Default accept.
	FirstUse string `yaml:"first_use" enum:"accept|hold"`
}

// ApprovalsSpec says how people are asked.
type ApprovalsSpec struct {
	// Timeout is how long an answer is waited for where a rule does not say. 1s to 24h, default 5m.
	Timeout time.Duration `yaml:"timeout" min:"1s" max:"24h"`
	// Attended says that somebody looks at the console or the command line at any
	// time, so that calls are parked even while nobody is connected. Default false.
	Attended bool `yaml:"attended"`
	// Desktop shows a notice on the desktop: auto (where there is one), on or off. Default auto.
	Desktop string `yaml:"desktop" enum:"auto|on|off"`
	// Webhook is an https URL that is told of each pending approval. Default none.
	Webhook string `yaml:"webhook" references:"true" sensitive:"true"`
}

// Rule is one rule as it is written.
type Rule struct {
	// ID of the rule, unique in its layer: a lower-case letter or digit, then up to 63
	// lower-case letters, digits, dots, hyphens and underscores.
	ID string `yaml:"id,required"`
	// On are the methods the rule is for, such as tools/call, or http or sandbox. Default: any event.
	On []string `yaml:"on"`
	// Servers the rule is for, by name or pattern. Default: all.
	Servers []string `yaml:"servers"`
	// Tools the rule is for, by the server's own name or a pattern over it. Default: all.
	Tools []string `yaml:"tools"`
	// When is a condition in CEL over the fields of the event; what it touches and is
	// absent makes it not match. Default: true.
	When string `yaml:"when"`
	// Action is what happens: allow, ask, block, rewrite, preprocess or postprocess.
	Action string `yaml:"action,required" enum:"allow|ask|block|rewrite|preprocess|postprocess"`
	// Set is what rewrite changes: JSON pointers into the arguments (in phase response
	// into the result), each with a CEL value; "" removes.
	Set map[string]string `yaml:"set"`
	// Plugin is what preprocess and postprocess run: the name of a plugin, or secrets, pii
	// or invisible in a mode of its own, such as redact-secrets.
	Plugin string `yaml:"plugin"`
	// Phase is request or response. Default request; of postprocess always response.
	Phase string `yaml:"phase" enum:"request|response"`
	// Reason is shown to the operator and to who is asked, never to the agent. At most 1024 characters.
	Reason string `yaml:"reason"`
	// Disclose may be id: the agent then sees the id of the rule. Default: nothing.
	Disclose string `yaml:"disclose" enum:"id"`
	// Detection is how much a match weighs in the record. Default none.
	Detection string `yaml:"detection" enum:"none|info|low|medium|high|critical"`
	// Ask says how a person is asked; only with action ask.
	Ask AskSpec `yaml:"ask"`
	// Limit makes the action apply only beyond it.
	Limit LimitSpec `yaml:"limit"`
	// Until is when the rule ends: a date, or a time as 2027-01-01T00:00:00Z. Default: never.
	Until string `yaml:"until"`

	Pos Pos // where it stands; not written
}

// AskSpec says how a person is asked.
type AskSpec struct {
	// Timeout is how long an answer is waited for. 1s to 24h; default: that of approvals, 5m.
	Timeout time.Duration `yaml:"timeout" min:"1s" max:"24h"`
	// Remember is how far an answer may reach: call, session, or grant (until it
	// expires or is revoked). Default call.
	Remember string `yaml:"remember" enum:"call|session|grant"`
	// Via is how it may be answered: console, cli, client. client shows the question in
	// the requesting client and is only as strong as that. Default console and cli.
	Via []string `yaml:"via" enum:"console|cli|client"`
}

// LimitSpec bounds what may be done in a time; exactly one of calls, bytes and approvals.
type LimitSpec struct {
	// Calls that may go on.
	Calls int `yaml:"calls" min:"1" max:"1000000000"`
	// Bytes of params and results.
	Bytes Bytes `yaml:"bytes"`
	// Approvals that may be asked for.
	Approvals int `yaml:"approvals" min:"1" max:"1000000000"`
	// Per is the time, which slides: 1s to 31d.
	Per time.Duration `yaml:"per" min:"1s" max:"31d"`
	// By is whose they are: principal, session, server, tool, or several joined by +.
	// Default principal.
	By string `yaml:"by"`
}

// Bytes is a number of bytes, written with or without a unit: 64KiB, 10MiB.
type Bytes int64

// UnmarshalText reads a size.
func (b *Bytes) UnmarshalText(text []byte) error {
	size, ok := yamlx.ParseSize(string(text))
	if !ok || size < 1 {
		return durward.Errorf(durward.Invalid, "", "must be a size of at least 1 (1024, 64KiB, 32MiB), is %q", text)
	}
	*b = Bytes(size)
	return nil
}

// String renders the size in its largest whole unit.
func (b Bytes) String() string { return yamlx.Size(b).String() }

// Pos is a place in a file; the zero value is no place.
type Pos struct {
	File         string
	Line, Column int // from 1
}
