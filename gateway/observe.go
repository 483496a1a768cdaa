package gateway

import (
	"bytes"
	"context"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// Observer is told of every request that passed the gate, for metrics and traces.
// Its methods are called by many goroutines on the path of calls: they must not
// block, and they must not change what they are given or keep its raw bytes.
type Observer interface {
	// Traces reports whether a request that comes without a trace begins one. It is
	// asked once.
	Traces() bool
	// Sample decides whether a trace that begins here is recorded.
	Sample(traceID [16]byte) bool
	// Sent is called when a server has answered, or will not. It may come after
	// Passed: a call can be held for the next request of its caller.
	Sent(s Sent)
	// Passed is called when a request is answered.
	Passed(p Passed)
	// SessionEnded is called when a legacy session ends.
	SessionEnded(caller durward.Caller, lasted time.Duration)
}

// SessionObserver is an [Observer] that is told of sessions at servers, too.
type SessionObserver interface {
	// ServerSessionEnded is called when a session at a legacy server ends. It must
	// not block.
	ServerSessionEnded(s ServerSession)
}

// ServerSession is a session at a legacy server that ended.
type ServerSession struct {
	Server    string
	Transport durward.Transport
	Revision  string // of the protocol, that was agreed on
	Lasted    time.Duration
	Failed    bool // the server or the connection ended it, not the gateway
}

// Statuses of a request that only an [Observer] is told: it has no record.
const (
	StatusUnrecorded durward.Status = "unrecorded" // refused, because its intent could not be recorded
	StatusDefect     durward.Status = "defect"     // it hit a defect of ours
)

// Passed is what an [Observer] is told of a request that was answered. Its times
// are those of Call.Received and Outcome.Finished.
type Passed struct {
	Call     *durward.Call
	Decision durward.Decision
	Outcome  durward.Outcome
	Revision string        // of the protocol, that the caller speaks
	Recorded time.Duration // how long it waited for its intent to be recorded
	State    string        // tracestate that the caller sent; at most 512 bytes

	baggage string
}

// Sent is what an [Observer] is told of one request to a server. Call is that of
// the request it was made for, Call.Trace.SpanID its parent.
type Sent struct {
	Call     *durward.Call
	SpanID   [8]byte // zero without a trace
	State    string
	Begun    time.Time
	Finished time.Time
	Attempts int    // how often it was handed to the server; 0: never
	Era      string // of the server; unknown when the answer is ours
	Revision string // of the protocol, that the server speaks; empty when the answer is ours
	ID       uint64 // JSON-RPC id of the request at the server; 0 when the answer is ours
	Error    []byte // the raw error; nil for a result
	Failed   bool   // the result is one of a tool that says isError
}

// intend has the intent of a request recorded, with what was decided. What policy
// says is not to be kept is not.
func (g *Gateway) intend(ctx context.Context, p *passage, d *durward.Decision) error {
	g.matched(&p.call, d.Matches)
	p.renamed = d.Recorded != nil && renamed(p.call.Params, d.Recorded) != nil
	call := p.named(recordable(&p.call, d))
	if g.observer == nil {
		return g.recorder.Intent(ctx, call, *d)
	}
	begun := time.Now()
	err := g.recorder.Intent(ctx, call, *d)
	now := time.Now()
	p.passed.Decision, p.passed.Recorded = *d, now.Sub(begun)
	if err != nil {
		p.passed.Outcome = durward.Outcome{Status: StatusUnrecorded, Error: wire.ErrorObject(err), Finished: now}
	}
	return err
}

// recordable is a call as it is written down: without what policy says is not to be kept,
// which may stand in the URI or name that it is for.
func recordable(call *durward.Call, d *durward.Decision) *durward.Call {
	if d.Recorded == nil {
		return call
	}
	kept := *call
	kept.Params = d.Recorded
	for _, now := range renamed(call.Params, d.Recorded) {
		if name, ok := wire.Unquote(now); ok {
			kept.Name, kept.FullName = name, name
		}
	}
	return &kept
}

// renamed returns what stands in place of the names and URIs in params that are recorded
// otherwise, nil for one that is left out.
func renamed(params, recorded []byte) (names [][]byte) {
	for _, path := range [...][]string{{"name"}, {"uri"}, {"ref", "name"}, {"ref", "uri"}} {
		if now := within(recorded, path); !bytes.Equal(now, within(params, path)) {
			names = append(names, now)
		}
	}
	return names
}

// within returns the value that a path of member names leads to.
func within(raw []byte, path []string) []byte {
	for _, name := range path {
		raw = wire.Get(raw, name)
	}
	return raw
}

// named is a call as it is written down, with the name that was asked for if nobody
// has it: who looks for that name finds the call. Policy does not see it, because what
// it says of names is about what is offered.
func (p *passage) named(call *durward.Call) *durward.Call {
	if p.lost == nil || call.FullName != "" {
		return call
	}
	member := "name"
	switch call.Method {
	case wire.MethodToolsCall, wire.MethodPromptsGet:
	case wire.MethodResourcesRead, wire.MethodSubscribe, wire.MethodUnsubscribe:
		member = "uri"
	default:
		return call
	}
	name, ok := wire.Unquote(wire.Get(call.Params, member))
	if !ok {
		return call
	}
	kept := *call
	kept.FullName = name
	return &kept
}

// matched has what rules and plugins did recorded.
func (g *Gateway) matched(call *durward.Call, matches []durward.Match) {
	if r, ok := g.recorder.(MatchRecorder); ok && len(matches) > 0 {
		r.Matched(call, matches)
	}
}

// conclude has the outcome of a request recorded.
func (g *Gateway) conclude(ctx context.Context, p *passage, o durward.Outcome) {
	p.concluded = true
	if p.renamed && p.lost != nil { // which says what was asked for
		code, _ := wire.ErrorCode(o.Error)
		o.Error = wire.AppendError(nil, code, "what was asked for is not here; policy keeps its name out of the record", nil)
	}
	g.recorder.Outcome(ctx, &p.call, o)
	p.passed.Outcome = o
}

// begun notes that a request is under way.
func (g *Gateway) begun(p *passage) {
	p.passed.Call, p.passed.Revision = &p.call, p.in.Client.Revision
	if g.observer != nil {
		g.underWay.Add(1)
	}
}

// passed tells of a request, however its handling ended.
func (g *Gateway) passed(p *passage) {
	if g.observer == nil {
		return
	}
	g.underWay.Add(-1)
	if o := &p.passed.Outcome; o.Status == "" { // it did not get to an outcome
		o.Status, o.Finished = StatusDefect, time.Now()
	}
	g.observer.Passed(p.passed)
}

// serverSessionEnded tells of a session at a server.
func (g *Gateway) serverSessionEnded(s upstream.Session) {
	if o, ok := g.observer.(SessionObserver); ok {
		o.ServerSessionEnded(ServerSession(s))
	}
}

// leg is one request to a server, as long as it takes.
type leg struct {
	begun time.Time
	span  [8]byte
}

// depart begins a leg: the server is told that it is a child of this span of ours.
func (w *way) depart(req *exchange.Request) (l leg) {
	if w.g.observer != nil {
		l.begun = time.Now()
	}
	t := &w.from.Call.Trace
	if t.SpanID == [8]byte{} {
		return l
	}
	l.span = t.SpanID
	if t.Flags&flagSampled != 0 && w.g.traces { // else nobody will ever hear of the leg
		l.span = newSpan()
	}
	req.Trace = &exchange.TraceContext{Parent: traceParent(t, l.span), State: w.from.State, Baggage: w.from.baggage}
	return l
}

// arrive ends it.
func (w *way) arrive(l leg, reply *exchange.Reply) {
	if w.g.observer == nil {
		return
	}
	w.g.observer.Sent(Sent{
		Call: w.from.Call, SpanID: l.span, State: w.from.State, Begun: l.begun, Finished: time.Now(),
		Attempts: reply.Attempts, Era: reply.Era.String(), Revision: reply.Revision, ID: reply.ID, Error: reply.Error, Failed: reply.IsError,
	})
}

// Load is what a gateway is busy with at a moment.
type Load struct {
	Passing  int64 // requests at the gate; 0 without an Observer
	Served   int   // HTTP requests and connections
	Streams  int   // of them, streams that wait for what may happen
	Sessions int   // legacy sessions that are open
	Holds    int   // calls that wait for the input of their caller

	Dials       int64 // connections to servers that were tried, since the start
	DialsFailed int64 // of them, those that failed
	Connections int64 // to servers, by HTTP, that are open
}

// Load returns what the gateway is busy with.
func (g *Gateway) Load() Load {
	l := Load{Passing: g.underWay.Load(), Holds: g.holds.Len()}
	l.Served, l.Streams = g.edges.Load()
	l.Dials, l.DialsFailed, l.Connections = g.dials.Read()
	g.sessions.Range(func(any, any) bool { l.Sessions++; return true })
	return l
}
