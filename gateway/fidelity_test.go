package gateway_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/wire"
)

func corpus(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// fidelityServer lists the corpus of tools.
func fidelityServer(t *testing.T) durward.Server {
	t.Helper()
	items, err := filepath.Abs(filepath.Join("testdata", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return hostileServer("h", "-list", "fidelity", "-items", items)
}

func listed(t *testing.T, result []byte) (items []string) {
	t.Helper()
	list := wire.Get(result, "tools")
	for at := range wire.Elements(list) {
		items = append(items, string(at.Of(list)))
	}
	return items
}

func TestB12_ListsAreByteFaithful(t *testing.T) {
	want := corpus(t, "tools.jsonl")
	g := start(t, gateway.Options{Servers: []durward.Server{fidelityServer(t)}, Toolsets: []durward.Toolset{{Name: "all", Tools: []string{"*"}}}})
	g.await(t, "h", isReady)
	for era, c := range g.clients(t, "/servers/h/mcp") {
		got := listed(t, do(t, c, "tools/list", `{}`).Msg.Result)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: the single-server route changed a tool:\n%s", era, strings.Join(got, "\n"))
		}
	}
	for _, route := range []string{"/mcp", "/toolsets/all/mcp"} {
		for era, c := range g.clients(t, route) {
			for i, got := range listed(t, do(t, c, "tools/list", `{}`).Msg.Result) {
				own := strings.Replace(got, `"h__`, `"`, 1)                 // the name is the aggregate's
				own = strings.Replace(own, `ui://h/panel`, `ui://panel`, 1) // and so is the panel's address
				if own != want[i] {
					t.Errorf("%s %s: more than the name changed:\n%s\n%s", era, route, got, want[i])
				}
			}
		}
	}
}

func TestB12_ListsWithoutPrefixAreByteFaithful(t *testing.T) {
	g := start(t, gateway.Options{Servers: []durward.Server{fidelityServer(t)}, NoPrefix: true})
	g.await(t, "h", isReady)
	for era, c := range g.clients(t, "/mcp") {
		got := listed(t, do(t, c, "tools/list", `{}`).Msg.Result)
		if want := corpus(t, "tools.jsonl"); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: a tool changed:\n%s", era, strings.Join(got, "\n"))
		}
	}
}

// A legacy server's results reach a legacy client untouched; a modern client
// gets the type that its era requires, and nothing else changes.
func TestResultsAreByteFaithful(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Toolsets: []durward.Toolset{{Name: "all", Tools: []string{"*"}}}})
	for route, tool := range map[string]string{"/mcp": "h__raw", "/servers/h/mcp": "raw", "/toolsets/all/mcp": "h__raw"} {
		for era, c := range g.clients(t, route) {
			for _, want := range corpus(t, "results.jsonl") {
				a := call(t, c, tool, `{"raw":`+wire.Quote(want)+`}`)
				got := a.Msg.Result
				if c.Modern {
					got = bytes.Replace(got, []byte(`"resultType":"complete",`), nil, 1)
				}
				if string(got) != want {
					t.Errorf("%s %s:\ngot  %s\nwant %s\n%s", era, route, got, want, a.Msg.Error)
				}
			}
		}
	}
}

// What a client sends reaches the server as it was, big numbers and all.
func TestArgumentsAreByteFaithful(t *testing.T) {
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	for era, c := range g.clients(t, "/mcp") {
		for _, arguments := range []string{
			`{"n":9007199254740993,"e":1e400,"z":-0,"a":0.10}`, `{ "b" : [ 1 , null ] , "a" : "\u00fc\ud83d\ude00" }`, `{}`,
		} {
			a := call(t, c, "h__seen", arguments)
			if !strings.Contains(a.Text(), `"arguments":`+arguments) {
				t.Errorf("%s: the server saw %s, wanted the arguments %s; %s", era, a.Text(), arguments, a.Msg.Error)
			}
		}
	}
}

// A result type that the client did not declare is no valid answer to it
// (2026-07-28, basic/index "ResultType"); one that it did declare passes untouched,
// but for the id of the task.
func TestTaskResultsNeedTheExtension(t *testing.T) {
	const task = `{"resultType":"task","status":"working" , "taskId" : "t-1","ttlMs":60000,"x":1e400}`
	g := ready(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}})
	c := g.modern("/servers/h/mcp")
	if a := call(t, c, "raw", `{"raw":`+wire.Quote(task)+`}`); a.Code() != wire.CodeMissingCapability {
		t.Errorf("undeclared: %s %s", a.Msg.Result, a.Msg.Error)
	}
	a := do(t, c, "tools/call", `{"name":"raw","arguments":{"raw":`+wire.Quote(task)+`},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`)
	sealed := wire.Get(a.Msg.Result, "taskId")
	if want := strings.Replace(task, `"t-1"`, string(sealed), 1); string(a.Msg.Result) != want || string(sealed) == `"t-1"` {
		t.Errorf("declared: %s %s", a.Msg.Result, a.Msg.Error)
	}
}
