package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Pin is one definition of a tool, prompt or resource template of a server, or its
// instructions, and what is known of it.
type Pin struct {
	Server string `json:"server"`
	Kind   string `json:"kind"` // tool, prompt, template or instructions
	Name   string `json:"name"` // the server's own; empty for instructions
	// State is accepted, first (seen when the server was seen first; nobody accepted it
	// yet), held (it came later), changed (it is another one than before, and held) or
	// rejected.
	State   string    `json:"state"`
	Held    bool      `json:"held"` // it does not reach clients
	Hash    string    `json:"hash"` // SHA-256, in hex, of the canonical definition
	Old     string    `json:"old,omitempty"`
	Seen    time.Time `json:"seen"` // when this definition was seen first
	Decided time.Time `json:"decided,omitzero"`
	By      string    `json:"by,omitempty"` // who accepted or rejected it
	Listed  bool      `json:"listed"`       // the server lists it now
	Legacy  bool      `json:"legacy,omitempty"`
}

// PinList are pins, by server, kind and name.
type PinList struct {
	Pins []Pin `json:"pins"`
}

// PinDiff says what is new in a definition. Its texts are foreign, and safe to
// show: characters that nobody would see are written out as <U+200B>.
type PinDiff struct {
	Pin
	Differences []PinDifference `json:"differences"`
	Warnings    []string        `json:"warnings"` // hidden characters, look-alikes, members that stand twice
}

// PinDifference is one thing in which a definition differs from the one before.
type PinDifference struct {
	Path string `json:"path"` // JSON pointer within the definition
	Text string `json:"text"` // in words
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// PinDiffs are what waits to be looked at.
type PinDiffs struct {
	Diffs []PinDiff `json:"diffs"`
	More  int       `json:"more,omitempty"` // how many more there are
}

// PinChoice names a definition that somebody looked at.
type PinChoice struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Hash string `json:"hash"`
}

// PinVerdict accepts or rejects definitions of one server.
type PinVerdict struct {
	Server  string      `json:"server"`
	Accept  bool        `json:"accept"` // false: reject
	Choices []PinChoice `json:"choices"`
}

// PinsHeld is what an event tells of a server that changed what it offers.
type PinsHeld struct {
	Server string `json:"server"`
	Held   []Pin  `json:"held"`
	More   int    `json:"more,omitempty"`
}

// Pins lists what is known of the definitions of a server, of all without a name.
func (c *Client) Pins(ctx context.Context, server string) ([]Pin, error) {
	var l PinList
	err := c.get(ctx, pinsPath("/api/v1/pins", "server", server), &l)
	return l.Pins, err
}

// PinDiffs says what is new in the definitions of a server that nobody accepted yet,
// or in what is called name, accepted or not.
func (c *Client) PinDiffs(ctx context.Context, server, name string) (*PinDiffs, error) {
	var d PinDiffs
	return &d, c.get(ctx, pinsPath("/api/v1/pins/diff", "server", server, "name", name), &d)
}

// DecidePins accepts or rejects definitions and returns what is known of them then.
// It takes the approver credential: see [Client.WithToken]. It is a Conflict if the
// server changed one since it was looked at; then nothing is changed.
func (c *Client) DecidePins(ctx context.Context, v PinVerdict) ([]Pin, error) {
	var l PinList
	err := c.send(ctx, http.MethodPost, "/api/v1/pins/decide", v, &l)
	return l.Pins, err
}

func pinsPath(path string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
