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
	decision, err := g.decide(ctx, &p.call)
	if err != nil {
		return exchange.Fail(err)
	}
	if err := g.intend(ctx, p, decision); err != nil { // written before it acts
		return exchange.Fail(err)
	}
	reply := refusal(decision)
	if decision.Action == durward.Allow {
		reply = g.review(ctx, &p.call, p.serve(ctx, p, out))
	}
	g.conclude(ctx, p, outcome(ctx, p, decision, reply))
	return reply
}

// survived answers a request whose handling hit a defect of ours.
func (g *Gateway) survived(ctx context.Context, in *exchange.Inbound, defect any) exchange.Reply {
	g.log.ErrorContext(ctx, "a request hit a defect of Durward; please report it", "method", clip(in.Method), "defect", clip(fmt.Sprint(defect)), "stack", string(debug.Stack()))
	return exchange.Fail(durward.Errorf(durward.Internal, "", "the gateway hit a defect of its own and cannot say whether the request was executed; the log has the details"))
}

// passage is one request on its way through the gateway.
type passage struct {
	call  durward.Call
	in    *exchange.Inbound
	serve handler
	to    target
	way   way // set when it goes to a server
	deaf  deaf
	sent  int // how often it was handed to a server

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
		p.serve = func(context.Context, *passage, exchange.Stream) exchange.Reply { return exchange.Fail(err) }
		return ctx, p
	}
	if server, ok := g.set.Server(p.call.Server); ok {
		p.call.Transport = server.Transport()
	}
	return ctx, p
}

// decide asks policy. Doubt means no: an error is a block.
func (g *Gateway) decide(ctx context.Context, call *durward.Call) (durward.Decision, error) {
	d, err := g.decider.Decide(ctx, call)
	if err != nil {
		g.log.WarnContext(ctx, "policy could not decide; the call is blocked", "call", call.ID, "error", err)
		return durward.Decision{Action: durward.Block, Reason: "evaluation"}, nil
	}
	return d, nil
}

// review lets policy see the whole result before the caller does. A refused
// result is dropped entirely.
func (g *Gateway) review(ctx context.Context, call *durward.Call, reply exchange.Reply) exchange.Reply {
	if reply.Result == nil {
		return reply
	}
	d, err := g.decider.DecideResult(ctx, call, reply.Result)
	switch {
	case err != nil:
		return refusal(durward.Decision{Action: durward.Block, Reason: "evaluation"})
	case d.Action != durward.Allow:
		return refusal(d)
	default:
		return reply
	}
}

// refusal is what the agent sees of a decision: that it was refused, not why.
func refusal(d durward.Decision) exchange.Reply {
	if d.Action == durward.Allow {
		return exchange.Reply{}
	}
	return exchange.Fail(&wire.CodeError{Code: wire.CodeRefused, Message: "refused by policy", Data: []byte(`{"reason":"policy"}`)})
}

// outcome classifies a reply for the record.
func outcome(ctx context.Context, p *passage, d durward.Decision, reply exchange.Reply) durward.Outcome {
	o := durward.Outcome{Status: durward.StatusOK, Result: reply.Result, Error: reply.Error, Attempts: p.sent, Finished: time.Now()}
	switch {
	case d.Action != durward.Allow:
		o.Status = durward.StatusRefused
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
	case wire.CodeRefused:
		return durward.StatusRefused
	case wire.CodeTimeout:
		return durward.StatusTimeout
	case wire.CodeUnknownOutcome:
		return durward.StatusUnknown
	default:
		return durward.StatusError
	}
}
