package transport_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
	"durward/internal/wire"
)

func TestInitializeSettlesTheRevision(t *testing.T) {
	r := newRig(t, nil, nil)
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + asked + `","capabilities":{"roots":{}},"clientInfo":{"name":"old","version":"1"}}}`
		resp, answer := r.send("POST", "/mcp", body, "MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "initialize")
		if resp.StatusCode != 200 || !strings.Contains(answer, `"protocolVersion":"`+want+`"`) {
			t.Errorf("%s: %d %s", asked, resp.StatusCode, answer)
		}
		id := resp.Header.Get("Mcp-Session-Id")
		in := r.core.last(t)
		if id == "" || string(in.Caller.Session) != id || in.Client.Era != wire.Legacy || in.Client.Revision != want || in.Caller.Client.Name != "old" {
			t.Errorf("%s: session %q, core saw %+v", asked, id, in)
		}
	}
	if resp, body := r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`); resp.StatusCode != 400 || code(t, body) != -32602 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

func TestB3_UnknownSessionsAreNotFound(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.initialize(`{}`)
	list := `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	tests := []struct {
		name    string
		path    string
		headers []string
		status  int
	}{
		{"its own", "/mcp", []string{"Mcp-Session-Id", id}, 200},
		{"with its revision", "/mcp", []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"}, 200},
		{"with a revision nobody speaks", "/mcp", []string{"Mcp-Session-Id", id, "MCP-Protocol-Version", "1999-01-01"}, 400},
		{"none", "/mcp", nil, 400},
		{"unknown", "/mcp", []string{"Mcp-Session-Id", string(durward.NewSessionID())}, 404},
		{"of another principal", "/mcp", []string{"Mcp-Session-Id", id, "Authorization", "Bearer " + secret + "-of-another"}, 404},
		{"of another route", "/servers/x/mcp", []string{"Mcp-Session-Id", id}, 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := r.send("POST", tt.path, list, tt.headers...)
			if resp.StatusCode != tt.status || (code(t, body) == 0) != (tt.status == 200) || idOf(t, body) != "9" {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	for _, method := range []string{"GET", "DELETE"} {
		if resp, _ := r.send(method, "/mcp", "", "Mcp-Session-Id", "unknown"); resp.StatusCode != 404 {
			t.Errorf("%s: %d", method, resp.StatusCode)
		}
	}
	if resp, _ := r.send("DELETE", "/mcp", "", "Mcp-Session-Id", id, "Authorization", "Bearer "+secret+"-of-another"); resp.StatusCode != 404 {
		t.Errorf("foreign DELETE: %d", resp.StatusCode)
	}
	if resp, _ := r.send("DELETE", "/mcp", "", "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"); resp.StatusCode != 204 {
		t.Errorf("DELETE: %d", resp.StatusCode)
	}
	if resp, body := r.send("POST", "/mcp", list, "Mcp-Session-Id", id); resp.StatusCode != 404 || code(t, body) == 0 {
		t.Errorf("after DELETE: %d %s", resp.StatusCode, body)
	}
	if _, gone := r.core.sessions(); gone != 1 || r.store.Len() != 0 {
		t.Errorf("%d detached, %d open", gone, r.store.Len())
	}
}

func TestB3_ModernClientsNeedNoSession(t *testing.T) {
	for range 2 { // a restart in between is not noticed
		r := newRig(t, nil, nil)
		if resp, body := r.callTool("1", "echo", "Mcp-Session-Id", "of an earlier life"); resp.StatusCode != 200 {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
}

func TestPingAndSetLevel(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.initialize(`{}`)
	_, body := r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", id)
	if body != `{"jsonrpc":"2.0","id":1,"result":{}}` || r.core.last(t).Method == "ping" {
		t.Error(body)
	}
	_, body = r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`, "Mcp-Session-Id", id)
	if body != `{"jsonrpc":"2.0","id":2,"result":{}}` || r.core.last(t).Method != "logging/setLevel" {
		t.Error(body)
	}
	r.send("POST", "/mcp", legacyCall("3", "echo", ""), "Mcp-Session-Id", id)
	if level := r.core.last(t).LogLevel; level != "warning" {
		t.Errorf("level %q", level)
	}
}

func TestInFlightOfOneSession(t *testing.T) {
	entered, release := make(chan string, 10), make(chan struct{})
	r := newRig(t, map[string]tool{"wait": func(_ context.Context, in *exchange.Inbound, _ exchange.Stream) exchange.Reply {
		entered <- string(in.ID)
		<-release
		return result("{}")
	}}, func(_ *transport.Options, s *session.Options, _ *identity.Options) { s.InFlight = 2 })
	id := r.initialize(`{}`)
	call := func(raw string) (int, string) {
		resp, body := r.send("POST", "/mcp", legacyCall(raw, "wait", ""), "Mcp-Session-Id", id)
		return resp.StatusCode, body
	}
	var all sync.WaitGroup
	for i := 1; i <= 4; i++ { // two run, two wait
		all.Go(func() {
			if status, body := call(itoa(i)); status != 200 || code(t, body) != 0 {
				t.Errorf("%d: %d %s", i, status, body)
			}
		})
		if i <= 2 {
			<-entered
		}
	}
	found, err := r.store.Find(id, durward.Caller{Principal: "local"}, durward.Route{})
	if err != nil {
		t.Fatal(err)
	}
	for _, waiting := found.InFlight(); waiting < 2; _, waiting = found.InFlight() {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	if status, body := call("5"); status != 200 || code(t, body) != wire.CodeUnavailable || !strings.Contains(body, "limits.in_flight") {
		t.Errorf("over the cap: %d %s", status, body)
	}
	if _, body := call("1"); code(t, body) != wire.CodeInvalidRequest || idOf(t, body) != "1" {
		t.Errorf("same id: %s", body)
	}
	// The queued request is withdrawn before its turn and never reaches the core.
	r.send("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`, "Mcp-Session-Id", "nonsense")
	close(release)
	all.Wait()
}

func TestCancelMatchesIdBytes(t *testing.T) {
	entered := make(chan struct{}, 1)
	r := newRig(t, map[string]tool{"wait": func(ctx context.Context, _ *exchange.Inbound, _ exchange.Stream) exchange.Reply {
		entered <- struct{}{}
		<-ctx.Done()
		return exchange.Fail(durward.Errorf(durward.Unknown, "", "cancelled"))
	}}, nil)
	id := r.initialize(`{}`)
	cancel := func(raw, session string) {
		r.send("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+raw+`}}`, "Mcp-Session-Id", session)
	}
	found, err := r.store.Find(id, durward.Caller{Principal: "local"}, durward.Route{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, body := r.send("POST", "/mcp", legacyCall("1", "wait", ""), "Mcp-Session-Id", id)
		if resp.StatusCode != 200 || code(t, body) != wire.CodeUnknownOutcome {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}()
	<-entered
	stranger := r.initialize(`{}`)
	for _, other := range []string{`1.0`, `"1"`, `2`, `01`} {
		cancel(other, id)
	}
	cancel(`1`, stranger)
	if running, _ := found.InFlight(); running != 1 {
		t.Fatal("another id cancelled the request")
	}
	cancel(`1`, id)
	within(t, "the cancelled request", done)
}

func TestB9_ProgressComesInOrderBeforeTheResult(t *testing.T) {
	r := newRig(t, map[string]tool{"progress": func(_ context.Context, in *exchange.Inbound, out exchange.Stream) exchange.Reply {
		if !in.Progress {
			return result(`{"wanted":false}`)
		}
		for i := range 50 {
			out.Notify(wire.NoteProgress, fmt.Appendf(nil, `{"progressToken":7,"progress":%d,"extra":1e400}`, i))
		}
		return result("{\"done\":\r\ntrue}")
	}}, nil)
	id := r.initialize(`{}`)
	for name, req := range map[string]func(string) *events{
		"legacy": func(token string) *events {
			return r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("3", "progress", `,"_meta":{"progressToken":`+token+`}`), "Mcp-Session-Id", id))
		},
		"modern": func(token string) *events {
			body := strings.Replace(modernBody("3", "tools/call", `,"name":"progress"`), `"_meta":{`, `"_meta":{"progressToken":`+token+`,`, 1)
			return r.stream(r.request(context.Background(), "POST", "/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "progress"))
		},
	} {
		for _, token := range []string{`"progress-test-1"`, `9007199254740993`, `"\u00e4"`} {
			s := req(token)
			if s.resp.Header.Get("X-Accel-Buffering") != "no" {
				t.Error(s.resp.Header)
			}
			for i := range 50 {
				want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"extra":1e400}}`, token, i)
				if got := s.message(); got.data != want || (got.id != "") != (name == "legacy") {
					t.Fatalf("%s: got %+v, want %s", name, got, want)
				}
			}
			if got := s.message(); got.data != `{"jsonrpc":"2.0","id":3,"result":{"done":  true}}` {
				t.Errorf("%s: %s", name, got.data)
			}
			if ev, ok := s.next(); ok {
				t.Errorf("%s: after the result: %+v", name, ev)
			}
		}
	}
	if _, body := r.callTool("1", "progress"); body != `{"jsonrpc":"2.0","id":1,"result":{"wanted":false}}` {
		t.Error(body)
	}
}

func TestLogMessagesByLevel(t *testing.T) {
	r := newRig(t, map[string]tool{"log": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		for _, level := range []string{"debug", "info", "error", "unheard-of"} {
			out.Notify(wire.NoteMessage, []byte(`{"level":"`+level+`","data":1}`))
		}
		out.Notify("notifications/vendor", nil)
		return result(`{}`)
	}}, nil)
	seen := func(s *events) string {
		defer s.close()
		var got []string
		for {
			m := s.message().data
			if strings.Contains(m, `"result"`) {
				return strings.Join(got, " ")
			}
			if at := strings.Index(m, `"level":"`); at >= 0 {
				m, _, _ = strings.Cut(m[at+9:], `"`)
			} else {
				m = "vendor"
			}
			got = append(got, m)
		}
	}
	modern := func(level string) string {
		body := modernBody("3", "tools/call", `,"name":"log"`)
		if level != "" {
			body = strings.Replace(body, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+level+`",`, 1)
		}
		return seen(r.stream(r.request(context.Background(), "POST", "/mcp", body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "log")))
	}
	id := r.initialize(`{}`)
	legacy := func(level string) string {
		if level != "" {
			r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"`+level+`"}}`, "Mcp-Session-Id", id)
		}
		return seen(r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("3", "log", ""), "Mcp-Session-Id", id)))
	}
	for _, tt := range []struct{ got, want string }{
		{modern(""), "vendor"},
		{modern("debug"), "debug info error unheard-of vendor"},
		{modern("warning"), "error unheard-of vendor"},
		{legacy(""), "debug info error unheard-of vendor"},
		{legacy("info"), "info error unheard-of vendor"},
		{legacy("emergency"), "unheard-of vendor"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// asker is a tool that asks the client.
func asker(method, params string) tool {
	return func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		reply := out.Ask(ctx, method, []byte(params))
		if reply.Error != nil {
			return reply
		}
		return result(`{"answer":` + string(reply.Result) + `}`)
	}
}

func TestB10_AskingALegacyClient(t *testing.T) {
	r := newRig(t, map[string]tool{"ask": asker(wire.MethodElicit, `{"message":"who","requestedSchema":{"type":"object","x":1e400}}`)}, nil)
	id := r.initialize(`{"elicitation":{}}`)
	for _, answer := range []struct{ body, want string }{
		{`"result":{"action":"accept","content":{"n":9007199254740993}}`, `"result":{"answer":{"action":"accept","content":{"n":9007199254740993}}}`},
		{`"error":{"code":-1,"message":"user said no","data":[1]}`, `"error":{"code":-1,"message":"user said no","data":[1]}`},
	} {
		s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall(`"c"`, "ask", ""), "Mcp-Session-Id", id))
		asked := s.message().data
		n := idOf(t, asked)
		if asked != `{"jsonrpc":"2.0","id":`+n+`,"method":"elicitation/create","params":{"message":"who","requestedSchema":{"type":"object","x":1e400}}}` {
			t.Fatal(asked)
		}
		for _, wrong := range []string{`"` + n + `"`, n + ".0", "0" + n, "999"} { // not ours
			r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":`+strings.TrimPrefix(wrong, "0")+`0,"result":{"action":"forged"}}`, "Mcp-Session-Id", id)
		}
		stranger := r.initialize(`{}`)
		r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":`+n+`,"result":{"action":"forged"}}`, "Mcp-Session-Id", stranger)
		resp, _ := r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":`+n+`,`+answer.body+`}`, "Mcp-Session-Id", id)
		if resp.StatusCode != 202 {
			t.Errorf("answer: %d", resp.StatusCode)
		}
		if got := s.message().data; got != `{"jsonrpc":"2.0","id":"c",`+answer.want+`}` {
			t.Error(got)
		}
	}
}

func TestB10_NobodyIsAskedForWhatWasNotDeclared(t *testing.T) {
	form := `{"message":"m","requestedSchema":{}}`
	tests := []struct {
		capabilities, method, params string
		code                         int // 0: asked
	}{
		{`{}`, wire.MethodElicit, form, -32602},
		{`{"elicitation":null}`, wire.MethodElicit, form, -32602},
		{`{"elicitation":{}}`, wire.MethodElicit, `{"mode":"url","url":"https://x"}`, -32602},
		{`{"elicitation":{"url":{}}}`, wire.MethodElicit, form, -32602},
		{`{"elicitation":{"url":{}}}`, wire.MethodElicit, `{"mode":"url","url":"https://x"}`, 0},
		{`{"elicitation":{"form":{},"url":{}}}`, wire.MethodElicit, `{"mode":"form"}`, 0},
		{`{"elicitation":{}}`, wire.MethodElicit, form, 0},
		{`{"elicitation":{}}`, wire.MethodSampling, `{}`, -32602},
		{`{"sampling":{}}`, wire.MethodSampling, `{}`, 0},
		{`{"sampling":{}}`, wire.MethodSampling, `{"tools":[]}`, -32602},
		{`{"sampling":{"tools":{}}}`, wire.MethodSampling, `{"tools":[]}`, 0},
		{`{}`, wire.MethodRootsList, `{}`, -32601},
		{`{"roots":{}}`, wire.MethodRootsList, `{}`, 0},
	}
	for i, tt := range tests {
		r := newRig(t, map[string]tool{"ask": asker(tt.method, tt.params)}, nil)
		id := r.initialize(tt.capabilities)
		req := r.request(context.Background(), "POST", "/mcp", legacyCall("1", "ask", ""), "Mcp-Session-Id", id)
		if tt.code == 0 {
			s := r.stream(req)
			if m := s.message().data; !strings.Contains(m, `"method":"`+tt.method+`"`) {
				t.Errorf("%d: %s", i, m)
			}
			s.close()
		} else if body, err := readAll(r.do(req)); err != nil || code(t, body) != tt.code {
			t.Errorf("%d: %v %s", i, err, body)
		}
		r.close()
	}
	r := newRig(t, map[string]tool{"ask": asker(wire.MethodElicit, form)}, nil)
	if _, body := r.callTool("1", "ask"); code(t, body) != -32602 {
		t.Errorf("modern: %s", body)
	}
}

func TestAWithdrawnQuestionIsCancelledAtTheClient(t *testing.T) {
	withdraw := make(chan struct{})
	r := newRig(t, map[string]tool{"ask": func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		ctx, cancel := context.WithCancel(ctx)
		go func() { <-withdraw; cancel() }()
		if reply := out.Ask(ctx, wire.MethodRootsList, nil); reply.Error == nil {
			return result(`{"answered":true}`)
		}
		return result(`{"answered":false}`)
	}}, nil)
	id := r.initialize(`{"roots":{}}`)
	s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "ask", ""), "Mcp-Session-Id", id))
	n := idOf(t, s.message().data)
	close(withdraw)
	if m := s.message().data; !strings.Contains(m, `"method":"notifications/cancelled","params":{"requestId":`+n+`,`) {
		t.Error(m)
	}
	if m := s.message().data; !strings.Contains(m, `"answered":false`) {
		t.Error(m)
	}
}

