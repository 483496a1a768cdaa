package transport

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"durward"
	"durward/internal/wire"
)

// post serves one message.
func (e *Edge) post(w http.ResponseWriter, r *http.Request, caller durward.Caller, route durward.Route) {
	c := &call{edge: e, w: w, r: r}
	c.in.Caller, c.in.Route, c.in.Received = caller, route, time.Now()
	c.in.Trace = traceHeaders(r.Header)
	c.entry.what = c
	if err := e.live.enter(&c.entry); err != nil {
		writeError(w, nil, err)
		return
	}
	defer e.live.leave(&c.entry)
	defer c.abandon()
	if err := c.head(); err != nil {
		writeError(w, nil, err)
		return
	}
	data, err := c.body()
	if err != nil {
		writeError(w, nil, err)
		return
	}
	if err := wire.Parse(data, wire.FromClient, &c.msg); err != nil {
		id, refused := unreadable(data, err)
		writeError(w, id, refused)
		return
	}
	if err := c.dispatch(); err != nil {
		writeError(w, c.msg.ID, err)
	}
}

// head judges the headers that do not depend on the era.
func (c *call) head() error {
	h, sum := c.r.Header, 0
	for name, values := range h {
		for _, v := range values {
			sum += len(name) + len(v)
			if len(v) > c.edge.opts.Limits.Header {
				return refuse(http.StatusRequestHeaderFieldsTooLarge, wire.CodeInvalidRequest,
					"the header "+clip(name)+" has "+strconv.Itoa(len(v))+" bytes, the bound is "+strconv.Itoa(c.edge.opts.Limits.Header)+" (limits.header)")
			}
		}
	}
	if most := c.edge.opts.Limits.Headers; sum > most {
		return refuse(http.StatusRequestHeaderFieldsTooLarge, wire.CodeInvalidRequest,
			"the headers have "+strconv.Itoa(sum)+" bytes together, the bound is "+strconv.Itoa(most)+" (limits.headers)")
	}
	if !isJSON(h["Content-Type"]) {
		return refuse(http.StatusUnsupportedMediaType, wire.CodeInvalidRequest, "Content-Type must be application/json")
	}
	if enc := h["Content-Encoding"]; len(enc) > 0 && !(len(enc) == 1 && strings.EqualFold(enc[0], "identity")) {
		return refuse(http.StatusUnsupportedMediaType, wire.CodeInvalidRequest, "Content-Encoding is not supported for requests")
	}
	if c.takes = accepts(h[hAccept]); !c.takes.json && !c.takes.events {
		return refuse(http.StatusNotAcceptable, wire.CodeInvalidRequest, "Accept must list application/json and text/event-stream")
	}
	return nil
}

func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(values[0])
	return err == nil && kind == "application/json"
}

// trusted is how much room is made for a body before any of it has come.
const trusted = 1 << 20

// body reads the message, which the core may keep: it gets memory of its own.
func (c *call) body() ([]byte, error) {
	length, limit := c.r.ContentLength, int64(c.edge.opts.Limits.Message)
	if length > limit {
		return nil, c.tooLong(length)
	}
	room := length
	if room < 0 {
		room = 4 << 10
	}
	data := make([]byte, 0, min(room, trusted))
	for {
		if len(data) == cap(data) {
			if int64(len(data)) == length {
				return data, nil
			}
			if int64(len(data)) > limit {
				return nil, c.tooLong(int64(len(data)))
			}
			data = grow(data, length, limit+1)
		}
		n, err := c.r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		c.got.Add(int64(n))
		if err == nil {
			continue
		}
		switch {
		case int64(len(data)) > limit:
			return nil, c.tooLong(int64(len(data)))
		case errors.Is(err, io.EOF):
			return data, nil
		default:
			return nil, badRequest(wire.CodeParse, "the request body ended early")
		}
	}
}

// grow makes room: all that was announced once the client has shown that it
// means it, else twice as much.
func grow(data []byte, length, most int64) []byte {
	room := min(2*int64(cap(data))+1, most)
	if length > 0 {
		room = length
	}
	return append(make([]byte, 0, room), data...)
}

func (c *call) tooLong(n int64) error {
	c.w.Header()["Connection"] = []string{"close"}
	return &refusal{http.StatusRequestEntityTooLarge, wire.CheckSize(int(n), c.edge.opts.Limits.Message)}
}

// dispatch decides the era: metadata first, then the version header, then the
// method. An error is answered by the caller; nil means that all was answered.
func (c *call) dispatch() error {
	version, ok := single(c.r.Header[hVersion])
	if !ok {
		return badRequest(wire.CodeHeaderMismatch, "header MCP-Protocol-Version must have one value")
	}
	if c.msg.Params.Modern() || version >= wire.RevisionModern || c.msg.Method == wire.MethodDiscover {
		return c.serveModern(version)
	}
	return c.serveLegacy(version)
}

func clip(s string) string { return s[:min(len(s), 100)] }
