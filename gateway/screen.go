package gateway

import (
	"bytes"
	"context"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// What a server asks of a client during a call (elicitation, sampling, roots)
// passes the same gate as what clients ask of servers: it is decided by rule, and
// written down before anybody is asked. Its record names the call that it came in as
// its parent.

// screen is the stream of a request as its server gets it.
type screen struct {
	exchange.Stream
	g    *Gateway
	call *durward.Call // during which it asks
}

// Ask passes a question on that policy lets pass.
func (s *screen) Ask(ctx context.Context, method string, params []byte) exchange.Reply {
	q := questionOf(s.call, method, params)
	if err := s.g.admit(ctx, &q); err != nil {
		return exchange.Fail(err)
	}
	reply, o := s.Stream.Ask(ctx, method, q.Params), durward.Outcome{Status: durward.StatusOK, Attempts: 1}
	if reply.Result != nil {
		d := s.g.judge(ctx, &q, reply.Result) // what the client answers is what the server gets
		switch {
		case d.Action != durward.Allow:
			reply, o.Status = exchange.Fail(errQuestionRefused()), durward.StatusRefused
		case d.Changed != nil:
			reply.Result = d.Changed
		}
		o.Result = reply.Result
		if d.Recorded != nil && reply.Result != nil {
			o.Result = d.Recorded
		}
	} else if reply.Error != nil {
		o.Status = statusOf(reply.Error)
	}
	o.Error, o.Finished = reply.Error, time.Now()
	s.g.recorder.Outcome(ctx, &q, o)
	return reply
}

// screened is what the server of a request gets of its stream.
func (g *Gateway) screened(p *passage, out exchange.Stream) exchange.Stream {
	p.screen = screen{out, g, &p.call}
	return &p.screen
}

// questionOf is what policy and the ledger see of a question that comes in a call.
func questionOf(call *durward.Call, method string, params []byte) durward.Call {
	q := *call
	q.ID, q.Parent, q.Method, q.Received = durward.NewCallID(), call.ID, method, time.Now()
	q.RequestID, q.Params, q.Arguments = nil, params, nil
	q.Name, q.FullName, q.Risk, q.Tool = "", "", durward.RiskUnset, nil
	return q
}

// admit decides about a question of a server and writes it down; q.Params are then
// what policy made of it. An error refuses it; nobody is asked whether somebody may
// be asked.
func (g *Gateway) admit(ctx context.Context, q *durward.Call) error {
	d, err := g.decider.Decide(ctx, q)
	switch {
	case err != nil || d.Changed != nil && !isObject(d.Changed):
		d = undecided(&d, q)
	case d.Changed != nil:
		q.Params = d.Changed
	}
	g.matched(q, d.Matches)
	if err := g.recorder.Intent(ctx, recordable(q, &d), d); err != nil {
		return err
	}
	if d.Action == durward.Allow {
		return nil
	}
	refused := errQuestionRefused()
	g.recorder.Outcome(ctx, q, durward.Outcome{Status: durward.StatusRefused, Error: wire.ErrorObject(refused), Finished: time.Now()})
	return refused
}

func errQuestionRefused() error {
	return &wire.CodeError{Code: wire.CodeRefused, Message: "what the server asks for is refused by policy"}
}

// admitAll decides about questions that a modern server sends with its answer. The
// client's answers come with its next request, which has a record of its own. What it
// returns are the questions as they may be put; nil: as they are.
func (g *Gateway) admitAll(ctx context.Context, p *passage, questions []byte) ([]byte, error) {
	var edits []wire.Edit
	var admitted []durward.Call
	for _, at := range wire.Members(questions) {
		asked := at.Of(questions)
		method, _ := wire.Unquote(wire.Get(asked, "method"))
		params := wire.Lookup(asked, "params")
		q := questionOf(&p.call, method, params.Of(asked))
		if err := g.admit(ctx, &q); err != nil {
			g.put(ctx, admitted, durward.Outcome{Status: durward.StatusRefused, Error: wire.ErrorObject(err)}) // with it the others
			return nil, err
		}
		admitted = append(admitted, q)
		if with := q.Params; params.Present() && !bytes.Equal(with, params.Of(asked)) {
			edits = append(edits, wire.Edit{At: at, With: wire.Splice(nil, asked, wire.Edit{At: params, With: with})})
		}
	}
	g.put(ctx, admitted, durward.Outcome{Status: durward.StatusInput, Attempts: 1})
	if edits == nil {
		return nil, nil
	}
	return wire.Splice(nil, questions, edits...), nil
}

// put has recorded what came of questions that policy let pass.
func (g *Gateway) put(ctx context.Context, questions []durward.Call, o durward.Outcome) {
	o.Finished = time.Now()
	for i := range questions {
		g.recorder.Outcome(ctx, &questions[i], o)
	}
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool { return wire.Valid(raw) && len(raw) > 0 && raw[0] == '{' }
