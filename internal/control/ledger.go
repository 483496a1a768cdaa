package control

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"durward"
	"durward/client"
)

// Ledger answers what was recorded. Without a ledger its errors are of kind NotFound.
type Ledger interface {
	Calls(ctx context.Context, f client.CallFilter) (*client.CallList, error)
	// Call returns the call with an id, or with a prefix that only one has.
	Call(ctx context.Context, id string) (*client.CallStory, error)
	// Body opens a body, decompressed; whoever opens it closes it.
	Body(ctx context.Context, digest string) (io.ReadCloser, *client.BodyInfo, error)
	Timeline(ctx context.Context, f client.TimelineFilter) (*client.MomentList, error)
	Stats(ctx context.Context, f client.CallFilter) (*client.CallStats, error)
}

// Custody looks after the record itself. Its progress functions are called by one
// goroutine at a time.
type Custody interface {
	Info(ctx context.Context) (*client.LedgerInfo, error)
	Verify(ctx context.Context, progress func(client.Work)) (*client.Verified, error)
	Prune(ctx context.Context, by durward.Caller, r client.PruneRequest, progress func(client.Work)) (*client.Pruned, error)
	Backup(ctx context.Context, by durward.Caller, r client.BackupRequest, progress func(client.Work)) (*client.Backup, error)
	// Follow follows the calls that a filter chooses, after a cursor or from now on.
	Follow(ctx context.Context, f client.CallFilter, after string) (Follower, error)
}

// Follower is told of calls. It is used by one goroutine.
type Follower interface {
	// Next waits for calls. One without a Call is the last: the follower was too slow.
	Next(ctx context.Context) ([]client.Followed, error)
	Close()
}

func (a *api) listCalls(w http.ResponseWriter, r *request) error {
	p := parametersOf(r, append(callQuery(), query{name: "cursor"}, query{name: "limit"}, query{name: "follow"}, query{name: "after"}))
	f := p.calls()
	follow, after := p.text("follow"), p.text("after")
	if p.err != nil {
		return p.err
	}
	switch {
	case follow == "1":
		return a.follow(w, r, f, after)
	case follow != "" || after != "":
		return durward.Errorf(durward.Invalid, "", "follow must be 1, and after goes with follow=1")
	}
	list, err := a.opt.Ledger.Calls(r.Context(), f)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

func (a *api) showCall(w http.ResponseWriter, r *request) error {
	story, err := a.opt.Ledger.Call(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, story)
}

// maxBodyOut bounds what a body may unfold to, in bytes: limits.ledger_body cannot be more.
const maxBodyOut = 512 << 20

// readBody sends a body. It is JSON, unless only its beginning was kept.
func (a *api) readBody(w http.ResponseWriter, r *request) (err error) {
	body, info, err := a.opt.Ledger.Body(r.Context(), r.PathValue("digest"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff") // servers wrote it, and no browser is to run it
	header.Set(client.HeaderBodyBytes, strconv.Itoa(info.Original))
	if info.Truncated {
		header.Set("Content-Type", "application/octet-stream")
		header.Set(client.HeaderBodyCut, "true")
	}
	w.WriteHeader(http.StatusOK)
	if _, err := io.Copy(w, io.LimitReader(body, maxBodyOut)); err != nil {
		panic(http.ErrAbortHandler) // the headers are sent: a broken connection is the only way to say it
	}
	return nil
}

func (a *api) timeline(w http.ResponseWriter, r *request) error {
	p := parametersOf(r, []query{{name: "since"}, {name: "until"}, {name: "session"}, {name: "sandbox"}, {name: "trace"}, {name: "layers"}, {name: "cursor"}, {name: "limit"}})
	f := client.TimelineFilter{
		Since: p.text("since"), Until: p.text("until"), Session: p.text("session"), Sandbox: p.text("sandbox"), Trace: p.text("trace"),
		Cursor: p.text("cursor"), Limit: p.number("limit", 2000),
	}
	if layers := p.text("layers"); layers != "" {
		f.Layers = strings.Split(layers, ",")
	}
	if p.err != nil {
		return p.err
	}
	list, err := a.opt.Ledger.Timeline(r.Context(), f)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

func (a *api) stats(w http.ResponseWriter, r *request) error {
	p := parametersOf(r, callQuery())
	f := p.calls()
	if p.err != nil {
		return p.err
	}
	stats, err := a.opt.Ledger.Stats(r.Context(), f)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, stats)
}

// parameters reads a query and keeps the first error.
type parameters struct {
	values url.Values
	err    error
}

// parametersOf refuses what it does not know: a filter that is overlooked shows
// too much.
func parametersOf(r *request, known []query) *parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &parameters{values: values}
	if err != nil {
		p.err = durward.Errorf(durward.Invalid, "", "the query cannot be read: %w", err)
	}
	names := map[string]bool{}
	for _, q := range known {
		names[q.name] = true
	}
	for name, all := range values {
		switch {
		case p.err != nil:
		case !names[name]:
			p.err = durward.Errorf(durward.Invalid, "", "there is no parameter %q here; see /api/v1/openapi.json", name)
		case len(all) > 1:
			p.err = durward.Errorf(durward.Invalid, "", "%s is given %d times; once is enough", name, len(all))
		}
	}
	return p
}

func (p *parameters) text(name string) string { return p.values.Get(name) }

// number reads a number from 1 to most; 0 if it is not given.
func (p *parameters) number(name string, most int) int {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if (err != nil || n < 1 || n > most) && p.err == nil {
		p.err = durward.Errorf(durward.Invalid, "", "%s must be a number from 1 to %d", name, most)
	}
	return n
}

func (p *parameters) duration(name string) time.Duration {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if (err != nil || d < 0) && p.err == nil {
		p.err = durward.Errorf(durward.Invalid, "", "%s must be a duration with a unit (100ms, 5s)", name)
	}
	return d
}

func (p *parameters) calls() client.CallFilter {
	return client.CallFilter{
		Since: p.text("since"), Until: p.text("until"), Principal: p.text("principal"), Session: p.text("session"), Server: p.text("server"),
		Tool: p.text("tool"), Method: p.text("method"), Status: p.text("status"), Decision: p.text("decision"), Rule: p.text("rule"),
		Trace: p.text("trace"), Entrance: p.text("entrance"), Origin: p.text("origin"), MinDuration: p.duration("min_duration"),
		Cursor: p.text("cursor"), Limit: p.number("limit", 1000),
	}
}
