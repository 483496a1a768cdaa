package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"durward/test/chaos/fault"
)

// job is one call that a client is to make.
type job struct {
	record
	params string        // of tools/call, without _meta and without the last brace
	leave  time.Duration // after it the client loses interest; 0: never
	drop   bool          // a legacy client drops its stream once and comes back
	forget bool          // the client never answers a question
}

// client makes calls. call may be used from several goroutines.
type client interface {
	name() string
	modern() bool
	principal() string
	// call returns what came of the job. ctx bounds the wait: when it ends without
	// an answer the outcome is pendingCall.
	call(ctx context.Context, j *job) (outcome, string)
	// run does what a client does besides calls, until ctx ends.
	run(ctx context.Context)
}

// person is whoever sits at a client and answers questions.
type person struct {
	who, where string
	book       *book
}

func (p *person) name() string      { return p.where }
func (p *person) principal() string { return p.who }

// answer answers a question that came with a call, if it is for this person.
func (p *person) answer(text, call string) (content string, ok bool) {
	q, valid := readQuestion(text)
	switch {
	case !valid:
		p.book.stray(p.where + " was asked something that no server asks: " + text)
	case q.owner != p.who:
		p.book.stray(fmt.Sprintf("%s, who is %s, was asked what is for %s: %s", p.where, p.who, q.owner, text))
		return "", false
	case q.call != call:
		p.book.count("questions of a sibling call")
	}
	return `{"action":"accept","content":{"name":` + quote(p.who) + `,"call":` + quote(q.call) + `}}`, true
}

// heard looks at a notification that came with a call.
func (p *person) heard(m *message, call string) {
	if m.Method == "notifications/progress" && m.Params.Message != call {
		p.book.stray(p.where + " got the progress of " + m.Params.Message + " with " + call)
	}
}

// web is what clients over HTTP have in common.
type web struct {
	person
	addr string
	http http.Client
}

func newWeb(who, where, addr string, b *book) web {
	return web{person: person{who: who, where: where, book: b}, addr: addr, http: http.Client{
		// A connection for each request: then a failure to connect is the only
		// case in which a request was certainly not sent, and it is certain.
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	}}
}

// send sends a request as soon as the gateway can be reached. An error means
// that it may have been sent.
func (w *web) send(ctx context.Context, method, path, body string, header map[string]string) (*http.Response, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, method, "http://"+w.addr+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+tokenOf(w.who))
		for name, value := range header {
			req.Header.Set(name, value)
		}
		resp, err := w.http.Do(req)
		var op *net.OpError
		if err == nil || !errors.As(err, &op) || op.Op != "dial" {
			return resp, err
		}
		w.book.count("connections refused")
		if !sleep(ctx, 20*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// interest is a context that ends when a client loses interest in its call.
func interest(ctx context.Context, j *job) (context.Context, context.CancelFunc) {
	if j.leave <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, j.leave)
}

// lost says what became of a call whose connection broke, or whose client left.
func (p *person) lost(ctx, own context.Context, call string, err error) (outcome, string) {
	switch {
	case ctx.Err() != nil:
		return pendingCall, "neither an answer nor an error within " + patience.String()
	case own.Err() != nil:
		p.book.fault(injected{kind: fault.ClientLeave, call: call})
		return unknown, "the client left"
	default:
		return unknown, "the connection broke: " + err.Error()
	}
}

// clients makes all clients.
func clients(g *gateway, b *book) []client {
	var all []client
	for _, p := range principals() {
		all = append(all,
			&modernClient{web: newWeb(p, p+"-modern", g.addr, b)},
			&legacyClient{web: newWeb(p, p+"-legacy", g.addr, b)})
	}
	for i, modern := range []bool{true, false} {
		where := []string{"stdio-client-modern", "stdio-client-legacy"}[i]
		all = append(all, &lineClient{person: person{who: principalLocal, where: where, book: b}, gateway: g, isModern: modern})
	}
	return all
}

// runAll runs what clients do besides calls, until ctx ends.
func runAll(ctx context.Context, all []client) (wait func()) {
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { c.run(ctx) })
	}
	return wg.Wait
}
