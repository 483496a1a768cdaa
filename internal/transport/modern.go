package transport

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// serveModern serves a message of revision 2026-07-28 over HTTP.
func (c *call) serveModern(version string) error {
	switch c.msg.Kind {
	case wire.Request:
	case wire.Notification:
		c.accepted() // cancelling is closing the stream, here; nothing else is left to say
		return nil
	default:
		return badRequest(wire.CodeInvalidRequest, "in 2026-07-28 clients send no responses")
	}
	if err := c.checkVersion(version); err != nil {
		return err
	}
	if err := readModern(&c.msg, &c.in, &c.edge.said); err != nil {
		return err
	}
	if err := c.checkMirrors(); err != nil {
		return err
	}
	if c.msg.Method == wire.MethodToolsCall {
		var err error
		if c.in.ParamHeaders, err = paramHeaders(c.r.Header); err != nil {
			return err
		}
	}
	if c.msg.Method == wire.MethodListen && !c.takes.events {
		return refuse(http.StatusNotAcceptable, wire.CodeInvalidRequest, "subscriptions/listen needs text/event-stream in Accept")
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	c.rules = noteRules{token: c.in.Params.InMeta.ProgressToken.Of(c.in.Params.Raw), level: c.in.LogLevel, modern: true, listen: c.msg.Method == wire.MethodListen}
	c.begin(cancel, nil)
	if c.msg.Method == wire.MethodListen {
		c.edge.live.setIdle(&c.entry)
	}
	c.finish(c.edge.opts.Core.Serve(ctx, &c.in, c), true)
	return nil
}

// checkVersion compares header and body (2026-07-28, basic/transports/streamable-http).
func (c *call) checkVersion(header string) error {
	p := &c.msg.Params
	if !p.Modern() {
		return missingMeta(wire.MetaProtocolVersion)
	}
	said, ok := p.String(p.InMeta.ProtocolVersion)
	if !ok {
		return missingMeta(wire.MetaProtocolVersion)
	}
	if header == "" {
		return badRequest(wire.CodeHeaderMismatch, "header MCP-Protocol-Version is missing")
	}
	if header != said {
		return badRequest(wire.CodeHeaderMismatch, "header MCP-Protocol-Version says "+wire.Quote(clip(header))+", the body "+wire.Quote(clip(said)))
	}
	return nil
}

// readModern checks the metadata of a modern request and puts what the core
// needs into in. It is the same over every transport.
func readModern(m *wire.Message, in *exchange.Inbound, said *clients) error {
	p := &m.Params
	version := p.InMeta.ProtocolVersion.Of(p.Raw)
	if version == nil {
		return missingMeta(wire.MetaProtocolVersion)
	}
	if string(version) != `"`+wire.RevisionModern+`"` {
		if err := checkRevision(version); err != nil {
			return err
		}
	}
	capabilities := p.InMeta.ClientCapabilities.Of(p.Raw)
	if len(capabilities) == 0 || capabilities[0] != '{' {
		return missingMeta(wire.MetaClientCapabilities)
	}
	if removed(m.Method) {
		return methodNotFound(m.Method)
	}
	in.Method, in.Params, in.ID = m.Method, m.Params, m.ID
	in.Client = exchange.Client{Era: wire.Modern, Revision: wire.RevisionModern, Info: p.InMeta.ClientInfo.Of(p.Raw), Capabilities: capabilities}
	in.Caller.Client = said.describe(in.Client.Info)
	in.Progress = p.InMeta.ProgressToken.Present()
	if raw := p.InMeta.LogLevel.Of(p.Raw); raw != nil {
		_, name, ok := level(raw)
		if !ok {
			return badRequest(wire.CodeInvalidParams, "_meta "+wire.MetaLogLevel+" must be one of "+strings.Join(levels[:], ", "))
		}
		in.LogLevel = name
	}
	return nil
}

func checkRevision(raw []byte) error {
	said, ok := wire.Unquote(raw)
	if !ok {
		return missingMeta(wire.MetaProtocolVersion)
	}
	for _, known := range wire.ModernRevisions() {
		if said == known {
			return nil
		}
	}
	return unsupported(said)
}

// unsupported is the answer to a revision we do not speak; it names those we do.
func unsupported(said string) error {
	data := []byte(`{"supported":[`)
	for i, known := range wire.ModernRevisions() {
		if i > 0 {
			data = append(data, ',')
		}
		data = wire.AppendQuote(data, known)
	}
	data = append(data, `],"requested":`...)
	data = append(wire.AppendQuote(data, clip(said)), '}')
	return &refusal{http.StatusBadRequest, &wire.CodeError{Code: wire.CodeUnsupportedVersion, Message: "this protocol version is not supported", Data: data}}
}

func missingMeta(key string) error {
	return badRequest(wire.CodeInvalidParams, "_meta needs "+key)
}

// removed reports whether a method of the legacy era has no place in 2026-07-28.
func removed(method string) bool {
	switch method {
	case wire.MethodInitialize, wire.MethodPing, wire.MethodSetLevel, wire.MethodSubscribe, wire.MethodUnsubscribe:
		return true
	default:
		return false
	}
}

// checkMirrors verifies that the routing headers say what the body says
// (2026-07-28, basic/transports/streamable-http "Standard Request Headers"), so
// that whoever routes or judges by them cannot be deceived.
func (c *call) checkMirrors() error {
	method, ok := single(c.r.Header[hMethod])
	if !ok || method != c.msg.Method {
		return mirrorError("Mcp-Method", method, c.msg.Method)
	}
	p := &c.msg.Params
	var at wire.Span
	switch c.msg.Method {
	case wire.MethodToolsCall, wire.MethodPromptsGet:
		at = p.Name
	case wire.MethodResourcesRead:
		at = p.URI
	case "tasks/get", "tasks/update", "tasks/cancel":
		at = p.TaskID
	default:
		return nil
	}
	said, ok := single(c.r.Header[hName])
	raw := at.Of(p.Raw)
	if raw == nil && said == "" && ok {
		return nil // the core says what is missing
	}
	if ok && len(raw) >= 2 && string(raw[1:len(raw)-1]) == said && !strings.Contains(said, `\`) {
		return nil
	}
	name, isString := wire.Unquote(raw)
	if decoded, err := decodeHeader(said); ok && isString && said != "" && (said == name || err == nil && decoded == name) {
		return nil
	}
	return mirrorError("Mcp-Name", said, name)
}

func mirrorError(header, said, body string) error {
	if said == "" {
		return badRequest(wire.CodeHeaderMismatch, "header "+header+" is missing or has several values; the body says "+wire.Quote(clip(body)))
	}
	return badRequest(wire.CodeHeaderMismatch, "header "+header+" says "+wire.Quote(clip(said))+", the body "+wire.Quote(clip(body)))
}

// paramHeaders collects the mirrored arguments as they were sent: who compares
// them decodes them, once. The result is never nil.
func paramHeaders(h http.Header) ([]exchange.Header, error) {
	out := noHeaders
	for name, values := range h {
		rest, ok := strings.CutPrefix(name, hParamPrefix)
		if !ok {
			continue
		}
		raw, ok := single(values)
		if !ok {
			return nil, badRequest(wire.CodeHeaderMismatch, "header "+clip(name)+" must have one value")
		}
		if _, err := decodeHeader(raw); err != nil {
			return nil, badRequest(wire.CodeHeaderMismatch, "header "+clip(name)+" holds no valid base64")
		}
		out = append(out, exchange.Header{Name: rest, Value: raw})
	}
	return out, nil
}

var noHeaders = []exchange.Header{}

// decodeHeader undoes the encoding of values that do not fit into a header:
// "=?base64?" … "?=". Anything else stands for itself.
func decodeHeader(value string) (string, error) {
	rest, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, nil
	}
	if rest, ok = strings.CutSuffix(rest, "?="); !ok {
		return value, nil
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(rest)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(decoded) {
		return "", base64.CorruptInputError(0)
	}
	return string(decoded), nil
}

// describe reads name and version out of an Implementation object, clipped for display.
func describe(info []byte) durward.ClientInfo {
	name, _ := wire.Unquote(wire.Get(info, "name"))
	version, _ := wire.Unquote(wire.Get(info, "version"))
	return durward.ClientInfo{Name: strings.Clone(clip(name)), Version: strings.Clone(clip(version))}
}
