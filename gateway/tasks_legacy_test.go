package gateway_test

import (
	"context"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/taskserver"
	"durward/internal/wire"
)

// beginLegacy calls a tool as a task and returns its id.
func beginLegacy(t *testing.T, c *rawclient.Client, tool, arguments string) string {
	t.Helper()
	a := do(t, c, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`,"task":{"ttl":60000}}`)
	id, ok := wire.Unquote(wire.Get(wire.Get(a.Msg.Result, "task"), "taskId"))
	if !ok || strings.HasPrefix(id, "task-") {
		t.Fatalf("%s did not become a task with a sealed id: %s %s", tool, a.Msg.Result, a.Msg.Error)
	}
	return id
}

// streamOf opens the GET stream of a legacy session.
func streamOf(t *testing.T, c *rawclient.Client) *listened {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listened{notes: make(chan wire.Message, 64), stop: cancel}
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		defer close(l.notes)
		_ = c.Stream(ctx, "", func(m wire.Message) bool { l.notes <- m; return true }) // ends with ctx
	}()
	return l
}

// later reads a stream until a notification of the method comes, which has to be the last.
func (l *listened) later(t *testing.T, method string) wire.Message {
	t.Helper()
	for {
		if m := l.next(t); m.Method == method {
			return m
		}
	}
}

const relatedTask = "io.modelcontextprotocol/related-task"

func TestTasksOfLegacyServers(t *testing.T) {
	r := start(t, gateway.Options{
		Servers:  []durward.Server{taskProcess("old", "-legacy")},
		Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"old__*"}}},
	})
	r.await(t, "old", isReady)
	for _, tt := range []struct{ route, prefix string }{{"/mcp", "old__"}, {"/servers/old/mcp", ""}, {"/toolsets/some/mcp", "old__"}} {
		t.Run(tt.route, func(t *testing.T) {
			c := r.legacy(t, tt.route)
			id := beginLegacy(t, c, tt.prefix+"must", `{"text":"the outcome"}`)
			if status, whole := taskState(t, c, id); status != "working" || strings.Contains(whole, "resultType") {
				t.Errorf("tasks/get: %s", whole)
			}
			events := streamOf(t, c)
			call(t, c, tt.prefix+"finish", `{"id":"`+ownID(t, r, c, tt.prefix, id)+`"}`)
			if m := events.later(t, wire.NoteTasksStatus); string(wire.Get(m.Params.Raw, "taskId")) != wire.Quote(id) {
				t.Errorf("told of %s", m.Params.Raw)
			}
			a := aboutTask(t, c, "tasks/result", id)
			if a.Text() != "the outcome" || string(wire.Get(wire.Get(wire.Get(a.Msg.Result, "_meta"), relatedTask), "taskId")) != wire.Quote(id) {
				t.Errorf("tasks/result: %s %s", a.Msg.Result, a.Msg.Error)
			}
			second := beginLegacy(t, c, tt.prefix+"work", `{}`)
			a = aboutTask(t, c, "tasks/cancel", second)
			if got, _ := wire.Unquote(wire.Get(a.Msg.Result, "taskId")); got != second || !strings.Contains(string(a.Msg.Result), `"cancelled"`) {
				t.Errorf("tasks/cancel: %s %s", a.Msg.Result, a.Msg.Error)
			}
			for _, method := range []string{"tasks/update", "tasks/list", "tasks/else"} {
				if a := do(t, c, method, `{}`); a.Code() != wire.CodeMethodNotFound {
					t.Errorf("%s: %s %s", method, a.Msg.Result, a.Msg.Error)
				}
			}
		})
	}
}

// ownID finds out which id the server gave a task, which nobody should: an unknown
// method on the server's own route is told it.
func ownID(t *testing.T, r *running, c *rawclient.Client, prefix, id string) string {
	t.Helper()
	route := strings.TrimPrefix(c.URL, r.url)
	if prefix != "" {
		route = "/servers/old/mcp"
	}
	a := do(t, r.legacy(t, route), "vendor/look", `{"taskId":"`+id+`"}`)
	own, _ := wire.Unquote(wire.Get(wire.Get(a.Msg.Result, "params"), "taskId"))
	if !strings.HasPrefix(own, "task-") {
		t.Fatalf("the server was asked for %s %s", a.Msg.Result, a.Msg.Error)
	}
	return own
}

