package policy

import (
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
)

// The kinds of events. What "on" of a rule names besides methods are [EventHTTP]
// and [EventSandbox].
const (
	EventMCP     = "mcp"     // a request of a client, or the result of one
	EventHTTP    = "http"    // a built-in fetch or a connection to a server
	EventSandbox = "sandbox" // an operation of the host tools
)

// Event is what rules see: what is empty is absent to conditions. Raw JSON fields
// alias the bytes that came and must not be changed. The comment of each field
// names what it is called in conditions.
type Event struct {
	Type     string        // event.type: mcp, http, sandbox
	ID       string        // event.id
	Time     time.Time     // event.time
	Now      time.Time     // now
	Response bool          // the result is being decided, not the request
	Method   string        // mcp.method
	Request  []byte        // mcp.request.id: raw JSON
	Server   EventServer   // mcp.server
	Tool     EventTool     // mcp.tool; Name is empty for every method but tools/call
	Prompt   string        // mcp.prompt.name
	Resource string        // mcp.resource.uri
	Args     []byte        // mcp.tool.arguments, mcp.prompt.arguments: raw JSON object; nil when absent
	Input    EventInput    // mcp.input_request
	Result   []byte        // mcp.result: raw JSON object; nil in the request phase
	Score    float64       // mcp.result.injection_score, from 0 to 1
	Scored   bool          // Score was computed
	Caller   EventCaller   // caller
	HTTP     EventExchange // http
	Sandbox  EventOp       // sandbox
	Session  EventSession  // session
}

// EventServer is mcp.server.
type EventServer struct {
	Name      string
	Transport string
	Risk      durward.Risk // the floor of its tools; RiskUnset: absent
}

// EventTool is mcp.tool.
type EventTool struct {
	Name        string // the server's own
	FullName    string // as the caller named it
	Risk        durward.Risk
	Annotations []byte // raw JSON object; nil when absent
	Pinned      bool   // its definition was accepted
	Drifted     bool   // another definition was accepted, or seen first
	SchemaHash  string
}

// EventInput is mcp.input_request: what a server wants of the client.
type EventInput struct {
	Method string
	Mode   string // of an elicitation: form or url
	URL    string
}

// EventCaller is caller.
type EventCaller struct {
	Principal     string
	Groups        []string // caller.groups: of the key policy.groups
	ClientName    string   // caller.client.name: what the client says of itself
	ClientVersion string   // caller.client.version
	Entrance      string
	SandboxID     string // caller.sandbox.id
	SandboxName   string // caller.sandbox.name
	Process       string
}

// EventExchange is http.
type EventExchange struct {
	Method string
	URL    string
	Host   string // normalised: lower case, no final dot, IDNA, addresses in their one spelling
	Port   int    // 0: absent
	Path   string
	IP     string // the address that was found for Host; empty: absent
	Public bool   // http.ip_public; absent without IP
}

// EventOp is sandbox.
type EventOp struct {
	Op    string // create, exec, …
	Name  string
	Image string
}

// EventSession is session.
type EventSession struct {
	ID      string // absent for callers without session
	Labels  []string
	Calls   int // that were allowed so far
	Started time.Time
}

// EventOf returns the event of a call, or of its result when that is not nil. What
// only an [Engine] knows (groups, pins, labels, the session's calls, now) is empty.
func EventOf(call *durward.Call, result []byte) Event {
	ev := Event{
		Type: EventMCP, ID: string(call.ID), Time: call.Received, Method: call.Method, Request: call.RequestID,
		Server:   EventServer{Name: call.Server, Transport: string(call.Transport)},
		Response: result != nil, Result: result,
		Caller: EventCaller{
			Principal: call.Caller.Principal, Entrance: string(call.Caller.Entrance), Process: call.Caller.Process,
			ClientName: call.Caller.Client.Name, ClientVersion: call.Caller.Client.Version,
		},
		Session: EventSession{ID: string(call.Caller.Session)},
	}
	if call.Tool != nil {
		ev.Server.Risk = call.Tool.Floor
	}
	switch call.Method {
	case wire.MethodToolsCall:
		ev.Args = call.Arguments
		ev.Tool = EventTool{Name: call.Name, FullName: call.FullName, Risk: call.Risk}
		if call.Tool != nil {
			ev.Tool.Annotations, ev.Tool.SchemaHash = call.Tool.Annotations, call.Tool.Hash
		}
	case wire.MethodPromptsGet:
		ev.Args, ev.Prompt = call.Arguments, call.Name
	case wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe:
		ev.Resource = call.Name
	case wire.MethodElicit, wire.MethodSampling, wire.MethodRootsList:
		ev.Input = EventInput{Method: call.Method}
		ev.Input.Mode, _ = wire.Unquote(wire.Get(call.Params, "mode"))
		ev.Input.URL, _ = wire.Unquote(wire.Get(call.Params, "url"))
		if ev.Input.Mode == "" && call.Method == wire.MethodElicit {
			ev.Input.Mode = "form" // what a server that names none means
		}
	}
	return ev
}

// ResultText returns what a result says in words (mcp.result.text): the text of
// all its content, contents and messages, embedded resources included, joined by
// line breaks. It costs as much as the result is long.
func (ev *Event) ResultText() string {
	var b strings.Builder
	for name, at := range wire.Members(ev.Result) {
		switch name {
		case "content", "contents":
			appendTexts(&b, at.Of(ev.Result))
		case "messages":
			for item := range wire.Elements(at.Of(ev.Result)) {
				appendTexts(&b, wire.Get(item.Of(at.Of(ev.Result)), "content"))
			}
		}
	}
	return b.String()
}

// appendTexts appends the texts of a block of content, or of a list of them.
func appendTexts(b *strings.Builder, raw []byte) {
	if len(raw) > 0 && raw[0] == '[' {
		for item := range wire.Elements(raw) {
			appendTexts(b, item.Of(raw))
		}
		return
	}
	for name, at := range wire.Members(raw) {
		switch name {
		case "text":
			if text, ok := wire.Unquote(at.Of(raw)); ok {
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(text)
			}
		case "resource":
			appendTexts(b, at.Of(raw))
		}
	}
}

// ResultIsError returns mcp.result.is_error.
func (ev *Event) ResultIsError() bool { return string(wire.Get(ev.Result, "isError")) == "true" }
