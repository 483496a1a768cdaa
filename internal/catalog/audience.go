package catalog

import (
	"durward"
	"durward/internal/wire"
)

// Audience is what a client can make of what is offered: it decides about the
// form of lists, and about tools that run only as tasks.
type Audience uint8

// The audiences.
const (
	Plain     Audience = iota // a legacy client of a revision before 2025-11-25: it knows no tasks
	Tasked                    // a client of 2025-11-25: it can call a tool as a task
	Modern                    // a modern client: the server says what becomes a task, the client cannot ask for it
	audiences = 3
)

// AudienceOf returns the audience that a client belongs to.
func AudienceOf(era wire.Era, revision string) Audience {
	switch {
	case era == wire.Modern:
		return Modern
	case revision >= "2025-11-25": // revisions are dates
		return Tasked
	default:
		return Plain
	}
}

// taskUse says whether a tool can be called in the plain way (2025-11-25,
// basic/utilities/tasks "Tool-Level Negotiation").
type taskUse uint8

const (
	plainCall taskUse = iota
	onlyTask          // it has to be called as a task
	noCall            // it has to, and its server runs no calls as tasks
)

// taskUseOf judges a tool of a server. In the modern era tools say nothing of the
// kind: there a server decides call by call.
func taskUseOf(it *Item, st *stock) taskUse {
	switch {
	case !it.wantsTask || st.era != wire.Legacy:
		return plainCall
	case st.runsTasks():
		return onlyTask
	default:
		return noCall
	}
}

// HiddenFrom says why a tool is not listed for an audience, "" if it is: it can be
// called as a task only, and the audience cannot do that.
func (e *Entry) HiddenFrom(a Audience) string {
	switch {
	case e.task == noCall:
		return "it can be called as a task only (execution.taskSupport), and its server declares no tasks.requests.tools.call"
	case e.task == onlyTask && a != Tasked:
		return "it can be called as a task only (execution.taskSupport), which takes a client of revision 2025-11-25"
	default:
		return ""
	}
}

// HidesTools reports whether the route hides a tool from any audience.
func (v *View) HidesTools() bool { return v.tasks }

// runsTasks reports whether a legacy server declares that tools can be called as tasks.
func (st *stock) runsTasks() bool {
	return st != nil && st.era == wire.Legacy && st.declares("tasks", "requests", "tools", "call")
}

// extends reports whether a modern server declares the tasks extension.
func (st *stock) extends() bool {
	return st != nil && st.era == wire.Modern && st.declares("extensions", wire.ExtensionTasks)
}

// declares reports whether the server has a capability.
func (st *stock) declares(path ...string) bool {
	value := st.capabilities
	for _, name := range path {
		value = wire.Get(value, name)
	}
	return value != nil && string(value) != "null" && string(value) != "false"
}

// RunsTasks reports whether clients of 2025-11-25 are told that tools can be
// called as tasks on this route.
func (v *View) RunsTasks() bool { return v.anyOffering((*stock).runsTasks) }

// TaskServer reports whether tools of a server can be called as tasks by clients of 2025-11-25.
func (v *View) TaskServer(server string) bool {
	i, ok := v.byServer[server]
	return ok && v.parts[i].member.stock.runsTasks()
}

// anyOffering reports whether some server whose tools the route offers is as is says.
func (v *View) anyOffering(is func(*stock) bool) bool {
	for _, p := range v.parts {
		if is(p.member.stock) && (v.toolset == nil || len(p.shelf.lists[Tool]) > 0) {
			return true
		}
	}
	return false
}

// Shows reports whether the route shows anything of a server: a toolset does if
// it chose a tool of it.
func (v *View) Shows(server string) bool {
	i, ok := v.byServer[server]
	return ok && (v.toolset == nil || len(v.parts[i].shelf.lists[Tool]) > 0)
}

// TaskLister returns the server that tasks/list can be passed to, "" if there is
// none: it is the only server of the route, declares it, and tells callers apart,
// because each session or principal has a process of its own.
//
// A shared connection would list everybody's tasks. So would connections over
// HTTP, whoever they are for: all of them bear the same credentials, and those,
// not the connection, are what a server is to bind tasks to (2025-11-25,
// basic/utilities/tasks "Task Isolation and Access Control"). A process per
// principal will do: the principal is our authorization context, and what its
// tasks are is the same in all of its sessions.
func (v *View) TaskLister() string {
	if st := v.single(); !st.runsTasks() || !st.declares("tasks", "list") || !ownProcess(&v.parts[0].member.spec) {
		return ""
	}
	return v.parts[0].member.spec.Name
}

// ownProcess reports whether no two principals share a process of the server.
// Servers that were shared first and switched when they turned out to ask do not
// count: the first process goes on with what it has.
func ownProcess(spec *durward.Server) bool {
	stdio := spec.Transport == durward.TransportStdio || spec.Transport == "" && spec.URL == ""
	return stdio && (spec.Instances == durward.InstancesPrincipal || spec.Instances == durward.InstancesSession)
}
