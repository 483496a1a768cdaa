package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"durward/internal/wire"
)

// endpoint is one MCP endpoint to send load to.
type endpoint struct {
	address string // host:port
	path    string
	token   string // bearer token; empty for none
	prefix  string // of tool names
	meta    string // of requests, as a member of params; empty: that of a modern client that can do nothing
	session string // Mcp-Session-Id; empty: the client is modern
}

// call is the request that is sent over and over.
type call struct {
	tool      string
	arguments string
	want      []byte // must stand in every answer
}

// sample is what one run against one endpoint measured.
type sample struct {
	calls, errors int
	elapsed       time.Duration
	latencies     []time.Duration // sorted
}

func (s *sample) rps() float64 { return float64(s.calls) / s.elapsed.Seconds() }

func (s *sample) quantile(q float64) time.Duration {
	if len(s.latencies) == 0 {
		return 0
	}
	return s.latencies[int(q*float64(len(s.latencies)-1))]
}

// run sends c from so many callers at once, each on its own connection, for so long.
func run(e endpoint, c call, callers int, d time.Duration) (*sample, error) {
	results := make([]sample, callers)
	errs := make([]error, callers)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range callers {
		wg.Go(func() { errs[i] = results[i].caller(e, c, i, start.Add(d)) })
	}
	wg.Wait()
	all := &sample{elapsed: time.Since(start)}
	for i := range results {
		all.calls += results[i].calls
		all.errors += results[i].errors
		all.latencies = append(all.latencies, results[i].latencies...)
	}
	slices.Sort(all.latencies)
	return all, errors.Join(errs...)
}

func (s *sample) caller(e endpoint, c call, n int, until time.Time) error {
	conn, err := dial(e)
	if err != nil {
		return err
	}
	defer conn.close()
	for id := n * 1_000_000_000; time.Now().Before(until); id++ {
		began := time.Now()
		ok, err := conn.call(e, c, id)
		if err != nil {
			return err
		}
		s.latencies = append(s.latencies, time.Since(began))
		s.calls++
		if !ok {
			s.errors++
		}
	}
	return nil
}

// connection is a keep-alive HTTP/1.1 connection with as little client around
// it as possible: what is measured should be the server.
type connection struct {
	net  net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

func dial(e endpoint) (*connection, error) {
	conn, err := net.Dial("tcp", e.address)
	if err != nil {
		return nil, err
	}
	return &connection{net: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (c *connection) close() { _ = c.net.Close() }

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// call sends one tools/call and reports whether the answer is right.
func (c *connection) call(e endpoint, do call, id int) (bool, error) {
	rawID := strconv.Itoa(id)
	name := e.prefix + do.tool
	body := append(c.body[:0], `{"jsonrpc":"2.0","id":`...)
	body = append(body, rawID...)
	body = append(body, `,"method":"tools/call","params":{"name":"`...)
	body = append(body, name...)
	body = append(body, `","arguments":`...)
	body = append(body, do.arguments...)
	if e.session == "" {
		body = append(body, ',')
		body = append(body, cmp.Or(e.meta, meta)...)
	}
	body = append(body, "}}"...)
	c.body = body
	answer, err := c.post(e, wire.MethodToolsCall, name, body)
	if err != nil {
		return false, err
	}
	idAt := bytes.Index(answer, []byte(`"id":`+rawID+`,`))
	return idAt >= 0 && bytes.Contains(answer, do.want) && !bytes.Contains(answer[:min(len(answer), 200)], []byte(`"error"`)), nil
}

// post sends a message and returns the body of the answer.
func (c *connection) post(e endpoint, method, name string, body []byte) ([]byte, error) {
	out := append(c.out[:0], "POST "...)
	out = append(out, e.path...)
	out = append(out, " HTTP/1.1\r\nHost: "...)
	out = append(out, e.address...)
	out = append(out, "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: "...)
	if e.session != "" {
		out = append(out, "2025-11-25\r\nMcp-Session-Id: "...)
		out = append(out, e.session...)
	} else {
		out = append(out, "2026-07-28\r\nMcp-Method: "...)
		out = append(out, method...)
		if name != "" {
			out = append(out, "\r\nMcp-Name: "...)
			out = append(out, name...)
		}
	}
	if e.token != "" {
		out = append(out, "\r\nAuthorization: Bearer "...)
		out = append(out, e.token...)
	}
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(len(body)), 10)
	out = append(out, "\r\n\r\n"...)
	out = append(out, body...)
	c.out = out
	if _, err := c.net.Write(out); err != nil {
		return nil, err
	}
	return c.answer()
}

// answer reads one response, with a length or in chunks.
func (c *connection) answer() ([]byte, error) {
	length, chunked := -1, false
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if first && !bytes.Contains(line, []byte(" 200 ")) {
			return nil, fmt.Errorf("the endpoint answered %s", line)
		}
		key, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case bytes.EqualFold(key, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		case bytes.EqualFold(key, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	if chunked {
		return c.chunks()
	}
	return c.read(length)
}

func (c *connection) read(n int) ([]byte, error) {
	if n < 0 {
		return nil, errors.New("the answer has neither a length nor chunks")
	}
	if cap(c.body) < n {
		c.body = make([]byte, 0, n)
	}
	body := c.body[:n]
	_, err := io.ReadFull(c.in, body)
	return body, err
}

func (c *connection) chunks() ([]byte, error) {
	var body []byte
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace([]byte(line))), 16, 64)
		if err != nil {
			return nil, err
		}
		part := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, part); err != nil {
			return nil, err
		}
		if n == 0 {
			return body, nil
		}
		body = append(body, part[:n]...)
	}
}
