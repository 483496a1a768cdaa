package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
)

// stream is what goes back to who sent a request over HTTP. It outlives the
// connection: a legacy client that lost it may come back for the rest.
type stream struct {
	server *server
	at     *session // nil: nobody can come back
	number int

	mu     sync.Mutex // guards the fields below
	events [][]byte
	torn   []byte        // the beginning of an event that is never finished
	over   bool          // nothing more will come
	more   chan struct{} // closed and made anew when something came
}

func newStream(s *server, at *session) *stream {
	s.mu.Lock()
	s.streams++
	t := &stream{server: s, at: at, number: s.streams, more: make(chan struct{})}
	s.mu.Unlock()
	if at != nil {
		at.mu.Lock()
		at.streams[t.number] = t
		at.mu.Unlock()
	}
	return t
}

func (t *stream) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.more)
	t.more = make(chan struct{})
}

func (t *stream) send(line []byte) { t.change(func() { t.events = append(t.events, line) }) }
func (t *stream) finish()          { t.change(func() { t.over = true }) }

// half sends a beginning, and waits until it is out.
func (t *stream) half(line []byte) {
	t.change(func() { t.torn = line })
	for {
		t.mu.Lock()
		gone, more := t.torn == nil, t.more
		t.mu.Unlock()
		if gone {
			return
		}
		<-more
	}
}

// whole answers with one message instead of a stream.
func (t *stream) whole(w http.ResponseWriter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) == 0 {
		w.WriteHeader(http.StatusAccepted) // cancelled: there is no answer
		return
	}
	line := t.events[len(t.events)-1]
	status := http.StatusOK
	if bytes.Contains(line, []byte(`"error":{"code":-32601`)) {
		status = http.StatusNotFound
	}
	writeJSON(w, status, line)
}

func beginStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush() // who does not read it is gone
}

// pump writes events to a connection, beginning behind the first so many, until
// the stream or the connection is over.
func (t *stream) pump(ctx context.Context, w http.ResponseWriter, from int) {
	beginStream(w)
	if t.at != nil && from == 0 { // so that a client can come back before there is any event
		_, _ = w.Write([]byte("id: " + strconv.Itoa(t.number) + "-0\nretry: 50\ndata:\n\n"))
		_ = http.NewResponseController(w).Flush()
	}
	for {
		t.mu.Lock()
		events, torn, over, more := t.events[min(from, len(t.events)):], t.torn, t.over, t.more
		t.mu.Unlock()
		t.server.breathe()
		for _, line := range events {
			from++
			if err := t.write(w, from, line); err != nil {
				return
			}
		}
		if torn != nil {
			_, _ = w.Write(append([]byte("data: "), torn...))
			_ = http.NewResponseController(w).Flush()
			t.change(func() { t.torn = nil })
		}
		if over {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

func (t *stream) write(w http.ResponseWriter, seq int, line []byte) error {
	var b bytes.Buffer
	if t.at != nil {
		b.WriteString("id: " + strconv.Itoa(t.number) + "-" + strconv.Itoa(seq) + "\n")
	}
	b.WriteString("data: ")
	b.Write(line)
	b.WriteString("\n\n")
	_, err := w.Write(b.Bytes())
	return errors.Join(err, http.NewResponseController(w).Flush())
}

// ask puts a question on the stream of the request it belongs to.
func (t *stream) ask(ctx context.Context, params []byte) (response, error) {
	id, answer := t.server.question()
	t.send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + string(params) + `}`))
	return t.server.await(ctx, id, answer)
}
