package worker

import (
	"context"
	"errors"
	"strings"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// trip is the way a handshake sends a request, which each driver has its own.
type trip interface {
	// begin sends o and returns at once. Exactly one answer arrives on the channel,
	// which has room for it, at the latest soon after ctx ends; the driver may
	// also leave it empty after ctx ended.
	begin(ctx context.Context, o opening) <-chan answer
}

// opening is a request of the handshake.
type opening struct {
	era      wire.Era
	revision string // as offered
	method   string // server/discover or initialize
	params   []byte // complete
}

// answer is what came back. Exactly one of the fields is set.
type answer struct {
	result  []byte // raw result
	failure []byte // raw JSON-RPC error object
	// foreign: the server answered in a way that is no JSON-RPC message, such as
	// an HTTP 404 with a text body; what it said, scrubbed. It speaks no modern revision.
	foreign string
	err     error // no answer: errEnded, or a *durward.Error
}

// errEnded says that the server ended the connection instead of answering.
var errEnded = errors.New("the server ended before it answered")

// handshake finds out which era a server speaks and opens the connection.
type handshake struct {
	spec exchange.LinkSpec
	via  trip
	// silenceIsLegacy: no answer to the probe within spec.ProbeTimeout means a
	// legacy server that ignores what comes before initialize. True for stdio; over
	// HTTP silence is an outage.
	silenceIsLegacy bool
	late            <-chan answer // of a probe that was not answered in time
}

// run does the handshake (2026-07-28, basic/versioning and server/discover;
// legacy, basic/lifecycle) within spec.InitTimeout. Exactly one of the results is
// set. After a legacy one the driver still has to send notifications/initialized.
func (h *handshake) run(ctx context.Context) (*exchange.Opened, *exchange.Closed) {
	ctx, cancel := context.WithTimeout(ctx, h.spec.InitTimeout)
	defer cancel()
	if h.spec.Era == wire.Legacy {
		return h.initialize(ctx)
	}
	return h.discover(ctx)
}

func (h *handshake) discover(ctx context.Context) (*exchange.Opened, *exchange.Closed) {
	reply := h.via.begin(ctx, h.probe())
	wait := h.spec.InitTimeout
	probing := h.spec.Era == wire.EraUnknown && h.silenceIsLegacy
	if probing {
		wait = h.spec.ProbeTimeout
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-reply:
		return h.discovered(ctx, &a)
	case <-timer.C:
		if probing {
			h.late = reply
			return h.initialize(ctx)
		}
		return nil, h.timeout(wire.MethodDiscover)
	case <-ctx.Done():
		return nil, h.stopped(ctx, wire.MethodDiscover)
	}
}

// discovered acts on the answer to the probe (reference/protocol §1.3): only a
// modern answer means modern; anything else means that initialize is to be tried.
func (h *handshake) discovered(ctx context.Context, a *answer) (*exchange.Opened, *exchange.Closed) {
	if a.err != nil {
		return nil, h.broken(a.err, wire.MethodDiscover)
	}
	v := judge(a)
	if v.modern && v.revision != "" {
		return openedModern(a.result, &v), nil
	}
	if h.spec.Era == wire.Modern {
		return nil, refused(wire.Modern, h.noModern(a, &v))
	}
	if v.modern && !v.legacyToo && len(v.named) > 0 {
		return nil, refused(wire.EraUnknown, noCommon(v.named))
	}
	return h.initialize(ctx)
}

// verdict is what the answer to server/discover says about a server.
type verdict struct {
	modern    bool     // it knows the method
	revision  string   // the modern revision both speak; "" when there is none
	legacyToo bool     // it names a legacy revision that we speak
	named     []string // the revisions it names
}

func judge(a *answer) verdict {
	var v verdict
	var list []byte
	switch code, _ := wire.ErrorCode(a.failure); {
	case a.result != nil:
		list = wire.Get(a.result, "supportedVersions")
		v.modern = list != nil
	case code == wire.CodeUnsupportedVersion:
		v.modern = true
		list = namedIn(a.failure)
	case code == wire.CodeHeaderMismatch || code == wire.CodeMissingCapability:
		// It names no revision, but refuses nothing about ours.
		return verdict{modern: true, revision: wire.RevisionModern}
	}
	for at := range wire.Elements(list) {
		if s, ok := wire.Unquote(at.Of(list)); ok && len(v.named) < 16 {
			v.named = append(v.named, scrubbed([]byte(s)))
			v.legacyToo = v.legacyToo || wire.EraOf(s) == wire.Legacy
			if wire.EraOf(s) == wire.Modern && v.revision < s {
				v.revision = s
			}
		}
	}
	return v
}

// namedIn returns the list of revisions in an error, nil if it names none.
func namedIn(failure []byte) []byte {
	data := wire.Get(failure, "data")
	if list := wire.Get(data, "supported"); list != nil {
		return list
	}
	return wire.Get(data, "supportedVersions")
}

func openedModern(result []byte, v *verdict) *exchange.Opened {
	o := &exchange.Opened{
		Era: wire.Modern, Revision: v.revision, LegacyToo: v.legacyToo || len(v.named) == 0,
		Info:         wire.Get(wire.Get(result, "_meta"), wire.MetaServerInfo),
		Capabilities: wire.Get(result, "capabilities"),
	}
	o.Instructions, _ = wire.Unquote(wire.Get(result, "instructions"))
	return o
}

func (h *handshake) initialize(ctx context.Context) (*exchange.Opened, *exchange.Closed) {
	select {
	case a := <-h.via.begin(ctx, h.hello()):
		return h.initialized(&a)
	case <-ctx.Done():
		if o := h.lateModern(); o != nil {
			return o, nil
		}
		return nil, h.stopped(ctx, wire.MethodInitialize)
	}
}

func (h *handshake) initialized(a *answer) (*exchange.Opened, *exchange.Closed) {
	switch {
	case a.err != nil:
		return nil, h.broken(a.err, wire.MethodInitialize)
	case a.result == nil:
		if o := h.lateModern(); o != nil {
			return o, nil
		}
		return nil, refusedInitialize(a)
	}
	revision, _ := wire.Unquote(wire.Get(a.result, "protocolVersion"))
	if wire.EraOf(revision) != wire.Legacy {
		return nil, refused(wire.EraUnknown, noCommon([]string{scrubbed([]byte(revision))}))
	}
	o := &exchange.Opened{
		Era: wire.Legacy, Revision: revision,
		Info:         wire.Get(a.result, "serverInfo"),
		Capabilities: wire.Get(a.result, "capabilities"),
	}
	o.Instructions, _ = wire.Unquote(wire.Get(a.result, "instructions"))
	return o, nil
}

// lateModern looks whether the probe was answered after all: a modern server
// that starts slowly refuses initialize, but it was asked before.
func (h *handshake) lateModern() *exchange.Opened {
	select {
	case a := <-h.late: // blocks for ever when nil, hence default
		if v := judge(&a); a.err == nil && v.modern && v.revision != "" {
			return openedModern(a.result, &v)
		}
	default:
	}
	return nil
}

// refusedInitialize tells a server that speaks no legacy revision from one that
// refuses us for another reason.
func refusedInitialize(a *answer) *exchange.Closed {
	if a.foreign != "" {
		return refused(wire.EraUnknown, `the answer to "initialize" is no JSON-RPC message: `+a.foreign)
	}
	code, _ := wire.ErrorCode(a.failure)
	said := scrubbed(a.failure)
	if code == wire.CodeUnsupportedVersion || code == wire.CodeMethodNotFound || namedIn(a.failure) != nil {
		return refused(wire.Legacy, `the server refuses "initialize", so it speaks none of `+
			strings.Join(wire.LegacyRevisions(), ", ")+": "+said)
	}
	return refused(wire.EraUnknown, `the server refuses "initialize": `+said)
}

func refused(era wire.Era, message string) *exchange.Closed {
	return &exchange.Closed{Fault: fault(durward.Unavailable, false, message), EraRefused: era}
}

func noCommon(named []string) string {
	ours := append(wire.ModernRevisions(), wire.LegacyRevisions()...)
	return "no protocol revision in common: the server speaks " + orNone(named) + ", Durward speaks " + strings.Join(ours, ", ")
}

func orNone(named []string) string {
	if text := strings.Join(named, ", "); text != "" {
		return text
	}
	return "none that it names"
}

func (h *handshake) noModern(a *answer, v *verdict) string {
	switch {
	case v.modern:
		return noCommon(v.named)
	case a.failure != nil:
		return `the server refuses "server/discover", so it speaks no modern revision: ` + scrubbed(a.failure)
	case a.foreign != "":
		return `the answer to "server/discover" is no JSON-RPC message: ` + a.foreign
	default:
		return `the answer to "server/discover" names no supportedVersions`
	}
}

// broken says why there was no answer. A server that ended while its era was not
// known may be one of those that end on any request before initialize.
func (h *handshake) broken(err error, method string) *exchange.Closed {
	if errors.Is(err, errEnded) {
		return &exchange.Closed{
			Fault:       fault(durward.Unavailable, false, `the server ended before it answered "`+method+`"`),
			RetryLegacy: h.spec.Era == wire.EraUnknown,
		}
	}
	return &exchange.Closed{Fault: faultOf(err, false)}
}

func (h *handshake) stopped(ctx context.Context, method string) *exchange.Closed {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return h.timeout(method)
	}
	return &exchange.Closed{
		Phase: exchange.PhaseStopped,
		Fault: fault(durward.Unavailable, false, "the connection was closed during its handshake"),
	}
}

