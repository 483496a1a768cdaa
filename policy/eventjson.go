package policy

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"durward"
	"durward/internal/wire"
	"durward/internal/yamlx"
)

// eventJSON is an event as people write it: with the names that conditions use.
type eventJSON struct {
	Event struct {
		Type string    `json:"type"`
		ID   string    `json:"id"`
		Time time.Time `json:"time"`
	} `json:"event"`
	Now time.Time `json:"now"`
	MCP struct {
		Method string `json:"method"`
		Server struct {
			Name      string `json:"name"`
			Transport string `json:"transport"`
			Risk      string `json:"risk"`
		} `json:"server"`
		Request struct {
			ID json.RawMessage `json:"id"`
		} `json:"request"`
		Tool     *toolJSON `json:"tool"`
		ToolCall *toolJSON `json:"tool_call"`
		Resource struct {
			URI string `json:"uri"`
		} `json:"resource"`
		Prompt struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"prompt"`
		Input struct {
			Method string `json:"method"`
			Mode   string `json:"mode"`
			URL    string `json:"url"`
		} `json:"input_request"`
		Result json.RawMessage `json:"result"`
		Score  *float64        `json:"injection_score"`
	} `json:"mcp"`
	Caller struct {
		Principal string   `json:"principal"`
		Groups    []string `json:"groups"`
		Client    struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"client"`
		Entrance string `json:"entrance"`
		Sandbox  struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"sandbox"`
		Process string `json:"process"`
	} `json:"caller"`
	HTTP struct {
		Method string `json:"method"`
		URL    string `json:"url"`
		Host   string `json:"host"`
		Port   int    `json:"port"`
		Path   string `json:"path"`
		IP     string `json:"ip"`
		Public bool   `json:"ip_public"`
	} `json:"http"`
	Sandbox struct {
		Op    string `json:"op"`
		Name  string `json:"name"`
		Image string `json:"image"`
	} `json:"sandbox"`
	Session struct {
		ID      string    `json:"id"`
		Labels  []string  `json:"labels"`
		Calls   int       `json:"calls"`
		Started time.Time `json:"started"`
	} `json:"session"`
}

type toolJSON struct {
	Name        string          `json:"name"`
	FullName    string          `json:"full_name"`
	Arguments   json.RawMessage `json:"arguments"`
	Risk        string          `json:"risk"`
	Annotations json.RawMessage `json:"annotations"`
	Pinned      bool            `json:"pinned"`
	Drifted     bool            `json:"drifted"`
	SchemaHash  string          `json:"schema_hash"`
}

// maxEvent bounds an event that people write: that of a message, and a little.
const maxEvent = 33 << 20

// EventFromJSON reads an event whose members have the names that conditions use:
// {"mcp": {"server": {"name": "github"}, "tool": {"name": "push", "arguments": {}}}}.
// mcp.result is the result as a server sends it, and makes it an event of the response
// phase; mcp.injection_score goes with it. It is strict: an unknown member, a name
// that is there twice, and anything behind the object are errors. What can be told
// from the rest may be left out: the type, the method, and the principal, who is local.
func EventFromJSON(data []byte) (*Event, error) {
	if len(data) > maxEvent {
		return nil, durward.Errorf(durward.Invalid, "event", "it has %d bytes, more than %d", len(data), maxEvent)
	}
	var in eventJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return nil, durward.Errorf(durward.Invalid, "event", "it cannot be read: %w; its members have the names of durward rule fields", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, durward.Errorf(durward.Invalid, "event", "there is something behind the object")
	}
	if name := twice(data, 0); name != "" {
		return nil, durward.Errorf(durward.Invalid, "event", "the name %q is there twice in one object, or it is nested too deeply", clip(name))
	}
	return in.event()
}

// twice returns a member name that an object has twice, at any depth.
func twice(raw []byte, depth int) string {
	raw = bytes.TrimSpace(raw)
	if depth > maxPointer {
		return "…"
	}
	switch firstByte(raw) {
	case '{':
		seen := make(map[string]bool)
		for name, at := range wire.Members(raw) {
			if seen[name] {
				return name
			}
			seen[name] = true
			if found := twice(at.Of(raw), depth+1); found != "" {
				return found
			}
		}
	case '[':
		for at := range wire.Elements(raw) {
			if found := twice(at.Of(raw), depth+1); found != "" {
				return found
			}
		}
	}
	return ""
}

func (in *eventJSON) event() (*Event, error) {
	m := &in.MCP
	ev := &Event{
		Type: in.Event.Type, ID: in.Event.ID, Time: in.Event.Time, Now: in.Now, Method: m.Method, Request: m.Request.ID,
		Server: EventServer{Name: m.Server.Name, Transport: m.Server.Transport}, Resource: m.Resource.URI, Prompt: m.Prompt.Name,
		Input: EventInput(m.Input), Result: m.Result, Response: m.Result != nil,
		Caller: EventCaller{
			Principal: in.Caller.Principal, Groups: in.Caller.Groups, ClientName: in.Caller.Client.Name, ClientVersion: in.Caller.Client.Version,
			Entrance: in.Caller.Entrance, SandboxID: in.Caller.Sandbox.ID, SandboxName: in.Caller.Sandbox.Name, Process: in.Caller.Process,
		},
		HTTP: EventExchange(in.HTTP), Sandbox: EventOp(in.Sandbox), Session: EventSession(in.Session),
	}
	if ev.Caller.Principal == "" {
		ev.Caller.Principal = "local"
	}
	if m.Score != nil {
		ev.Score, ev.Scored = *m.Score, true
	}
	if m.Tool != nil && m.ToolCall != nil {
		return nil, durward.Errorf(durward.Invalid, "event", "mcp.tool and mcp.tool_call are the same; write one")
	}
	var err error
	if ev.Server.Risk, err = durward.ParseRisk(m.Server.Risk); err != nil {
		return nil, err
	}
	if m.Tool == nil {
		m.Tool = m.ToolCall
	}
	if m.Tool != nil {
		if err := ev.tool(m.Tool); err != nil {
			return nil, err
		}
	}
	if ev.Prompt != "" {
		ev.Args = m.Prompt.Arguments
	}
	ev.guess(in)
	return ev, ev.sound()
}

func (ev *Event) tool(t *toolJSON) error {
	risk, err := durward.ParseRisk(t.Risk)
	if err != nil {
		return err
	}
	ev.Tool = EventTool{
		Name: t.Name, FullName: t.FullName, Risk: risk, Annotations: t.Annotations,
		Pinned: t.Pinned, Drifted: t.Drifted, SchemaHash: t.SchemaHash,
	}
	ev.Args = t.Arguments
	if ev.Tool.FullName == "" && ev.Server.Name != "" {
		ev.Tool.FullName = ev.Server.Name + "__" + t.Name
	}
	return nil
}

// guess fills in what follows from the rest.
func (ev *Event) guess(in *eventJSON) {
	if ev.Type == "" {
		switch {
		case in.HTTP.URL != "" || in.HTTP.Host != "" || in.HTTP.IP != "":
			ev.Type = EventHTTP
		case in.Sandbox.Op != "":
			ev.Type = EventSandbox
		default:
			ev.Type = EventMCP
		}
	}
	if ev.Method != "" || ev.Type != EventMCP {
		return
	}
	switch {
	case ev.Tool.Name != "":
		ev.Method = wire.MethodToolsCall
	case ev.Prompt != "":
		ev.Method = wire.MethodPromptsGet
	case ev.Resource != "":
		ev.Method = wire.MethodResourcesRead
	case ev.Input.Method != "":
		ev.Method = ev.Input.Method
	}
}

func (ev *Event) sound() error {
	switch {
	case ev.Type != EventMCP && ev.Type != EventHTTP && ev.Type != EventSandbox:
		return durward.Errorf(durward.Invalid, "event", "event.type must be mcp, http or sandbox, is %q%s", clip(ev.Type), yamlx.DidYouMean(ev.Type, []string{EventMCP, EventHTTP, EventSandbox}))
	case ev.Type == EventMCP && ev.Method == "":
		return durward.Errorf(durward.Invalid, "event", "it says neither mcp.method nor a tool, prompt or resource")
	case ev.Tool.Name != "" && ev.Method != wire.MethodToolsCall:
		return durward.Errorf(durward.Invalid, "event", "only tools/call has a tool; the method is %q", clip(ev.Method))
	case ev.Args != nil && firstByte(ev.Args) != '{':
		return durward.Errorf(durward.Invalid, "event", "arguments must be an object")
	case ev.Result != nil && firstByte(ev.Result) != '{':
		return durward.Errorf(durward.Invalid, "event", "mcp.result must be an object, as a server sends it")
	default:
		return nil
	}
}
