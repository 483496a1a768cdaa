package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// Client is a client over HTTP, of one era. Its methods may be called from any
// goroutine.
type Client struct {
	Name string // that it says it has; default: kill

	modern bool
	addr   string
	http   http.Client

	mu      sync.Mutex // guards session, and is held while one is opened
	session string     // of a legacy client; empty: none yet
}

// NewClient makes a client of the service at addr.
func NewClient(addr string, modern bool) *Client {
	return &Client{Name: "kill", modern: modern, addr: addr, http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}}
}

// HangUp closes the connections that no call is on. After a kill they are dead, and a
// call that takes one before that is noticed breaks.
func (c *Client) HangUp() { c.http.CloseIdleConnections() }

// Era is modern or legacy.
func (c *Client) Era() string {
	if c.modern {
		return "modern"
	}
	return "legacy"
}

// Request is one request. Its id is a text and goes with it as the JSON-RPC id.
type Request struct {
	ID     string
	Method string
	Name   string // of the tool, or URI of the resource; empty for lists
	Params string // the params object, without _meta and without its braces
	Header map[string]string
}

// Answer is what came of a request.
type Answer struct {
	Result json.RawMessage // nil when there is an error
	Code   int             // of the error
	Text   string          // of the error
	Broke  error           // there is no answer
	Unsent bool            // it certainly never left
}

// OK reports whether the request was executed and went well.
func (a *Answer) OK() bool {
	return a.Result != nil && !bytes.Contains(a.Result, []byte(`"isError":true`))
}

// String says what came of it, in short.
func (a *Answer) String() string {
	switch {
	case a.Broke != nil:
		return "no answer: " + a.Broke.Error()
	case a.Result == nil:
		return fmt.Sprintf("error %d: %s", a.Code, a.Text)
	default:
		return fmt.Sprintf("%.200s", a.Result)
	}
}

// Do sends a request and waits for the answer.
func (c *Client) Do(ctx context.Context, r Request) Answer {
	header := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": r.Method}
	params := r.Params
	if c.modern {
		if r.Name != "" {
			header["Mcp-Name"] = r.Name
		}
		params = join(params, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"kill","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`)
	} else {
		session, failed := c.open(ctx)
		if failed != nil {
			return *failed
		}
		header = map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session}
	}
	for name, value := range r.Header {
		header[name] = value
	}
	id, err := json.Marshal(r.ID)
	if err != nil {
		return Answer{Broke: err, Unsent: true}
	}
	a, _ := c.post(ctx, string(id), `{"jsonrpc":"2.0","id":`+string(id)+`,"method":"`+r.Method+`","params":{`+params+`}}`, header)
	if errors.Is(a.Broke, errSession) {
		c.mu.Lock()
		c.session = ""
		c.mu.Unlock()
	}
	return a
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "," + b
}

var errSession = errors.New("the session is not known any more")

// open opens a session, if there is none.
func (c *Client) open(ctx context.Context) (session string, failed *Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		return c.session, nil
	}
	name, err := json.Marshal(c.Name)
	if err != nil {
		return "", &Answer{Broke: err, Unsent: true}
	}
	hello := `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":` + string(name) + `,"version":"1"}}}`
	a, header := c.post(ctx, `"hello"`, hello, nil)
	if session = header.Get("Mcp-Session-Id"); a.Result == nil || session == "" {
		a.Unsent = true // what it was opened for
		if a.Broke == nil {
			a.Broke = fmt.Errorf("initialize: %s", &a)
		}
		return "", &a
	}
	note := map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": session}
	_, _ = c.post(ctx, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, note) // it has no answer
	c.session = session
	return session, nil
}

// post sends a message and reads the response with that id.
func (c *Client) post(ctx context.Context, id, body string, header map[string]string) (Answer, http.Header) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+"/mcp", strings.NewReader(body))
	if err != nil {
		return Answer{Broke: err, Unsent: true}, nil
	}
	req.GetBody = nil // so that net/http sends it once at most
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+Token)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var op *net.OpError
		return Answer{Broke: err, Unsent: errors.As(err, &op) && op.Op == "dial"}, nil
	}
	defer resp.Body.Close()
	return read(resp, id), resp.Header
}

// read reads the response with that id out of a body, or out of a stream of events.
func read(resp *http.Response, id string) Answer {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return Answer{Broke: err}
		}
		a, ok := response(body, id)
		switch {
		case ok:
			return a
		case resp.StatusCode == http.StatusNotFound:
			return Answer{Broke: errSession, Unsent: true}
		default:
			return Answer{Broke: fmt.Errorf("%s with a body that is no response: %.200q", resp.Status, body)}
		}
	}
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return Answer{Broke: err}
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if a, ok := response(data, id); ok {
				return a
			}
		}
	}
}

func response(body []byte, id string) (a Answer, ok bool) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &m) != nil || string(m.ID) != id {
		return a, false
	}
	if a.Result = m.Result; m.Error != nil {
		a.Result, a.Code, a.Text = nil, m.Error.Code, m.Error.Message
	}
	return a, m.Error != nil || m.Result != nil
}