// What a server asks on behalf of a task names it as its client does, and the
// answer as the server does.
func TestQuestionsOfALegacyTaskNameIt(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskProcess("old", "-legacy")}})
	r.await(t, "old", isReady)
	c := &rawclient.Client{URL: r.url + "/mcp"}
	if _, err := c.Initialize(t.Context(), `{"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	id := beginLegacy(t, c, "old__work", `{"ask":true}`)
	related := `{"` + relatedTask + `":{"taskId":"` + id + `"}}`
	asked := 0
	a, err := c.Converse(t.Context(), "tasks/result", `{"taskId":"`+id+`"}`, func(q rawclient.Question) string {
		asked++
		if got := string(wire.Get(q.Params, "_meta")); got != related {
			t.Errorf("the question is about %s, want %s", got, related)
		}
		return `{"action":"accept","content":{},"_meta":` + related + `}`
	})
	if err != nil || asked != 1 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	if want := `"taskId":"task-1"`; !strings.Contains(a.Text(), want) || strings.Contains(a.Text(), id) {
		t.Errorf("the server was answered %s, %s", a.Text(), a.Msg.Error)
	}
	for _, m := range a.Notes {
		if m.Method == wire.NoteMessage && string(wire.Get(m.Params.Raw, "_meta")) != related {
			t.Errorf("a message is about %s", m.Params.Raw)
		}
	}
}

// Over a shared connection a server tells all of its tasks to one client: what it
// says goes to the session whose task it is.
func TestTaskStatusGoesToItsOwner(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskProcess("old", "-legacy")}, Access: twoPrincipals()})
	r.await(t, "old", isReady)
	alice, bob := r.sessionOf(t, "/mcp", aliceSecret), r.sessionOf(t, "/mcp", bobSecret)
	mine, theirs := beginLegacy(t, alice, "old__work", `{}`), beginLegacy(t, bob, "old__work", `{}`)
	toAlice, toBob := streamOf(t, alice), streamOf(t, bob)
	// Bob's call is what makes the server speak of Alice's task, of one that nobody began, and of his own.
	for _, own := range []string{"task-1", "task-9", "task-2"} {
		a := call(t, bob, "old__announce", `{"id":"`+own+`"}`)
		for _, m := range a.Notes {
			t.Errorf("on the stream of a call came %s %s", m.Method, m.Params.Raw)
		}
	}
	for name, c := range map[string]struct {
		l  *listened
		id string
	}{"alice": {toAlice, mine}, "bob": {toBob, theirs}} {
		m := c.l.later(t, wire.NoteTasksStatus)
		if string(wire.Get(m.Params.Raw, "taskId")) != wire.Quote(c.id) {
			t.Errorf("%s was told %s", name, m.Params.Raw)
		}
		c.l.stop()
		for m := range c.l.notes {
			t.Errorf("%s was told as well: %s %s", name, m.Method, m.Params.Raw)
		}
	}
}

// Processes of their own may give the same id to two tasks: then nobody is told.
func TestTaskStatusOfAnUncertainOwnerIsDropped(t *testing.T) {
	server := taskProcess("old", "-legacy")
	server.Instances = durward.InstancesSession
	r := start(t, gateway.Options{Servers: []durward.Server{server}})
	r.await(t, "old", isReady)
	one, two := r.legacy(t, "/servers/old/mcp"), r.legacy(t, "/servers/old/mcp")
	first := beginLegacy(t, one, "work", `{}`)
	events := streamOf(t, one)
	call(t, one, "announce", `{"id":"task-1"}`)
	if m := events.later(t, wire.NoteTasksStatus); string(wire.Get(m.Params.Raw, "taskId")) != wire.Quote(first) {
		t.Errorf("told of %s", m.Params.Raw)
	}
	second := beginLegacy(t, two, "work", `{}`)
	call(t, two, "announce", `{"id":"task-1"}`)
	call(t, one, "announce", `{"id":"task-1"}`)
	call(t, two, "tell", `{"method":"notifications/vendor","params":{}}`)
	if m := events.next(t); m.Method != "notifications/vendor" {
		t.Errorf("told of %s %s", m.Method, m.Params.Raw)
	}
	for c, id := range map[*rawclient.Client]string{one: first, two: second} {
		if status, whole := taskState(t, c, id); status != "working" {
			t.Errorf("%s", whole)
		}
	}
}

func TestTasksAreListedToTheirPrincipal(t *testing.T) {
	for _, instances := range []durward.Instances{durward.InstancesSession, durward.InstancesPrincipal} {
		t.Run(string(instances), func(t *testing.T) {
			server := taskProcess("old", "-legacy")
			server.Instances = instances
			r := start(t, gateway.Options{Servers: []durward.Server{server}, Access: twoPrincipals()})
			r.await(t, "old", isReady)
			alice, bob := r.sessionOf(t, "/servers/old/mcp", aliceSecret), r.sessionOf(t, "/servers/old/mcp", bobSecret)
			first, second := beginLegacy(t, alice, "work", `{}`), beginLegacy(t, alice, "must", `{}`)
			theirs := beginLegacy(t, bob, "work", `{}`)
			if got := listedTasks(t, alice); len(got) != 2 || got[0] != first || got[1] != second {
				t.Errorf("alice has %v, want %v", got, []string{first, second})
			}
			if got := listedTasks(t, bob); len(got) != 1 || got[0] != theirs {
				t.Errorf("bob has %v, want %s", got, theirs)
			}
			again := r.sessionOf(t, "/servers/old/mcp", aliceSecret)
			got := listedTasks(t, again)
			if want := map[durward.Instances]int{durward.InstancesSession: 0, durward.InstancesPrincipal: 2}[instances]; len(got) != want {
				t.Fatalf("another session of alice has %v", got)
			}
			for _, id := range got { // under other names, and good all the same
				if status, whole := taskState(t, again, id); status != "working" {
					t.Errorf("%s", whole)
				}
			}
			if a := do(t, r.sessionOf(t, "/mcp", aliceSecret), "tasks/list", `{}`); a.Code() != wire.CodeMethodNotFound {
				t.Errorf("the aggregate lists %s %s", a.Msg.Result, a.Msg.Error)
			}
		})
	}
	r := start(t, gateway.Options{Servers: []durward.Server{taskProcess("old", "-legacy")}})
	r.await(t, "old", isReady)
	if a := do(t, r.legacy(t, "/servers/old/mcp"), "tasks/list", `{}`); a.Code() != wire.CodeMethodNotFound {
		t.Errorf("a shared process lists %s %s", a.Msg.Result, a.Msg.Error)
	}
}

func listedTasks(t *testing.T, c *rawclient.Client) (ids []string) {
	t.Helper()
	a := do(t, c, "tasks/list", `{}`)
	if a.Msg.Error != nil {
		t.Fatalf("%s", a.Msg.Error)
	}
	list := wire.Get(a.Msg.Result, "tasks")
	for at := range wire.Elements(list) {
		id, _ := wire.Unquote(wire.Get(at.Of(list), "taskId"))
		ids = append(ids, id)
	}
	return ids
}

// plainSession opens a session of a revision that knows no tasks.
func (r *running) plainSession(t *testing.T, route string) *rawclient.Client {
	t.Helper()
	c := &rawclient.Client{URL: r.url + route}
	a := do(t, c, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	if c.Session = a.Header.Get("Mcp-Session-Id"); c.Session == "" || strings.Contains(string(a.Msg.Result), "tasks") {
		t.Fatalf("initialize: %s %s", a.Msg.Result, a.Msg.Error)
	}
	return c
}

func TestToolsThatRunOnlyAsTasks(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskProcess("old", "-legacy"), taskProcess("mute", "-legacy", "-mute")}})
	r.await(t, "old", isReady)
	r.await(t, "mute", isReady)
	for _, tt := range []struct {
		name   string
		open   func(route string) *rawclient.Client
		listed bool
	}{
		{"modern", r.modern, false},
		{"2025-06-18", func(route string) *rawclient.Client { return r.plainSession(t, route) }, false},
		{"2025-11-25", func(route string) *rawclient.Client { return r.legacy(t, route) }, true},
	} {
		for route, prefix := range map[string]string{"/mcp": "old__", "/servers/old/mcp": ""} {
			c := tt.open(route)
			if got := strings.Contains(string(do(t, c, "tools/list", `{}`).Msg.Result), `"`+prefix+`must"`); got != tt.listed {
				t.Errorf("%s %s: listed: %v", tt.name, route, got)
			}
			if a := call(t, c, prefix+"must", `{}`); !tt.listed && (a.Code() != wire.CodeInvalidParams || !strings.Contains(a.Message(), "unknown tool "+prefix+"must: it can be called as a task only")) ||
				tt.listed && a.Code() != wire.CodeMethodNotFound { // the server's own word
				t.Errorf("%s %s: %s %s", tt.name, route, a.Msg.Result, a.Msg.Error)
			}
		}
		c := tt.open("/mcp")
		if strings.Contains(string(do(t, c, "tools/list", `{}`).Msg.Result), "mute__must") {
			t.Errorf("%s: a tool is listed that nobody can call", tt.name)
		}
		if a := do(t, c, "tools/call", `{"name":"mute__must","arguments":{},"task":{}}`); a.Code() != wire.CodeInvalidParams || !strings.Contains(a.Message(), "its server declares no tasks.requests.tools.call") {
			t.Errorf("%s: %s %s", tt.name, a.Msg.Result, a.Msg.Error)
		}
	}
}

// The parameter task goes to servers that can have been meant by it.
func TestTheTaskParameterOfACall(t *testing.T) {
	web := &taskserver.Server{}
	r := start(t, gateway.Options{Servers: []durward.Server{taskProcess("old", "-legacy"), taskOverHTTP(t, "web", web), hostileServer("none")}})
	for _, name := range []string{"old", "web", "none"} {
		r.await(t, name, isReady)
	}
	ask := func(c *rawclient.Client, tool string) *rawclient.Answer {
		t.Helper()
		return do(t, c, "tools/call", `{"task":{"ttl":1},"name":"`+tool+`","arguments":{"text":"x"}}`)
	}
	// 2025-06-18 and modern clients know no such parameter: to a legacy server it is not shown.
	for _, c := range []*rawclient.Client{r.modern("/servers/old/mcp"), r.plainSession(t, "/servers/old/mcp")} {
		if a := ask(c, "work"); a.Text() != "work x" {
			t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
		}
	}
	if a := ask(r.modern("/servers/none/mcp"), "seen"); strings.Contains(a.Text(), `"task"`) || !strings.Contains(a.Text(), `"arguments":{"text":"x"}`) {
		t.Errorf("the server saw %s", a.Text())
	}
	// The aggregate told a client of 2025-11-25 that there are tasks: where there are none it must not do the call.
	c := r.legacy(t, "/mcp")
	for _, tool := range []string{"none__seen", "web__echo"} {
		if a := ask(c, tool); a.Code() != wire.CodeMethodNotFound || !strings.Contains(a.Message(), "cannot be called as a task") {
			t.Errorf("%s: %s %s", tool, a.Msg.Result, a.Msg.Error)
		}
	}
	// A route without tasks promised nothing, and ignores it.
	if a := ask(r.legacy(t, "/servers/none/mcp"), "seen"); strings.Contains(a.Text(), `"task"`) {
		t.Errorf("the server saw %s", a.Text())
	}
	if a := ask(r.legacy(t, "/servers/web/mcp"), "echo"); a.Text() != "echo x" {
		t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
	}
	if a := ask(r.modern("/servers/web/mcp"), "echo"); a.Text() != "echo x" {
		t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
	}
	if seen := web.Seen(); !strings.Contains(seen[len(seen)-1].Params, `"task":{"ttl":1}`) {
		t.Errorf("between modern peers nothing is taken out: %s", seen[len(seen)-1].Params)
	}
}

// A legacy client cannot have a modern task, and its server must not make one.
func TestLegacyClientsGetNoModernTasks(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "web", &taskserver.Server{})}})
	r.await(t, "web", isReady)
	c := &rawclient.Client{URL: r.url + "/mcp"}
	a, err := c.Initialize(t.Context(), knowsTasks)
	if err != nil || strings.Contains(string(a.Msg.Result), "tasks") {
		t.Fatalf("%v: %s", err, a.Msg.Result)
	}
	if a := call(t, c, "web__work", `{}`); a.Code() != wire.CodeInternal || strings.Contains(string(a.Msg.Result), "taskId") {
		t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
	}
}

func TestTasksAreAdvertisedToThoseWhoCanHaveThem(t *testing.T) {
	const extension, legacy = `"io.modelcontextprotocol/tasks":{}`, `"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
	web, old := taskOverHTTP(t, "web", &taskserver.Server{}), taskProcess("old", "-legacy")
	for _, tt := range []struct {
		servers              []durward.Server
		toModern, toTasked   bool
		ownModern, ownTasked string // a route to one server
	}{
		{[]durward.Server{web, old}, true, true, "/servers/web/mcp", "/servers/old/mcp"},
		{[]durward.Server{web, hostileServer("h")}, true, false, "/servers/web/mcp", ""},
		{[]durward.Server{old, hostileServer("h")}, false, true, "", "/servers/old/mcp"},
		{[]durward.Server{hostileServer("h")}, false, false, "", ""},
	} {
		r := start(t, gateway.Options{Servers: tt.servers})
		for _, s := range tt.servers {
			r.await(t, s.Name, isReady)
		}
		modern := func(route string) bool {
			return strings.Contains(string(wire.Get(do(t, r.modern(route), "server/discover", `{}`).Msg.Result, "capabilities")), extension)
		}
		tasked := func(route string) bool {
			a, err := (&rawclient.Client{URL: r.url + route}).Initialize(t.Context(), `{}`)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(wire.Get(a.Msg.Result, "capabilities")), legacy)
		}
		r.plainSession(t, "/mcp") // checks that it is told nothing
		if got := modern("/mcp"); got != tt.toModern {
			t.Errorf("%d servers: modern clients are told: %v", len(tt.servers), got)
		}
		if got := tasked("/mcp"); got != tt.toTasked {
			t.Errorf("%d servers: clients of 2025-11-25 are told: %v", len(tt.servers), got)
		}
		for _, s := range tt.servers {
			route := "/servers/" + s.Name + "/mcp"
			if got := modern(route); got != (route == tt.ownModern) {
				t.Errorf("%s: modern clients are told: %v", route, got)
			}
			if got := tasked(route); got != (route == tt.ownTasked) {
				t.Errorf("%s: clients of 2025-11-25 are told: %v", route, got)
			}
		}
	}
}

// Who finds tools by searching finds those that he can call.
func TestToolsThatRunOnlyAsTasksAreNotFound(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskProcess("old", "-legacy")}, LazyTools: true})
	r.await(t, "old", isReady)
	for name, c := range map[string]*rawclient.Client{"modern": r.modern("/mcp"), "2025-11-25": r.legacy(t, "/mcp")} {
		can := name != "modern"
		if a := call(t, c, "local__search_tools", `{"query":"must","limit":50}`); strings.Contains(a.Text(), "old__must") != can {
			t.Errorf("%s: search finds %s", name, a.Text())
		}
		if a := call(t, c, "local__describe_tool", `{"name":"old__must"}`); strings.Contains(a.Text(), "taskSupport") != can {
			t.Errorf("%s: it is described as %s", name, a.Text())
		}
		a := call(t, c, "local__call_tool", `{"name":"old__must","arguments":"{}"}`)
		if want := map[bool]int{true: wire.CodeMethodNotFound, false: wire.CodeInvalidParams}[can]; a.Code() != want {
			t.Errorf("%s: call_tool: %s %s", name, a.Msg.Result, a.Msg.Error)
		}
	}
}