func TestEndOfTheSessionFailsQuestionsAndCalls(t *testing.T) {
	asked := make(chan exchange.Reply, 1)
	r := newRig(t, map[string]tool{"ask": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		reply := out.Ask(context.Background(), wire.MethodRootsList, nil)
		asked <- reply
		return reply
	}}, nil)
	id := r.initialize(`{"roots":{}}`)
	s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "ask", ""), "Mcp-Session-Id", id))
	s.message()
	r.send("DELETE", "/mcp", "", "Mcp-Session-Id", id)
	if reply := <-asked; reply.Error == nil {
		t.Error("answered")
	}
	for {
		if _, ok := s.next(); !ok {
			return
		}
	}
}

func TestB11_GetStreamCarriesWhatBelongsToNoRequest(t *testing.T) {
	r := newRig(t, nil, nil)
	id := r.initialize(`{}`)
	feed := r.core.feed(t)
	// Before the stream is open: kept, and each change once.
	for range 3 {
		feed.Notify(wire.NoteToolsChanged, nil)
	}
	feed.Notify(wire.NoteMessage, []byte(`{"level":"error","data":"nobody asked"}`))
	s := r.stream(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", id, "MCP-Protocol-Version", "2025-11-25"))
	if m := s.message(); m.data != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Error(m)
	}
	feed.Notify(wire.NoteResourceUpdated, []byte(`{"uri":"a"}`))
	m := s.message()
	if m.data != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a"}}` {
		t.Error(m)
	}
	r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`, "Mcp-Session-Id", id)
	feed.Notify(wire.NoteMessage, []byte(`{"level":"info","data":1}`))
	feed.Notify(wire.NoteMessage, []byte(`{"level":"error","data":2}`))
	if m := s.message(); m.data != `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":2}}` {
		t.Error(m)
	}
	// A second stream takes over; when it is closed the first has the events again.
	second := r.stream(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", id))
	feed.Notify(wire.NotePromptsChanged, nil)
	if m := second.message(); !strings.Contains(m.data, "prompts/list_changed") {
		t.Error(m)
	}
	second.close()
	waitReaders(t, r, id, 1)
	feed.Notify(wire.NoteResourcesChanged, nil)
	if m := s.message(); !strings.Contains(m.data, "resources/list_changed") {
		t.Error(m)
	}
	s.close()
	waitReaders(t, r, id, 0)
	// Resumed after the second event: the rest, once, but for what was sent on the other stream.
	s = r.stream(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", m.id))
	for _, want := range []string{"notifications/message", "resources/list_changed"} {
		if m := s.message(); !strings.Contains(m.data, want) {
			t.Errorf("%s: %s", want, m.data)
		}
	}
	s.close()
}

// waitReaders waits until the stream of a session that belongs to no request has so many readers.
func waitReaders(t *testing.T, r *rig, id string, n int) {
	t.Helper()
	found, err := r.store.Find(id, durward.Caller{Principal: "local"}, durward.Route{})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); found.Box(0).Readers() != n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d readers, want %d", found.Box(0).Readers(), n)
		}
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
}

