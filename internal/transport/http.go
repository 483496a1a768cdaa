package transport

import (
	"net/http"
	"strings"

	"durward"
)

// Header keys in the form net/http keeps them in, for direct access to the map.
const (
	hAccept      = "Accept"
	hVersion     = "Mcp-Protocol-Version"
	hMethod      = "Mcp-Method"
	hName        = "Mcp-Name"
	hParamPrefix = "Mcp-Param-"
	hSession     = "Mcp-Session-Id"
	hLastEvent   = "Last-Event-Id"
)

// Header values that are the same in many answers. net/http does not change them.
var (
	jsonType   = []string{"application/json"}
	eventType  = []string{"text/event-stream"}
	noCache    = []string{"no-cache, no-transform"}
	noBuffer   = []string{"no"}
	onlyPost   = []string{"POST"}
	allMethods = []string{"POST, GET, DELETE"}
)

// ServeHTTP serves the three kinds of routes. Who speaks is asked before
// anything else is looked at.
func (e *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := e.opts.Auth.Admit(r)
	e.allowPage(w, r)
	if err != nil {
		if r.Method == http.MethodOptions && durward.KindOf(err) == durward.Unauthenticated {
			e.preflight(w, r) // carries no token, and is told nothing
			return
		}
		writeError(w, nil, err)
		return
	}
	route, ok := routeOf(r.URL.Path)
	if !ok {
		writeError(w, nil, refuse(http.StatusNotFound, -32600, "nothing is served at this path; use /mcp, /servers/NAME/mcp or /toolsets/NAME/mcp"))
		return
	}
	switch r.Method {
	case http.MethodPost:
		e.post(w, r, caller, route)
	case http.MethodGet:
		e.get(w, r, caller, route)
	case http.MethodDelete:
		e.endSession(w, r, caller, route)
	case http.MethodOptions:
		e.preflight(w, r)
	default:
		notAllowed(w)
	}
}

// routeOf reads the route out of a path.
func routeOf(path string) (durward.Route, bool) {
	if path == "/mcp" {
		return durward.Route{}, true
	}
	rest, ok := strings.CutSuffix(path, "/mcp")
	if !ok {
		return durward.Route{}, false
	}
	for _, kind := range [...]struct {
		prefix string
		kind   durward.RouteKind
	}{{"/servers/", durward.RouteServer}, {"/toolsets/", durward.RouteToolset}} {
		if name, ok := strings.CutPrefix(rest, kind.prefix); ok && name != "" && !strings.Contains(name, "/") {
			return durward.Route{Kind: kind.kind, Name: name}, true
		}
	}
	return durward.Route{}, false
}

func notAllowed(w http.ResponseWriter) {
	w.Header()["Allow"] = onlyPost
	writeError(w, nil, refuse(http.StatusMethodNotAllowed, -32600, "only POST is served here; GET and DELETE need the Mcp-Session-Id of a session"))
}

// allowPage lets the pages of an origin that was allowed by name read the answer.
func (e *Edge) allowPage(w http.ResponseWriter, r *http.Request) {
	origins := r.Header["Origin"]
	if len(origins) != 1 || !e.opts.Auth.AllowsOrigin(origins[0]) {
		return
	}
	h := w.Header()
	h["Access-Control-Allow-Origin"] = origins
	h["Access-Control-Expose-Headers"] = []string{"Mcp-Session-Id, WWW-Authenticate"}
	h["Vary"] = []string{"Origin"}
}

// preflight answers a browser's question whether it may send a request.
func (e *Edge) preflight(w http.ResponseWriter, r *http.Request) {
	if _, allowed := w.Header()["Access-Control-Allow-Origin"]; !allowed {
		notAllowed(w)
		return
	}
	h := w.Header()
	h["Access-Control-Allow-Methods"] = allMethods
	h["Access-Control-Allow-Headers"] = r.Header["Access-Control-Request-Headers"]
	h["Access-Control-Max-Age"] = []string{"600"}
	w.WriteHeader(http.StatusNoContent)
}

// forms are the forms of an answer that a client takes.
type forms struct {
	json, events bool
	eventsFirst  bool // it names text/event-stream before application/json
}

// accepts reads the Accept header. Without one, all is taken. The specification
// gives the order of the two types no meaning and wants both listed; we take the
// order as a preference, which a client that cares can express in no simpler way.
func accepts(values []string) forms {
	if len(values) == 0 {
		return forms{json: true, events: true}
	}
	var f forms
	for _, v := range values {
		if v == "application/json, text/event-stream" {
			return forms{json: true, events: true}
		}
		v = strings.ToLower(v)
		all := strings.Contains(v, "*/*")
		f.json = f.json || all || strings.Contains(v, "application/json") || strings.Contains(v, "application/*")
		f.events = f.events || all || strings.Contains(v, "text/event-stream") || strings.Contains(v, "text/*")
		events, json := strings.Index(v, "text/event-stream"), strings.Index(v, "application/json")
		f.eventsFirst = f.eventsFirst || events >= 0 && json > events
	}
	return f
}

// single returns the one value of a header, "" if it is absent; false if there are several.
func single(values []string) (string, bool) {
	switch len(values) {
	case 0:
		return "", true
	case 1:
		return strings.Trim(values[0], " \t"), true
	default:
		return "", false
	}
}
