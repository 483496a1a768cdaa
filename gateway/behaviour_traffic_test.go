package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/hostile"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

func TestB9_ProgressComesInOrderAndBeforeTheResult(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	for era, c := range g.clients(t, "/mcp") {
		meta := `"progressToken":"my token"`
		if c.Modern {
			meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
		}
		a := do(t, c, "tools/call", `{"name":"h__progress","arguments":{"n":50},"_meta":{`+meta+`}}`)
		if a.Text() != "done" || len(a.Notes) != 50 {
			t.Fatalf("%s: %d notes, %s", era, len(a.Notes), a.Msg.Error)
		}
		for i, n := range a.Notes {
			want := fmt.Sprintf(`{"progressToken":"my token","progress":%d,"total":50}`, i+1)
			if n.Method != wire.NoteProgress || string(n.Params.Raw) != want {
				t.Fatalf("%s: note %d is %s %s", era, i, n.Method, n.Params.Raw)
			}
		}
	}
}

func TestB9_CancellationReachesTheServerWithItsOwnID(t *testing.T) {
	notes, counter := filepath.Join(t.TempDir(), "notes"), filepath.Join(t.TempDir(), "counter")
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h", "-notes", notes, "-counter", counter)}})
	g.await(t, "h", isReady)

	modern := g.modern("/mcp")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := modern.CallTool(ctx, "h__sleep", `{"ms":600000}`)
		left <- err
	}()
	awaitLines(t, counter, "x", 1) // the call is at the server
	leave()                        // closing a modern stream is a cancellation
	await(t, "the end of the call", left)
	awaitLines(t, notes, `"notifications/cancelled"`, 1)
	g.await(t, "h", func(s durward.ServerStatus) bool { return s.InFlight == 0 })

	legacy := g.legacy(t, "/mcp")
	ctx, leave = context.WithCancel(t.Context())
	go func() {
		_, err := legacy.Send(ctx, `{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"h__sleep","arguments":{"ms":600000}}}`, "", "")
		left <- err
	}()
	awaitLines(t, counter, "x", 2)
	leave() // closing a legacy one is not
	await(t, "the end of the call", left)
	if a := do(t, legacy, "ping", `{}`); a.Msg.Error != nil {
		t.Fatal(string(a.Msg.Error))
	}
	if s := g.await(t, "h", func(durward.ServerStatus) bool { return true }); s.InFlight != 1 {
		t.Errorf("a legacy client's broken stream cancelled its call")
	}
	if _, err := legacy.Send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine"}}`, "", ""); err != nil {
		t.Fatal(err)
	}
	g.await(t, "h", func(s durward.ServerStatus) bool { return s.InFlight == 0 })
	lines := awaitLines(t, notes, `"notifications/cancelled"`, 2)
	if strings.Contains(lines, "mine") || !regexp.MustCompile(`"requestId":\d+`).MatchString(lines) {
		t.Errorf("the server was not told its own id: %s", lines)
	}
}

// awaitLines waits until a file holds text n times.
func awaitLines(t *testing.T, file, text string, n int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		data, _ := os.ReadFile(file) // not there yet: empty
		if strings.Count(string(data), text) >= n {
			return string(data)
		}
		time.Sleep(5 * time.Millisecond) // a file cannot be waited for
	}
	t.Fatalf("%s never held %s %d times", file, text, n)
	return ""
}

func TestB11_ListChangedComesOnceAndIsTrue(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	g.await(t, "h", isReady)
	events := map[string]chan string{"legacy": make(chan string, 100), "modern": make(chan string, 100)}
	clients := g.clients(t, "/mcp")
	for era, c := range clients {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		opened := make(chan struct{})
		go func() {
			first := true
			_ = c.Stream(ctx, `{"notifications":{"toolsListChanged":true}}`, func(m wire.Message) bool {
				if first && c.Modern { // acknowledged
					first = false
					close(opened)
					return true
				}
				if m.Method != wire.NoteToolsChanged {
					t.Errorf("%s: %s", era, m.Method)
				}
				events[era] <- m.Method
				return true
			})
		}()
		if c.Modern {
			await(t, "the acknowledgement", opened)
		}
	}
	for _, change := range []struct{ arguments, want string }{{`{"n":3}`, "called extra_2"}, {`{"n":1}`, ""}} {
		call(t, g.modern("/mcp"), "h__change", change.arguments) // it says so twenty times
		for era, c := range clients {
			told := untilTold(t, events[era], func() bool {
				a := call(t, c, "h__extra_2", `{}`)
				return a.Text() == change.want && (a.Code() == wire.CodeInvalidParams) == (change.want == "")
			})
			if told > 5 { // once, but for a server that is held up while it says so
				t.Errorf("%s was told %d times", era, told)
			}
		}
	}
}

