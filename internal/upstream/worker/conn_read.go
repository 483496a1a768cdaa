package worker

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// read is the connection's reading goroutine; it ends the connection.
func (c *conn) read() {
	for {
		l, err := c.lines.next()
		if err != nil {
			c.finish(err)
			return
		}
		c.take(&l)
	}
}

func endReason(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the server closed its output"
	case errors.Is(err, os.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return "the server does not read its input any more"
	default:
		return "reading the server's output failed: " + scrubbed([]byte(err.Error()))
	}
}

// take handles one line of the server.
func (c *conn) take(l *line) {
	data := l.data
	if bytes.HasPrefix(data, byteOrderMark) {
		data = data[len(byteOrderMark):]
		c.peer.anomaly(anomalyMark, nil)
	}
	data = bytes.TrimSpace(data)
	switch {
	case l.oversized:
		c.oversized(l)
	case len(data) == 0:
	case data[0] == '{':
		c.message(data, l.owned, l.half)
	case data[0] == '[' && c.batches() && wire.Valid(data):
		for at := range wire.Elements(data) {
			c.message(at.Of(data), l.owned, false)
		}
	default:
		c.text(data, l.half)
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf") // never written to

// batches: revision 2025-03-26 alone has them.
func (c *conn) batches() bool {
	d := c.dialect.Load()
	return d != nil && d.revision == "2025-03-26"
}

// text counts what is no message.
func (c *conn) text(data []byte, half bool) {
	kind := anomalyText
	if half {
		kind = anomalyHalfLine
	}
	c.peer.anomaly(kind, data)
}

// message handles one JSON object. own: its bytes may be kept.
func (c *conn) message(data []byte, own, half bool) {
	m := &c.msg
	fresh, err := parse(data, m)
	if err != nil {
		c.malformed(data, half, err)
		return
	}
	c.peer.faults(m)
	switch m.Kind {
	case wire.Request:
		if response := c.peer.request(m, 0, c.era()); response != nil {
			c.reply(response)
		}
	case wire.Notification:
		c.notification(m)
	default:
		c.response(m, own || fresh)
	}
}

func (c *conn) era() wire.Era {
	if d := c.dialect.Load(); d != nil {
		return d.era
	}
	return wire.EraUnknown
}

// reply sends an answer of ours. A server that asks and does not read gets none.
func (c *conn) reply(response []byte) {
	_ = c.line(len(response)+overhead, func(dst []byte) []byte { return append(dst, response...) })
}

func (c *conn) response(m *wire.Message, own bool) {
	if m.ID == nil {
		c.peer.anomaly(anomalyNoID, m.Error)
		// Before the connection is open there is one request it can be about.
		c.table.resolveOnly(answer{failure: bytes.Clone(m.Error)})
		return
	}
	id, ok := parseID(m.ID)
	if ok && (id == idDiscover || id == idInitialize) &&
		c.table.resolve(id, answer{result: bytes.Clone(m.Result), failure: bytes.Clone(m.Error)}) {
		return
	}
	if !ok {
		c.peer.anomaly(anomalyUnknown, m.ID)
		return
	}
	reply := replyOf(m)
	reply.Era = c.era()
	if !own {
		reply.Result, reply.Error = bytes.Clone(reply.Result), bytes.Clone(reply.Error)
	}
	c.answer(&exchange.Response{ID: id, Reply: reply})
}

// answer passes r on if somebody waits for it.
func (c *conn) answer(r *exchange.Response) {
	was, last := c.table.end(r.ID, answered)
	switch was {
	case waiting:
		c.peer.emit(r)
	case answered:
		c.peer.anomaly(anomalyRepeated, strconv.AppendUint(nil, r.ID, 10))
	case unknown:
		c.peer.anomaly(anomalyUnknown, strconv.AppendUint(nil, r.ID, 10))
	case cancelled: // late, as it may be
	}
	if last {
		c.hangUp(nil)
	}
}

func (c *conn) notification(m *wire.Message) {
	d := c.dialect.Load()
	if d == nil {
		return // the lists are read once the connection is open
	}
	if m.Method == wire.NoteCancelled {
		c.cancelled(m, d.era)
		return
	}
	id, ok := relation(m, 0)
	if id == 0 && ok && m.Method != wire.NoteProgress {
		c.peer.note(m, 0)
		return
	}
	switch c.fate(id, ok) {
	case waiting:
		c.peer.note(m, id)
	case unknown:
		c.peer.anomaly(anomalyProgress, []byte(m.Method))
	case answered, cancelled: // late: progress never comes after the result
	}
}

func (c *conn) fate(id uint64, ok bool) fate {
	if !ok {
		return unknown
	}
	return c.table.look(id)
}

// cancelled: the server takes back a request of its own, or ends a subscription
// (modern), which is a call of ours that gets no other answer.
func (c *conn) cancelled(m *wire.Message, era wire.Era) {
	if c.peer.cancelled(m) {
		return
	}
	id, ok := parseID(m.Params.RequestID.Of(m.Params.Raw))
	switch was := c.fate(id, ok); {
	case was == waiting && era == wire.Modern:
		f := fault(durward.Unavailable, true, "the server ended the subscription")
		c.answer(&exchange.Response{ID: id, Fault: &f})
	case was == unknown || was == waiting:
		c.peer.anomaly(anomalyCancelled, m.Params.RequestID.Of(m.Params.Raw))
	}
}

// malformed handles an object that is no acceptable message. When it was meant
// to be a response, the call must not wait for ever.
func (c *conn) malformed(data []byte, half bool, err error) {
	if half || wire.Get(data, "jsonrpc") == nil {
		c.text(data, half)
		return
	}
	c.peer.anomaly(anomalyMalformed, []byte(err.Error()))
	if wire.Lookup(data, "method").Present() {
		return
	}
	if id, ok := parseID(wire.Get(data, "id")); ok {
		c.spoilt(id, "the server's answer is no acceptable JSON-RPC message ("+scrubbed([]byte(err.Error()))+")")
	}
}

// oversized handles a line over the limit, of which only the ends are known.
func (c *conn) oversized(l *line) {
	c.peer.anomaly(anomalyOversized, l.data)
	limit := strconv.Itoa(c.spec.MaxMessage)
	if wire.Lookup(l.data, "method").Present() {
		if id := headID(l.data); wire.Valid(id) {
			c.reply(wire.AppendFailure(nil, id, wire.AppendError(nil, wire.CodeInvalidRequest,
				"the request is larger than limits.message ("+limit+" bytes)", nil)))
		}
		return
	}
	id, ok := parseID(headID(l.data))
	if !ok {
		id, ok = tailID(l.tail)
	}
	if ok {
		c.spoilt(id, "the server's answer is larger than limits.message ("+limit+" bytes) and was dropped")
	}
}

// spoilt answers a call whose answer came and cannot be used.
func (c *conn) spoilt(id uint64, why string) {
	if c.table.look(id) == waiting {
		f := fault(durward.Unknown, true, why+"; the request was executed or refused, which cannot be told")
		c.answer(&exchange.Response{ID: id, Fault: &f})
		return
	}
	c.table.resolve(id, answer{err: durward.Errorf(durward.Unavailable, "", "%s", why)})
}

// headID finds the id in the first bytes of a message, nil if it is not there.
func headID(head []byte) []byte {
	at := wire.Lookup(head, "id")
	if int(at.End) >= len(head) {
		return nil // it may go on
	}
	return at.Of(head)
}

// tailID finds the id of a response in its last bytes, where some servers have
// it: …,"id":7} or …,"jsonrpc":"2.0","id":7}, in either order.
func tailID(tail []byte) (uint64, bool) {
	tail = bytes.TrimRight(tail, " \t\r")
	tail, closed := bytes.CutSuffix(tail, []byte("}"))
	if !closed {
		return 0, false
	}
	tail = bytes.TrimRight(tail, " \t")
	if i := bytes.LastIndex(tail, []byte(`,"jsonrpc"`)); i >= 0 && !bytes.Contains(tail[i:], []byte(`"id"`)) {
		tail = tail[:i]
	}
	i := bytes.LastIndex(tail, []byte(`"id"`))
	if i < 0 {
		return 0, false
	}
	value, colon := bytes.CutPrefix(bytes.TrimLeft(tail[i+len(`"id"`):], " \t"), []byte(":"))
	if !colon {
		return 0, false
	}
	return parseID(bytes.TrimSpace(value))
}
