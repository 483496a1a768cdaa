package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/interviewer"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// asking is a client of a route that can be asked everything.
func (r *running) asking(t *testing.T, modern bool, route string) *rawclient.Client {
	t.Helper()
	c := &rawclient.Client{URL: r.url + route, Modern: modern, Capabilities: everything}
	if !modern {
		if _, err := c.Initialize(t.Context(), everything); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// modernServer runs an interviewer and returns how the gateway reaches it.
func modernServer(t *testing.T, name string) (*interviewer.Server, durward.Server) {
	t.Helper()
	s := new(interviewer.Server)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return s, durward.Server{Name: name, URL: web.URL}
}

// saysWhat answers each question with what was asked, so that a mix-up shows.
func saysWhat(q rawclient.Question) string {
	switch q.Method {
	case wire.MethodElicit:
		return fmt.Sprintf(`{"action":"accept","content":{"name":%s}}`, wire.Quote(q.Text()))
	case wire.MethodSampling:
		return fmt.Sprintf(`{"role":"assistant","content":{"type":"text","text":%s},"model":"m"}`, wire.Quote(q.Text()))
	default:
		return `{"roots":[{"uri":"file:///r"}]}`
	}
}

// eachPair runs f for every pair of eras.
func eachPair(t *testing.T, f func(t *testing.T, c *rawclient.Client, server string)) {
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern, hostileServer("l")}})
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	for _, era := range []string{"modern", "legacy"} {
		for _, server := range []string{"m", "l"} {
			t.Run(era+" client, server "+server, func(t *testing.T) { f(t, g.asking(t, era == "modern", "/mcp"), server) })
		}
	}
}

// arguments of the interview tool of both servers.
func arguments(who string, rounds, each int, kinds string) string {
	return fmt.Sprintf(`{"who":%q,"text":%q,"rounds":%d,"n":%d,"each":%d,"k":%d,"kinds":%q,"name":%q}`, who, who, rounds, rounds, each, each, kinds, kinds)
}

func TestB10_EveryPairAsksAndIsAnswered(t *testing.T) {
	eachPair(t, func(t *testing.T, c *rawclient.Client, server string) {
		for _, kinds := range []string{"form", "url", "sampling", "roots", "form,sampling,roots,url"} {
			params := `{"name":"` + server + `__interview","arguments":` + arguments("me", 3, 2, kinds) + `}`
			asked := 0
			a, err := c.Converse(t.Context(), wire.MethodToolsCall, params, func(q rawclient.Question) string {
				asked++
				return saysWhat(q)
			})
			if err != nil || a.Msg.Error != nil {
				t.Fatalf("%s: %v %s", kinds, err, a.Msg.Error)
			}
			if lines := strings.Count(a.Text(), "\n") + 1; asked != 6 || lines != 6 {
				t.Errorf("%s: %d questions, %d answers: %s", kinds, asked, lines, a.Text())
			}
			if strings.Contains(kinds, "form") && (!strings.Contains(a.Text(), "me round 1 question 1") || !strings.Contains(a.Text(), "me round 3")) {
				t.Errorf("%s: %s", kinds, a.Text())
			}
		}
	})
}

func TestB10_PromptsAndResourcesAsk(t *testing.T) {
	s, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern}})
	g.await(t, "m", isReady)
	for _, era := range []bool{true, false} {
		c := g.asking(t, era, "/mcp")
		for method, params := range map[string]string{
			wire.MethodPromptsGet: `{"name":"m__interview"}`, wire.MethodResourcesRead: `{"uri":"interview://one"}`,
		} {
			a, err := c.Converse(t.Context(), method, params, saysWhat)
			if err != nil || a.Msg.Error != nil || !strings.Contains(string(a.Msg.Result), "one round 1 question 1") && !strings.Contains(string(a.Msg.Result), "interview round 1 question 1") {
				t.Errorf("modern=%v %s: %v %s %s", era, method, err, a.Msg.Result, a.Msg.Error)
			}
		}
	}
	for _, seen := range s.Seen() {
		if strings.Contains(seen, "m__") {
			t.Errorf("the server saw an offered name: %s", seen)
		}
	}
}

// Questions that a legacy server asks together are one round for a modern client.
func TestB10_QuestionsThatComeTogetherAreOneRound(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("l")}, Limits: gateway.Limits{Holds: 1000}})
	c := g.asking(t, true, "/mcp")
	for range 500 {
		a := do(t, c, wire.MethodToolsCall, `{"name":"l__interview","arguments":`+arguments("me", 1, 5, "form")+`}`)
		n := count(wire.Get(a.Msg.Result, "inputRequests"))
		if n == 5 {
			return
		}
		t.Logf("%d of 5 questions came: %s", n, a.Msg.Result) // the machine held one of us up between two of them
	}
	t.Error("five questions never came together")
}

