package gateway

import (
	"context"
	"strings"
	"time"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// target is where a routed request goes.
type target struct {
	server string
	name   []byte         // the raw routing value to send; nil: as the caller wrote it
	entry  *catalog.Entry // what the catalog knows of it; nil for relayed methods
	task   *taskUse       // what it has to do with a task; nil: nothing
}

// firstStart bounds how long a request waits for a server that is coming up for
// the first time. Servers that take longer are reported as missing.
const firstStart = 30 * time.Second

// resolve fills in who serves the request.
func (g *Gateway) resolve(ctx context.Context, p *passage) error {
	if p.in.Client.Era == wire.Legacy && p.in.Route.Kind != durward.RouteServer {
		p.foregoTasks()
	}
	switch p.in.Method {
	case wire.MethodToolsCall:
		p.serve = g.callTool
		return g.resolveTool(ctx, p)
	case wire.MethodPromptsGet:
		p.serve = g.forward
		return g.resolvePrompt(ctx, p)
	case wire.MethodResourcesRead:
		p.serve = g.readResource
		err := g.resolveResource(ctx, p)
		if err == nil && p.isView() {
			p.serve = g.readView
		}
		return err
	case wire.MethodComplete:
		p.serve = g.forward
		return g.resolveReference(ctx, p)
	case wire.MethodToolsList, wire.MethodPromptsList, wire.MethodResourcesList, wire.MethodTemplatesList:
		p.serve = g.list
	case wire.MethodInitialize:
		p.serve = g.initialize
	case wire.MethodDiscover:
		p.serve = g.discover
	case wire.MethodListen:
		p.serve = g.listen
	case wire.MethodSubscribe:
		p.serve = g.subscribe
		if err := g.resolveResource(ctx, p); err != nil {
			return err
		}
		if !g.known(p) {
			return noResource(p.call.FullName, durward.Errorf(durward.NotFound, "", "no server offers the resource %s", clip(p.call.FullName)))
		}
		return nil
	case wire.MethodUnsubscribe:
		p.serve = g.unsubscribe
		return g.resolveResource(ctx, p)
	case wire.MethodSetLevel:
		p.serve = g.setLevel
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksUpdate, wire.MethodTasksCancel, wire.MethodTasksList:
		return g.resolveTask(p)
	default:
		return g.resolveUnknown(ctx, p)
	}
	_, err := g.view(p)
	return err
}

// resolveUnknown finds the server of a method that we do not know. On the route to
// one server it is that one, and what is said stays as it is, but for the sealed id
// of a task. Elsewhere something has to say whose it is: a task, a resource, a tool
// or a prompt.
func (g *Gateway) resolveUnknown(ctx context.Context, p *passage) error {
	view, err := g.view(p)
	if err != nil {
		return err
	}
	p.serve = g.forward
	params, own := &p.in.Params, p.in.Route.Kind == durward.RouteServer
	switch {
	case params.TaskID.Present() && (!own || strings.HasPrefix(p.in.Method, tasksPrefix) || g.isTaskID(p)):
		g.aimAtTask(p, view)
	case strings.HasPrefix(p.in.Method, tasksPrefix):
		return methodNotFound(p.in.Method) // it could be about everybody's tasks
	case own:
		p.to.server, p.call.Server = p.in.Route.Name, p.in.Route.Name
	case params.URI.Present():
		return g.resolveResource(ctx, p)
	case params.Name.Present():
		return g.resolveNamed(ctx, p, "tool or prompt", either)
	default:
		return &wire.CodeError{Code: wire.CodeMethodNotFound, Message: "method " + clip(p.in.Method) +
			" is not known here; on " + durward.Route{Kind: durward.RouteServer, Name: "NAME"}.String() + " it is passed to the server"}
	}
	return nil
}

// tasksPrefix begins the methods that are reserved for tasks (tasks extension,
// "Reservations").
const tasksPrefix = "tasks/"

// isTaskID reports whether the taskId of a request is one that its caller was given.
func (g *Gateway) isTaskID(p *passage) bool {
	token, ok := p.in.Params.String(p.in.Params.TaskID)
	if ok {
		_, ok = g.openTaskID(p.in.Caller.Principal, token)
	}
	return ok
}

// view is what the caller's route offers to it.
func (g *Gateway) view(p *passage) (*catalog.View, error) {
	route := p.in.Route
	if v, ok := g.set.View(route, p.in.Client.Era); ok {
		return v, nil
	}
	what := "server"
	if route.Kind == durward.RouteToolset {
		what = "toolset"
	}
	return nil, durward.Errorf(durward.NotFound, "route "+route.String(), "no %s is called %q", what, route.Name)
}

func (g *Gateway) resolveTool(ctx context.Context, p *passage) error {
	if err := g.resolveNamed(ctx, p, "tool", toolToCall); err != nil {
		return err
	}
	if err := g.checkCall(p); err != nil {
		return err
	}
	return g.resolveFinder(ctx, p)
}

// checkCall refuses calls of tools that the caller cannot call, and is not listed.
func (g *Gateway) checkCall(p *passage) error {
	if why := p.to.entry.HiddenFrom(p.audience()); why != "" {
		return invalidParams("unknown tool " + clip(p.call.FullName) + ": " + why)
	}
	if p.in.Params.Task.Present() {
		return g.resolveAugmented(p)
	}
	return nil
}

func (g *Gateway) resolvePrompt(ctx context.Context, p *passage) error {
	return g.resolveNamed(ctx, p, "prompt", prompt)
}

// resolveNamed finds what params.name names.
func (g *Gateway) resolveNamed(ctx context.Context, p *passage, what string, look lookup) error {
	name, ok := p.in.Params.String(p.in.Params.Name)
	if !ok {
		return invalidParams(clip(p.in.Method) + " needs params.name, a string")
	}
	return g.find(ctx, p, name, what, look)
}

// lookup finds a name in a view, nil if it is not there. The last time it is asked,
// every server that could bring it has had its time.
type lookup func(v *catalog.View, name string, last bool) (*catalog.Entry, error)

// toolToCall finds a tool by its offered name, or else for an app by its own one.
func toolToCall(v *catalog.View, name string, last bool) (*catalog.Entry, error) {
	if e, ok := v.Tool(name); ok {
		return e, nil
	}
	if !last { // with one more server it may be ambiguous
		return nil, nil
	}
	return v.AppTool(name)
}

func prompt(v *catalog.View, name string, _ bool) (*catalog.Entry, error) {
	e, _ := v.Prompt(name)
	return e, nil
}

// either finds a tool, or else a prompt.
func either(v *catalog.View, name string, last bool) (*catalog.Entry, error) {
	if e, ok := v.Tool(name); ok {
		return e, nil
	}
	return prompt(v, name, last)
}

// find looks a name up, and once more after the servers that are coming up had their time.
func (g *Gateway) find(ctx context.Context, p *passage, name, what string, look lookup) error {
	view, err := g.view(p)
	if err != nil {
		return err
	}
	entry, err := look(view, name, false)
	if entry == nil && err == nil {
		if view, err = g.await(ctx, p, name); err == nil {
			entry, err = look(view, name, true)
		}
	}
	switch {
	case err != nil:
		return err
	case entry == nil:
		return g.unknown(p, view, what, name)
	}
	p.aim(entry)
	if entry.Name != name {
		p.to.name = wire.AppendQuote(nil, entry.Name)
	}
	return nil
}

// unknown is the answer for a name that is not in a view: that its server is not
// there, or was not read to its end, if that may be why.
func (g *Gateway) unknown(p *passage, view *catalog.View, what, name string) error {
	whose := catalog.ServerOf(name)
	if p.in.Route.Kind == durward.RouteServer {
		whose = p.in.Route.Name
	}
	if server, ok := g.set.Server(whose); ok {
		switch s := server.Status(); {
		case s.State == durward.StateDegraded: // what could not be read may have the name
			return durward.Errorf(durward.Unavailable, "server "+whose, "it does not list a %s %s, and a part of what it offers could not be read yet: %s", what, clip(name), s.Reason)
		case !view.Missing(whose): // all that it lists is there
		case s.State == durward.StateConnecting || s.State == durward.StateBackoff:
			return durward.Errorf(durward.Unavailable, "server "+whose, "it is not available (%s): %s", s.State, orStarting(s.Reason))
		default:
			return durward.Errorf(durward.Unavailable, "server "+whose, "it was not available until this moment; call again")
		}
	}
	return invalidParams("unknown " + what + " " + clip(name))
}

func orStarting(reason string) string {
	if reason == "" {
		return "it is starting"
	}
	return reason
}

// aim notes the catalog entry a request is for. Whatever name the caller used, the
// decision sees the one it is offered by.
func (p *passage) aim(entry *catalog.Entry) {
	p.to = target{server: entry.Server, entry: entry}
	p.call.Server, p.call.Name, p.call.FullName, p.call.Risk = entry.Server, entry.Name, entry.Offered, entry.Risk
	p.call.Tool = entry.Tool
}

// aimAt notes the resource, or template, that a request is for.
func (p *passage) aimAt(to catalog.Target, full string) {
	p.to = target{server: to.Server, entry: to.Entry}
	p.call.Server, p.call.Name, p.call.FullName = to.Server, to.URI, full
	if to.URI != full {
		p.to.name = wire.AppendQuote(nil, to.URI)
	}
}

// await waits for the servers that may still bring the name, and returns the view after that.
func (g *Gateway) await(ctx context.Context, p *passage, name string) (*catalog.View, error) {
	route := p.in.Route
	switch server := catalog.ServerOf(name); {
	case route.Kind == durward.RouteServer:
		g.set.AwaitServer(ctx, route.Name, firstStart)
	case server != "":
		g.set.AwaitServer(ctx, server, firstStart)
	default:
		g.set.Await(ctx)
	}
	return g.view(p)
}

func (g *Gateway) resolveResource(ctx context.Context, p *passage) error {
	uri, ok := p.in.Params.String(p.in.Params.URI)
	if !ok {
		return invalidParams(p.in.Method + " needs params.uri, a string")
	}
	view, err := g.view(p)
	if err != nil {
		return err
	}
	to, err := view.Resource(uri)
	if err != nil {
		if view, err = g.await(ctx, p, ""); err != nil {
			return err
		}
		if to, err = view.Resource(uri); err != nil {
			return noResource(uri, err)
		}
	}
	p.aimAt(to, uri)
	return nil
}

// resolveReference finds the prompt or resource template that a completion is about.
func (g *Gateway) resolveReference(ctx context.Context, p *passage) error {
	ref := p.in.Params.Ref.Of(p.in.Params.Raw)
	if name, ok := wire.Unquote(wire.Get(ref, "name")); ok {
		if err := g.find(ctx, p, name, "prompt", prompt); err != nil || g.known(p) {
			return err
		}
		view, err := g.view(p)
		if err != nil {
			return err
		}
		return g.unknown(p, view, "prompt", name)
	}
	uri, ok := wire.Unquote(wire.Get(ref, "uri"))
	if !ok {
		return invalidParams("completion/complete needs params.ref with a name or a uri")
	}
	view, err := g.view(p)
	if err != nil {
		return err
	}
	to, err := view.Template(uri)
	if err != nil {
		return err
	}
	p.aimAt(to, uri)
	if !g.known(p) {
		return noResource(uri, durward.Errorf(durward.NotFound, "", "no server offers the template %s", clip(uri)))
	}
	return nil
}

// known reports whether what a request refers to is listed for its caller: what is hidden
// is neither completed nor subscribed to.
func (g *Gateway) known(p *passage) bool {
	e := p.to.entry
	switch {
	case e == nil: // a URI that its server does not list
		would := p.call
		would.Method, would.Params, would.Arguments = wire.MethodResourcesRead, nil, nil
		return g.decider.Visible(&would.Caller, &would)
	case e.Held != "": // that is what it is refused for
		return true
	case e.Kind == catalog.Prompt:
		return g.mayUse(&p.call, wire.MethodPromptsGet, e)
	default:
		return g.mayUse(&p.call, wire.MethodResourcesRead, e)
	}
}

// noResource is the answer for a URI that nobody has, or more than one; it
// carries the URI as clients of 2026-07-28 expect it (server/resources "Error Handling").
func noResource(uri string, why error) error {
	var data []byte
	if len(uri) <= maxShownURI {
		data = append(wire.AppendQuote([]byte(`{"uri":`), uri), '}')
	}
	return &wire.CodeError{Code: wire.CodeInvalidParams, Message: why.Error(), Data: data}
}

const (
	maxShownURI  = 8 << 10
	maxShownName = 200
)

// clip bounds what of a caller's own words an error repeats.
func clip(name string) string {
	if len(name) <= maxShownName {
		return name
	}
	return strings.ToValidUTF8(name[:maxShownName], "") + "…"
}

func invalidParams(message string) error {
	return &wire.CodeError{Code: wire.CodeInvalidParams, Message: message}
}