func (h *handshake) timeout(method string) *exchange.Closed {
	return &exchange.Closed{
		Fault: fault(durward.Timeout, false, `no answer to "`+method+`" within the start time-out of `+
			h.spec.InitTimeout.String()+"; raise start_timeout of this server if it needs longer"),
		RetryLegacy: h.late != nil,
	}
}

// probe is server/discover with the metadata of a modern request.
func (h *handshake) probe() opening {
	request := exchange.Request{Method: wire.MethodDiscover}
	request.Client.Era, request.Client.Capabilities = wire.Legacy, h.spec.Capabilities // of a legacy handshake
	params := newDialect(wire.Modern, wire.RevisionModern, h.spec.ClientInfo).appendParams(nil, 0, &request)
	params = params[len(`,"params":`):]
	return opening{era: wire.Modern, revision: wire.RevisionModern, method: wire.MethodDiscover, params: params}
}

// hello is initialize.
func (h *handshake) hello() opening {
	revision := h.spec.Revision
	if wire.EraOf(revision) != wire.Legacy {
		revision = wire.RevisionLegacy
	}
	capabilities := h.spec.Capabilities
	if capabilities == nil {
		capabilities = emptyObject
	}
	params := wire.AppendObject(nil, nil, nil,
		wire.Member{Name: "protocolVersion", Value: wire.AppendQuote(nil, revision)},
		wire.Member{Name: "capabilities", Value: capabilities},
		wire.Member{Name: "clientInfo", Value: h.spec.ClientInfo})
	return opening{era: wire.Legacy, revision: revision, method: wire.MethodInitialize, params: params}
}