func count(object []byte) (n int) {
	for range wire.Members(object) {
		n++
	}
	return n
}

// What a client leaves unanswered is asked again; what nobody asked is ignored.
func TestB10_UnansweredQuestionsAreAskedAgain(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("l")}})
	g.await(t, "l", isReady)
	c := g.asking(t, true, "/mcp")
	params := `{"name":"l__interview","arguments":` + arguments("me", 1, 2, "form") + `}`
	a := do(t, c, wire.MethodToolsCall, params)
	first := true
	retry := rawclient.Retry(params, a, func(q rawclient.Question) string {
		if first {
			first = false
			return saysWhat(q)
		}
		return ""
	})
	a = do(t, c, wire.MethodToolsCall, strings.Replace(retry, `"inputResponses":{`, `"inputResponses":{"nobody":{"x":1},`, 1))
	if n := count(wire.Get(a.Msg.Result, "inputRequests")); n != 1 {
		t.Fatalf("%d questions are left of one: %s%s", n, a.Msg.Result, a.Msg.Error)
	}
	a = do(t, c, wire.MethodToolsCall, rawclient.Retry(params, a, saysWhat))
	if !strings.Contains(a.Text(), "question 1") || !strings.Contains(a.Text(), "question 2") {
		t.Error(a.Text())
	}
}

// Two principals are asked at the same time by one shared legacy stdio server.
func TestB10_EachPrincipalIsAskedItsOwnQuestions(t *testing.T) {
	var opt gateway.Options
	opt.Servers = []durward.Server{hostileServer("l")}
	for _, who := range []string{"alice", "bob", "carol"} {
		opt.Access.Tokens = append(opt.Access.Tokens, gateway.Token{Principal: who, Secret: who + "-0123456789abcdef"})
	}
	g := start(t, opt)
	g.await(t, "l", isReady)
	var all sync.WaitGroup
	for _, modern := range []bool{true, false} {
		for _, who := range []string{"alice", "bob", "carol"} {
			all.Go(func() {
				c := &rawclient.Client{URL: g.url + "/mcp", Modern: modern, Capabilities: everything, Token: who + "-0123456789abcdef"}
				if !modern {
					if _, err := c.Initialize(t.Context(), everything); err != nil {
						t.Error(err)
						return
					}
				}
				for range 5 {
					params := `{"name":"l__interview","arguments":` + arguments(who, 3, 1, "form,sampling") + `}`
					a, err := c.Converse(t.Context(), wire.MethodToolsCall, params, func(q rawclient.Question) string {
						if !strings.HasPrefix(q.Text(), who+" ") {
							t.Errorf("%s was asked %q", who, q.Text())
						}
						return saysWhat(q)
					})
					if err != nil {
						t.Errorf("%s: %v", who, err)
					} else if strings.Count(a.Text(), "\n") != 2 {
						t.Errorf("%s: %s %s", who, a.Msg.Result, a.Msg.Error)
					}
				}
			})
		}
	}
	all.Wait()
}

