package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Labelled is a session that has labels.
type Labelled struct {
	Session string    `json:"session"` // its id; PRINCIPAL/ENTRANCE for the calls of a principal that belong to none
	Labels  []string  `json:"labels"`
	Calls   int64     `json:"calls"` // that were allowed, since the session began or the service started
	Used    time.Time `json:"used"`  // when something was heard of it last
}

// LabelList are the sessions that have labels.
type LabelList struct {
	Sessions []Labelled `json:"sessions"`
}

// Labels lists the sessions that have labels, in the order of their ids.
func (c *Client) Labels(ctx context.Context) ([]Labelled, error) {
	var l LabelList
	err := c.get(ctx, "/api/v1/labels", &l)
	return l.Sessions, err
}

// ClearLabels takes all labels from a session, and returns what it had. It takes the
// approver credential. It is NotFound where the session has none.
func (c *Client) ClearLabels(ctx context.Context, session string) (*Labelled, error) {
	var had Labelled
	query := url.Values{"session": {session}}
	return &had, c.send(ctx, http.MethodDelete, withQuery("/api/v1/labels", query), nil, &had)
}
