package gateway

import (
	"context"
	"strconv"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// loop serves a legacy client's request. A legacy server asks on the stream
// itself; the questions of a modern one are put to the client here, and the
// request is sent again with the answers, until the server has what it needs.
func (g *Gateway) loop(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	for round := 1; ; round++ {
		reply := p.sends(p.way.send(ctx, &p.in.Request, out))
		if reply.ResultType != "input_required" {
			return reply
		}
		if round > g.limits.Rounds {
			return g.tooManyRounds(p)
		}
		own, err := ownState(p.to.server, reply.Result)
		if err != nil {
			return exchange.Fail(err)
		}
		answers, err := g.askAll(ctx, p, out, wire.Get(reply.Result, "inputRequests"))
		if err != nil {
			return exchange.Fail(err)
		}
		if answers == nil && !rest(ctx, round) {
			return exchange.Fail(durward.Errorf(durward.Unknown, "server "+p.to.server, "the requester left while the server was not ready"))
		}
		var members []wire.Member
		if own != nil {
			members = append(members, wire.Member{Name: "requestState", Value: own})
		}
		if answers != nil {
			members = append(members, wire.Member{Name: "inputResponses", Value: answers})
		}
		p.setParams(members)
	}
}

// shedPause is the first pause before a request is repeated whose server asked
// for nothing but that; it doubles.
const shedPause = 100 * time.Millisecond

// rest waits before a request is repeated that a server put off; false if ctx ended.
func rest(ctx context.Context, round int) bool {
	timer := time.NewTimer(shedPause << min(round-1, 5))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// maxQuestions bounds what a server may ask for in one round.
const maxQuestions = 16

// askAll puts questions to a legacy client, all at the same time, and returns the
// raw object of answers; nil when there was no question. The error says what the
// client did not answer: half of the answers are of no use to the server.
func (g *Gateway) askAll(ctx context.Context, p *passage, out exchange.Stream, questions []byte) ([]byte, error) {
	var asked []*asked
	for key, at := range wire.Members(questions) {
		q, err := readQuestion(p, key, at.Of(questions))
		if err != nil {
			return nil, err
		}
		if asked = append(asked, q); len(asked) > maxQuestions {
			return nil, durward.Errorf(durward.Unavailable, "server "+p.to.server, "it asks more than %d questions at once", maxQuestions)
		}
	}
	var all sync.WaitGroup
	for _, q := range asked {
		all.Go(func() { q.reply = out.Ask(ctx, q.method, q.params) })
	}
	all.Wait()
	var answers []wire.Member
	for _, q := range asked {
		value, err := q.answer(p)
		if err != nil {
			return nil, err
		}
		answers = append(answers, wire.Member{Name: q.key, Value: value})
	}
	if answers == nil {
		return nil, nil
	}
	return wire.AppendObject(nil, nil, nil, answers...), nil
}

// asked is one question of a modern server to a legacy client.
type asked struct {
	key, method string
	params      []byte
	reply       exchange.Reply
}

func readQuestion(p *passage, key string, raw []byte) (*asked, error) {
	q := &asked{key: key, params: wire.Get(raw, "params")}
	method, ok := wire.Unquote(wire.Get(raw, "method"))
	if !ok {
		return nil, durward.Errorf(durward.Unavailable, "server "+p.to.server, "it asks for input in a form that nobody knows: inputRequests has a member without method")
	}
	q.method = method
	if capability := exchange.Missing(p.in.Client.Capabilities, method, q.params); capability != "" {
		return nil, durward.Errorf(durward.Unavailable, "server "+p.to.server,
			"it needs %s of the client, which did not declare the capability %s", clip(method), clip(capability))
	}
	return q, nil
}

// answer is the raw result of the client. An error is none: there is no place for
// it among the answers. A user who could not be asked counts as one who turned
// away (2026-07-28, client/elicitation "Response Actions").
func (q *asked) answer(p *passage) ([]byte, error) {
	if q.reply.Error == nil && len(q.reply.Result) > 0 && q.reply.Result[0] == '{' {
		return q.reply.Result, nil
	}
	if q.reply.Error != nil && q.method == wire.MethodElicit {
		return []byte(`{"action":"cancel"}`), nil
	}
	reason := "its answer is no object"
	if q.reply.Error != nil {
		code, _ := wire.ErrorCode(q.reply.Error)
		message, _ := wire.Unquote(wire.Get(q.reply.Error, "message"))
		reason = "error " + strconv.Itoa(code) + ": " + clip(message)
	}
	return nil, durward.Errorf(durward.Unavailable, "server "+p.to.server, "it needs %s of the client, which did not give it (%s)", clip(q.method), reason)
}