func TestStateIsBoundToItsRequest(t *testing.T) {
	_, modern := modernServer(t, "m")
	var opt gateway.Options
	opt.Servers = []durward.Server{modern, hostileServer("l")}
	for _, who := range []string{"alice", "bob"} {
		opt.Access.Tokens = append(opt.Access.Tokens, gateway.Token{Principal: who, Secret: who + "-0123456789abcdef"})
	}
	g := start(t, opt)
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	client := func(who, route string) *rawclient.Client {
		return &rawclient.Client{URL: g.url + route, Modern: true, Capabilities: everything, Token: who + "-0123456789abcdef"}
	}
	for _, server := range []string{"m", "l"} {
		params := `{"name":"` + server + `__interview","arguments":` + arguments("me", 2, 1, "form") + `}`
		a := do(t, client("alice", "/mcp"), wire.MethodToolsCall, params)
		good := rawclient.Retry(params, a, saysWhat)
		state, _ := wire.Unquote(wire.Get(a.Msg.Result, "requestState"))
		last := state[len(state)/2]
		other := byte('A')
		if last == 'A' {
			other = 'B'
		}
		for name, attack := range map[string]struct {
			c      *rawclient.Client
			params string
		}{
			"another principal":  {client("bob", "/mcp"), good},
			"other arguments":    {client("alice", "/mcp"), strings.Replace(good, `"who":"me"`, `"who":"you"`, 1)},
			"another tool":       {client("alice", "/mcp"), strings.Replace(good, server+"__interview", "l__echo", 1)},
			"another route":      {client("alice", "/servers/"+server+"/mcp"), strings.Replace(good, server+"__", "", 1)},
			"a changed token":    {client("alice", "/mcp"), strings.Replace(good, state, state[:len(state)/2]+string(other)+state[len(state)/2+1:], 1)},
			"a shortened token":  {client("alice", "/mcp"), strings.Replace(good, state, state[:len(state)-4], 1)},
			"the server's own":   {client("alice", "/mcp"), strings.Replace(good, state, "eyJSb3VuZCI6Mn0=", 1)},
			"no string":          {client("alice", "/mcp"), strings.Replace(good, `"`+state+`"`, "7", 1)},
			"an empty string":    {client("alice", "/mcp"), strings.Replace(good, state, "", 1)},
			"a number for a big": {client("alice", "/mcp"), strings.Replace(good, `"rounds":2`, `"rounds":2.5`, 1)},
		} {
			b := do(t, attack.c, wire.MethodToolsCall, attack.params)
			if b.Status != 400 || b.Code() != wire.CodeInvalidParams {
				t.Errorf("%s, %s: %d %s%s", server, name, b.Status, b.Msg.Result, b.Msg.Error)
			}
		}
		// The same in another spelling is the same request.
		spelt := strings.Replace(good, `"who":"me"`, ` "who" : "\u006de"`, 1)
		if b := do(t, client("alice", "/mcp"), wire.MethodToolsCall, spelt); b.Msg.Type() != "input_required" {
			t.Errorf("%s: the retry in another spelling: %s%s", server, b.Msg.Result, b.Msg.Error)
		}
		if server == "m" {
			continue
		}
		// A held call goes on once: what was asked first is answered now.
		if b := do(t, client("alice", "/mcp"), wire.MethodToolsCall, good); b.Status != 200 || !strings.Contains(b.Text(), "is over") {
			t.Errorf("an answer given twice: %d %s%s", b.Status, b.Msg.Result, b.Msg.Error)
		}
	}
}

// Between modern ones nothing is kept: another replica, or the next run of the
// gateway, goes on where the first stopped.
func TestModernRoundsGoOnElsewhere(t *testing.T) {
	_, server := modernServer(t, "m")
	opt := gateway.Options{Servers: []durward.Server{server}, SealKeys: []durward.SealKey{durward.NewSealKey()}}
	a, b := start(t, opt), start(t, opt)
	stranger := start(t, gateway.Options{Servers: []durward.Server{server}})
	for _, g := range []*running{a, b, stranger} {
		g.await(t, "m", isReady)
	}
	params := `{"name":"m__interview","arguments":` + arguments("me", 3, 2, "form,roots") + `}`
	first := do(t, a.asking(t, true, "/mcp"), wire.MethodToolsCall, params)
	second := do(t, b.asking(t, true, "/mcp"), wire.MethodToolsCall, rawclient.Retry(params, first, saysWhat))
	if second.Msg.Type() != "input_required" {
		t.Fatalf("%s%s", second.Msg.Result, second.Msg.Error)
	}
	if refused := do(t, stranger.asking(t, true, "/mcp"), wire.MethodToolsCall, rawclient.Retry(params, second, saysWhat)); refused.Status != 400 {
		t.Errorf("a gateway with other keys: %d %s", refused.Status, refused.Msg.Result)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c := start(t, opt)
	c.await(t, "m", isReady)
	third := do(t, c.asking(t, true, "/mcp"), wire.MethodToolsCall, rawclient.Retry(params, second, saysWhat))
	last := do(t, a.asking(t, true, "/mcp"), wire.MethodToolsCall, rawclient.Retry(params, third, saysWhat))
	if strings.Count(last.Text(), "\n") != 5 {
		t.Errorf("%s%s", last.Msg.Result, last.Msg.Error)
	}
}

func TestServersThatOnlyAskToComeAgain(t *testing.T) {
	s, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern}})
	g.await(t, "m", isReady)
	a := do(t, g.asking(t, false, "/mcp"), wire.MethodToolsCall, `{"name":"m__interview","arguments":{"shed":2}}`)
	if a.Msg.Error != nil || len(s.Seen()) != 3 {
		t.Errorf("%d requests: %s%s", len(s.Seen()), a.Msg.Result, a.Msg.Error)
	}
	c := g.asking(t, true, "/mcp")
	a = do(t, c, wire.MethodToolsCall, `{"name":"m__interview","arguments":{"shed":1}}`)
	if wire.Get(a.Msg.Result, "requestState") == nil || wire.Get(a.Msg.Result, "inputRequests") != nil {
		t.Errorf("%s", a.Msg.Result)
	}
}

