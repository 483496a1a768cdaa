package transport_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// everyNote are the notifications of servers of both eras, and one of nobody.
var everyNote = []string{
	wire.NoteProgress, wire.NoteMessage, wire.NoteCancelled, wire.NoteAcknowledged,
	wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated,
	wire.NoteElicitComplete, "notifications/tasks/status", "notifications/tasks", "notifications/vendor",
}

func sendEveryNote(out exchange.Feed) {
	for _, method := range everyNote {
		out.Notify(method, []byte(`{"progressToken":7,"progress":1,"level":"error","data":1}`))
	}
}

// Each client gets only notifications that its era knows, where it expects them.
func TestNotificationsByEra(t *testing.T) {
	changes := []string{wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated}
	r := newRig(t, map[string]tool{"all": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
		sendEveryNote(out)
		return result(`{"resultType":"complete"}`)
	}}, nil)
	r.core.listen = func(out exchange.Stream) { sendEveryNote(out) }
	id := r.initialize(`{}`)
	r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`, "Mcp-Session-Id", id)
	const modernMeta = `"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug",`
	modern := func(method, more string) string {
		return strings.Replace(modernBody("1", method, more), `"_meta":{`, modernMeta, 1)
	}
	get, _ := r.get(id)
	defer get.close()
	sendEveryNote(r.core.feed(t))
	r.core.feed(t).Notify("notifications/end", nil)
	overHTTP := func(s *events) func() string { return func() string { return s.message().data } }
	for name, tt := range map[string]struct {
		next func() string
		want []string
	}{
		"legacy call": {overHTTP(r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "all", withProgress), "Mcp-Session-Id", id))),
			slices.Concat([]string{wire.NoteProgress, wire.NoteMessage}, changes, []string{wire.NoteElicitComplete, "notifications/tasks/status", "notifications/vendor"})},
		"legacy stream": {overHTTP(get),
			slices.Concat([]string{wire.NoteProgress, wire.NoteMessage}, changes, []string{wire.NoteElicitComplete, "notifications/tasks/status", "notifications/vendor"})},
		"modern call": {overHTTP(r.stream(r.request(context.Background(), "POST", "/mcp", modern("tools/call", `,"name":"all"`), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "all"))),
			[]string{wire.NoteProgress, wire.NoteMessage, "notifications/vendor"}},
		"modern listen": {overHTTP(r.stream(r.request(context.Background(), "POST", "/mcp", modern(wire.MethodListen, ""), "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", wire.MethodListen))),
			slices.Concat([]string{wire.NoteAcknowledged}, changes, []string{"notifications/tasks", "notifications/vendor"})},
		"modern call, lines":   {r.overLines(modern("tools/call", `,"name":"all"`)), []string{wire.NoteProgress, wire.NoteMessage, "notifications/vendor"}},
		"modern listen, lines": {r.overLines(modern(wire.MethodListen, "")), slices.Concat([]string{wire.NoteAcknowledged}, changes, []string{"notifications/tasks", "notifications/vendor"})},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for {
				var m struct{ Method string }
				line := tt.next()
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err, line)
				}
				if m.Method == "" || m.Method == "notifications/end" {
					break
				}
				got = append(got, m.Method)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

// overLines sends one line on a connection of its own.
func (r *rig) overLines(line string) (next func() string) {
	r.t.Helper()
	l := r.stdio(context.Background(), durward.Route{})
	l.send(line)
	return l.next
}

func TestB10_AQuestionByURLHasAnID(t *testing.T) {
	for params, own := range map[string]bool{
		`{"mode":"url","message":"m","url":"https://x/1e400"}`:                       false,
		`{"mode":"url","message":"m","url":"https://x","elicitationId":null}`:        false,
		`{"mode":"url","message":"m","url":"https://x","elicitationId":"server's"}`:  true,
		`{"mode":"url","message":"m","url":"https://x", "elicitationId" : "\u0061"}`: true,
	} {
		r := newRig(t, map[string]tool{"ask": asker(wire.MethodElicit, params)}, nil)
		id := r.initialize(`{"elicitation":{"url":{}}}`)
		var ids []string
		for range 2 {
			s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "ask", ""), "Mcp-Session-Id", id))
			data := s.message().data
			raw := wire.Get([]byte(data), "params")
			said, ok := wire.Unquote(wire.Get(raw, "elicitationId"))
			if !ok || strings.Count(data, "elicitationId") != 1 || !strings.Contains(data, `"mode":"url","message":"m","url":"https://x`) {
				t.Errorf("%s: %s", params, data)
			}
			if own && string(raw) != params {
				t.Errorf("changed to %s", raw)
			}
			ids = append(ids, said)
			r.send("POST", "/mcp", `{"jsonrpc":"2.0","id":`+idOf(t, data)+`,"result":{"action":"accept"}}`, "Mcp-Session-Id", id)
			s.message()
			s.close()
		}
		if !own && ids[0] == ids[1] {
			t.Error("two questions have one id")
		}
		r.close()
	}
	// Other modes have none.
	r := newRig(t, map[string]tool{"ask": asker(wire.MethodElicit, `{"message":"m","requestedSchema":{}}`)}, nil)
	id := r.initialize(`{"elicitation":{}}`)
	s := r.stream(r.request(context.Background(), "POST", "/mcp", legacyCall("1", "ask", ""), "Mcp-Session-Id", id))
	if data := s.message().data; strings.Contains(data, "elicitationId") {
		t.Error(data)
	}
	s.close()
}
