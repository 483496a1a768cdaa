package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"durward"
)

// Approval is a call that waits for a person's answer, without its arguments.
// Texts of servers and clients are what they said.
type Approval struct {
	ID        string            `json:"id"` // 10 letters and digits; a prefix of 4 is enough where only one has it
	Call      durward.CallID    `json:"call"`
	Asked     time.Time         `json:"asked"`
	Deadline  time.Time         `json:"deadline"` // then the answer is no
	Principal string            `json:"principal"`
	Entrance  durward.Entrance  `json:"entrance"`
	Session   durward.SessionID `json:"session,omitempty"`
	Process   string            `json:"process,omitempty"`
	Client    ClientSays        `json:"client"`
	Route     string            `json:"route"`
	Method    string            `json:"method"`
	Server    string            `json:"server,omitempty"`
	Tool      string            `json:"tool,omitempty"`      // the server's own name of the tool or prompt, or the URI of a resource
	FullName  string            `json:"full_name,omitempty"` // the name that the caller used
	Risk      string            `json:"risk,omitempty"`
	Rules     []string          `json:"rules"`            // that ask, each with its layer
	Reason    string            `json:"reason,omitempty"` // that the rules give
	Remember  durward.Scope     `json:"remember"`         // the widest scope that an answer may have: call, session, grant
}

// ApprovalList are the calls that wait, oldest first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// ApprovalDetail is all that is shown to who answers.
type ApprovalDetail struct {
	Approval
	// Arguments are those that the server would get: whole, without known secrets.
	Arguments json.RawMessage  `json:"arguments,omitempty"`
	Digest    string           `json:"digest"`  // SHA-256, in hex, of their canonical form
	Changes   []ArgumentChange `json:"changes"` // what rules rewrote in them
	Matches   []DecisionRecord `json:"matches"` // all rules that matched
	Pin       string           `json:"pin,omitempty"`
}

// ArgumentChange is one value that a rule rewrote.
type ArgumentChange struct {
	Path string          `json:"path"` // JSON pointer
	Rule string          `json:"rule"`
	Old  json.RawMessage `json:"old,omitempty"` // absent: there was none
	New  json.RawMessage `json:"new,omitempty"` // absent: it was removed
}

// ApprovalAnswer is a person's answer.
type ApprovalAnswer struct {
	Approve bool `json:"approve"`
	// Scope is how far an approval reaches: call, session or grant; default call, or
	// grant if For is set.
	Scope durward.Scope `json:"scope,omitempty"`
	// For is how long a grant holds, such as 12h or 30d; default 30d.
	For string `json:"for,omitempty"`
	// Patterns widen what is remembered: globs by JSON pointer within the arguments.
	// All other values stay those that were approved.
	Patterns map[string]string `json:"patterns,omitempty"`
	Reason   string            `json:"reason,omitempty"`
}

// ApprovalEvent is something that happened to a question.
type ApprovalEvent struct {
	Type     string          `json:"type"` // one of the Approval… constants
	At       time.Time       `json:"at"`
	Approval *Approval       `json:"approval,omitempty"` // of pending
	Answer   *ApprovalRecord `json:"answer,omitempty"`   // of answered
	Lost     int             `json:"lost,omitempty"`     // of lost: how many were dropped
}

// The types of events.
const (
	ApprovalPending  = "pending"
	ApprovalAnswered = "answered"
	ApprovalLost     = "lost" // the reader was too slow; it should list anew
)

// Grant is an answer that holds again.
type Grant struct {
	ID        string            `json:"id"` // of the approval that made it
	Scope     durward.Scope     `json:"scope"`
	Session   durward.SessionID `json:"session,omitempty"`
	Principal string            `json:"principal"`
	Rules     []string          `json:"rules"`
	Method    string            `json:"method"`
	Server    string            `json:"server,omitempty"`
	Tool      string            `json:"tool,omitempty"`
	Pin       string            `json:"pin,omitempty"`
	Digest    string            `json:"digest"`             // of the arguments, without the values that patterns match
	Patterns  map[string]string `json:"patterns,omitempty"` // globs by JSON pointer
	Preview   string            `json:"preview,omitempty"`  // the beginning of the arguments that were approved
	Created   time.Time         `json:"created"`
	Expires   time.Time         `json:"expires,omitzero"` // absent: with its session
	By        string            `json:"by"`
	Reason    string            `json:"reason,omitempty"`
}

// GrantList are the grants in force, oldest first.
type GrantList struct {
	Grants []Grant `json:"grants"`
}

// WithToken returns a client of the same service that sends a bearer token: on the
// unix socket the approver credential, without which nothing can be answered.
// What cannot be a token is refused (kind Invalid).
func (c *Client) WithToken(token string) (*Client, error) {
	if token == "" || strings.Trim(token, tokenCharacters) != "" {
		return nil, durward.Errorf(durward.Invalid, "", "the token is empty or holds what no token does (RFC 6750 §2.1)")
	}
	return newClient(Client{
		network: c.network, address: c.address, host: c.host,
		authorize: func(h http.Header) { h.Set("Authorization", "Bearer "+token) },
	}), nil
}

// Approvals lists the calls that wait for an answer, oldest first.
func (c *Client) Approvals(ctx context.Context) ([]Approval, error) {
	var l ApprovalList
	err := c.get(ctx, "/api/v1/approvals", &l)
	return l.Approvals, err
}

// Approval shows all about one. It takes the approver credential, as all that
// follows but Grants. It is NotFound for an id that nothing has, Conflict when it is
// over.
func (c *Client) Approval(ctx context.Context, id string) (*ApprovalDetail, error) {
	var d ApprovalDetail
	return &d, c.get(ctx, "/api/v1/approvals/"+url.PathEscape(id), &d)
}

// Answer answers a question. The first answer counts; any other is a Conflict. It is
// Unavailable when the answer could not be recorded, which denied the call, or not
// remembered.
func (c *Client) Answer(ctx context.Context, id string, a ApprovalAnswer) (*ApprovalRecord, error) {
	var r ApprovalRecord
	return &r, c.send(ctx, http.MethodPost, "/api/v1/approvals/"+url.PathEscape(id), a, &r)
}

// WatchApprovals calls f with each question, those that are open first, and each
// answer, until ctx ends, f returns false or the service ends. Whoever watches
// counts as somebody who can answer. The error is nil if ctx or f ended it.
func (c *Client) WatchApprovals(ctx context.Context, f func(ApprovalEvent) bool) error {
	return watch(ctx, c, "/api/v1/approvals/events", f)
}

// Grants lists the grants in force, oldest first.
func (c *Client) Grants(ctx context.Context) ([]Grant, error) {
	var l GrantList
	err := c.get(ctx, "/api/v1/grants", &l)
	return l.Grants, err
}

// RevokeGrant ends a grant, and returns it. Calls that it let through go on.
func (c *Client) RevokeGrant(ctx context.Context, id string) (*Grant, error) {
	var g Grant
	return &g, c.send(ctx, http.MethodDelete, "/api/v1/grants/"+url.PathEscape(id), nil, &g)
}
