package worker

import (
	"bytes"
	"math"
	"strconv"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Defaults of exchange.LinkSpec (names-and-limits, "server start").
const (
	defaultProbeTimeout = 3 * time.Second
	defaultInitTimeout  = 30 * time.Second
)

// withDefaults returns spec with every unset bound replaced by its default.
func withDefaults(spec exchange.LinkSpec) exchange.LinkSpec {
	if spec.ProbeTimeout <= 0 {
		spec.ProbeTimeout = defaultProbeTimeout
	}
	if spec.InitTimeout <= 0 {
		spec.InitTimeout = defaultInitTimeout
	}
	if spec.MaxMessage <= 0 {
		spec.MaxMessage = wire.MaxMessage
	}
	if spec.ClientInfo == nil {
		spec.ClientInfo = []byte(`{"name":"durward","version":"0"}`)
	}
	return spec
}

// dialect is how requests look on one connection once era and revision are known.
// Besides last it does not change after it was made.
type dialect struct {
	era      wire.Era
	revision string
	version  []byte // revision as a JSON string
	info     []byte // clientInfo; nil: none is sent
	last     atomic.Pointer[translated]
}

func newDialect(era wire.Era, revision string, clientInfo []byte) *dialect {
	return &dialect{era: era, revision: revision, version: wire.AppendQuote(nil, revision), info: clientInfo}
}

// appendCall appends r as a JSON-RPC request with the number id: the routing
// value and the protocol keys of `_meta` are this hop's, every other byte of the
// params is the requester's. No newline is added.
func (d *dialect) appendCall(dst []byte, id uint64, r *exchange.Request) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendUint(dst, id, 10)
	dst = append(dst, `,"method":`...)
	dst = wire.AppendQuote(dst, r.Method)
	dst = d.appendParams(dst, id, r)
	return append(dst, '}')
}

// appendParams appends `,"params":{…}`, or nothing when there is nothing to say.
func (d *dialect) appendParams(dst []byte, id uint64, r *exchange.Request) []byte {
	var members [8]wire.Member
	add := members[:0]
	if d.era == wire.Modern {
		add = d.modernMeta(add, r)
	}
	if r.Progress {
		add = append(add, wire.Member{Name: wire.MetaProgressToken, Value: strconv.AppendUint(nil, id, 10)})
	}
	ours := wire.ProtocolKey
	if r.Trace != nil {
		add, ours = traceMeta(add, r.Trace), hopKey
	}
	p := r.Params
	if p.Raw == nil && len(add) == 0 {
		return dst
	}
	dst = append(dst, `,"params":`...)
	var space [2]wire.Edit
	edits := routingEdit(space[:0], r.Method, &p, r.Name)
	if len(add) == 0 {
		switch protocol, others := metaKeys(p.Meta.Of(p.Raw)); {
		case protocol == 0:
			return wire.Splice(dst, p.Raw, edits...)
		case others == 0: // nothing is left for a legacy server: the object goes as well
			return wire.Splice(dst, p.Raw, withoutMeta(edits, &p)...)
		}
	}
	return wire.AppendParams(dst, &p, &wire.Rewrite{Values: edits, AddMeta: add, DropMeta: ours})
}

// modernMeta adds what every modern request says (2026-07-28, basic/index "_meta").
func (d *dialect) modernMeta(add []wire.Member, r *exchange.Request) []wire.Member {
	add = append(add,
		wire.Member{Name: wire.MetaProtocolVersion, Value: d.version},
		wire.Member{Name: wire.MetaClientCapabilities, Value: d.capabilities(r.Client.Era, r.Client.Capabilities)})
	if d.info != nil {
		add = append(add, wire.Member{Name: wire.MetaClientInfo, Value: d.info})
	}
	if r.LogLevel != "" {
		add = append(add, wire.Member{Name: wire.MetaLogLevel, Value: wire.AppendQuote(nil, r.LogLevel)})
	}
	return add
}

var emptyObject = []byte("{}") // never written to

// routingEdit replaces the value that the gateway routed a request by.
func routingEdit(edits []wire.Edit, method string, p *wire.Params, name []byte) []wire.Edit {
	if name == nil {
		return edits
	}
	if at := routingKey(method, p); at.Present() {
		return append(edits, wire.Edit{At: at, With: name})
	}
	return edits
}

// routingKey finds the value that a request is routed by. The method says which it
// is, since others may stand beside it; a method that is not known is routed by
// the first of taskId, uri and name that is there.
func routingKey(method string, p *wire.Params) wire.Span {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet:
		return p.Name
	case wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe:
		return p.URI
	case wire.MethodComplete:
		return refKey(p)
	}
	switch {
	case p.TaskID.Present():
		return p.TaskID
	case p.URI.Present():
		return p.URI
	default:
		return p.Name
	}
}

// refKey finds the name, or else the uri, inside ref (completion/complete).
func refKey(p *wire.Params) wire.Span {
	ref := p.Ref.Of(p.Raw)
	at := wire.Lookup(ref, "name")
	if name := at.Of(ref); len(name) == 0 || name[0] != '"' {
		at = wire.Lookup(ref, "uri")
	}
	if at.Present() {
		at.Start += p.Ref.Start
		at.End += p.Ref.Start
	}
	return at
}

