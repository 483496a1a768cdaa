package gateway

import (
	"context"
	"sync"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Tasks of revision 2025-11-25 are asked for by the client, with the parameter
// task, and what belongs to one says so in `_meta` (basic/utilities/tasks).

// resolveAugmented judges the parameter task of a tools/call.
//
// A receiver that does not declare tasks ignores it ("Task Support and Handling"),
// and to the other era it means nothing: so it is taken out on the way to a legacy
// server unless caller and server can both have meant it. It is left to modern
// servers, which know no such parameter, and to whatever extension may use it.
//
// Where the route told its client of tasks, and it is another server that has
// them, the call is refused instead: its client waits for a task, and would take
// the result, of a call that was made, for an error.
func (g *Gateway) resolveAugmented(p *passage) error {
	view, err := g.view(p)
	if err != nil {
		return err
	}
	switch a := p.audience(); {
	case a == catalog.Tasked && view.TaskServer(p.to.server):
		p.to.task, p.serve = new(taskUse), g.callAsTask
		return nil
	case a == catalog.Tasked && view.RunsTasks():
		return &wire.CodeError{Code: wire.CodeMethodNotFound, Message: "tool " + clip(p.call.FullName) + " cannot be called as a task: its server runs none"}
	}
	if server, ok := g.set.Server(p.to.server); ok && server.Era() == wire.Modern {
		return nil
	}
	raw := wire.AppendObject(nil, p.in.Params.Raw, func(name string) bool { return name == "task" })
	return wire.ParseParams(raw, &p.in.Params)
}

// foregoTasks keeps from servers that a legacy client keeps tasks itself, for
// questions that it answers later. A server could then ask it for all of them, and
// on a route to many servers they are of many. On its own route a server may.
func (p *passage) foregoTasks() {
	if wire.Lookup(p.in.Client.Capabilities, "tasks").Present() {
		p.in.Client.Capabilities = wire.AppendObject(nil, p.in.Client.Capabilities, func(name string) bool { return name == "tasks" })
	}
}

// callAsTask serves a tools/call that asks for a task.
func (g *Gateway) callAsTask(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	return g.callTool(ctx, p, g.related(p, out))
}

// listTasks serves tasks/list: see [catalog.View.TaskLister].
func (g *Gateway) listTasks(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	reply := g.forward(ctx, p, out)
	if reply.Result == nil {
		return reply
	}
	var edits []wire.Edit
	list := wire.Lookup(reply.Result, "tasks")
	for at := range wire.Elements(list.Of(reply.Result)) {
		start := list.Start + at.Start
		for _, id := range everywhere(reply.Result[start:list.Start+at.End], "taskId") {
			id.Start, id.End = start+id.Start, start+id.End
			raw := id.Of(reply.Result)
			if _, ok := wire.Unquote(raw); !ok || len(raw) > maxTaskID {
				return exchange.Fail(durward.Errorf(durward.Unavailable, "server "+p.to.server, "it lists a task whose taskId is no string of at most %d bytes", maxTaskID))
			}
			edits = append(edits, wire.Edit{At: id, With: wire.AppendQuote(nil, g.sealLegacy(p, raw))})
		}
	}
	reply.Result = wire.Splice(nil, reply.Result, edits...)
	return reply
}

// sealLegacy returns the id by which the session of p knows a legacy task: the
// same as before, if it knows one, because clients compare them.
func (g *Gateway) sealLegacy(p *passage, raw []byte) string {
	return g.knownAs(p.to.server, &p.in.Caller, raw, false)
}

// sealBegun is sealLegacy for a task that p has just begun.
func (g *Gateway) sealBegun(p *passage, raw []byte) string {
	return g.knownAs(p.to.server, &p.in.Caller, raw, true)
}

func (g *Gateway) knownAs(server string, caller *durward.Caller, raw []byte, begun bool) string {
	return g.tasks.knownAs(taskKey{server, string(raw)}, caller.Session, begun, func() string {
		return g.sealTaskID(caller.Principal, &taskRef{era: wire.Legacy, server: server, id: raw})
	})
}

// related returns the stream of a legacy request about a task, on which what the
// server says of the task names it as the client knows it.
func (g *Gateway) related(p *passage, out exchange.Stream) exchange.Stream {
	if p.in.Client.Era != wire.Legacy {
		return out
	}
	if use := p.to.task; use.own != nil {
		g.tasks.learn(taskKey{p.to.server, string(use.own)}, p.in.Caller.Session, use.sealed)
	}
	return &taskStream{Stream: out, g: g, server: p.to.server, caller: p.in.Caller}
}

// taskStream translates "related-task" both ways.
type taskStream struct {
	exchange.Stream
	g      *Gateway
	server string
	caller durward.Caller
}

// Notify passes a notification on.
func (s *taskStream) Notify(method string, params []byte) {
	s.Stream.Notify(method, s.relabel(params, s.toClient))
}

// Ask passes a question on, and the answer back.
func (s *taskStream) Ask(ctx context.Context, method string, params []byte) exchange.Reply {
	reply := s.Stream.Ask(ctx, method, s.relabel(params, s.toClient))
	reply.Result = s.relabel(reply.Result, s.toServer)
	return reply
}

// relabel replaces the id of the task that something says it is about.
func (s *taskStream) relabel(raw []byte, other func([]byte) []byte) []byte {
	var edits []wire.Edit
	for _, at := range everywhere(raw, "_meta", wire.MetaRelatedTask, "taskId") {
		if with := other(at.Of(raw)); with != nil {
			edits = append(edits, wire.Edit{At: at, With: with})
		}
	}
	if edits == nil {
		return raw
	}
	return wire.Splice(nil, raw, edits...)
}

func (s *taskStream) toClient(raw []byte) []byte {
	if _, ok := wire.Unquote(raw); !ok || len(raw) > maxTaskID {
		return nil
	}
	return wire.AppendQuote(nil, s.g.knownAs(s.server, &s.caller, raw, false))
}

func (s *taskStream) toServer(raw []byte) []byte {
	token, _ := wire.Unquote(raw)
	t, ok := s.g.openTaskID(s.caller.Principal, token)
	if !ok || t.era != wire.Legacy || t.server != s.server {
		return nil
	}
	return t.id
}

// taskStatus passes notifications/tasks/status on to the session whose task it is
// about, if that is certain. Nobody may rely on it ("Task Notifications").
func (g *Gateway) taskStatus(server string, params []byte) {
	at := everywhere(params, "taskId")
	if len(at) != 1 {
		return
	}
	session, sealed := g.tasks.owner(taskKey{server, string(at[0].Of(params))})
	if a, ok := g.session(session); ok {
		a.feed.Notify(wire.NoteTasksStatus, replaceAll(params, at, sealed))
	}
}

// maxTracked bounds the legacy tasks of sessions that are remembered. Beyond it the
// oldest are forgotten: they are told of no more, and can still be asked for. So it
// is with tasks whose own ids are longer than maxTrackedID bytes.
const (
	maxTracked   = 4096
	maxTrackedID = 256
)

// taskTable remembers which session knows which legacy task, and by which id. The
// zero value is empty.
type taskTable struct {
	mu     sync.Mutex // guards all below
	known  map[knownTask]string
	owners map[taskKey]taskOwner
	order  []knownTask // as they came; a ring once it is full
	next   int
}

// taskKey is a server and its own raw id of a task.
type taskKey struct{ server, id string }

// knownTask is a task that a session knows.
type knownTask struct {
	taskKey
	session durward.SessionID
}

// taskOwner is the session that is told of a task.
type taskOwner struct {
	session durward.SessionID
	several bool // have begun one of this id: servers with several processes may give it to two tasks
}

// knownAs returns the id by which a session knows a task. If it knows none, it
// knows the task from now on by the one that fresh makes. begun says that the
// session has just begun the task.
func (t *taskTable) knownAs(key taskKey, session durward.SessionID, begun bool, fresh func() string) string {
	if len(key.id) > maxTrackedID {
		return fresh()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	owner, owned := t.owners[key]
	if begun && owned && owner.session != session {
		owner.several = true
		t.owners[key] = owner
	}
	sealed, there := t.known[knownTask{key, session}]
	if !there {
		sealed = fresh()
		t.put(knownTask{key, session}, sealed)
	}
	return sealed
}

// learn notes the id by which a session knows a task, if it did not know it.
func (t *taskTable) learn(key taskKey, session durward.SessionID, sealed string) {
	t.knownAs(key, session, false, func() string { return sealed })
}

// put notes a task that a session did not know. mu is held.
func (t *taskTable) put(task knownTask, sealed string) {
	if t.known == nil {
		t.known, t.owners = map[knownTask]string{}, map[taskKey]taskOwner{}
	}
	if len(t.order) < maxTracked {
		t.order = append(t.order, task)
	} else {
		t.forget(t.order[t.next])
		t.order[t.next] = task
		t.next = (t.next + 1) % maxTracked
	}
	t.known[task] = sealed
	if _, owned := t.owners[task.taskKey]; !owned {
		t.owners[task.taskKey] = taskOwner{session: task.session}
	}
}

// forget needs mu.
func (t *taskTable) forget(task knownTask) {
	delete(t.known, task)
	if t.owners[task.taskKey].session == task.session {
		delete(t.owners, task.taskKey)
	}
}

// owner returns the session that is told of a task, and the id by which it knows
// it; "" if nobody is for certain.
func (t *taskTable) owner(key taskKey) (session durward.SessionID, sealed string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owner := t.owners[key]
	if owner.several {
		return "", ""
	}
	return owner.session, t.known[knownTask{key, owner.session}]
}
