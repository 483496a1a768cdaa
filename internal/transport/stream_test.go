package transport_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/wire"
)

// waiter is a tool that waits until it is cancelled or told to go on.
type waiter struct {
	entered chan struct{}
	proceed chan struct{}
	stopped atomic.Bool
}

func newWaiter() *waiter {
	return &waiter{entered: make(chan struct{}, 100), proceed: make(chan struct{})}
}

func (w *waiter) call(ctx context.Context, _ *exchange.Inbound, _ exchange.Stream) exchange.Reply {
	w.entered <- struct{}{}
	select {
	case <-ctx.Done():
		w.stopped.Store(true)
		return exchange.Fail(durward.Errorf(durward.Unknown, "", "cancelled"))
	case <-w.proceed:
		return result(`{"late":true}`)
	}
}

func TestB18_LateAnswersAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiter()
		r := newRig(t, map[string]tool{"wait": w.call}, nil)
		defer r.close()
		began := time.Now()
		s := r.stream(r.request(context.Background(), "POST", "/mcp", modernBody("1", "tools/call", `,"name":"wait"`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "wait"))
		if waited := time.Since(began); waited < 15*time.Second || waited > 20*time.Second {
			t.Errorf("the stream began after %s", waited)
		}
		beats := 0
		for time.Since(began) < 20*time.Minute {
			if ev, ok := s.next(); !ok || !ev.comment {
				t.Fatalf("after %s: %+v %v", time.Since(began), ev, ok)
			}
			beats++
		}
		if beats < 55 || beats > 85 {
			t.Errorf("%d signs of life in 20 minutes", beats)
		}
		close(w.proceed)
		if m := s.message(); m.data != `{"jsonrpc":"2.0","id":1,"result":{"late":true}}` {
			t.Error(m)
		}
		s.close()
	})
}

func TestB18_IdleStreamsAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.close()
		id := r.initialize(`{}`)
		get, _ := r.get(id)
		listen := r.stream(r.request(context.Background(), "POST", "/mcp", modernBody(`"l"`, wire.MethodListen, `,"notifications":{}`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", wire.MethodListen))
		if m := listen.message(); !strings.Contains(m.data, `"io.modelcontextprotocol/subscriptionId":"l"`) {
			t.Error(m)
		}
		for began := time.Now(); time.Since(began) < 2*time.Hour; { // longer than a session may be idle
			for _, s := range []*events{get, listen} {
				if ev, ok := s.next(); !ok || !ev.comment {
					t.Fatalf("after %s: %+v %v", time.Since(began), ev, ok)
				}
			}
		}
		r.core.feed(t).Notify(wire.NoteToolsChanged, nil)
		if m := get.message(); !strings.Contains(m.data, "tools/list_changed") {
			t.Error(m)
		}
		get.close()
		listen.close()
	})
}

func TestB9_AModernDisconnectCancels(t *testing.T) {
	w := newWaiter()
	r := newRig(t, map[string]tool{"wait": w.call}, nil)
	for _, early := range []bool{true, false} {
		w.stopped.Store(false)
		ctx, cancel := context.WithCancel(context.Background())
		req := r.request(ctx, "POST", "/mcp", modernBody("1", "tools/call", `,"name":"wait"`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "wait")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := r.client.Do(req); err == nil {
				resp.Body.Close()
				t.Error("answered")
			}
		}()
		<-w.entered
		cancel()
		<-done
		for deadline := time.Now().Add(time.Minute); !w.stopped.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not cancelled (%v)", early)
			}
		}
	}
}