// metaKeys counts the members of a `_meta` object: those of the protocol, and others.
func metaKeys(meta []byte) (ours, others int) {
	for name := range wire.Members(meta) {
		if wire.ProtocolKey(name) {
			ours++
		} else {
			others++
		}
	}
	return ours, others
}

// withoutMeta adds to edits, in order, the removal of the member `_meta`.
func withoutMeta(edits []wire.Edit, p *wire.Params) []wire.Edit {
	cut := wire.Edit{At: memberSpan(p.Raw, p.Meta)}
	if len(edits) > 0 && edits[0].At.Start > cut.At.Start {
		return append(edits[:0], cut, edits[0])
	}
	return append(edits, cut)
}

// memberSpan widens the span of a member's value in a checked object to the whole
// member and the comma that goes with it.
func memberSpan(raw []byte, value wire.Span) wire.Span {
	name := bytes.TrimRight(raw[:value.Start], " \t\r\n:") // up to the closing quote
	start := bytes.LastIndexByte(name[:len(name)-1], '"')
	before := bytes.TrimRight(raw[:start], " \t\r\n")
	if before[len(before)-1] == ',' {
		return wire.Span{Start: uint32(len(before) - 1), End: value.End}
	}
	after := bytes.TrimLeft(raw[value.End:], " \t\r\n")
	if after[0] == ',' {
		after = after[1:]
	}
	return wire.Span{Start: uint32(start), End: uint32(len(raw) - len(after))}
}

// appendCancel appends notifications/cancelled for our request id.
func appendCancel(dst []byte, id uint64, reason string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	dst = strconv.AppendUint(dst, id, 10)
	if reason != "" {
		dst = append(dst, `,"reason":`...)
		dst = wire.AppendQuote(dst, reason)
	}
	return append(dst, "}}"...)
}

// appendNote appends a notification of ours; nil params are left out.
func appendNote(dst []byte, method string, params []byte) []byte {
	return wire.AppendRequest(dst, nil, method, params)
}

// replyOf is what a response says, as the core wants it. Its bytes alias m's.
func replyOf(m *wire.Message) exchange.Reply {
	if m.Kind == wire.Failure {
		return exchange.Reply{Error: m.Error}
	}
	return exchange.Reply{Result: m.Result, ResultType: resultType(m), IsError: m.IsError}
}

// resultType spares an allocation for the types there are.
func resultType(m *wire.Message) string {
	switch string(m.ResultType.Of(m.Result)) {
	case "":
		return ""
	case `"complete"`:
		return "complete"
	case `"input_required"`:
		return "input_required"
	case `"task"`:
		return "task"
	default:
		return m.Type()
	}
}

// parseID reads a JSON number that is one of our ids or progress tokens. A
// fraction of zeros is tolerated: it is the same number.
func parseID(raw []byte) (uint64, bool) {
	if point := bytes.IndexByte(raw, '.'); point > 0 && len(bytes.Trim(raw[point+1:], "0")) == 0 {
		raw = raw[:point]
	}
	if len(raw) == 0 || len(raw) > 20 {
		return 0, false
	}
	var n uint64
	for _, c := range raw {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// repaired returns data with every byte that is no UTF-8 replaced by U+FFFD,
// and whether there was any. Valid data is returned as it is.
func repaired(data []byte) ([]byte, bool) {
	if utf8.Valid(data) {
		return data, false
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD")), true
}

// parse scans one message of the server. Bytes that are no UTF-8 are repaired
// (a result with such bytes could not be put into a JSON message for a client);
// m may alias a copy then, which fresh tells.
func parse(data []byte, m *wire.Message) (fresh bool, err error) {
	err = wire.Parse(data, wire.FromServer, m)
	if err == nil && !m.Faults.BadUTF8 {
		return false, nil
	}
	fixed, bad := repaired(data)
	if !bad {
		return false, err // a lone surrogate escape is valid JSON and passes
	}
	if err = wire.Parse(fixed, wire.FromServer, m); err == nil {
		m.Faults.BadUTF8 = true
	}
	return true, err
}

// maxDetail bounds exchange.Anomaly.Detail, in bytes.
const maxDetail = 200

// scrubbed makes text of a server safe to show: printable, one line, bounded.
func scrubbed(text []byte) string {
	if len(text) > 2*maxDetail {
		text = text[:2*maxDetail]
	}
	out := make([]byte, 0, min(len(text), maxDetail))
	for len(text) > 0 && len(out) < maxDetail {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			r = '?'
		}
		if len(out)+utf8.RuneLen(r) > maxDetail {
			break
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// faultOf makes a Fault of an error, keeping its kind.
func faultOf(err error, delivered bool) exchange.Fault {
	return exchange.Fault{Kind: uint8(durward.KindOf(err)), Message: err.Error(), Delivered: delivered}
}

// fault makes a Fault.
func fault(kind durward.Kind, delivered bool, message string) exchange.Fault {
	return exchange.Fault{Kind: uint8(kind), Message: message, Delivered: delivered}
}
