package durward

import "time"

// Action is what a rule or a default asks for.
type Action uint8

// The actions, from the most permissive to the most restrictive.
const (
	Allow Action = iota
	Ask
	Block
)

// String returns the word used in rules and records.
func (a Action) String() string {
	switch a {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	default:
		return "block"
	}
}

// Decision is what policy decided for one call, or for its result. What is
// enforced and what is recorded is one and the same value.
type Decision struct {
	Action Action
	Rule   string // the deciding rule; empty when a default decided
	Layer  string // the layer of the deciding rule or default
	Reason string // shown to the operator, never to the agent

	// Cause says in one word of a fixed list why Action is not Allow: rule, default,
	// pin, limit, plugin, evaluation. The agent may see it.
	Cause string
	// Disclose lets the agent see the id of the deciding rule.
	Disclose bool
	// RetryAfter says after how long a call over a limit may be tried again; only
	// with cause limit.
	RetryAfter time.Duration

	// Changed is what goes on in place of the call's params, or of its result: rewritten
	// by rules or plugins. Nil: nothing was changed.
	Changed []byte
	// Recorded is what is written down in place of what goes on, because a plugin
	// found in it what may be passed but not kept. Nil: what goes on.
	Recorded []byte

	// Matches are all rules that matched and all that plugins did, in the order in
	// which that happened. Empty when a default decided.
	Matches []Match
	// Question is what a person is asked; only with Ask.
	Question *Question
}

// Match is one rule that matched, or one thing a plugin did.
type Match struct {
	Stage     string // preprocess, request, rewrite, response, postprocess
	Layer     string
	Rule      string // of a plugin without rule: plugin:NAME
	Action    string // what the rule asks for
	Effective string // what came of it: the same, or why it did not count ("below limit"); or which earlier answer covers it ("granted by ID")
	Detection string // none, info, low, medium, high, critical
	Detail    string // the rule's reason, or what was found or changed: safe to keep
}

// Scope is how far an approval reaches.
type Scope string

// The scopes, from the narrowest.
const (
	ScopeCall    Scope = "call"    // this call only
	ScopeSession Scope = "session" // the same call again in this session
	ScopeGrant   Scope = "grant"   // the same call again until the grant expires
)

// The ways by which an approval may be answered.
const (
	ViaConsole = "console"
	ViaCLI     = "cli"
	ViaClient  = "client" // by the requesting client itself: as strong as that client
)

// Question is what a person is asked before a call is made.
type Question struct {
	Rules    []string      // ids of the rules that ask, each with its layer: corp/no-prod
	Text     string        // the reasons of the rules, for the person
	Timeout  time.Duration // how long an answer is waited for; default 5 min
	Remember Scope         // the widest scope an answer may have; default call
	Via      []string      // how it may be answered; default console and cli
	Changes  []Change      // what rules rewrote, for the person to see
}

// Change is one value that a rule replaced.
type Change struct {
	Path string // JSON pointer within the arguments
	Rule string
	Old  []byte // raw JSON; nil: it was absent
	New  []byte // raw JSON; nil: it was removed
}

// The causes for which a call that asks is not made. The agent may see them.
const (
	CauseDenied     = "denied"     // a person said no
	CauseExpired    = "expired"    // nobody answered in time
	CauseUnattended = "unattended" // nobody could be asked
	CauseCancelled  = "cancelled"  // whoever made the call cancelled it, or left
	CauseEnded      = "ended"      // the service ended, or could not write the answer down
)

// Answer is what came of a question.
type Answer struct {
	Approved bool
	Cause    string // why not: one of the causes above; empty: denied
	Approval string // its id; empty: nobody was asked
	By       string // who answered
	Reason   string // as given by the person; or why nobody was asked
	Scope    Scope
}
