package transport

import (
	"net/http"
	"strconv"
	"sync"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// small is the length of a result up to which the body is put together before it is written.
const small = 8 << 10

// spaces are used again; what is in them shows nowhere else.
var spaces = sync.Pool{New: func() any { b := make([]byte, 0, small+512); return &b }}

// write sends the answer as one JSON body, without a second copy of a long one.
func (c *call) write(reply exchange.Reply) {
	space := spaces.Get().(*[]byte)
	defer spaces.Put(space)
	payload := reply.Result
	head := append((*space)[:0], `{"jsonrpc":"2.0","id":`...)
	head = append(head, c.msg.ID...)
	if reply.Error != nil {
		payload = reply.Error
		head = append(head, `,"error":`...)
	} else {
		head = append(head, `,"result":`...)
	}
	h := c.w.Header()
	h["Content-Type"] = jsonType
	c.length[0] = strconv.Itoa(len(head) + len(payload) + 1)
	h["Content-Length"] = c.length[:]
	c.w.WriteHeader(c.status(reply))
	if len(payload) <= small {
		head = append(append(head, payload...), '}')
		_, _ = c.w.Write(head) // the client is gone; there is nobody to tell
	} else {
		c.writeLong(head, payload)
	}
	*space = head[:0]
}

func (c *call) writeLong(head, payload []byte) {
	control := http.NewResponseController(c.w)
	stall := c.edge.opts.Stall
	if writeParts(c.w, control, head, stall) == nil && writeParts(c.w, control, payload, stall) == nil {
		_, _ = c.w.Write([]byte{'}'}) // the client is gone; there is nobody to tell
	}
}

// status maps errors of the protocol to HTTP where revision 2026-07-28 wants
// it; errors of the method itself, and all of the legacy era, are answers like
// any other.
func (c *call) status(reply exchange.Reply) int {
	if reply.Error == nil || c.session != nil || c.in.Client.Era != wire.Modern {
		return http.StatusOK
	}
	if reply.BadRequest {
		return http.StatusBadRequest
	}
	code, _ := wire.ErrorCode(reply.Error)
	switch code {
	case wire.CodeMethodNotFound:
		return http.StatusNotFound
	case wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}
