package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"durward"
)

// Calls lists recorded calls, newest first. It is NotFound when nothing is recorded.
func (c *Client) Calls(ctx context.Context, f CallFilter) (*CallList, error) {
	var l CallList
	return &l, c.get(ctx, withQuery("/api/v1/calls", f.query()), &l)
}

// CallStory shows everything about one recorded call. id may be a prefix that only one has.
func (c *Client) CallStory(ctx context.Context, id string) (*CallStory, error) {
	var s CallStory
	return &s, c.get(ctx, "/api/v1/calls/"+url.PathEscape(id), &s)
}

// Body opens the body with a digest, decompressed. Whoever opens it closes it.
func (c *Client) Body(ctx context.Context, digest string) (io.ReadCloser, *BodyInfo, error) {
	resp, err := c.open(ctx, http.MethodGet, "/api/v1/bodies/"+url.PathEscape(digest), nil, "*/*")
	if err != nil {
		return nil, nil, err
	}
	info := &BodyInfo{Digest: digest, Truncated: resp.Header.Get(HeaderBodyCut) != ""}
	if info.Original, err = strconv.Atoi(resp.Header.Get(HeaderBodyBytes)); err != nil {
		err = durward.Errorf(durward.Unavailable, "", "the answer of the service does not say how long the body was")
		return nil, nil, errors.Join(err, resp.Body.Close())
	}
	return resp.Body, info, nil
}

// Headers of an answer that is a body.
const (
	HeaderBodyBytes = "Durward-Body-Bytes" // how many bytes it had
	HeaderBodyCut   = "Durward-Body-Cut"   // "true" if only its beginning was kept
)

// Timeline shows what happened, newest first.
func (c *Client) Timeline(ctx context.Context, f TimelineFilter) (*MomentList, error) {
	var l MomentList
	return &l, c.get(ctx, withQuery("/api/v1/timeline", f.query()), &l)
}

// CallStats counts the calls that a filter chooses; Cursor and Limit do not count.
func (c *Client) CallStats(ctx context.Context, f CallFilter) (*CallStats, error) {
	var s CallStats
	return &s, c.get(ctx, withQuery("/api/v1/stats", f.query()), &s)
}

// FollowCalls calls f with each call that a filter chooses when it ended (or with
// the status "dispatched" in the filter, when it begins), until ctx ends, f
// returns false or the service ends. after is the cursor after which it begins;
// empty: now. A follower that was too slow is brought up to date from the store,
// so that nothing is left out. The error is nil if ctx or f ended it, and else says why
// nothing more is told.
func (c *Client) FollowCalls(ctx context.Context, filter CallFilter, after string, f func(Followed) bool) error {
	for {
		over, behind := false, false
		query := filter.query()
		query.Set("follow", "1")
		if after != "" {
			query.Set("after", after)
		}
		err := c.stream(ctx, http.MethodGet, withQuery("/api/v1/calls", query), nil, func(name string, data []byte) (bool, error) {
			if name == "error" {
				return true, failureOf(data)
			}
			var e Followed
			if err := json.Unmarshal(data, &e); err != nil {
				return true, err
			}
			after = e.Cursor
			switch {
			case name == "behind":
				behind = true
			case e.Call != nil:
				over = !f(e)
			}
			return over || behind, nil
		})
		if ctx.Err() != nil {
			err, over = nil, true
		}
		switch {
		case err != nil || over:
			return err
		case !behind:
			return durward.Errorf(durward.Unavailable, "", "the service ended")
		}
	}
}

// Ledger says how the ledger is.
func (c *Client) Ledger(ctx context.Context) (*LedgerInfo, error) {
	var i LedgerInfo
	return &i, c.get(ctx, "/api/v1/ledger", &i)
}

// RotateLedgerKey has a new key sign the ledger's checkpoints, and returns what
// [Client.Ledger] does then. Copies of the old public key stay good.
func (c *Client) RotateLedgerKey(ctx context.Context) (*LedgerInfo, error) {
	var i LedgerInfo
	return &i, c.send(ctx, http.MethodPost, "/api/v1/ledger/rotate-key", nil, &i)
}

// VerifyLedger looks whether the ledger is as it was written. progress may be nil.
// A ledger that is damaged is no error: see [Verified.OK].
func (c *Client) VerifyLedger(ctx context.Context, progress func(Work)) (*Verified, error) {
	var v Verified
	return &v, c.work(ctx, "/api/v1/ledger/verify", nil, progress, &v)
}

// PruneLedger removes what is old. progress may be nil.
func (c *Client) PruneLedger(ctx context.Context, r PruneRequest, progress func(Work)) (*Pruned, error) {
	var p Pruned
	return &p, c.work(ctx, "/api/v1/ledger/prune", r, progress, &p)
}

// BackupLedger makes a consistent copy of the ledger. progress may be nil. It is
// a Conflict if there is such a file.
func (c *Client) BackupLedger(ctx context.Context, r BackupRequest, progress func(Work)) (*Backup, error) {
	var b Backup
	return &b, c.work(ctx, "/api/v1/ledger/backup", r, progress, &b)
}

// work has the service do something long. It ends when ctx does.
func (c *Client) work(ctx context.Context, path string, body any, progress func(Work), into any) error {
	done := false
	err := c.stream(ctx, http.MethodPost, path, body, func(name string, data []byte) (bool, error) {
		switch name {
		case "progress":
			var w Work
			if err := json.Unmarshal(data, &w); err == nil && progress != nil {
				progress(w)
			}
		case "result":
			done = true
			return true, json.Unmarshal(data, into)
		case "error":
			return true, failureOf(data)
		}
		return false, nil
	})
	if err == nil && !done {
		err = durward.Errorf(durward.Unavailable, "", "the service ended before it was done")
	}
	return err
}

func withQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func (f *CallFilter) query() url.Values {
	q := url.Values{}
	for name, text := range map[string]string{
		"since": f.Since, "until": f.Until, "principal": f.Principal, "session": f.Session, "server": f.Server, "tool": f.Tool,
		"method": f.Method, "status": f.Status, "decision": f.Decision, "rule": f.Rule, "trace": f.Trace, "entrance": f.Entrance,
		"origin": f.Origin, "cursor": f.Cursor,
	} {
		setText(q, name, text)
	}
	if f.MinDuration != 0 {
		q.Set("min_duration", f.MinDuration.String())
	}
	setNumber(q, "limit", f.Limit)
	return q
}

func (f *TimelineFilter) query() url.Values {
	q := url.Values{}
	for name, text := range map[string]string{
		"since": f.Since, "until": f.Until, "session": f.Session, "sandbox": f.Sandbox, "trace": f.Trace,
		"layers": strings.Join(f.Layers, ","), "cursor": f.Cursor,
	} {
		setText(q, name, text)
	}
	setNumber(q, "limit", f.Limit)
	return q
}

func setText(q url.Values, name, text string) {
	if text != "" {
		q.Set(name, text)
	}
}

func setNumber(q url.Values, name string, n int) {
	if n != 0 {
		q.Set(name, strconv.Itoa(n))
	}
}
