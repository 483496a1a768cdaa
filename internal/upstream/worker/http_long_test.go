package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/upstream/worker"
	"durward/internal/wire"
)

// slow is a server whose answers take hours, of which it says nothing, or that it
// lives, or only the headers.
type slow struct{}

// RoundTrip implements http.RoundTripper.
func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r, ContentLength: -1}
	var m wire.Message
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		_ = wire.Parse(body, wire.FromClient, &m) // always ours
	}
	name, _ := m.Params.String(m.Params.Name)
	answer := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"ok":true}}`
	switch {
	case m.Method == wire.MethodInitialize:
		resp.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + initializeResult + `}`))
		return resp, nil
	case m.Method == wire.NoteInitialized:
		resp.StatusCode, resp.Body = 202, http.NoBody
		return resp, nil
	case r.Method == http.MethodGet:
		resp.Header.Set("Content-Type", "text/event-stream")
		out, in := io.Pipe()
		go func() {
			for range 13 * 60 {
				time.Sleep(time.Minute)
				fmt.Fprint(in, ": keep-alive\n\n")
			}
			fmt.Fprint(in, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
			<-r.Context().Done()
			in.CloseWithError(r.Context().Err())
		}()
		resp.Body = out
		return resp, nil
	case name == "headers":
		time.Sleep(12 * time.Hour)
		resp.Body = io.NopCloser(strings.NewReader(answer))
		return resp, nil
	}
	resp.Header.Set("Content-Type", "text/event-stream")
	out, in := io.Pipe()
	go func() {
		for range 12 * 60 {
			time.Sleep(time.Minute)
			if name == "alive" {
				fmt.Fprint(in, ": keep-alive\n\n")
			}
		}
		fmt.Fprint(in, "data: "+answer+"\n\n")
		in.Close()
	}()
	resp.Body = out
	return resp, nil
}

func TestB18_NothingCutsALongCallOrStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &replySink{opened: make(chan struct{}), replies: make(chan *exchange.Response, 3), closed: make(chan struct{}), notes: make(chan *exchange.Notification, 1)}
		link := worker.OpenHTTP(exchange.LinkSpec{Server: "web", URL: "http://h/mcp", Era: wire.Legacy}, slow{}, s)
		<-s.opened
		for i, name := range []string{"headers", "silent", "alive"} {
			m := &exchange.Call{ID: uint64(i + 1)}
			m.Method = wire.MethodToolsCall
			if err := wire.ParseParams([]byte(`{"name":"`+name+`"}`), &m.Params); err != nil {
				t.Fatal(err)
			}
			if err := link.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if r := <-s.replies; string(r.Result) != `{"ok":true}` {
				t.Errorf("call %d: %+v", r.ID, r.Fault)
			}
		}
		if n := <-s.notes; n.Method != wire.NoteToolsChanged {
			t.Errorf("%+v", n)
		}
		link.Close()
		<-s.closed
	})
}