func TestB13_NamesAreLegalUniqueAndStable(t *testing.T) {
	legal := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	names := func(servers ...durward.Server) (all []string) {
		g := start(t, gateway.Options{Servers: servers})
		for _, s := range servers {
			g.await(t, s.Name, isReady)
		}
		list := wire.Get(do(t, g.modern("/mcp"), "tools/list", `{}`).Msg.Result, "tools")
		seen := map[string]bool{}
		for at := range wire.Elements(list) {
			name, _ := wire.Unquote(wire.Get(at.Of(list), "name"))
			if !legal.MatchString(name) || seen[name] {
				t.Errorf("%q is illegal or stands twice", name)
			}
			seen[name] = true
			all = append(all, name)
			if a := call(t, g.modern("/mcp"), name, `{}`); strings.HasPrefix(name, "odd") && !strings.HasPrefix(a.Text(), "called ") {
				t.Errorf("%q cannot be called: %s", name, a.Msg.Error)
			}
		}
		return all
	}
	odd := hostileServer("odd", "-list", "names")
	alone := names(odd)
	if len(alone) != len(hostile.Names()) {
		t.Errorf("%d of %d names are offered: %q", len(alone), len(hostile.Names()), alone)
	}
	together := strings.Join(names(hostileServer("another", "-list", "pages"), odd), " ")
	for _, name := range alone {
		if !strings.Contains(together, name) {
			t.Errorf("adding a server renamed %q", name)
		}
	}
}

func TestB18_SilenceIsKeptAlive(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Limits: gateway.Limits{KeepAlive: 20 * time.Millisecond}})
	g.await(t, "h", isReady)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"h__sleep","arguments":{"ms":600000},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "h__sleep",
	} {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	comments := 0
	buf := make([]byte, 256)
	for comments < 3 { // they go on for as long as the call does
		n, err := resp.Body.Read(buf)
		if err != nil {
			t.Fatalf("after %d comments: %v", comments, err)
		}
		comments += strings.Count(string(buf[:n]), "\n:") + strings.Count(string(buf[:min(n, 1)]), ":")
	}
}

func TestB19_IDsComeBackByteForByteAndNotificationsGetNoAnswer(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	for era, c := range g.clients(t, "/mcp") {
		meta := ""
		if c.Modern {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		}
		for _, id := range []string{`9007199254740993`, `1.5`, `-0`, `1e2`, `"1"`, `"ü\u0041\""`, `""`, `123456789012345678901234567890`} {
			a, err := c.Send(t.Context(), `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"h__echo","arguments":{"text":"x"}`+meta+`}}`, "tools/call", "h__echo")
			if err != nil || string(a.Msg.ID) != id || a.Text() != "x" {
				t.Errorf("%s: id %s came back as %s: %v %s", era, id, a.Msg.ID, err, a.Msg.Error)
			}
		}
		a, err := c.Send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/whatever","params":{"x":1`+meta+`}}`, "notifications/whatever", "")
		if err != nil || a.Status != http.StatusAccepted || len(a.Body) != 0 {
			t.Errorf("%s: a notification was answered: %d %s %v", era, a.Status, a.Body, err)
		}
	}
}

