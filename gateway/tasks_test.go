package gateway_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/interviewer"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/taskserver"
	"durward/internal/wire"
)

const knowsTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// taskWeb runs a modern server with tasks in this process.
func taskWeb(t *testing.T, s *taskserver.Server) string {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

func taskOverHTTP(t *testing.T, name string, s *taskserver.Server) durward.Server {
	t.Helper()
	return durward.Server{Name: name, Transport: durward.TransportHTTP, URL: taskWeb(t, s)}
}

func taskProcess(name string, flags ...string) durward.Server {
	command, args := taskserver.Command(flags...)
	return durward.Server{Name: name, Command: command, Args: args}
}

const (
	aliceSecret = "the-secret-of-alice"
	bobSecret   = "the-secret-of-bob!!"
)

func twoPrincipals() gateway.Access {
	return gateway.Access{Tokens: []gateway.Token{{Principal: "alice", Secret: aliceSecret}, {Principal: "bob", Secret: bobSecret}}}
}

// tasker is a modern client that knows tasks.
func (r *running) tasker(route, secret string) *rawclient.Client {
	return &rawclient.Client{URL: r.url + route, Modern: true, Capabilities: knowsTasks, Token: secret}
}

// begin has a tool make a task and returns its id.
func begin(t *testing.T, c *rawclient.Client, tool, arguments string) string {
	t.Helper()
	a := call(t, c, tool, arguments)
	id, ok := wire.Unquote(wire.Get(a.Msg.Result, "taskId"))
	if a.Msg.Type() != "task" || !ok || strings.HasPrefix(id, "task-") {
		t.Fatalf("%s did not become a task with a sealed id: %s %s", tool, a.Msg.Result, a.Msg.Error)
	}
	return id
}

func aboutTask(t *testing.T, c *rawclient.Client, method, id string) *rawclient.Answer {
	t.Helper()
	return do(t, c, method, `{"taskId":`+wire.Quote(id)+`}`)
}

// state returns what tasks/get says of a task, and checks that it names it as its client does.
func taskState(t *testing.T, c *rawclient.Client, id string) (status string, whole string) {
	t.Helper()
	a := aboutTask(t, c, "tasks/get", id)
	if got, _ := wire.Unquote(wire.Get(a.Msg.Result, "taskId")); got != id {
		t.Errorf("tasks/get names %q: %s %s", got, a.Msg.Result, a.Msg.Error)
	}
	status, _ = wire.Unquote(wire.Get(a.Msg.Result, "status"))
	return status, string(a.Msg.Result)
}

func TestTasksOfModernServers(t *testing.T) {
	web := &taskserver.Server{}
	r := start(t, gateway.Options{
		Servers:  []durward.Server{taskOverHTTP(t, "web", web), taskProcess("pipe")},
		Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"*__work", "*__finish"}}},
	})
	r.await(t, "web", isReady)
	r.await(t, "pipe", isReady)
	for _, tt := range []struct{ route, prefix string }{
		{"/mcp", "web__"}, {"/mcp", "pipe__"}, {"/servers/web/mcp", ""}, {"/servers/pipe/mcp", ""}, {"/toolsets/some/mcp", "web__"}, {"/toolsets/some/mcp", "pipe__"},
	} {
		t.Run(tt.route+" "+tt.prefix, func(t *testing.T) {
			c := r.tasker(tt.route, "")
			id := begin(t, c, tt.prefix+"work", `{"text":"the outcome"}`)
			if status, _ := taskState(t, c, id); status != "working" {
				t.Errorf("it is %s", status)
			}
			asks := begin(t, c, tt.prefix+"work", `{"ask":true}`)
			if status, whole := taskState(t, c, asks); status != "input_required" || !strings.Contains(whole, `"inputRequests":{"who"`) {
				t.Errorf("it wants no input: %s", whole)
			}
			if a := do(t, c, "tasks/update", `{"taskId":"`+asks+`","inputResponses":{"who":{"action":"accept","x":1e400}}}`); a.Msg.Error != nil || a.Msg.Type() != "complete" {
				t.Errorf("tasks/update: %s %s", a.Msg.Result, a.Msg.Error)
			}
			if status, whole := taskState(t, c, asks); status != "completed" || !strings.Contains(whole, `{\"action\":\"accept\",\"x\":1e400}`) {
				t.Errorf("the answer did not arrive: %s", whole)
			}
			if a := aboutTask(t, c, "tasks/cancel", id); a.Msg.Error != nil {
				t.Errorf("tasks/cancel: %s", a.Msg.Error)
			}
			if status, _ := taskState(t, c, id); status != "cancelled" {
				t.Errorf("it is %s", status)
			}
			// A task that is gone is the server's to tell of.
			if a := call(t, c, tt.prefix+"work", `{"made":"\"gone\""}`); a.Msg.Error != nil {
				t.Error(a.Msg.Error)
			} else {
				gone, _ := wire.Unquote(wire.Get(a.Msg.Result, "taskId"))
				if a := aboutTask(t, c, "tasks/get", gone); a.Code() != wire.CodeInvalidParams || a.Message() != "no task gone" || a.Status != http.StatusOK {
					t.Errorf("status %d: %s", a.Status, a.Msg.Error)
				}
			}
		})
	}
	for _, seen := range web.Seen() {
		if strings.HasPrefix(seen.Method, "tasks/") {
			if id, _ := wire.Unquote(wire.Get([]byte(seen.Params), "taskId")); id != seen.Name || !strings.HasPrefix(id, "task-") && id != "gone" {
				t.Errorf("%s: the server got taskId %q, Mcp-Name %q", seen.Method, id, seen.Name)
			}
		}
	}
}

