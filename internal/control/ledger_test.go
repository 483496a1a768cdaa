package control_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/client"
	"durward/internal/control"
)

// archive answers with what it was asked.
type archive struct {
	control.Ledger
	control.Custody
	calls  client.CallFilter
	moment client.TimelineFilter
	broken bool
	works  func(ctx context.Context, progress func(client.Work)) error
	told   chan []client.Followed
}

func (a *archive) Calls(_ context.Context, f client.CallFilter) (*client.CallList, error) {
	a.calls = f
	return &client.CallList{Calls: []client.CallRecord{}}, nil
}

func (a *archive) Stats(_ context.Context, f client.CallFilter) (*client.CallStats, error) {
	a.calls = f
	return &client.CallStats{}, nil
}

func (a *archive) Timeline(_ context.Context, f client.TimelineFilter) (*client.MomentList, error) {
	a.moment = f
	return &client.MomentList{}, nil
}

func (a *archive) Call(_ context.Context, id string) (*client.CallStory, error) {
	return nil, durward.Errorf(durward.NotFound, "", "no call has the id %s", id)
}

func (a *archive) Body(_ context.Context, digest string) (io.ReadCloser, *client.BodyInfo, error) {
	content := io.Reader(strings.NewReader(`{"a":1}`))
	if a.broken {
		content = io.MultiReader(content, brokenReader{})
	}
	return io.NopCloser(content), &client.BodyInfo{Digest: digest, Original: 7, Truncated: digest == "cut"}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the page is damaged") }

func (a *archive) Verify(ctx context.Context, progress func(client.Work)) (*client.Verified, error) {
	return &client.Verified{Verdict: client.VerdictOK}, a.works(ctx, progress)
}

func (a *archive) Follow(_ context.Context, f client.CallFilter, after string) (control.Follower, error) {
	if after == "wrong" {
		return nil, durward.Errorf(durward.Invalid, "", "no cursor")
	}
	a.calls = f
	return a, nil
}

func (a *archive) Next(ctx context.Context) ([]client.Followed, error) {
	select {
	case some := <-a.told:
		if len(some) == 1 && some[0].Cursor == "broken" {
			return nil, errors.New("the page is damaged")
		}
		return some, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *archive) Close() { close(a.told) }

func ledgerAPI(t *testing.T, a *archive, scope control.Scope) string {
	t.Helper()
	web := httptest.NewServer(control.New(control.Options{
		Ledger: a, Custody: a, KeepAlive: 20 * time.Millisecond,
		Authorize: func(*http.Request) (durward.Caller, control.Scope, error) { return durward.Caller{}, scope, nil },
	}))
	t.Cleanup(web.Close)
	return web.URL
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "broken off: " + err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, "broken off: " + err.Error()
	}
	return resp, string(text)
}

func TestFiltersAreReadAsAWholeOrRefused(t *testing.T) {
	a := &archive{}
	url := ledgerAPI(t, a, control.Read)
	query := "since=1h&until=1m&principal=p&session=s&server=x&tool=t&method=m&status=ok&decision=allow&rule=r&trace=0a&entrance=http&origin=mcp&min_duration=5s"
	want := client.CallFilter{
		Since: "1h", Until: "1m", Principal: "p", Session: "s", Server: "x", Tool: "t", Method: "m", Status: "ok", Decision: "allow", Rule: "r",
		Trace: "0a", Entrance: "http", Origin: "mcp", MinDuration: 5 * time.Second,
	}
	if resp, text := get(t, url+"/api/v1/stats?"+query); resp.StatusCode != http.StatusOK || a.calls != want {
		t.Errorf("%s %+v", text, a.calls)
	}
	want.Cursor, want.Limit = "c", 7
	if resp, text := get(t, url+"/api/v1/calls?cursor=c&limit=7&"+query); resp.StatusCode != http.StatusOK || a.calls != want || text != "{\"calls\":[]}\n" {
		t.Errorf("%s %+v", text, a.calls)
	}
	if resp, text := get(t, url+"/api/v1/timeline?layers=net,fs&sandbox=b&limit=2000"); resp.StatusCode != http.StatusOK ||
		fmt.Sprint(a.moment) != fmt.Sprint(client.TimelineFilter{Sandbox: "b", Layers: []string{"net", "fs"}, Limit: 2000}) {
		t.Errorf("%s %+v", text, a.moment)
	}
	for _, wrong := range []string{
		"calls?statuss=ok", "calls?status=ok&status=error", "calls?limit=0", "calls?limit=1001", "calls?limit=x", "calls?min_duration=5", "calls?min_duration=-5s",
		"calls?follow=true", "calls?after=5", "calls?follow=1&after=wrong", "calls?a%zz", "stats?limit=5", "timeline?limit=2001", "timeline?server=x",
	} {
		if resp, text := get(t, url+"/api/v1/"+wrong); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"kind":"invalid"`) {
			t.Errorf("%s: %d %s", wrong, resp.StatusCode, text)
		}
	}
	if resp, _ := get(t, url+"/api/v1/calls/0197"); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

// Who may only look is not given what the tools gave to others.
func TestBodies(t *testing.T) {
	a := &archive{}
	if resp, text := get(t, ledgerAPI(t, a, control.Read)+"/api/v1/bodies/0a"); resp.StatusCode != http.StatusForbidden || strings.Contains(text, `"a":1`) {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	url := ledgerAPI(t, a, control.Operate)
	resp, text := get(t, url+"/api/v1/bodies/0a")
	if h := resp.Header; text != `{"a":1}` || h.Get("Content-Type") != "application/json" || h.Get(client.HeaderBodyBytes) != "7" || h.Get(client.HeaderBodyCut) != "" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %v", text, h)
	}
	if resp, _ := get(t, url+"/api/v1/bodies/cut"); resp.Header.Get("Content-Type") != "application/octet-stream" || resp.Header.Get(client.HeaderBodyCut) != "true" {
		t.Errorf("%v", resp.Header)
	}
	// What cannot be read to its end does not look as if that were all.
	a.broken = true
	if _, text := get(t, url+"/api/v1/bodies/0a"); !strings.HasPrefix(text, "broken off") {
		t.Errorf("%q", text)
	}
}

func TestFollowingTellsWhoIsTooSlowWhereToGoOn(t *testing.T) {
	a := &archive{told: make(chan []client.Followed)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ledgerAPI(t, a, control.Read)+"/api/v1/calls?follow=1&server=x", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") != "text/event-stream" || a.calls.Server != "x" {
		t.Errorf("%v %+v", resp.Header, a.calls)
	}
	in := bufio.NewScanner(resp.Body)
	for range 3 { // that it is heard, and that it is still there
		if !in.Scan() || in.Text() != ":" || !in.Scan() || in.Text() != "" {
			t.Fatalf("%q %v", in.Text(), in.Err())
		}
	}
	a.told <- []client.Followed{{Cursor: "4", Call: &client.CallRecord{ID: "one"}}, {Cursor: "5", Call: &client.CallRecord{ID: "two"}}}
	a.told <- []client.Followed{{Cursor: "5"}}
	var events []string
	for in.Scan() {
		if text := in.Text(); text != "" && text != ":" {
			events = append(events, text[:min(len(text), 38)])
		}
	}
	want := []string{"event: call", `data: {"cursor":"4","call":{"id":"one"`, "event: call", `data: {"cursor":"5","call":{"id":"two"`, "event: behind", `data: {"cursor":"5"}`}
	if strings.Join(events, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", events)
	}
	if _, open := <-a.told; open {
		t.Error("the follower was not closed")
	}
}

// A stream that cannot go on says why.
func TestFollowingSaysWhyItEnds(t *testing.T) {
	a := &archive{told: make(chan []client.Followed)}
	url := ledgerAPI(t, a, control.Read) + "/api/v1/calls?follow=1"
	go func() { a.told <- []client.Followed{{Cursor: "broken"}} }()
	resp, text := get(t, url)
	if resp.StatusCode != http.StatusOK || !strings.HasSuffix(text, "event: error\ndata: {\"error\":{\"kind\":\"internal\",\"message\":\"the page is damaged\"}}\n\n") {
		t.Errorf("%d %q", resp.StatusCode, text)
	}
}

// A reader that follows does not hold up the end of the service.
func TestFollowingEndsWithTheService(t *testing.T) {
	a, done := &archive{told: make(chan []client.Followed)}, make(chan struct{})
	h := control.New(control.Options{
		Ledger: a, Custody: a, Done: done, KeepAlive: time.Hour,
		Authorize: func(*http.Request) (durward.Caller, control.Scope, error) { return durward.Caller{}, control.Read, nil },
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/calls?follow=1", http.NoBody))
	}()
	a.told <- nil // it is being followed
	close(done)
	<-over
}

func TestLongWorkTellsHowFarItIsAndEndsWithItsCaller(t *testing.T) {
	a := &archive{}
	url := ledgerAPI(t, a, control.Operate)
	post := func(ctx context.Context, accept string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/ledger/verify", http.NoBody)
		if err != nil {
			return "", err
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return strings.ReplaceAll(string(text), ":\n\n", ""), err // that it is still there may be said at any time
	}
	a.works = func(_ context.Context, progress func(client.Work)) error {
		progress(client.Work{Done: 1, Total: 2})
		return nil
	}
	if text, err := post(t.Context(), "text/event-stream"); err != nil || !strings.Contains(text, "event: progress\ndata: {\"done\":1,\"total\":2}\n\nevent: result\ndata: {\"verdict\":\"ok\"") {
		t.Errorf("%q %v", text, err)
	}
	if text, err := post(t.Context(), "application/json"); err != nil || !strings.HasPrefix(text, `{"verdict":"ok"`) {
		t.Errorf("%q %v", text, err)
	}
	a.works = func(context.Context, func(client.Work)) error { return durward.Errorf(durward.Conflict, "", "no") }
	if text, err := post(t.Context(), "text/event-stream"); err != nil || !strings.Contains(text, "event: error\ndata: {\"error\":{\"kind\":\"conflict\"") {
		t.Errorf("%q %v", text, err)
	}
	for _, accept := range []string{"text/event-stream", "application/json"} {
		begun, ended := make(chan struct{}), make(chan struct{})
		a.works = func(ctx context.Context, _ func(client.Work)) error {
			close(begun)
			<-ctx.Done()
			close(ended)
			return ctx.Err()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if text, err := post(ctx, accept); err == nil {
			t.Errorf("%s: %q", accept, text)
		}
		<-ended
	}
}