func TestB9_ALegacyDisconnectWithoutStreamDoesNotCancel(t *testing.T) {
	w := newWaiter()
	r := newRig(t, map[string]tool{"wait": w.call}, nil)
	id := r.initialize(`{}`)
	found, err := r.store.Find(id, durward.Caller{Principal: "local"}, durward.Route{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req := r.request(ctx, "POST", "/mcp", legacyCall("1", "wait", ""), "Mcp-Session-Id", id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := r.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-w.entered
	cancel()
	<-done
	w.proceed <- struct{}{} // blocks for ever if the tool was cancelled
	for running := 1; running > 0; running, _ = found.InFlight() {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	if w.stopped.Load() {
		t.Error("cancelled")
	}
}

func TestASlowReaderLosesProgressFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		r := newRig(t, map[string]tool{"flood": func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
			for i := range 10_000 {
				out.Notify(wire.NoteProgress, fmt.Appendf(nil, `{"progressToken":7,"progress":%d}`, i))
				if i%1000 == 0 {
					out.Notify(wire.NoteMessage, []byte(`{"level":"info","data":1}`))
				}
			}
			close(done)
			if ctx.Err() != nil {
				t.Error("cancelled")
			}
			return result(`{}`)
		}}, nil)
		defer r.close()
		body := strings.Replace(modernBody("1", "tools/call", `,"name":"flood"`), `"_meta":{`, `"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"info",`, 1)
		s := r.stream(r.request(context.Background(), "POST", "/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "flood"))
		<-done // the core was never held up, though nobody read
		logs, progress, last := 0, 0, -1
		for {
			m := s.message().data
			if strings.Contains(m, `"result"`) {
				break
			}
			if strings.Contains(m, wire.NoteMessage) {
				logs++
				continue
			}
			progress++
			var at int
			if _, err := fmt.Sscanf(m, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, &at); err != nil || at <= last {
				t.Fatalf("after %d: %s", last, m)
			}
			last = at
		}
		if logs != 10 || progress >= 10_000 || last != 9999 {
			t.Errorf("%d logs, %d progress, the last %d", logs, progress, last)
		}
	})
}

func TestAModernReaderThatStopsLosesItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]tool{"flood": flood}, nil)
		defer r.close()
		body := strings.Replace(modernBody("1", "tools/call", `,"name":"flood"`), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"info",`, 1)
		s := r.stream(r.request(context.Background(), "POST", "/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "flood"))
		time.Sleep(5 * time.Minute) // inside the bubble: the stall time and more
		for {
			ev, ok := s.next()
			if !ok {
				return
			}
			if strings.Contains(ev.data, `"result"`) {
				t.Fatal("answered in full")
			}
		}
	})
}

// flood sends log messages until it is cancelled.
func flood(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
	for i := 0; ctx.Err() == nil; i++ {
		if i > 100_000 {
			return result(`{}`)
		}
		out.Notify(wire.NoteMessage, []byte(`{"level":"error","data":"`+strings.Repeat("x", 1000)+`"}`))
	}
	return exchange.Fail(durward.Errorf(durward.Unknown, "", "cancelled"))
}

func TestALegacyReaderThatStopsLosesItsStreamNotItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed, done := make(chan struct{}), make(chan struct{})
		r := newRig(t, map[string]tool{"flood": func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
			for range 5000 {
				out.Notify(wire.NoteMessage, []byte(`{"level":"error","data":1}`))
			}
			close(done)
			<-proceed
			if ctx.Err() != nil {
				return exchange.Fail(ctx.Err())
			}
			return result(`{"whole":true}`)
		}}, nil)
		defer r.close()
		id := r.initialize(`{}`)
		s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "flood", ""), "Mcp-Session-Id", id))
		<-done
		seen := event{}
		for ev, ok := s.next(); ok; ev, ok = s.next() {
			if ev.id != "" {
				seen = ev
			}
			if strings.Contains(ev.data, "result") {
				t.Fatal("answered on the stream that fell behind")
			}
		}
		if seen.id == "" {
			t.Fatal("saw nothing")
		}
		close(proceed)
		synctest.Wait()
		// What is left is the newest, and the answer. What came before is gone.
		for _, from := range []struct {
			id   string
			logs int
		}{{seen.id, 255}, {moved(seen.id, 5000), 0}} {
			s, _ = r.get(id, "Last-Event-ID", from.id)
			for range from.logs {
				if m := s.message(); !strings.Contains(m.data, "notifications/message") {
					t.Fatal(m)
				}
			}
			if m := s.message(); m.data != `{"jsonrpc":"2.0","id":1,"result":{"whole":true}}` {
				t.Error(m)
			}
		}
	})
}

func TestAReaderThatTakesNothingOfALongAnswerIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]tool{"long": func(context.Context, *exchange.Inbound, exchange.Stream) exchange.Reply {
			return result(`"` + strings.Repeat("x", 1<<20) + `"`)
		}}, nil)
		defer r.close()
		resp := r.do(r.request(context.Background(), "POST", "/mcp", modernBody("1", "tools/call", `,"name":"long"`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "long"))
		defer resp.Body.Close()
		time.Sleep(2 * time.Minute) // inside the bubble: the stall time and more
		if body, err := readAll(resp); err == nil {
			t.Errorf("got all %d bytes", len(body))
		}
	})
}

func TestABodyThatDoesNotComeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil)
		defer r.close()
		conn, err := r.pipes.dial(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{", secret)
		buf := make([]byte, 4096)
		n, err := conn.Read(buf)
		if waited := time.Since(began); waited < time.Minute || waited > 2*time.Minute || err != nil || !strings.HasPrefix(string(buf[:n]), "HTTP/1.1 400 ") {
			t.Errorf("after %s: %v %s", waited, err, buf[:n])
		}
		_, _ = io.Copy(io.Discard, conn) // until the server hangs up
	})
}

func TestNothingIsSentAfterTheAnswer(t *testing.T) {
	var kept exchange.Stream
	r := newRig(t, map[string]tool{"keep": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		kept = out
		return result(`{}`)
	}}, nil)
	for range 2 {
		if _, body := r.callTool("1", "keep"); body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Error(body)
		}
		kept.Notify("notifications/vendor", nil)
		if reply := kept.Ask(context.Background(), wire.MethodRootsList, nil); reply.Error == nil {
			t.Error("asked")
		}
	}
}

func TestAClientThatTakesOnlyJSONGetsOnlyJSON(t *testing.T) {
	r := newRig(t, map[string]tool{"note": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify("notifications/vendor", nil)
		return result(`{}`)
	}}, nil)
	resp, body := r.callTool("1", "note", "Accept", "application/json")
	if resp.Header.Get("Content-Type") != "application/json" || body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(resp.Header, body)
	}
	resp, body = r.callTool("1", "echo", "Accept", "text/event-stream")
	if resp.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "event: message\ndata: {") {
		t.Error(resp.Header, body)
	}
	const eventsFirst = "text/event-stream, application/json"
	resp, body = r.callTool("1", "echo", "Accept", eventsFirst)
	if resp.Header.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(body, "event: message\ndata: {") {
		t.Error(resp.Header, body)
	}
	resp, body = r.callTool("1", "missing", "Accept", eventsFirst)
	if resp.Header.Get("Content-Type") != "application/json" || code(t, body) != wire.CodeInvalidParams {
		t.Error(resp.Header, body)
	}
	if resp, _ := r.modern("1", wire.MethodListen, "", "Accept", "application/json"); resp.StatusCode != 406 {
		t.Error(resp.StatusCode)
	}
}

func TestAPanicOfTheCoreEndsOnlyItsRequest(t *testing.T) {
	r := newRig(t, map[string]tool{"panic": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify("notifications/vendor", nil)
		panic(http.ErrAbortHandler) // which net/http does not log
	}}, nil)
	id := r.initialize(`{}`)
	for _, req := range []*http.Request{
		r.request(context.Background(), "POST", "/mcp", legacyCall("1", "panic", ""), "Mcp-Session-Id", id),
		r.request(context.Background(), "POST", "/mcp", modernBody("1", "tools/call", `,"name":"panic"`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "panic"),
	} {
		if resp, err := r.client.Do(req); err == nil {
			if body, err := readAll(resp); err == nil {
				t.Errorf("answered %s", body)
			}
		}
	}
	found, err := r.store.Find(id, durward.Caller{Principal: "local"}, durward.Route{})
	if err != nil {
		t.Fatal(err)
	}
	if running, waiting := found.InFlight(); running+waiting != 0 {
		t.Errorf("%d and %d left", running, waiting)
	}
	if resp, _ := r.send("POST", "/mcp", legacyCall("1", "echo", ""), "Mcp-Session-Id", id); resp.StatusCode != 200 {
		t.Error(resp.StatusCode)
	}
}

// In a bubble: outside of one a reader whom the machine lets wait for the stall
// time is one that reads nothing.
func TestOverHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		r := newRig(t, map[string]tool{"progress": func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
			out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
			select {
			case <-proceed:
			case <-ctx.Done():
			}
			return result(`{"long":"` + strings.Repeat("x", 300<<10) + `"}`)
		}}, func(o *transport.Options, _ *session.Options, _ *identity.Options) {
			o.Stall, o.KeepAlive = 50*time.Millisecond, 200*time.Millisecond
		})
		defer r.close()
		r.client = overHTTP2(t, r.edge)
		body := strings.Replace(modernBody("1", "tools/call", `,"name":"progress"`), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
		s := r.stream(r.request(context.Background(), "POST", "/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "progress"))
		defer s.close()
		if s.resp.ProtoMajor != 2 {
			t.Fatal(s.resp.Proto)
		}
		s.message()
		for range 3 { // idle for longer than the stall time, which is for writes only
			if ev, ok := s.next(); !ok || !ev.comment {
				t.Fatal(ev, ok)
			}
		}
		close(proceed)
		if m := s.message(); len(m.data) < 300<<10 {
			t.Error(m)
		}
	})
}

// overHTTP2 serves handler by HTTP/2 over pipes in memory, and returns its client.
func overHTTP2(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	by := new(http.Protocols)
	by.SetUnencryptedHTTP2(true)
	conns := newPipes()
	server := &http.Server{Handler: handler, Protocols: by}
	served := make(chan error, 1)
	go func() { served <- server.Serve(conns) }()
	rt := &http.Transport{Protocols: by, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return conns.dial(ctx) }}
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
	return &http.Client{Transport: rt}
}
