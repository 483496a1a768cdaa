package gateway

import (
	"context"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/seal"
	"durward/internal/wire"
)

// A server that answers a call with a task gives it an id, which may be all that
// is needed to see and steer the task. So clients never get to know it: they get a
// sealed token that names server, era and id, and is good for one principal. Each
// use is authorised by opening it (tasks extension, "Security Considerations").
// The token is not bound to the route: a task that was begun on the aggregate can
// be asked for on the route of its server.
//
// The two eras mean different things by a task (tasks_legacy.go has the older
// one), and one cannot be made of the other: a task is known in its own era only.

// taskRef is what a sealed id says.
type taskRef struct {
	era    wire.Era
	server string
	id     []byte // the server's own, a raw JSON string
}

const (
	taskVersion = 1
	// maxTaskID bounds a server's own id in bytes, so that the sealed one fits into
	// the header that mirrors it.
	maxTaskID    = 4 << 10
	maxTaskToken = 8 << 10
)

// sealTaskID makes the id that a principal gets to know.
func (g *Gateway) sealTaskID(principal string, t *taskRef) string {
	b := make([]byte, 0, 4+len(t.server)+len(t.id))
	b = append(b, taskVersion, byte(t.era))
	b = append(appendText(b, t.server), t.id...)
	return g.ring.Seal(seal.Task, principal, b)
}

// openTaskID returns what a sealed id says; false if it is none that this
// principal was given.
func (g *Gateway) openTaskID(principal, token string) (*taskRef, bool) {
	if len(token) > maxTaskToken {
		return nil, false
	}
	b, err := g.ring.Open(seal.Task, principal, token)
	if err != nil {
		return nil, false
	}
	return parseTaskRef(b)
}

func parseTaskRef(b []byte) (*taskRef, bool) {
	if len(b) < 2 || b[0] != taskVersion {
		return nil, false
	}
	t := &taskRef{era: wire.Era(b[1])}
	var ok bool
	if t.server, t.id, ok = takeText(b[2:], t.era == wire.Legacy || t.era == wire.Modern); !ok {
		return nil, false
	}
	_, ok = wire.Unquote(t.id)
	return t, ok
}

// taskUse is what a request has to do with a task.
type taskUse struct {
	own    []byte // the server's id of the task it is about, raw; nil: it asks for a new one (legacy)
	sealed string // the same as the client knows it
}

// resolveTask finds the server of a request about a task.
func (g *Gateway) resolveTask(p *passage) error {
	view, err := g.view(p)
	if err != nil {
		return err
	}
	a := p.audience()
	switch p.in.Method {
	case wire.MethodTasksList:
		server := view.TaskLister()
		if a != catalog.Tasked || server == "" {
			return methodNotFound(p.in.Method)
		}
		p.serve, p.to.server, p.call.Server = g.listTasks, server, server
		return nil
	case wire.MethodTasksUpdate:
		if a != catalog.Modern {
			return methodNotFound(p.in.Method)
		}
	case wire.MethodTasksResult:
		if a != catalog.Tasked {
			return methodNotFound(p.in.Method)
		}
	}
	switch {
	case a == catalog.Plain:
		return methodNotFound(p.in.Method)
	case a == catalog.Modern && !declares(p.in.Client.Capabilities, "task"):
		return missingExtension(wire.ExtensionTasks)
	case !p.in.Params.TaskID.Present():
		return invalidParams(p.in.Method + " needs params.taskId, a string")
	}
	p.serve = g.askTask
	g.aimAtTask(p, view)
	return nil
}

// aimAtTask has a request served by the server of its task. An id that is not good
// here has one and the same answer, whatever is wrong with it: changed, made up,
// somebody else's, of a retired key, of a server that the route does not show, of
// a task of the other era. The attempt is recorded like any other request.
func (g *Gateway) aimAtTask(p *passage, view *catalog.View) {
	token, ok := p.in.Params.String(p.in.Params.TaskID)
	var t *taskRef
	if ok {
		t, ok = g.openTaskID(p.in.Caller.Principal, token)
	}
	if !ok || t.era != p.in.Client.Era || !view.Shows(t.server) {
		p.serve, p.call.FullName = noTask, clip(token)
		return
	}
	p.to = target{server: t.server, name: t.id, task: &taskUse{own: t.id, sealed: token}}
	p.call.Server, p.call.FullName = t.server, token
	p.call.Name, _ = wire.Unquote(t.id)
}

