package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"durward/test/chaos/fault"
)

// legacyClient speaks 2025-11-25 over HTTP: it has a session, answers questions on
// the streams of its calls, comes back for streams that broke, and begins a new
// session when the gateway does not know its own any more.
type legacyClient struct {
	web
	ids atomic.Int64

	opening sync.Mutex // held while a session is begun

	mu      sync.Mutex // guards session
	session string
}

func (c *legacyClient) modern() bool { return false }

var errSession = errors.New("the session is not known any more")

const legacyHello = `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}}},"clientInfo":{"name":"chaos","version":"1"}}`

// current returns the session, beginning one if need be.
func (c *legacyClient) current(ctx context.Context) (string, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	for {
		c.mu.Lock()
		session := c.session
		c.mu.Unlock()
		if session != "" {
			return session, nil
		}
		err := c.open(ctx)
		if err != nil && !sleep(ctx, 50*time.Millisecond) {
			return "", err
		}
	}
}

func (c *legacyClient) open(ctx context.Context) error {
	resp, err := c.send(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":`+legacyHello+`}`, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close() // read to its end
	session := resp.Header.Get("Mcp-Session-Id")
	if err != nil || session == "" {
		return fmt.Errorf("initialize: %s, %w", resp.Status, err)
	}
	resp, err = c.send(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, c.header(session))
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // it has none
	c.book.count("sessions begun")
	c.mu.Lock()
	c.session = session
	c.mu.Unlock()
	return nil
}

// forget gives a session up, unless somebody has before.
func (c *legacyClient) forget(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.session = ""
		c.book.count("sessions lost")
	}
}

func (c *legacyClient) header(session string) map[string]string {
	return map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}
}

func (c *legacyClient) call(ctx context.Context, j *job) (outcome, string) {
	own, cancel := interest(ctx, j)
	defer cancel()
	for {
		session, err := c.current(own)
		if err != nil {
			if ctx.Err() == nil {
				return refused, "the client left before its session was begun"
			}
			return c.lost(ctx, own, j.id, err)
		}
		t := &stream{client: c, job: j, session: session, id: strconv.FormatInt(c.ids.Add(1), 10)}
		m, err := t.call(own)
		switch {
		case errors.Is(err, errSession): // then the request was not looked at
			c.forget(session)
		case err != nil:
			if own.Err() != nil && ctx.Err() == nil { // it is the client who ends the call
				c.cancel(ctx, session, t.id)
			}
			return c.lost(ctx, own, j.id, err)
		default:
			return answerOf(m, j.id)
		}
	}
}

// cancel says that an answer is not wanted any more.
func (c *legacyClient) cancel(ctx context.Context, session, id string) {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	resp, err := c.send(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, c.header(session))
	if err == nil {
		_ = resp.Body.Close() // it has none
	}
}

// run keeps the session's own stream open: nothing may arrive there that is for
// somebody else.
func (c *legacyClient) run(ctx context.Context) {
	for ctx.Err() == nil {
		session, err := c.current(ctx)
		if err != nil {
			return
		}
		header := c.header(session)
		header["Accept"] = "text/event-stream"
		resp, err := c.send(ctx, http.MethodGet, "/mcp", "", header)
		if err == nil {
			if resp.StatusCode == http.StatusNotFound {
				c.forget(session)
			} else {
				c.listen(resp.Body)
			}
			_ = resp.Body.Close() // over
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

func (c *legacyClient) listen(body io.Reader) {
	in := newEvents(body)
	for {
		ev, err := in.next()
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal([]byte(ev.data), &m) == nil && m.Method == "elicitation/create" {
			c.answer(m.Params.Message, "")
		}
	}
}

// stream is the way of one call of a legacy client: the response to its POST and
// what is taken up again when that breaks.
type stream struct {
	client      *legacyClient
	job         *job
	session, id string
	last        string // id of the last event
	dropped     bool
}

var errDropped = errors.New("dropped on purpose")

func (t *stream) call(ctx context.Context) (*message, error) {
	body := `{"jsonrpc":"2.0","id":` + t.id + `,"method":"tools/call","params":{"name":` + quote(t.job.server+"__"+t.job.tool) + `,` + t.job.params + `,"_meta":{"progressToken":` + quote(t.job.id) + `}}}`
	resp, err := t.client.send(ctx, http.MethodPost, "/mcp", body, t.client.header(t.session))
	for {
		if err != nil {
			return nil, err
		}
		var m *message
		m, err = t.read(ctx, resp)
		_ = resp.Body.Close() // read to its end, or of no use
		if m != nil || ctx.Err() != nil || errors.Is(err, errSession) || t.last == "" {
			return m, err
		}
		resp, err = t.resume(ctx, err)
	}
}

// resume asks for the rest of a stream (2025-11-25, basic/transports "Resumability").
func (t *stream) resume(ctx context.Context, broke error) (*http.Response, error) {
	t.client.book.count("streams resumed")
	header := t.client.header(t.session)
	header["Last-Event-ID"], header["Accept"] = t.last, "text/event-stream"
	for {
		resp, err := t.client.send(ctx, http.MethodGet, "/mcp", "", header)
		switch {
		case err != nil:
			if !sleep(ctx, 20*time.Millisecond) {
				return nil, err
			}
		case resp.StatusCode == http.StatusServiceUnavailable: // it is about to be restarted
			_ = resp.Body.Close() // of no use
			if !sleep(ctx, 50*time.Millisecond) {
				return nil, ctx.Err()
			}
		case resp.StatusCode != http.StatusOK:
			_ = resp.Body.Close() // of no use
			if resp.StatusCode == http.StatusNotFound {
				t.client.forget(t.session)
			}
			return nil, fmt.Errorf("%w, and cannot be resumed: %s", broke, resp.Status)
		default:
			return resp, nil
		}
	}
}

// read reads until the answer comes.
func (t *stream) read(ctx context.Context, resp *http.Response) (*message, error) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return t.whole(resp)
	}
	in := newEvents(resp.Body)
	for {
		ev, err := in.next()
		if err != nil {
			return nil, err
		}
		if ev.id != "" {
			t.last = ev.id
		}
		if ev.data != "" {
			m := new(message)
			if err := json.Unmarshal([]byte(ev.data), m); err != nil {
				return nil, fmt.Errorf("an event is no message: %s", ev.data)
			}
			if m.isResponse() {
				return m, t.client.own(m, t.id)
			}
			t.take(ctx, m)
		}
		if t.job.drop && !t.dropped && t.last != "" {
			t.dropped = true
			t.client.book.fault(injected{kind: fault.ClientDrop, call: t.job.id})
			return nil, errDropped
		}
	}
}

// whole reads an answer that is no stream.
func (t *stream) whole(resp *http.Response) (*message, error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, errSession
	}
	m := new(message)
	if err := json.Unmarshal(body, m); err != nil || !m.isResponse() {
		return nil, fmt.Errorf("%s with a body that is no response: %q", resp.Status, body)
	}
	return m, t.client.own(m, t.id)
}

// take takes what comes before the answer.
func (t *stream) take(ctx context.Context, m *message) {
	if m.Method != "elicitation/create" {
		t.client.heard(m, t.job.id)
		return
	}
	content, ok := t.client.answer(m.Params.Message, t.job.id)
	if !ok || t.job.forget {
		return
	}
	resp, err := t.client.send(ctx, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+content+`}`, t.client.header(t.session))
	if err == nil {
		_ = resp.Body.Close() // it has none
	}
}
