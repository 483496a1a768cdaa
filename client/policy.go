package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"durward"
)

// PolicyRules are the rules in effect, in the order in which a decision lists
// those that matched: the highest layer first, then as they are written.
type PolicyRules struct {
	Digest string       `json:"digest"` // of the whole policy
	Rules  []PolicyRule `json:"rules"`
}

// PolicyRule is one rule in effect.
type PolicyRule struct {
	Layer     string   `json:"layer"` // builtin, package, user or corp
	ID        string   `json:"id"`
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line,omitempty"`
	Phase     string   `json:"phase"`             // request or response
	On        []string `json:"on,omitempty"`      // methods; empty: any
	Servers   []string `json:"servers,omitempty"` // patterns; empty: any
	Tools     []string `json:"tools,omitempty"`   // patterns; empty: any
	When      string   `json:"when,omitempty"`    // CEL; empty: always
	Action    string   `json:"action"`
	Detection string   `json:"detection,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	Limit     string   `json:"limit,omitempty"` // in words: 30 calls per 1m by principal+tool
	Until     string   `json:"until,omitempty"`
	Hits      int64    `json:"hits"` // how often it matched since the service began
}

// EffectivePolicy is what decides, line by line.
type EffectivePolicy struct {
	Digest string       `json:"digest"`
	Lines  []PolicyLine `json:"lines"`
	// Session is the one that was asked for; SessionDigest is of the policy it began
	// under. Its next message is decided under Digest.
	Session       string `json:"session,omitempty"`
	SessionDigest string `json:"session_digest,omitempty"`
}

// PolicyLine is one line of the merged policy.
type PolicyLine struct {
	Text  string `json:"text"`
	Layer string `json:"layer"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
}

// ExplainRequest names an event of which it is to be told what would be decided,
// and why. Nothing is called and no limit is used up.
type ExplainRequest struct {
	// Event is a whole event, as durward rule explain reads it. The fields below
	// replace what it says. Default: a call of a tool by the service's owner.
	Event     json.RawMessage `json:"event,omitempty"`
	Server    string          `json:"server,omitempty"`
	Tool      string          `json:"tool,omitempty"`      // the server's own name of it
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object
	Principal string          `json:"principal,omitempty"`
	Session   string          `json:"session,omitempty"` // its labels are looked up
}

// Explanation says what would be decided for an event, and by what.
type Explanation struct {
	Digest string `json:"digest"` // of the policy that decided
	Action string `json:"action"` // allow, ask or block
	Rule   string `json:"rule,omitempty"`
	Layer  string `json:"layer,omitempty"`
	Cause  string `json:"cause,omitempty"` // why it is not allow: rule, default, pin, limit, plugin, evaluation
	Reason string `json:"reason,omitempty"`
	Risk   string `json:"risk,omitempty"` // of the tool
	Pin    string `json:"pin,omitempty"`  // what is known of its definition
	// Rules are all rules, with what came of each.
	Rules []ExplainedRule `json:"rules"`
}

// ExplainedRule is what came of one rule.
type ExplainedRule struct {
	Layer   string `json:"layer"`
	ID      string `json:"id"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Stage   string `json:"stage,omitempty"` // request, rewrite, response, preprocess, postprocess
	Action  string `json:"action"`
	Indexed bool   `json:"indexed"` // its method, servers and tools take the event; otherwise its condition was not looked at
	Matched bool   `json:"matched"`
	Decides bool   `json:"decides,omitempty"`
	Why     string `json:"why"` // why it matched or not
}

// NewRule is a rule to be added to the user's configuration file.
type NewRule struct {
	Text string `json:"text"` // the rule in YAML: a mapping with id, action, …
}

// ToolAction is what is to happen by default with the tools of a server that a
// pattern fits. Only a rule that matched overrides it.
type ToolAction struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`   // the server's own name, or a pattern over it
	Action string `json:"action"` // allow, ask or block
}

// PolicyEdit says what an edit did. It is answered when every call is decided under
// New.
type PolicyEdit struct {
	Old  string `json:"old"` // digest of the policy before
	New  string `json:"new"` // digest of the policy that decides now
	File string `json:"file"`
	Line int    `json:"line,omitempty"` // where the edit stands
	ID   string `json:"id,omitempty"`   // of a rule
}

// PolicyRules lists the rules in effect.
func (c *Client) PolicyRules(ctx context.Context) (*PolicyRules, error) {
	var p PolicyRules
	return &p, c.get(ctx, "/api/v1/policy/rules", &p)
}

// EffectivePolicy returns what decides, line by line. session may be empty.
func (c *Client) EffectivePolicy(ctx context.Context, session durward.SessionID) (*EffectivePolicy, error) {
	query := url.Values{}
	setText(query, "session", string(session))
	var p EffectivePolicy
	return &p, c.get(ctx, withQuery("/api/v1/policy/effective", query), &p)
}

// ExplainPolicy says what would be decided for an event.
func (c *Client) ExplainPolicy(ctx context.Context, r ExplainRequest) (*Explanation, error) {
	var e Explanation
	return &e, c.send(ctx, http.MethodPost, "/api/v1/policy/explain", r, &e)
}

// AddRule adds a rule to the user's configuration file and takes it into use. A
// rule that is not sound changes nothing, and is an error of kind Invalid that says
// what is wrong with it. An id that the file has already is a Conflict. It takes the
// approver credential: see [Client.WithToken].
func (c *Client) AddRule(ctx context.Context, r NewRule) (*PolicyEdit, error) {
	var e PolicyEdit
	return &e, c.send(ctx, http.MethodPost, "/api/v1/policy/rules", r, &e)
}

// SetToolAction writes what happens by default with tools of a server into the
// user's configuration file and takes it into use. It takes the approver credential.
func (c *Client) SetToolAction(ctx context.Context, a ToolAction) (*PolicyEdit, error) {
	var e PolicyEdit
	return &e, c.send(ctx, http.MethodPut, "/api/v1/policy/tools", a, &e)
}
