package telemetry

import (
	"encoding/binary"
	"strconv"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/telemetry/otlp"
	"durward/internal/wire"
)

const flagSampled = 1

// Traces implements [gateway.Observer].
func (t *Telemetry) Traces() bool { return t.traces }

// Sample implements [gateway.Observer]: a part of all ids, so that everybody who
// samples by id with the same ratio takes the same ones.
func (t *Telemetry) Sample(traceID [16]byte) bool {
	if t.opt.OTLP.Sample >= 1 {
		return true
	}
	return float64(binary.BigEndian.Uint64(traceID[8:])>>11) < t.opt.OTLP.Sample*(1<<53)
}

// Passed implements [gateway.Observer].
func (t *Telemetry) Passed(p gateway.Passed) {
	t.requests.pass(&p)
	if t.records(p.Call) {
		t.export.Span(t.serverSpan(&p))
	}
}

// Sent implements [gateway.Observer].
func (t *Telemetry) Sent(s gateway.Sent) {
	t.requests.send(&s)
	if t.records(s.Call) {
		t.export.Span(t.clientSpan(&s))
	}
}

// SessionEnded implements [gateway.Observer].
func (t *Telemetry) SessionEnded(caller durward.Caller, lasted time.Duration) {
	t.requests.endSession(caller, lasted)
}

// ServerSessionEnded implements [gateway.SessionObserver].
func (t *Telemetry) ServerSessionEnded(s gateway.ServerSession) { t.requests.endServerSession(&s) }

// records reports whether spans are made of a call.
func (t *Telemetry) records(call *durward.Call) bool {
	return t.traces && call.Trace.Flags&flagSampled != 0
}

// maxID bounds what of the id of a request goes into a span, in bytes.
const maxID = 64

// What a span says is what the conventions for MCP want of it, but for what could
// hold the words of a caller or of a server: arguments, results, messages of
// errors, URIs of resources. The id of a session is a credential.

// serverSpan is the request of a client, served.
func (t *Telemetry) serverSpan(p *gateway.Passed) *otlp.Span {
	call := p.Call
	s := &otlp.Span{
		TraceID: call.Trace.TraceID, SpanID: call.Trace.SpanID, Parent: call.Trace.Caller, Remote: call.Trace.Caller != [8]byte{},
		State: p.State, Flags: call.Trace.Flags, Begun: call.Received, Finished: p.Outcome.Finished,
	}
	t.describe(s, call, call.FullName)
	fail(s, failure(p.Outcome.Status, p.Outcome.Error), p.Outcome.Error)
	s.Attributes = append(s.Attributes,
		otlp.Attribute{Key: "jsonrpc.request.id", Value: t.idOf(call.RequestID)},
		otlp.Attribute{Key: "mcp.protocol.version", Value: p.Revision},
		otlp.Attribute{Key: "network.transport", Value: otlp.Word(networkOf(call.Caller.Entrance))},
		otlp.Attribute{Key: "durward.principal", Value: call.Caller.Principal},
		otlp.Attribute{Key: "durward.entrance", Value: otlp.Word(call.Caller.Entrance)},
		otlp.Attribute{Key: "durward.era", Value: otlp.Word(call.Era)},
		otlp.Attribute{Key: "durward.status", Value: otlp.Word(p.Outcome.Status)},
		otlp.Attribute{Key: "durward.decision", Value: otlp.Word(p.Decision.Action.String())},
		otlp.Attribute{Key: "durward.ledger.wait", Value: p.Recorded.Seconds()},
	)
	return s
}

// clientSpan is a request to a server, of which the request of a client is the parent.
func (t *Telemetry) clientSpan(sent *gateway.Sent) *otlp.Span {
	call := sent.Call
	s := &otlp.Span{
		TraceID: call.Trace.TraceID, SpanID: sent.SpanID, Parent: call.Trace.SpanID,
		State: sent.State, Flags: call.Trace.Flags, Client: true, Begun: sent.Begun, Finished: sent.Finished,
	}
	t.describe(s, call, call.Name)
	fail(s, failureSent(sent), sent.Error)
	network := otlp.Word(networkTo(call.Transport))
	s.Attributes = append(s.Attributes,
		otlp.Attribute{Key: "network.transport", Value: network},
		otlp.Attribute{Key: "durward.era", Value: otlp.Word(sent.Era)},
		otlp.Attribute{Key: "durward.attempts", Value: int64(sent.Attempts)},
	)
	if sent.ID != 0 { // a server answered
		s.Attributes = append(s.Attributes,
			otlp.Attribute{Key: "jsonrpc.request.id", Value: strconv.FormatUint(sent.ID, 10)},
			otlp.Attribute{Key: "mcp.protocol.version", Value: otlp.Word(revisionOf(sent.Revision))},
		)
	}
	return s
}

// describe says what was asked for.
func (t *Telemetry) describe(s *otlp.Span, call *durward.Call, name string) {
	method := brief(call.Method, maxID, t.opt.Redact)
	known := any(method)
	if methodOf(method) == method {
		known = otlp.Word(method)
	}
	s.Name = method
	s.Attributes = append(make([]otlp.Attribute, 0, 16),
		otlp.Attribute{Key: "mcp.method.name", Value: known},
		otlp.Attribute{Key: "durward.server", Value: otlp.Word(call.Server)},
		otlp.Attribute{Key: "durward.call.id", Value: otlp.Word(call.ID)})
	if call.Server == "" || name == "" {
		return
	}
	name = brief(name, maxLabel, t.opt.Redact)
	switch method {
	case wire.MethodToolsCall:
		s.Name += " " + name
		s.Attributes = append(s.Attributes, otlp.Attribute{Key: "gen_ai.operation.name", Value: otlp.Word("execute_tool")}, otlp.Attribute{Key: "gen_ai.tool.name", Value: name})
	case wire.MethodPromptsGet:
		s.Name += " " + name
		s.Attributes = append(s.Attributes, otlp.Attribute{Key: "gen_ai.prompt.name", Value: name})
	}
}

// fail says how it failed, if it did.
func fail(s *otlp.Span, errorType string, raw []byte) {
	if errorType == "" {
		return
	}
	s.Failed = true
	if code, ok := wire.ErrorCode(raw); ok {
		errorType = strconv.Itoa(code)
		s.Attributes = append(s.Attributes, otlp.Attribute{Key: "rpc.response.status_code", Value: errorType})
	}
	s.Attributes = append(s.Attributes, otlp.Attribute{Key: "error.type", Value: errorType})
}

// idOf is the id of a request as the conventions want it: the text of a string.
func (t *Telemetry) idOf(raw []byte) string {
	if len(raw) > maxID {
		return brief(string(raw[:min(len(raw), looked)]), maxID, t.opt.Redact)
	}
	if text, ok := wire.Unquote(raw); ok {
		return text
	}
	return string(raw)
}