// A server that keeps no state of its own gets none of ours.
func TestServersWithoutStateSeeNone(t *testing.T) {
	s, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern}})
	g.await(t, "m", isReady)
	for _, era := range []bool{true, false} {
		a, err := g.asking(t, era, "/mcp").Converse(t.Context(), wire.MethodToolsCall, `{"name":"m__interview","arguments":{"rounds":1,"mute":true}}`, saysWhat)
		if err != nil || a.Msg.Error != nil {
			t.Errorf("modern=%v: %v %s", era, err, a.Msg.Error)
		}
	}
	for _, seen := range s.Seen() {
		if strings.Contains(seen, "requestState") {
			t.Errorf("the server was given a state: %s", seen)
		}
	}
}

func TestRoundsAreBounded(t *testing.T) {
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern, hostileServer("l")}, Limits: gateway.Limits{Rounds: 3}})
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	for _, era := range []bool{true, false} {
		for _, server := range []string{"m", "l"} {
			if !era && server == "l" {
				continue // the questions of a legacy server to a legacy client are its own business
			}
			c := g.asking(t, era, "/mcp")
			a, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"`+server+`__interview","arguments":`+arguments("me", 4, 1, "form")+`}`, saysWhat)
			if err != nil || !strings.Contains(a.Message(), "limits.rounds") {
				t.Errorf("modern=%v %s: %v %s%s", era, server, err, a.Msg.Result, a.Msg.Error)
			}
		}
	}
}

// A client is asked only what it said it can answer.
func TestOnlyDeclaredQuestionsAreAsked(t *testing.T) {
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern, hostileServer("l")}})
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	for _, server := range []string{"m", "l"} {
		for _, c := range []struct{ declared, kinds, missing string }{
			{`{}`, "form", `{"elicitation":{}}`},
			{`{"elicitation":{}}`, "url", `{"elicitation":{"url":{}}}`},
			{`{"elicitation":{"url":{}}}`, "form", `{"elicitation":{"form":{}}}`},
			{`{"roots":{}}`, "sampling", `{"sampling":{}}`},
			{`{"sampling":{}}`, "roots", `{"roots":{}}`},
		} {
			params := `{"name":"` + server + `__interview","arguments":` + arguments("me", 1, 1, c.kinds) + `}`
			asks := func(q rawclient.Question) string {
				t.Errorf("%s asked for %s of a client that declared %s", server, q.Method, c.declared)
				return "{}"
			}
			client := &rawclient.Client{URL: g.url + "/mcp", Modern: true, Capabilities: c.declared}
			a, err := client.Converse(t.Context(), wire.MethodToolsCall, params, asks)
			if err != nil {
				t.Fatal(err)
			}
			if server == "m" {
				required := string(wire.Get(wire.Get(a.Msg.Error, "data"), "requiredCapabilities"))
				if a.Status != 400 || a.Code() != wire.CodeMissingCapability || required != c.missing {
					t.Errorf("%s of %s: %d %s", c.kinds, c.declared, a.Status, a.Msg.Error)
				}
			}
			legacy := &rawclient.Client{URL: g.url + "/mcp"}
			if _, err := legacy.Initialize(t.Context(), c.declared); err != nil {
				t.Fatal(err)
			}
			if a, err = legacy.Converse(t.Context(), wire.MethodToolsCall, params, asks); err != nil {
				t.Fatal(err)
			}
			if code := a.Code(); code <= -32020 && code >= -32099 {
				t.Errorf("a legacy client got %s", a.Msg.Error)
			}
		}
	}
}

// A page that a legacy server wants visited first is a question to a modern client.
func TestPagesThatMustBeVisitedFirst(t *testing.T) {
	for _, modern := range []bool{true, false} {
		g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("l")}})
		g.await(t, "l", isReady)
		c := g.asking(t, modern, "/mcp")
		a := do(t, c, wire.MethodToolsCall, `{"name":"l__gate","arguments":{}}`)
		if !modern {
			if a.Code() != -32042 {
				t.Errorf("a legacy client got %s", a.Msg.Error)
			}
			continue
		}
		q := wire.Get(wire.Get(a.Msg.Result, "inputRequests"), "q1")
		if string(wire.Get(wire.Get(q, "params"), "url")) != `"https://example.com/consent"` || strings.Contains(string(q), "elicitationId") {
			t.Fatalf("%s%s", a.Msg.Result, a.Msg.Error)
		}
		no := do(t, c, wire.MethodToolsCall, rawclient.Retry(`{"name":"l__gate","arguments":{}}`, a, func(rawclient.Question) string { return `{"action":"decline"}` }))
		if !strings.Contains(string(no.Msg.Result), `"isError":true`) {
			t.Errorf("%s%s", no.Msg.Result, no.Msg.Error)
		}
		yes := do(t, c, wire.MethodToolsCall, rawclient.Retry(`{"name":"l__gate","arguments":{}}`, a, func(rawclient.Question) string { return `{"action":"accept"}` }))
		if yes.Text() != "welcome" {
			t.Errorf("%s%s", yes.Msg.Result, yes.Msg.Error)
		}
	}
}

// Leaving between rounds is normal; closing the stream during one cancels the call.
func TestB9_LeavingDuringARoundCancels(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("l", "-notes", notes)}})
	g.await(t, "l", isReady)
	c := g.asking(t, true, "/mcp")
	meta := `"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + everything + `}`
	params := `{"name":"l__interview","arguments":{"text":"me","n":1,"k":1,"name":"form","ms":600000},` + meta + `}`
	a := do(t, c, wire.MethodToolsCall, params)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	going, once := make(chan struct{}), sync.Once{}
	c.OnNote = func(wire.Message) { once.Do(func() { close(going) }) }
	go func() {
		_, err := c.Do(ctx, wire.MethodToolsCall, rawclient.Retry(params, a, saysWhat))
		left <- err
	}()
	await(t, "progress", going) // the server has the answer and is at work
	leave()
	await(t, "the end of the call", left)
	awaitLines(t, notes, `"notifications/cancelled"`, 1)
	g.await(t, "l", func(s durward.ServerStatus) bool { return s.InFlight == 0 })
}

