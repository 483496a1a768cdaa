package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// core is the gateway as its edges see it.
type core Gateway

var _ exchange.Core = (*core)(nil)

// Serve is the path of a call, from the entrance to the reply: every method of
// every entrance takes it.
func (c *core) Serve(ctx context.Context, in *exchange.Inbound, out exchange.Stream) (reply exchange.Reply) {
	g := (*Gateway)(c)
	defer func() {
		if defect := recover(); defect != nil { // one caller's request must not end everybody's service
			reply = g.survived(ctx, in, defect)
		}
	}()
	reply = g.serve(ctx, in, out)
	if reply.Error != nil && reply.Era == wire.EraUnknown { // our own words may quote a server's stderr
		reply.Error = g.redact(reply.Error)
	}
	return reply
}

func (g *Gateway) serve(ctx context.Context, in *exchange.Inbound, out exchange.Stream) exchange.Reply {
	ctx, p := g.open(ctx, in) // who wants what, and where it goes
	defer g.passed(p)
	d := &p.decision
	*d = g.decide(ctx, p)
	if err := g.intend(ctx, p, d); err != nil { // written before it acts
		return exchange.Fail(err)
	}
	defer g.unfinished(ctx, p)
	reply, refused := g.consult(ctx, p, d, out) // ask a person, if that was decided
	if !refused {
		reply = g.review(ctx, p, p.serve(ctx, p, g.screened(p, out)))
	}
	g.conclude(ctx, p, outcome(ctx, p, reply))
	return reply
}

// survived answers a request whose handling hit a defect of ours.
func (g *Gateway) survived(ctx context.Context, in *exchange.Inbound, defect any) exchange.Reply {
	g.log.ErrorContext(ctx, "a request hit a defect of Durward; please report it", "method", clip(in.Method), "defect", clip(fmt.Sprint(defect)), "stack", string(debug.Stack()))
	return exchange.Fail(errDefect)
}

var errDefect = durward.Errorf(durward.Internal, "", "the gateway hit a defect of its own and cannot say whether the request was executed; the log has the details")

// unfinished has an outcome recorded for a request that a defect of ours kept from one.
func (g *Gateway) unfinished(ctx context.Context, p *passage) {
	if !p.concluded {
		g.recorder.Outcome(ctx, &p.call, durward.Outcome{
			Status: durward.StatusUnknown, Error: wire.ErrorObject(errDefect), Attempts: p.sent, Dispatched: p.first, Finished: time.Now(),
		})
	}
}

// passage is one request on its way through the gateway.
type passage struct {
	call   durward.Call
	in     *exchange.Inbound
	serve  handler
	to     target
	way    way   // set when it goes to a server
	lost   error // why it goes nowhere; nil: it goes somewhere
	deaf   deaf
	screen screen
	sent   int       // how often it was handed to a server
	first  time.Time // when it first was

	asked    wire.Params      // what the caller sent, when policy rewrote it
	decision durward.Decision // what policy made of it
	approval string           // an answer for earlier rounds of the same call, by its id; empty: none
	refused  durward.Status   // how policy ended it; empty: it did not
	recorded []byte           // what is written down in place of the result

	renamed   bool // what it is for is recorded without what is not to be kept, or not at all
	concluded bool // its outcome was handed to the recorder

	denied string // why no person let it pass: one of the causes

	passed Passed // what an Observer will be told
}

