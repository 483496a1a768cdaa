// Package rawclient is an MCP client over HTTP for tests that look at bytes: it
// sends what it is told and returns what came back, undecoded. Use a real SDK
// where interoperability is the question.
package rawclient

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"durward/internal/wire"
)

// Client speaks one era to one URL.
type Client struct {
	URL     string
	Token   string // bearer token; empty for none
	Modern  bool
	Session string // Mcp-Session-Id of a legacy client; Initialize sets it

	Capabilities string // raw, of a modern client; default {}

	Header http.Header // more header fields of each POST

	OnNote func(wire.Message) // told of each notification of an answer as it comes; may be nil

	HTTP http.Client
	next atomic.Int64
}

// Answer is what one request brought.
type Answer struct {
	Status int
	Header http.Header
	Notes  []wire.Message // notifications and requests before the response, in order
	Msg    wire.Message   // the response; Kind 0 when there was none
	Body   []byte         // the whole body, when it was no event stream
}

// Text returns the text of the first content block of a tool result.
func (a *Answer) Text() string {
	for at := range wire.Elements(wire.Get(a.Msg.Result, "content")) {
		s, _ := wire.Unquote(wire.Get(at.Of(wire.Get(a.Msg.Result, "content")), "text"))
		return s
	}
	return ""
}

// Code returns the code of the error; 0 when there is none.
func (a *Answer) Code() int {
	code, _ := wire.ErrorCode(a.Msg.Error)
	return code
}

// Message returns the message of the error.
func (a *Answer) Message() string {
	s, _ := wire.Unquote(wire.Get(a.Msg.Error, "message"))
	return s
}

// meta is what a modern client says with each request.
func (c *Client) meta() string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + cmp.Or(c.Capabilities, "{}") + `}`
}

// Initialize opens a legacy session.
func (c *Client) Initialize(ctx context.Context, capabilities string) (*Answer, error) {
	a, err := c.Do(ctx, wire.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"raw","version":"1"}}`)
	if err != nil {
		return a, err
	}
	if c.Session = a.Header.Get("Mcp-Session-Id"); c.Session == "" {
		return a, fmt.Errorf("initialize brought no session: %d %s", a.Status, a.Body)
	}
	_, err = c.Send(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "", "")
	return a, err
}

// CallTool calls a tool with raw arguments.
func (c *Client) CallTool(ctx context.Context, name, arguments string) (*Answer, error) {
	return c.Do(ctx, wire.MethodToolsCall, `{"name":`+wire.Quote(name)+`,"arguments":`+arguments+`}`)
}

// Do sends a request with raw params, an object, to which a modern client adds its `_meta`.
func (c *Client) Do(ctx context.Context, method, params string) (*Answer, error) {
	var p wire.Params
	if err := wire.ParseParams([]byte(params), &p); err != nil {
		return nil, err
	}
	if c.Modern && !p.Meta.Present() {
		if params == "{}" {
			params = "{" + c.meta() + "}"
		} else {
			params = "{" + c.meta() + "," + params[1:]
		}
	}
	name, _ := p.String(p.Name)
	if uri, ok := p.String(p.URI); ok {
		name = uri
	}
	if task, ok := p.String(p.TaskID); ok && strings.HasPrefix(method, "tasks/") {
		name = task
	}
	id := strconv.FormatInt(c.next.Add(1), 10)
	return c.Send(ctx, `{"jsonrpc":"2.0","id":`+id+`,"method":`+wire.Quote(method)+`,"params":`+params+`}`, method, name)
}

// Send posts one raw message. Method and name go into the headers of a modern client.
func (c *Client) Send(ctx context.Context, body, method, name string) (*Answer, error) {
	req, err := c.request(ctx, http.MethodPost, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.Modern {
		req.Header.Set("Mcp-Protocol-Version", wire.RevisionModern)
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", wire.EncodeHeaderValue(name))
		}
	}
	return c.Raw(req)
}

func (c *Client) request(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL, body)
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Session != "" {
		req.Header.Set("Mcp-Session-Id", c.Session)
	}
	return req, nil
}

// Raw sends a prepared request and reads the answer to its end.
func (c *Client) Raw(req *http.Request) (*Answer, error) {
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	return c.read(resp)
}

func (c *Client) read(resp *http.Response) (a *Answer, err error) {
	defer resp.Body.Close() // read to its end
	a = &Answer{Status: resp.StatusCode, Header: resp.Header}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		return a, readEvents(resp.Body, func(m wire.Message) bool {
			if m.Kind == wire.Result || m.Kind == wire.Failure {
				a.Msg = m
				return false
			}
			a.Notes = append(a.Notes, m)
			if c.OnNote != nil {
				c.OnNote(m)
			}
			return true
		})
	}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	if len(bytes.TrimSpace(a.Body)) > 0 {
		_ = wire.Parse(a.Body, wire.FromServer, &a.Msg) // a body that is no message stays in Body
	}
	return a, nil
}

// Stream opens a legacy client's GET stream, or with params a modern client's
// subscriptions/listen, and hands every message to f until it returns false or ctx ends.
func (c *Client) Stream(ctx context.Context, params string, f func(wire.Message) bool) error {
	method, body := http.MethodGet, ""
	if c.Modern {
		method = http.MethodPost
		body = `{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{` + c.meta() + `,` + params[1:] + `}`
	}
	req, err := c.request(ctx, method, strings.NewReader(body))
	if err != nil {
		return err
	}
	if c.Modern {
		req.Header.Set("Mcp-Protocol-Version", wire.RevisionModern)
		req.Header.Set("Mcp-Method", wire.MethodListen)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() // the stream is over
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return readEvents(resp.Body, f)
}

// readEvents reads the messages of an event stream.
func readEvents(r io.Reader, f func(wire.Message) bool) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); ok && len(data) > 0 {
			var m wire.Message
			if err := wire.Parse(bytes.Clone(data), wire.FromServer, &m); err != nil {
				return err
			}
			if !f(m) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
