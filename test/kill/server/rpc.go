package main

import (
	"encoding/json"
	"os"
	"strings"
	"time"
)

// message is a request as far as the server looks at it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string    `json:"name"`
		URI       string    `json:"uri"`
		Arguments arguments `json:"arguments"`
	} `json:"params"`
}

// arguments are what the tools take.
type arguments struct {
	ID    string `json:"id"`    // of the call, unique in the run
	MS    int    `json:"ms"`    // how long the work takes
	Bytes int    `json:"bytes"` // of the answer
	Same  bool   `json:"same"`  // the answer is as that of other calls
	Fail  string `json:"fail"`  // tool: isError; error: a JSON-RPC error
	What  string `json:"what"`  // tell: env NAME, header NAME, args, or a text
	How   string `json:"how"`   // tell: text, structured, error, tool, log, stderr
}

// noteURI is in front of the id of a call that reads a resource.
const noteURI = "kill://note/"

// call is the id that the load gave a call.
func (m *message) call() string {
	switch m.Method {
	case "tools/call":
		return m.Params.Arguments.ID
	case "resources/read":
		return strings.TrimPrefix(m.Params.URI, noteURI)
	default:
		return ""
	}
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b)
}

func (m *message) result(members string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{` + members + `}}`
}

func (m *message) failure(code int, text string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":` + quote(code) + `,"message":` + quote(text) + `}}`
}

func (m *message) text(text string, isError bool) string {
	return m.result(`"resultType":"complete","content":[{"type":"text","text":` + quote(text) + `}],"isError":` + quote(isError))
}

const (
	capabilities = `"capabilities":{"tools":{},"resources":{},"logging":{}}`
	lists        = `"resultType":"complete","ttlMs":60000,"cacheScope":"public",`
	tools        = `"tools":[` +
		`{"name":"work","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}},` +
		`{"name":"tell","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}]`
)

func (s *server) answer(r *request) string {
	switch r.Method {
	case "initialize":
		return r.result(`"protocolVersion":"2025-11-25",` + capabilities + `,"serverInfo":{"name":` + quote(s.name) + `,"version":"1"}`)
	case "server/discover":
		return r.result(`"resultType":"complete","supportedVersions":["2026-07-28"],` + capabilities + `,"ttlMs":60000,"cacheScope":"public"`)
	case "ping", "logging/setLevel":
		return r.result("")
	case "tools/list":
		return r.result(lists + tools)
	case "resources/list":
		return r.result(lists + `"resources":[{"uri":"` + noteURI + `list","name":"note"}]`)
	case "resources/templates/list":
		return r.result(lists + `"resourceTemplates":[{"uriTemplate":"` + noteURI + `{id}","name":"note"}]`)
	case "resources/read":
		return r.result(`"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":` + quote(r.Params.URI) + `,"text":` + quote("did "+r.call()+" "+os.Getenv("KILL_NOTE")) + `}]`)
	case "tools/call":
		return s.tool(r)
	default:
		return r.failure(-32601, "method not found: "+r.Method)
	}
}

func (s *server) tool(r *request) string {
	a := &r.Params.Arguments
	if r.Params.Name == "tell" {
		return s.tell(r)
	}
	time.Sleep(time.Duration(a.MS) * time.Millisecond)
	switch a.Fail {
	case "tool":
		return r.text("did "+a.ID+" and it went wrong", true)
	case "error":
		return r.failure(-32050, "did "+a.ID+" and it went wrong")
	default:
		return r.text("did "+a.ID+padding(a), false)
	}
}

// padding makes an answer long. What is not the same differs in all of its lines,
// so that it is stored once for each call.
func padding(a *arguments) string {
	line := "\n" + a.ID + " is a long answer: the quick brown fox jumps over the lazy dog"
	if a.Same {
		line = "\nthe same long answer: the quick brown fox jumps over the lazy dog"
	}
	return strings.Repeat(line, a.Bytes/len(line))
}

// tell says what the server was given.
func (s *server) tell(r *request) string {
	a := &r.Params.Arguments
	what, name, _ := strings.Cut(a.What, " ")
	switch what {
	case "env":
		what = os.Getenv(name)
	case "header":
		what = r.header.Get(name)
	case "args":
		what = s.token
	default:
		what = a.What
	}
	text := "did " + a.ID + ": <" + what + ">"
	switch a.How {
	case "structured":
		return r.result(`"resultType":"complete","content":[],"structuredContent":{"told":` + quote(text) + `}`)
	case "error":
		return r.failure(-32050, text)
	case "tool":
		return r.text(text, true)
	case "log":
		r.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":` + quote(text) + `}}`)
		return r.text("did "+a.ID, false)
	case "stderr":
		_, _ = os.Stderr.WriteString(text + "\n") // if nobody listens, nothing leaks
		return r.text("did "+a.ID, false)
	default:
		return r.text(text, false)
	}
}