// handler does what a method asks for.
type handler func(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply

// open finds out what a request is for. One that is for nothing we have takes the
// same way as any other, so that it is recorded, and is answered with the reason.
func (g *Gateway) open(ctx context.Context, in *exchange.Inbound) (context.Context, *passage) {
	p := &passage{in: in, call: durward.Call{
		ID: durward.NewCallID(), Caller: in.Caller, Route: in.Route, Method: in.Method, Received: in.Received,
		RequestID: in.ID, Params: in.Params.Raw, Arguments: in.Params.Arguments.Of(in.Params.Raw),
	}}
	p.call.Era = in.Client.Era.String()
	g.begun(p)
	ctx = g.trace(ctx, p)
	if err := g.resolve(ctx, p); err != nil {
		p.lost = err
		p.serve = func(context.Context, *passage, exchange.Stream) exchange.Reply { return exchange.Fail(err) }
		return ctx, p
	}
	if server, ok := g.set.Server(p.call.Server); ok {
		p.call.Transport = server.Transport()
	}
	return ctx, p
}

// decide asks policy, and has the request say what policy made of it. Doubt means
// no: an error is a block.
func (g *Gateway) decide(ctx context.Context, p *passage) durward.Decision {
	d, err := g.decider.Decide(ctx, &p.call)
	if err == nil && d.Changed != nil {
		err = p.rewrite(d.Changed)
	}
	if err != nil {
		g.log.WarnContext(ctx, "policy could not decide; the call is blocked", "call", p.call.ID, "error", err)
		return undecided(&d, &p.call)
	}
	return p.withhold(d)
}

// undecided is what comes of a call for which policy failed. What must not be kept of
// it may be what policy did not get to say.
func undecided(d *durward.Decision, call *durward.Call) durward.Decision {
	kept := d.Recorded
	if kept == nil && call.Params != nil {
		kept = wire.Withheld(call.Params)
	}
	return durward.Decision{Action: durward.Block, Cause: causeEvaluation, Reason: causeEvaluation, Matches: d.Matches, Recorded: kept}
}

// rewrite puts other params in place of those of the caller.
func (p *passage) rewrite(params []byte) error {
	var next wire.Params
	if err := wire.ParseParams(params, &next); err != nil {
		return err
	}
	p.asked, p.in.Params = p.in.Params, next
	p.call.Params, p.call.Arguments = next.Raw, next.Arguments.Of(next.Raw)
	return nil
}

// review lets policy see the whole answer of a server before the caller does. One
// that is refused is dropped entirely.
func (g *Gateway) review(ctx context.Context, p *passage, reply exchange.Reply) exchange.Reply {
	seen := reply.Result
	if seen == nil {
		if seen = errorAsResult(&reply); seen == nil {
			return reply
		}
	}
	d := g.judge(ctx, &p.call, seen)
	switch {
	case d.Action != durward.Allow:
		p.refused = durward.StatusRefused
		return g.refuse(p, &d)
	case reply.Result == nil && (d.Changed != nil || d.Recorded != nil):
		return exchange.Fail(&wire.CodeError{Code: wire.CodeInternal, Message: "the server failed; what it says of that was withheld by policy"})
	case d.Changed != nil:
		reply.Result = d.Changed
	}
	p.recorded = d.Recorded
	return reply
}

// judge has policy decide about a result, and what it found recorded.
func (g *Gateway) judge(ctx context.Context, call *durward.Call, result []byte) durward.Decision {
	d, err := g.decider.DecideResult(ctx, call, result)
	if err != nil {
		g.log.WarnContext(ctx, "policy could not decide about a result; it is withheld", "call", call.ID, "error", err)
		d = undecided(&d, call)
	}
	g.matched(call, d.Matches)
	return d
}

// errorAsResult shows policy the error of a server in the form of a result, so
// that no server gets words past the rules by failing; nil: there is none.
func errorAsResult(reply *exchange.Reply) []byte {
	if reply.Error == nil || reply.Era == wire.EraUnknown {
		return nil
	}
	text, _ := wire.Unquote(wire.Get(reply.Error, "message"))
	if data := wire.Get(reply.Error, "data"); data != nil {
		text += "\n" + string(data)
	}
	return []byte(`{"content":[{"type":"text","text":` + wire.Quote(text) + `}],"isError":true}`)
}

// outcome classifies a reply for the record.
func outcome(ctx context.Context, p *passage, reply exchange.Reply) durward.Outcome {
	o := durward.Outcome{Status: durward.StatusOK, Result: reply.Result, Error: reply.Error, Attempts: p.sent, Dispatched: p.first, Finished: time.Now()}
	if p.recorded != nil {
		o.Result = p.recorded
	}
	switch {
	case p.refused != "":
		o.Status = p.refused
	case reply.IsError:
		o.Status = durward.StatusToolError
	case reply.ResultType == "input_required":
		o.Status = durward.StatusInput
	case reply.Error == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		o.Status = durward.StatusCancelled
	default:
		o.Status = statusOf(reply.Error)
	}
	return o
}

func statusOf(failure []byte) durward.Status {
	switch code, _ := wire.ErrorCode(failure); code {
	case wire.CodeTimeout:
		return durward.StatusTimeout
	case wire.CodeUnknownOutcome:
		return durward.StatusUnknown
	default:
		return durward.StatusError
	}
}