// The gate sees every round as a call, and how it ended.
func TestEveryRoundPassesTheGate(t *testing.T) {
	_, modern := modernServer(t, "m")
	d := new(gate)
	g := start(t, gateway.Options{Servers: []durward.Server{modern}, Decider: d, Recorder: d})
	g.await(t, "m", isReady)
	c := g.asking(t, true, "/mcp")
	d.taken()
	if a, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"m__interview","arguments":{"rounds":1,"kinds":"roots"}}`, saysWhat); err != nil || a.Msg.Error != nil {
		t.Fatalf("%v %s", err, a.Msg.Error)
	}
	notes := d.taken()
	if strings.Count(notes, "decide tools/call m interview") != 2 || !strings.Contains(notes, "outcome input") || !strings.Contains(notes, "outcome ok") {
		t.Error(notes)
	}
}

func TestStatesOfServersAreBounded(t *testing.T) {
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern}})
	g.await(t, "m", isReady)
	long, _ := json.Marshal(strings.Repeat("x", 20<<10)) // a string
	for _, state := range []string{string(long), `{"not":"a string"}`} {
		arguments, _ := json.Marshal(map[string]any{"rounds": 1, "state": state}) // plain data
		for _, era := range []bool{true, false} {
			a := do(t, g.asking(t, era, "/mcp"), wire.MethodToolsCall, `{"name":"m__interview","arguments":`+string(arguments)+`}`)
			if !strings.Contains(a.Message(), "requestState") {
				t.Errorf("modern=%v: %.200s%s", era, a.Msg.Result, a.Msg.Error)
			}
		}
	}
}

// Arguments that a header mirrors are compared as they are meant, and mirrored anew.
func TestMirroredArgumentsInEveryEncoding(t *testing.T) {
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern}})
	g.await(t, "m", isReady)
	for city, header := range map[string]string{
		"Berlin": "Berlin", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=", "=?base64?QQ==?=": "=?base64?PT9iYXNlNjQ/UVE9PT89?=",
	} {
		c := g.modern("/mcp")
		c.Header = map[string][]string{"Mcp-Param-City": {header}}
		params := `{"name":"m__mirrored","arguments":{"city":` + wire.Quote(city) + `}}`
		if a := do(t, c, wire.MethodToolsCall, params); a.Text() != header {
			t.Errorf("%q as %s: the server got %q %s", city, header, a.Text(), a.Msg.Error)
		}
		c.Header.Set("Mcp-Param-City", "elsewhere")
		if a := do(t, c, wire.MethodToolsCall, params); a.Status != 400 || a.Code() != wire.CodeHeaderMismatch {
			t.Errorf("%q mirrored as elsewhere: %d %s", city, a.Status, a.Msg.Error)
		}
	}
}
