package policy

import (
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"durward"
	"durward/internal/wire"
)

// fieldValue returns the value of a field of an event; nil if it is absent.
func fieldValue(ev *Event, f field) ref.Val {
	switch f {
	case fieldEventType:
		return text(ev.Type)
	case fieldEventID:
		return text(ev.ID)
	case fieldEventTime:
		return moment(ev.Time)
	case fieldNow:
		return moment(ev.Now)
	case fieldMethod:
		return text(ev.Method)
	case fieldServerName:
		return text(ev.Server.Name)
	case fieldServerTransport:
		return text(ev.Server.Transport)
	case fieldServerRisk:
		return risk(ev.Server.Risk)
	case fieldRequestID:
		return jsonValue(ev.Request)
	case fieldToolList:
		if ev.Type != EventMCP {
			return nil
		}
		return types.Bool(ev.Method == wire.MethodToolsList)
	case fieldResourceURI:
		return text(ev.Resource)
	case fieldPromptName:
		return text(ev.Prompt)
	case fieldPromptArguments:
		if ev.Prompt == "" {
			return nil
		}
		return jsonValue(ev.Args)
	case fieldInputMethod:
		return text(ev.Input.Method)
	case fieldInputMode:
		return text(ev.Input.Mode)
	case fieldInputURL:
		return text(ev.Input.URL)
	}
	switch {
	case f <= fieldToolSchemaHash:
		return toolValue(ev, f)
	case f <= fieldResultScore:
		return resultValue(ev, f)
	case f <= fieldProcess:
		return callerValue(&ev.Caller, f)
	case f <= fieldHTTPIPPublic:
		return httpValue(&ev.HTTP, f)
	default:
		return restValue(ev, f)
	}
}

func toolValue(ev *Event, f field) ref.Val {
	if ev.Tool.Name == "" {
		return nil
	}
	switch f {
	case fieldToolName:
		return text(ev.Tool.Name)
	case fieldToolFullName:
		return text(ev.Tool.FullName)
	case fieldToolArguments:
		if ev.Prompt != "" {
			return nil
		}
		return jsonValue(ev.Args)
	case fieldToolRisk:
		return risk(ev.Tool.Risk)
	case fieldToolAnnotations:
		return jsonValue(ev.Tool.Annotations)
	case fieldToolPinned:
		return types.Bool(ev.Tool.Pinned)
	case fieldToolDrifted:
		return types.Bool(ev.Tool.Drifted)
	default:
		return text(ev.Tool.SchemaHash)
	}
}

func resultValue(ev *Event, f field) ref.Val {
	if ev.Result == nil {
		return nil
	}
	switch f {
	case fieldResultIsError:
		return types.Bool(ev.ResultIsError())
	case fieldResultText:
		return types.String(ev.ResultText())
	case fieldResultStructured:
		return jsonValue(wire.Get(ev.Result, "structuredContent"))
	case fieldResultSize:
		return types.Int(len(ev.Result))
	default:
		if !ev.Scored {
			return nil
		}
		return types.Double(ev.Score)
	}
}

func callerValue(c *EventCaller, f field) ref.Val {
	switch f {
	case fieldPrincipal:
		return text(c.Principal)
	case fieldGroups:
		return texts(c.Groups)
	case fieldClientName:
		return text(c.ClientName)
	case fieldClientVersion:
		return text(c.ClientVersion)
	case fieldEntrance:
		return text(c.Entrance)
	case fieldSandboxID:
		return text(c.SandboxID)
	case fieldSandboxName:
		return text(c.SandboxName)
	default:
		return text(c.Process)
	}
}

func httpValue(x *EventExchange, f field) ref.Val {
	switch f {
	case fieldHTTPMethod:
		return text(x.Method)
	case fieldHTTPURL:
		return text(x.URL)
	case fieldHTTPHost:
		return text(x.Host)
	case fieldHTTPPort:
		if x.Port == 0 {
			return nil
		}
		return types.Int(x.Port)
	case fieldHTTPPath:
		return text(x.Path)
	case fieldHTTPIP:
		return text(x.IP)
	default:
		if x.IP == "" {
			return nil
		}
		return types.Bool(x.Public)
	}
}

func restValue(ev *Event, f field) ref.Val {
	switch f {
	case fieldOp:
		return text(ev.Sandbox.Op)
	case fieldOpName:
		return text(ev.Sandbox.Name)
	case fieldOpImage:
		return text(ev.Sandbox.Image)
	case fieldSessionID:
		return text(ev.Session.ID)
	case fieldSessionLabels:
		return texts(ev.Session.Labels)
	case fieldSessionCalls:
		return types.Int(ev.Session.Calls)
	default:
		return moment(ev.Session.Started)
	}
}

// text is absent when it is empty: that is how an Event says so.
func text(s string) ref.Val {
	if s == "" {
		return nil
	}
	return types.String(s)
}

// texts is never absent: who has no groups and no labels has an empty list of them.
func texts(list []string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, list) }

func moment(t time.Time) ref.Val {
	if t.IsZero() {
		return nil
	}
	return types.Timestamp{Time: t}
}

func risk(r durward.Risk) ref.Val {
	if r == durward.RiskUnset {
		return nil
	}
	return types.String(r.String())
}

// bulk is how many bytes of an event conditions can look at, at most: what the
// bounds of their cost are computed from. Lists count each element as one more,
// so that many empty ones are not nothing.
func bulk(ev *Event) int {
	n := len(ev.Type) + len(ev.ID) + len(ev.Method) + len(ev.Request) + len(ev.Server.Name) + len(ev.Server.Transport) +
		len(ev.Tool.Name) + len(ev.Tool.FullName) + len(ev.Tool.Annotations) + len(ev.Tool.SchemaHash) +
		len(ev.Prompt) + len(ev.Resource) + len(ev.Args) + len(ev.Input.Method) + len(ev.Input.Mode) + len(ev.Input.URL) + len(ev.Result)
	c := &ev.Caller
	n += len(c.Principal) + len(c.ClientName) + len(c.ClientVersion) + len(c.Entrance) + len(c.SandboxID) + len(c.SandboxName) + len(c.Process)
	for _, g := range c.Groups {
		n += len(g) + 1
	}
	for _, l := range ev.Session.Labels {
		n += len(l) + 1
	}
	x := &ev.HTTP
	n += len(x.Method) + len(x.URL) + len(x.Host) + len(x.Path) + len(x.IP)
	return n + len(ev.Sandbox.Op) + len(ev.Sandbox.Name) + len(ev.Sandbox.Image) + len(ev.Session.ID)
}