func TestBoundsOfGetStreams(t *testing.T) {
	r := newRig(t, nil, func(o *transport.Options, _ *session.Options, _ *identity.Options) { o.Limits.Streams = 1 })
	id := r.initialize(`{}`)
	s, begin := r.get(id)
	defer s.close()
	for _, last := range []string{"", begin} {
		if resp, body := r.send("GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", last); resp.StatusCode != 409 || !strings.Contains(body, "limits.streams") {
			t.Errorf("%q: %d %s", last, resp.StatusCode, body)
		}
	}
	if resp, _ := r.send("GET", "/mcp", "", "Mcp-Session-Id", id, "Accept", "application/json"); resp.StatusCode != 406 {
		t.Errorf("%d", resp.StatusCode)
	}
}

// broken starts a legacy call whose connection breaks after its first event, and
// returns that event.
func (r *rig) broken(id, name string) event {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := r.stream(r.request(ctx, "POST", "/mcp", legacyCall("1", name, `,"_meta":{"progressToken":1}`), "Mcp-Session-Id", id))
	first, ok := s.next()
	if !ok || first.retry == "" {
		r.t.Fatalf("%+v", first)
	}
	prime, _ := s.next()
	if prime.id == "" || prime.data != "" {
		r.t.Fatalf("no priming event: %+v", prime)
	}
	return s.message()
}