func TestB20_PaginationRunsToTheEnd(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("pages", "-list", "pages"), hostileServer("loop", "-list", "loop")}})
	g.await(t, "pages", isReady)
	g.await(t, "loop", func(s durward.ServerStatus) bool { return s.State == durward.StateDegraded })
	c := g.modern("/mcp")
	first := do(t, c, "tools/list", `{}`)
	list := string(wire.Get(first.Msg.Result, "tools"))
	for i := range 25 {
		if name := fmt.Sprintf(`"pages__tool_%02d"`, i); strings.Count(list, name) != 1 {
			t.Errorf("%s stands %d times", name, strings.Count(list, name))
		}
	}
	if again := do(t, c, "tools/list", `{}`); string(wire.Get(again.Msg.Result, "tools")) != list {
		t.Error("the second list differs from the first")
	}
	if a := do(t, c, "tools/list", `{"cursor":"made up"}`); a.Code() != -32602 {
		t.Errorf("a made-up cursor: %s %s", a.Msg.Result, a.Msg.Error)
	}
	s := g.await(t, "loop", func(durward.ServerStatus) bool { return true })
	if !strings.Contains(s.Reason, "cursor") {
		t.Errorf("nothing is said of the cursor that repeats: %+v", s)
	}
	// A tool that could not be listed is not one that there is not: clients that
	// listed it before keep it, and try again.
	if a := call(t, c, "loop__anything", `{}`); a.Code() != wire.CodeUnavailable {
		t.Errorf("a tool of a server whose list cannot be read: %s %s", a.Msg.Result, a.Msg.Error)
	}
}

func TestB24_ForeignOriginsAndHostsAreRefused(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Toolsets: []durward.Toolset{{Name: "all", Tools: []string{"*"}}}})
	for _, route := range []string{"/mcp", "/servers/h/mcp", "/toolsets/all/mcp"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
			for _, foreign := range []func(*http.Request){
				func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
				func(r *http.Request) { r.Header.Set("Origin", "null") },
				func(r *http.Request) { r.Host = "evil.example" },
			} {
				req, err := http.NewRequestWithContext(t.Context(), method, g.url+route, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				foreign(req)
				a, err := new(rawclient.Client).Raw(req)
				if err != nil || a.Status != http.StatusForbidden {
					t.Errorf("%s %s with Origin %q, Host %q: %v %v", method, route, req.Header.Get("Origin"), req.Host, a, err)
				}
			}
		}
	}
}

func TestB29_ReloadTouchesOnlyWhatChanged(t *testing.T) {
	stays, changes, goes := hostileServer("stays"), hostileServer("changes"), hostileServer("goes")
	g := ready(t, gateway.Options{Servers: []durward.Server{stays, changes, goes}})
	clients := g.clients(t, "/mcp")
	for _, c := range clients {
		call(t, c, "stays__set", `{"name":"k","text":"kept"}`)
		call(t, c, "changes__set", `{"name":"k","text":"lost"}`)
		call(t, c, "goes__echo", `{}`)
	}
	changes.Env = map[string]string{"NEW": "1"}
	if err := g.Reload(gateway.Options{Servers: []durward.Server{stays, changes, hostileServer("comes")}}); err != nil {
		t.Fatal(err)
	}
	g.await(t, "changes", isReady)
	g.await(t, "comes", isReady)
	for era, c := range clients {
		for _, tt := range []struct{ tool, arguments, want string }{
			{"stays__get", `{"name":"k"}`, "kept"},
			{"changes__env", `{"name":"NEW"}`, "true:1"},
			{"comes__echo", `{"text":"new"}`, "new"},
		} {
			if a := call(t, c, tt.tool, tt.arguments); a.Text() != tt.want {
				t.Errorf("%s %s: %q %s", era, tt.tool, a.Text(), a.Msg.Error)
			}
		}
		if a := call(t, c, "goes__echo", `{}`); a.Code() != -32602 {
			t.Errorf("%s: the removed server still answers: %s", era, a.Msg.Result)
		}
	}
	bad := gateway.Options{Servers: []durward.Server{stays, {Name: "Bad Name", Command: "x"}}}
	if err := g.Reload(bad); durward.KindOf(err) != durward.Invalid {
		t.Errorf("a broken configuration: %v", err)
	}
	if a := call(t, clients["modern"], "comes__echo", `{"text":"still"}`); a.Text() != "still" {
		t.Errorf("a refused reload changed something: %s", a.Msg.Error)
	}
}
