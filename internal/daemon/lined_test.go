package daemon_test

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/client"
	"durward/internal/paths"
	"durward/internal/wire"
)

// lined is a client of the stdio entrance, which durward stdio carries lines to.
type lined struct {
	conn   io.ReadWriteCloser
	modern bool

	mu      sync.Mutex // guards all below
	next    int
	waiting map[string]chan wire.Message
	notes   []string // methods of what came without being asked for
}

func newLined(t *testing.T, route durward.Route, modern bool) *lined {
	t.Helper()
	conn, err := client.New(paths.Socket()).Stdio(t.Context(), route)
	if err != nil {
		t.Fatal(err)
	}
	c := &lined{conn: conn, modern: modern, waiting: map[string]chan wire.Message{}}
	var over sync.WaitGroup
	over.Go(c.read)
	t.Cleanup(func() {
		_ = conn.Close()
		over.Wait()
	})
	if !modern {
		c.do(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"lines","version":"1"}}`)
		c.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return c
}

func (c *lined) read() {
	in := bufio.NewReader(c.conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var m wire.Message
		if wire.Parse([]byte(strings.TrimSpace(line)), wire.FromServer, &m) != nil {
			continue
		}
		c.mu.Lock()
		if to := c.waiting[string(m.ID)]; to != nil && m.Method == "" {
			delete(c.waiting, string(m.ID))
			to <- m
		} else {
			c.notes = append(c.notes, m.Method)
		}
		c.mu.Unlock()
	}
}

func (c *lined) write(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// send sends a request and returns its id, and where the answer comes.
func (c *lined) send(t *testing.T, method, params string) (id string, answer chan wire.Message) {
	t.Helper()
	if c.modern {
		params = strings.TrimSuffix(params, "}")
		if params != "{" {
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	}
	answer = make(chan wire.Message, 1)
	c.mu.Lock()
	c.next++
	id = strconv.Itoa(c.next)
	c.waiting[id] = answer
	c.mu.Unlock()
	c.write(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
	return id, answer
}

func (c *lined) do(t *testing.T, method, params string) wire.Message {
	t.Helper()
	_, answer := c.send(t, method, params)
	return got(t, answer)
}

// got waits for an answer.
func got(t *testing.T, answer chan wire.Message) wire.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case m := <-answer:
		return m
	case <-ctx.Done():
		t.Fatal("no answer")
		return wire.Message{}
	}
}