func TestB9_ABrokenLegacyConnectionCancelsNothing(t *testing.T) {
	proceed := make(chan struct{})
	r := newRig(t, map[string]tool{"slow": func(ctx context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
		<-proceed
		if ctx.Err() != nil {
			return result(`{"cancelled":true}`)
		}
		out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":2}`))
		return result(`{"cancelled":false}`)
	}}, nil)
	id := r.initialize(`{}`)
	got := r.broken(id, "slow")
	// While it is under way: the stream is taken up again where it broke.
	s := r.stream(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", got.id))
	proceed <- struct{}{}
	if m := s.message(); !strings.Contains(m.data, `"progress":2`) {
		t.Error(m)
	}
	last := s.message()
	if !strings.Contains(last.data, `"cancelled":false`) || idOf(t, last.data) != "1" {
		t.Error(last)
	}
	if _, ok := s.next(); ok {
		t.Error("the stream goes on after the answer")
	}
	// After it: the same again from any event, and nothing after the last.
	for _, from := range []struct {
		id   string
		want int
	}{{got.id, 2}, {moved(got.id, 0), 3}} {
		s, _ := r.get(id, "Last-Event-ID", from.id)
		n := 0
		for _, ok := s.next(); ok; _, ok = s.next() {
			n++
		}
		if n != from.want {
			t.Errorf("from %s: %d events", from.id, n)
		}
	}
	if resp, body := r.send("GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", last.id); resp.StatusCode != 204 || body != "" {
		t.Errorf("nothing is left: %d %s", resp.StatusCode, body)
	}
}

func TestAnswersTooLongToKeepAreSaidToBe(t *testing.T) {
	proceed, done := make(chan struct{}), make(chan struct{})
	r := newRig(t, map[string]tool{"slow": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		defer close(done)
		out.Notify(wire.NoteProgress, []byte(`{"progressToken":7,"progress":1}`))
		<-proceed
		return result(`"` + strings.Repeat("x", 2<<20) + `"`)
	}}, nil)
	id := r.initialize(`{}`)
	got := r.broken(id, "slow")
	found, err := r.store.Find(id, durward.Caller{Principal: "local"}, durward.Route{})
	if err != nil {
		t.Fatal(err)
	}
	for found.Box(1).Readers() > 0 {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	proceed <- struct{}{}
	<-done
	for n := 0; n < 2; n, _ = found.Box(1).Size() {
		time.Sleep(time.Millisecond) // polls a state that comes by itself
	}
	s := r.stream(r.request(context.Background(), "GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", got.id))
	if m := s.message(); code(t, m.data) != wire.CodeUnknownOutcome || !strings.Contains(m.data, "limits.resume") || idOf(t, m.data) != "1" {
		t.Error(m)
	}
}
