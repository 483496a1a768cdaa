package telemetry

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"durward"
	"durward/gateway"
	"durward/internal/wire"
)

// requests measures requests. What it does for one is on the path of every call:
// it takes no lock and allocates nothing, once a series is known.
type requests struct {
	redact func([]byte) []byte

	answered *prometheus.CounterVec
	recorded prometheus.Observer
	sessions *prometheus.HistogramVec
	upstream *prometheus.HistogramVec // sessions at servers
	wait     *prometheus.HistogramVec

	passed, sent operations
	counters     handles[outcome, prometheus.Counter]
	servers      bounded[string]
	names        bounded[series]
}

// outcome is a line of durward_requests_total; all parts have few values.
type outcome struct{ method, status, decision, era, entrance string }

// operations are the durations of one kind of operation, by series.
type operations struct {
	vec     *prometheus.HistogramVec
	handles handles[series, *operation]
}

// operation is one series: its handle for success, and what its other lines have
// in common.
type operation struct {
	ok           prometheus.Observer
	vec          *prometheus.HistogramVec
	method       string
	server       string
	tool, prompt string
}

func newRequests(redact func([]byte) []byte) *requests {
	r := &requests{
		redact: redact, answered: counterVec(nameRequests), sessions: histogramVec(nameSessionDuration), upstream: histogramVec(nameClientSession), wait: histogramVec(nameLedgerWait),
		passed: operations{vec: histogramVec(nameServerDuration)}, sent: operations{vec: histogramVec(nameClientDuration)},
		servers: bounded[string]{most: maxServers}, names: bounded[series]{most: maxNames},
	}
	r.recorded = r.wait.WithLabelValues()
	return r
}

func (r *requests) collectors() []prometheus.Collector {
	return []prometheus.Collector{r.answered, r.sessions, r.upstream, r.wait, r.passed.vec, r.sent.vec}
}

// of returns the operation of a call.
func (r *requests) of(o *operations, call *durward.Call) *operation {
	k, name := series{method: methodOf(call.Method), server: call.Server}, ""
	if k.method == wire.MethodToolsCall || k.method == wire.MethodPromptsGet {
		name = call.Name
		k.name = name[:min(len(name), maxLabel)]
	}
	if op, ok := o.handles.get(k); ok {
		return op
	}
	return r.fresh(o, k, name)
}

// fresh returns the operation of a series that is new, or that is told apart no more.
// Its name may be longer than that of k.
func (r *requests) fresh(o *operations, k series, name string) *operation {
	k.server, k.name = strings.Clone(k.server), strings.Clone(k.name)
	if k.server != "" && !r.servers.admit(k.server) {
		k.server, k.name, name = other, other, other
	}
	if k.name != "" && k.name != other && !r.names.admit(k) {
		k.name, name = other, other
	}
	return o.handles.add(k, func() *operation {
		op := &operation{vec: o.vec, method: k.method, server: labelText(k.server, r.redact)}
		switch k.method {
		case wire.MethodToolsCall:
			op.tool = labelText(name, r.redact)
		case wire.MethodPromptsGet:
			op.prompt = labelText(name, r.redact)
		}
		op.ok = op.with("")
		return op
	})
}

func (op *operation) with(errorType string) prometheus.Observer {
	return op.vec.WithLabelValues(op.method, op.server, op.tool, op.prompt, errorType)
}

func (op *operation) observe(took time.Duration, errorType string) {
	if errorType == "" {
		op.ok.Observe(took.Seconds())
		return
	}
	op.with(errorType).Observe(took.Seconds())
}

// pass counts a request that was answered.
func (r *requests) pass(p *gateway.Passed) {
	call := p.Call
	r.of(&r.passed, call).observe(p.Outcome.Finished.Sub(call.Received), failure(p.Outcome.Status, p.Outcome.Error))
	if p.Outcome.Status != gateway.StatusDefect {
		r.recorded.Observe(p.Recorded.Seconds())
	}
	k := outcome{methodOf(call.Method), string(p.Outcome.Status), p.Decision.Action.String(), eraOf(call.Era), entranceOf(call.Caller.Entrance)}
	c, ok := r.counters.get(k)
	if !ok {
		c = r.counters.add(k, func() prometheus.Counter {
			return r.answered.WithLabelValues(k.method, k.status, k.decision, k.era, k.entrance)
		})
	}
	c.Inc()
}

// send counts a request to a server.
func (r *requests) send(s *gateway.Sent) {
	r.of(&r.sent, s.Call).observe(s.Finished.Sub(s.Begun), failureSent(s))
}

// endSession counts a session that ended.
func (r *requests) endSession(caller durward.Caller, lasted time.Duration) {
	r.sessions.WithLabelValues(networkOf(caller.Entrance)).Observe(lasted.Seconds())
}

// endServerSession counts a session at a server that ended.
func (r *requests) endServerSession(s *gateway.ServerSession) {
	server, errorType := strings.Clone(s.Server), ""
	if !r.servers.admit(server) {
		server = other
	}
	if s.Failed {
		errorType = "_OTHER"
	}
	r.upstream.WithLabelValues(labelText(server, r.redact), networkTo(s.Transport), revisionOf(s.Revision), errorType).Observe(s.Lasted.Seconds())
}

// failure is the error.type of a request of a client: "" for success.
func failure(status durward.Status, raw []byte) string {
	switch status {
	case durward.StatusOK, durward.StatusInput:
		return ""
	case durward.StatusToolError:
		return "tool_error"
	default:
		return codeLabel(raw)
	}
}

// failureSent is the error.type of a request to a server.
func failureSent(s *gateway.Sent) string {
	switch {
	case s.Error != nil:
		return codeLabel(s.Error)
	case s.Failed:
		return "tool_error"
	default:
		return ""
	}
}

// codeLabel is the code of an error if it is a known one: servers may use any.
func codeLabel(raw []byte) string {
	code, ok := wire.ErrorCode(raw)
	if ok && knownCode(code) {
		return strconv.Itoa(code)
	}
	return "_OTHER" // as the conventions call it
}

func knownCode(code int) bool {
	switch code {
	case wire.CodeParse, wire.CodeInvalidRequest, wire.CodeMethodNotFound, wire.CodeInvalidParams, wire.CodeInternal,
		wire.CodeResourceNotFound, wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion,
		wire.CodeRefused, wire.CodeDeniedByPerson, wire.CodeApprovalTimeout, wire.CodeRateLimited,
		wire.CodeUnavailable, wire.CodeTimeout, wire.CodeUnknownOutcome:
		return true
	default:
		return false
	}
}

func eraOf(era string) string {
	switch era {
	case "legacy", "modern":
		return era
	default:
		return "unknown"
	}
}

func entranceOf(e durward.Entrance) string {
	switch e {
	case durward.EntranceHTTP, durward.EntranceStdio, durward.EntranceLibrary, durward.EntranceConsole:
		return string(e)
	default:
		return other
	}
}

// networkTo is network.transport for how a server is reached.
func networkTo(t durward.Transport) string {
	if t == durward.TransportStdio || t == durward.TransportBuiltin {
		return "pipe"
	}
	return "tcp"
}

// revisionOf is a revision of the protocol if it is a known one.
func revisionOf(revision string) string {
	if wire.EraOf(revision) == wire.EraUnknown {
		return other
	}
	return revision
}

// networkOf is network.transport for an entrance.
func networkOf(e durward.Entrance) string {
	if e == durward.EntranceHTTP {
		return "tcp"
	}
	return "pipe"
}
