package worker

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Header names as net/http writes them.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSession     = "Mcp-Session-Id"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
	headerLastEvent   = "Last-Event-Id"
)

const (
	acceptBoth   = "application/json, text/event-stream"
	acceptStream = "text/event-stream"
)

// cachedHeaders bounds how many header maps are kept for modern requests.
const cachedHeaders = 1024

// headers makes the header fields of requests. What depends on nothing but
// method and name is made once: RoundTrippers only read it (net/http
// RoundTripper), so calls in flight may share it.
type headers struct {
	post http.Header // of every POST
	get  http.Header // of every GET and DELETE
	era  wire.Era

	mu   sync.RWMutex           // guards made
	made map[string]http.Header // modern: by method, or method + "\n" + name
}

// newHeaders makes those of a connection. revision is "" before it is known, session "" when there is none.
func newHeaders(static http.Header, era wire.Era, revision, session string) *headers {
	h := &headers{post: maps.Clone(static), get: maps.Clone(static), era: era, made: map[string]http.Header{}}
	for _, header := range []http.Header{h.post, h.get} {
		for name := range header {
			if strings.HasPrefix(name, "Mcp-") {
				delete(header, name) // the protocol's are ours to say
			}
		}
		if revision != "" {
			header[headerVersion] = []string{revision}
		}
		if session != "" {
			header[headerSession] = []string{session}
		}
	}
	h.post["Content-Type"] = []string{"application/json"}
	h.post["Accept"] = []string{acceptBoth}
	h.post["Accept-Encoding"] = []string{"gzip"}
	h.get["Accept"] = []string{acceptStream}
	h.get["Accept-Encoding"] = []string{"identity"} // a compressor could hold events back
	return h
}

// resume returns the fields of a GET that goes on behind the event lastID.
func (h *headers) resume(lastID string) http.Header {
	if lastID == "" {
		return h.get
	}
	header := maps.Clone(h.get)
	header[headerLastEvent] = []string{lastID}
	return header
}

// call returns the fields of the POST that carries r. The mirrored ones are made
// from what is really sent, never from what a client had put there (2026-07-28,
// streamable HTTP "Standard headers"; SEP-2243).
func (h *headers) call(r *exchange.Request) (http.Header, error) {
	if h.era != wire.Modern {
		return h.post, nil
	}
	name, named := sentName(r)
	key, cached := r.Method, true
	if named {
		key += "\n" + name
		cached = r.Method == wire.MethodToolsCall || r.Method == wire.MethodPromptsGet // there are more URIs and tasks than names
	}
	h.mu.RLock()
	header := h.made[key]
	h.mu.RUnlock()
	if header == nil {
		header = h.mirror(r.Method, name, named)
		if cached {
			h.remember(key, header)
		}
	}
	if len(r.Headers) == 0 {
		return header, nil
	}
	return withParams(header, r.Headers)
}

func (h *headers) mirror(method, name string, named bool) http.Header {
	header := maps.Clone(h.post)
	header[headerMethod] = []string{method}
	if named {
		header[headerName] = []string{wire.EncodeHeaderValue(name)}
	}
	return header
}

func (h *headers) remember(key string, header http.Header) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.made) < cachedHeaders {
		h.made[key] = header
	}
}

// withParams adds the mirrored arguments. Those over the bounds of headers are
// refused here, with a reason, instead of by some proxy without one.
func withParams(header http.Header, params []exchange.Header) (http.Header, error) {
	header = maps.Clone(header)
	size := 0
	for _, p := range params {
		value := wire.EncodeHeaderValue(p.Value)
		size += len(p.Name) + len(value)
		if !isToken(p.Name) {
			return nil, durward.Errorf(durward.Invalid, "", "the tool wants an argument mirrored in a header whose name %q is no header name", scrubbed([]byte(p.Name)))
		}
		if len(value) > maxHeaderValue || size > maxHeaders {
			return nil, durward.Errorf(durward.Invalid, "", "the argument mirrored in header %s%s is over the limit of %d bytes for one and %d for all headers", headerParamPrefix, p.Name, maxHeaderValue, maxHeaders)
		}
		header[http.CanonicalHeaderKey(headerParamPrefix+p.Name)] = []string{value}
	}
	return header, nil
}

// sentName returns the value of Mcp-Name: the routing value as it goes to the server.
func sentName(r *exchange.Request) (string, bool) {
	p := &r.Params
	switch r.Method {
	case wire.MethodToolsCall, wire.MethodPromptsGet:
		return rewritten(r, p.Name)
	case wire.MethodResourcesRead:
		return rewritten(r, p.URI)
	case wire.MethodTasksGet, wire.MethodTasksUpdate, wire.MethodTasksCancel:
		return rewritten(r, p.TaskID)
	default:
		return "", false
	}
}

func rewritten(r *exchange.Request, at wire.Span) (string, bool) {
	if r.Name != nil && at.Present() {
		return wire.Unquote(r.Name)
	}
	return r.Params.String(at)
}
