package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"durward/test/chaos/fault"
)

// maxRounds is how often a client goes on with one call. No server of ours asks
// that often; the gateway's bound is lower.
const maxRounds = 20

// modernMeta is what every request of a modern client carries. The progress
// token is the id of the call.
func modernMeta(call string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"chaos","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"progressToken":` + quote(call) + `}`
}

// roundTrip sends one request of a modern client and returns the response.
type roundTrip func(ctx context.Context, params string) (*message, error)

// rounds makes a call of a modern client: it answers what is asked and goes on,
// until there is a result (2026-07-28, basic/patterns/mrtr).
func (p *person) rounds(ctx context.Context, j *job, try roundTrip) (outcome, string) {
	own, cancel := interest(ctx, j)
	defer cancel()
	more := ""
	for range maxRounds {
		m, err := try(own, j.params+more+","+modernMeta(j.id)+"}")
		if err != nil {
			return p.lost(ctx, own, j.id, err)
		}
		var r result
		if m.Error != nil || json.Unmarshal(m.Result, &r) != nil || r.ResultType != "input_required" {
			return answerOf(m, j.id)
		}
		if j.forget {
			p.book.fault(injected{kind: fault.ClientLeave, call: j.id})
			return unknown, "the client never came back with an answer"
		}
		if more, err = p.answers(&r, j.id); err != nil {
			return broken, err.Error()
		}
	}
	return broken, fmt.Sprintf("the call asks for input for the %dth time", maxRounds)
}

// answers makes what a retry carries.
func (p *person) answers(r *result, call string) (string, error) {
	var b strings.Builder
	for key, q := range r.InputRequests {
		if q.Method != "elicitation/create" {
			return "", fmt.Errorf("input of another kind is required: %s", q.Method)
		}
		content, ok := p.answer(q.Params.Message, call)
		if !ok {
			return "", fmt.Errorf("the question is for another person: %s", q.Params.Message)
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(key) + ":" + content)
	}
	more := `,"inputResponses":{` + b.String() + `}`
	if r.RequestState != nil {
		more += `,"requestState":` + quote(*r.RequestState)
	}
	return more, nil
}

// odd is true of every other call.
func odd(id string) bool { return id[len(id)-1]%2 == 1 }

// modernClient speaks 2026-07-28 over HTTP. It has no session and keeps nothing.
type modernClient struct {
	web
	ids atomic.Int64
}

func (c *modernClient) modern() bool        { return true }
func (c *modernClient) run(context.Context) {}

func (c *modernClient) call(ctx context.Context, j *job) (outcome, string) {
	path, name := "/mcp", j.server+"__"+j.tool
	if odd(j.id) {
		path, name = "/servers/"+j.server+"/mcp", j.tool
	}
	return c.rounds(ctx, j, func(ctx context.Context, params string) (*message, error) {
		id := strconv.FormatInt(c.ids.Add(1), 10)
		body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":` + quote(name) + `,` + params + `}`
		resp, err := c.send(ctx, http.MethodPost, path, body, map[string]string{
			"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name,
		})
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close() // read to its end, or broken
		return c.read(resp, j.id, id)
	})
}

// read reads the response to a request out of what came.
func (c *modernClient) read(resp *http.Response, call, id string) (*message, error) {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		in := newEvents(resp.Body)
		for {
			ev, err := in.next()
			if err != nil {
				return nil, err
			}
			m := new(message)
			if err := json.Unmarshal([]byte(ev.data), m); err != nil {
				return nil, fmt.Errorf("an event is no message: %s", ev.data)
			}
			if m.isResponse() {
				return m, c.own(m, id)
			}
			c.heard(m, call)
		}
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	m := new(message)
	if err := json.Unmarshal(body, m); err != nil || !m.isResponse() {
		return nil, fmt.Errorf("%s with a body that is no response: %q", resp.Status, bytes.TrimSpace(body))
	}
	return m, c.own(m, id)
}

// own notes a response to another request.
func (p *person) own(m *message, id string) error {
	if got := string(m.ID); got != id && m.Error == nil {
		p.book.stray(p.where + " got a response to request " + got + " in place of " + id)
	}
	return nil
}