// A task is its principal's, whatever the route and the instance of the gateway.
func TestATaskFollowsItsPrincipal(t *testing.T) {
	web := &taskserver.Server{}
	opt := gateway.Options{
		Servers: []durward.Server{taskOverHTTP(t, "web", web)}, Access: twoPrincipals(),
		Toolsets: []durward.Toolset{{Name: "some", Tools: []string{"web__echo"}}}, SealKeys: []durward.SealKey{durward.NewSealKey()},
	}
	a, b := start(t, opt), start(t, opt)
	a.await(t, "web", isReady)
	b.await(t, "web", isReady)
	id := begin(t, a.tasker("/mcp", aliceSecret), "web__work", `{}`)
	for _, r := range []*running{a, b} {
		for _, route := range []string{"/mcp", "/servers/web/mcp", "/toolsets/some/mcp"} {
			if status, whole := taskState(t, r.tasker(route, aliceSecret), id); status != "working" {
				t.Errorf("%s: %s", route, whole)
			}
		}
	}
}

func TestTaskIDsThatAreNotGoodHere(t *testing.T) {
	web, other := &taskserver.Server{}, &taskserver.Server{}
	r := start(t, gateway.Options{
		Servers: []durward.Server{taskOverHTTP(t, "web", web), taskOverHTTP(t, "other", other), taskProcess("old", "-legacy"), interviewed(t, "asks")}, Access: twoPrincipals(),
		Toolsets: []durward.Toolset{{Name: "others", Tools: []string{"other__*"}}},
	})
	for _, name := range []string{"web", "other", "old", "asks"} {
		r.await(t, name, isReady)
	}
	c := r.tasker("/mcp", aliceSecret)
	id := begin(t, c, "web__work", `{}`)
	elder := r.sessionOf(t, "/mcp", aliceSecret)
	legacyID := beginLegacy(t, elder, "old__work", `{}`)
	before := len(web.Seen())

	const message = "there is no such task here: its id was changed or made up, or belongs to somebody else, or its server is gone"
	refused := func(what string, c *rawclient.Client, methods []string, id string) {
		t.Helper()
		for _, method := range methods {
			a := do(t, c, method, `{"taskId":`+wire.Quote(id)+`,"inputResponses":{}}`)
			wanted := http.StatusBadRequest
			if !c.Modern {
				wanted = http.StatusOK
			}
			if a.Code() != wire.CodeInvalidParams || a.Message() != message || a.Status != wanted {
				t.Errorf("%s, %s: status %d: %s %s", what, method, a.Status, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	modern, legacy := []string{"tasks/get", "tasks/update", "tasks/cancel", "tasks/else"}, []string{"tasks/get", "tasks/result", "tasks/cancel"}
	refused("another principal's", r.tasker("/mcp", bobSecret), modern, id)
	refused("of a server that is not on the route", r.tasker("/servers/other/mcp", aliceSecret), modern, id)
	refused("of a server whose tools are not in the toolset", r.tasker("/toolsets/others/mcp", aliceSecret), modern, id)
	refused("of the other era", c, modern, legacyID)
	refused("of the other era", elder, legacy, id)
	refused("another principal's", r.sessionOf(t, "/mcp", bobSecret), legacy, legacyID)
	refused("the server's own", c, modern, "task-1")
	refused("the server's own", elder, legacy, "task-1")
	refused("empty", c, modern, "")
	refused("too long", c, modern[:1], strings.Repeat("A", 8<<10))
	refused("padded", c, modern, id+"=")
	refused("extended", c, modern, id+"A")
	for i := range id {
		if i%7 == 0 {
			refused("changed", c, modern[:1], id[:i]+flip(id[i])+id[i+1:])
		}
	}
	asking := r.tasker("/mcp", aliceSecret)
	asking.Capabilities = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	state, ok := wire.Unquote(wire.Get(call(t, asking, "asks__interview", `{"rounds":1}`).Msg.Result, "requestState"))
	if !ok {
		t.Fatal("no requestState")
	}
	refused("a token of another purpose", c, modern, state)
	if after := len(web.Seen()); after != before {
		t.Errorf("the server heard of %d of them", after-before)
	}
	if status, _ := taskState(t, c, id); status != "working" {
		t.Errorf("the task is %s", status)
	}
}

// interviewed is a modern server that asks for input.
func interviewed(t *testing.T, name string) durward.Server {
	t.Helper()
	web := httptest.NewServer(&interviewer.Server{})
	t.Cleanup(web.Close)
	return durward.Server{Name: name, Transport: durward.TransportHTTP, URL: web.URL}
}

// flip returns another character of the alphabet of tokens.
func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// sessionOf opens a legacy session of a principal.
func (r *running) sessionOf(t *testing.T, route, secret string) *rawclient.Client {
	t.Helper()
	c := &rawclient.Client{URL: r.url + route, Token: secret}
	if _, err := c.Initialize(t.Context(), `{"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTasksNeedTheExtension(t *testing.T) {
	web := &taskserver.Server{}
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "web", web)}})
	r.await(t, "web", isReady)
	id := begin(t, r.tasker("/mcp", ""), "web__work", `{}`)
	before := len(web.Seen())
	for _, capabilities := range []string{"{}", `{"extensions":{}}`, `{"tasks":{}}`} {
		c := &rawclient.Client{URL: r.url + "/mcp", Modern: true, Capabilities: capabilities}
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			a := do(t, c, method, `{"taskId":"`+id+`","inputResponses":{}}`)
			if want := `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`; a.Code() != wire.CodeMissingCapability || a.Status != http.StatusBadRequest ||
				string(wire.Get(a.Msg.Error, "data")) != want {
				t.Errorf("%s with %s: status %d, %s %s", method, capabilities, a.Status, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	if n := len(web.Seen()) - before; n != 0 {
		t.Errorf("the server heard of %d of them", n)
	}
	// What a server itself refuses to do without tasks is passed on.
	plain := r.modern("/mcp")
	if a := call(t, plain, "web__work", `{}`); a.Code() != wire.CodeMissingCapability || a.Status != http.StatusBadRequest || !strings.Contains(string(a.Msg.Error), "requiredCapabilities") {
		t.Errorf("status %d: %s %s", a.Status, a.Msg.Result, a.Msg.Error)
	}
	for method, wanted := range map[string]string{"tasks/list": "{}", "tasks/result": `{"taskId":"x"}`, "tasks/else": "{}"} {
		for _, route := range []string{"/mcp", "/servers/web/mcp"} {
			if a := do(t, r.tasker(route, ""), method, wanted); a.Code() != wire.CodeMethodNotFound || a.Status != http.StatusNotFound {
				t.Errorf("%s on %s: status %d, %s %s", method, route, a.Status, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	if a := do(t, r.tasker("/mcp", ""), "tasks/get", `{}`); a.Code() != wire.CodeInvalidParams || !strings.Contains(a.Message(), "needs params.taskId") {
		t.Errorf("without an id: %s", a.Msg.Error)
	}
}

func TestTaskIDsOutliveOneRotationAndNotTwo(t *testing.T) {
	first, second, third := durward.NewSealKey(), durward.NewSealKey(), durward.NewSealKey()
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "web", &taskserver.Server{})}, SealKeys: []durward.SealKey{first}})
	r.await(t, "web", isReady)
	c := r.tasker("/mcp", "")
	id := begin(t, c, "web__work", `{}`)
	for _, step := range []struct {
		keys []durward.SealKey
		good bool
	}{{[]durward.SealKey{second, first}, true}, {[]durward.SealKey{third, second}, false}, {[]durward.SealKey{first}, true}} {
		if err := r.SetSealKeys(step.keys); err != nil {
			t.Fatal(err)
		}
		if a := aboutTask(t, c, "tasks/get", id); (a.Msg.Error == nil) != step.good || !step.good && a.Status != http.StatusBadRequest {
			t.Errorf("status %d: %s %s", a.Status, a.Msg.Result, a.Msg.Error)
		}
	}
}

// A task without an id that can be used is lost, and must not look like one.
func TestTasksWithoutAUsableID(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "web", &taskserver.Server{})}})
	r.await(t, "web", isReady)
	c := r.tasker("/servers/web/mcp", "")
	for _, made := range []string{`7`, `null`, `{}`, `""`, wire.Quote(strings.Repeat("x", 5000))} {
		if a := call(t, c, "work", `{"made":`+wire.Quote(made)+`}`); a.Code() != wire.CodeUnknownOutcome {
			t.Errorf("%.20s: %s %s", made, a.Msg.Result, a.Msg.Error)
		}
	}
	// Readers differ in which of two members they take: both are sealed.
	a := call(t, c, "work", `{"made":`+wire.Quote(`"task-1","taskId":"task-1"`)+`}`)
	if a.Msg.Error != nil || strings.Contains(string(a.Msg.Result), "task-1") || strings.Count(string(a.Msg.Result), "taskId") != 2 {
		t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
	}
	// Any id that is a string comes back to its server byte for byte.
	for _, made := range []string{`"ünïcode \u00fc \/ \ud83d\ude00"`, `" "`, wire.Quote(strings.Repeat("x", 4000))} {
		a := call(t, c, "work", `{"made":`+wire.Quote(made)+`}`)
		id, _ := wire.Unquote(wire.Get(a.Msg.Result, "taskId"))
		own, _ := wire.Unquote([]byte(made))
		if a := aboutTask(t, c, "tasks/get", id); a.Message() != "no task "+own {
			t.Errorf("%.40s: %.200s %.200s", made, a.Msg.Result, a.Msg.Error)
		}
	}
}

// listened is what a subscriptions/listen brought.
type listened struct {
	notes chan wire.Message
	stop  context.CancelFunc
}

// listenTo opens a subscriptions/listen and returns its acknowledgement.
func listenTo(t *testing.T, c *rawclient.Client, filter string) (*listened, string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &listened{notes: make(chan wire.Message, 64), stop: cancel}
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		defer close(l.notes)
		_ = c.Stream(ctx, `{"notifications":`+filter+`}`, func(m wire.Message) bool { l.notes <- m; return true }) // ends with ctx
	}()
	m := l.next(t)
	if m.Method != wire.NoteAcknowledged {
		t.Fatalf("first came %s %s", m.Method, m.Error)
	}
	return l, string(wire.Get(m.Params.Raw, "notifications"))
}

// listenFor opens a subscriptions/listen whose acknowledgement is what is wanted. A server
// that takes longer to agree than it is waited for is left out of one: that is asked for again.
func listenFor(t *testing.T, c *rawclient.Client, filter, want string) *listened {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		l, told := listenTo(t, c, filter)
		if told == want {
			return l
		}
		if len(told) >= len(want) || time.Now().After(end) {
			t.Fatalf("acknowledged %s, want %s", told, want)
		}
		l.stop()
	}
}

func (l *listened) next(t *testing.T) wire.Message {
	t.Helper()
	select {
	case m, open := <-l.notes:
		if !open {
			t.Fatal("the stream ended")
		}
		return m
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		return wire.Message{}
	}
}

// nextOf returns the next note that does not tell again of a task that was told of
// before: while an upstream listen is replaced by another, both tell.
func (l *listened) nextOf(t *testing.T, told ...string) wire.Message {
	t.Helper()
	for {
		m := l.next(t)
		if id, _ := wire.Unquote(wire.Get(m.Params.Raw, "taskId")); m.Method != wire.NoteTasks || !slices.Contains(told, id) {
			return m
		}
	}
}

func TestTasksAreToldOf(t *testing.T) {
	web, deaf := &taskserver.Server{}, &taskserver.Server{Deaf: true}
	r := start(t, gateway.Options{
		Servers: []durward.Server{taskOverHTTP(t, "web", web), taskOverHTTP(t, "deaf", deaf), taskProcess("pipe")}, Access: twoPrincipals(),
	})
	for _, name := range []string{"web", "deaf", "pipe"} {
		r.await(t, name, isReady)
	}
	alice, bob := r.tasker("/mcp", aliceSecret), r.tasker("/mcp", bobSecret)
	mine, piped, unheard, theirs := begin(t, alice, "web__work", `{}`), begin(t, alice, "pipe__work", `{}`), begin(t, alice, "deaf__work", `{}`), begin(t, bob, "web__work", `{}`)

	l := listenFor(t, alice, `{"taskIds":["`+mine+`","`+unheard+`","`+theirs+`","task-1","`+piped+`","`+mine+`"],"toolsListChanged":true}`,
		`{"toolsListChanged":true,"taskIds":["`+mine+`","`+piped+`"]}`)
	single := listenFor(t, r.tasker("/servers/web/mcp", aliceSecret), `{"taskIds":["`+piped+`","`+mine+`"]}`, `{"taskIds":["`+mine+`"]}`)
	others := listenFor(t, bob, `{"taskIds":["`+mine+`","`+theirs+`"]}`, `{"taskIds":["`+theirs+`"]}`)

	web.Finish("task-1", "the outcome")
	for _, l := range []*listened{l, single} {
		m := l.next(t)
		id, _ := wire.Unquote(wire.Get(m.Params.Raw, "taskId"))
		if m.Method != wire.NoteTasks || id != mine || !strings.Contains(string(m.Params.Raw), "the outcome") ||
			string(m.Params.InMeta.SubscriptionID.Of(m.Params.Raw)) != `"listen"` || strings.Contains(string(m.Params.Raw), "task-1") {
			t.Errorf("%s %s", m.Method, m.Params.Raw)
		}
	}
	call(t, alice, "pipe__finish", `{"id":"task-1","text":"by pipe"}`)
	if m := l.nextOf(t, mine); m.Method != wire.NoteTasks || !strings.Contains(string(m.Params.Raw), piped) || !strings.Contains(string(m.Params.Raw), "by pipe") {
		t.Errorf("%s %s", m.Method, m.Params.Raw)
	}
	web.Finish("task-2", "bob's")
	if m := others.next(t); m.Method != wire.NoteTasks || !strings.Contains(string(m.Params.Raw), theirs) {
		t.Errorf("%s %s", m.Method, m.Params.Raw)
	}
	for _, heard := range []struct {
		who string
		*listened
		own []string
	}{
		{"alice", l, []string{mine, piped}},
		{"alice on the server's route", single, []string{mine}},
		{"bob", others, []string{theirs}},
	} {
		heard.stop()
		for m := range heard.notes {
			if id, _ := wire.Unquote(wire.Get(m.Params.Raw, "taskId")); m.Method == wire.NoteTasks && !slices.Contains(heard.own, id) {
				t.Errorf("%s heard of %s", heard.who, m.Params.Raw)
			}
		}
	}
}

func TestListeningToTasksNeedsTheExtension(t *testing.T) {
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "web", &taskserver.Server{})}})
	r.await(t, "web", isReady)
	id := begin(t, r.tasker("/mcp", ""), "web__work", `{}`)
	a := do(t, r.modern("/mcp"), "subscriptions/listen", `{"notifications":{"taskIds":["`+id+`"]}}`)
	if a.Code() != wire.CodeMissingCapability || a.Status != http.StatusBadRequest || !strings.Contains(string(a.Msg.Error), `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
		t.Errorf("status %d: %s %s", a.Status, a.Msg.Result, a.Msg.Error)
	}
}

// A notification holds the outcome, so it passes the same gate as tasks/get.
func TestPolicySeesWhatTasksTell(t *testing.T) {
	web := &taskserver.Server{}
	g := &gate{}
	r := start(t, gateway.Options{Servers: []durward.Server{taskOverHTTP(t, "web", web)}, Decider: g, Recorder: g})
	r.await(t, "web", isReady)
	c := r.tasker("/mcp", "")
	secret, open := begin(t, c, "web__work", `{}`), begin(t, c, "web__work", `{}`)
	both := `{"taskIds":["` + secret + `","` + open + `"]}`
	l := listenFor(t, c, both, both)
	g.taken()
	web.Finish("task-1", "classified")
	web.Finish("task-2", "harmless")
	if m := l.next(t); !strings.Contains(string(m.Params.Raw), "harmless") {
		t.Errorf("policy did not see %s", m.Params.Raw)
	}
	if a := aboutTask(t, c, "tasks/get", secret); a.Code() != wire.CodeRefused {
		t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
	}
	if notes := g.taken(); !strings.Contains(notes, "decide tasks/get web task-1") {
		t.Errorf("policy saw\n%s", notes)
	}
	// Who makes ids up is written down like everybody else.
	aboutTask(t, c, "tasks/get", "made-up")
	if notes := g.taken(); !strings.Contains(notes, "decide tasks/get   ") || !strings.Contains(notes, "outcome error") {
		t.Errorf("the attempt passed as\n%s", notes)
	}
}