// noTask answers a request for a task that there is not, for its caller.
func noTask(context.Context, *passage, exchange.Stream) exchange.Reply {
	reply := exchange.Fail(invalidParams("there is no such task here: its id was changed or made up, or belongs to somebody else, or its server is gone"))
	reply.BadRequest = true
	return reply
}

func methodNotFound(method string) error {
	return &wire.CodeError{Code: wire.CodeMethodNotFound, Message: "method " + clip(method) + " is not offered here"}
}

// missingExtension tells a modern client which extension it would have to declare
// (2026-07-28, basic/index "Error Codes").
func missingExtension(extension string) error {
	return &wire.CodeError{
		Code: wire.CodeMissingCapability, Message: "this request needs the extension " + extension + ", which the client did not declare with it",
		Data: []byte(`{"requiredCapabilities":{"extensions":{` + wire.Quote(extension) + `:{}}}}`),
	}
}

// askTask forwards a request about a task.
func (g *Gateway) askTask(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	return g.forward(ctx, p, g.related(p, out))
}

// sealTask puts the ids that clients know in place of the server's own in a reply
// that has any: the answer to a call that became a task, and those to requests
// about one. Others are returned as they are.
func (g *Gateway) sealTask(p *passage, reply exchange.Reply) exchange.Reply {
	use := p.to.task
	switch {
	case reply.Result == nil || use == nil && reply.ResultType != "task":
		return reply
	case use == nil:
		return g.sealCreated(p, reply, everywhere(reply.Result, "taskId"), func(raw []byte) string {
			return g.sealTaskID(p.in.Caller.Principal, &taskRef{era: reply.Era, server: p.to.server, id: raw})
		})
	case use.own == nil:
		return g.sealCreated(p, reply, everywhere(reply.Result, "task", "taskId"), func(raw []byte) string { return g.sealBegun(p, raw) })
	case p.in.Method == wire.MethodTasksResult: // what stands at the top is the tool's
		reply.Result = replaceAll(reply.Result, everywhere(reply.Result, "_meta", wire.MetaRelatedTask, "taskId"), use.sealed)
	default:
		reply.Result = replaceAll(reply.Result, everywhere(reply.Result, "taskId"), use.sealed)
	}
	return reply
}

// sealCreated seals the id of a task that a call became. A task without an id
// that can be used is lost, and runs: its outcome cannot be told.
func (g *Gateway) sealCreated(p *passage, reply exchange.Reply, ids []wire.Span, sealed func(raw []byte) string) exchange.Reply {
	if len(ids) == 0 && reply.ResultType != "task" {
		return reply // the server did not make a task of it
	}
	edits := make([]wire.Edit, len(ids))
	for i, at := range ids {
		raw := at.Of(reply.Result)
		if id, ok := wire.Unquote(raw); !ok || id == "" || len(raw) > maxTaskID {
			ids = nil
			break
		}
		edits[i] = wire.Edit{At: at, With: wire.AppendQuote(nil, sealed(raw))}
	}
	if ids == nil {
		return exchange.Fail(durward.Errorf(durward.Unknown, "server "+p.to.server,
			"it made a task of the call and gave no taskId that can be used: a string of at most %d bytes", maxTaskID))
	}
	reply.Result = wire.Splice(nil, reply.Result, edits...)
	return reply
}

func replaceAll(raw []byte, at []wire.Span, with string) []byte {
	if len(at) == 0 {
		return raw
	}
	edits := make([]wire.Edit, len(at))
	for i, at := range at {
		edits[i] = wire.Edit{At: at, With: wire.AppendQuote(nil, with)}
	}
	return wire.Splice(nil, raw, edits...)
}

// everywhere returns the values that a path of member names leads to, in order of
// appearance: more than one where a server's result has a name twice, since
// readers differ in which they take.
func everywhere(obj []byte, path ...string) (found []wire.Span) {
	for name, at := range wire.Members(obj) {
		switch {
		case name != path[0]:
		case len(path) == 1:
			found = append(found, at)
		default:
			for _, inner := range everywhere(at.Of(obj), path[1:]...) {
				found = append(found, wire.Span{Start: at.Start + inner.Start, End: at.Start + inner.End})
			}
		}
	}
	return found
}
