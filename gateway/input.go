package gateway

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/hold"
	"durward/internal/wire"
)

// A server may want input before it answers: an answer of the user, of the model,
// or the roots. The eras go about it in ways that do not fit together:
//
//   - a modern server ends the request with input_required, and the client repeats
//     it with the answers (2026-07-28, basic/patterns/mrtr);
//   - a legacy server sends a request of its own and goes on when it is answered
//     (2025-11-25, client/elicitation, client/sampling, client/roots).
//
// So there are four cases. Within an era it is passed on: between modern ones with
// our own state around the server's, between legacy ones by the stream of the
// request (upstream asks it directly). Across, a legacy client is asked in a loop
// (loop.go), and for a modern client the call to the legacy server is held open
// until the client comes back (package hold).

// converse has a request answered by its server, with as many rounds of input as
// that takes of a legacy client, and one of a modern client.
func (g *Gateway) converse(ctx context.Context, p *passage, out exchange.Stream) exchange.Reply {
	p.way, p.in.Request.Name = g.wayOf(p), p.to.name
	switch {
	case !mayNeedInput(p.in.Method):
		return p.sends(p.way.send(ctx, &p.in.Request, out))
	case p.in.Client.Era != wire.Modern:
		return g.loop(ctx, p, out)
	}
	s, expired, err := g.openState(p)
	switch {
	case err != nil:
		return exchange.Reply{Error: wire.ErrorObject(err), BadRequest: true}
	case s == nil:
		return g.hold(ctx, p, 0, out)
	case s.question: // what it brings is the answer to a question of ours, which consult has read
		p.setParams(nil)
		return g.hold(ctx, p, 0, out)
	case expired:
		return overdue(p)
	case s.hold != "":
		since := time.Now()
		turn, err := g.holds.Resume(ctx, p.owner(), s.hold, s.round, p.in.Client.Capabilities, p.answer, out)
		if err != nil {
			if !errors.Is(err, hold.ErrLost) {
				p.handed(since)
			}
			return lost(p, err)
		}
		p.first = since // of this request: the server has had the call itself for longer
		return g.turned(ctx, p, turn, since)
	default:
		return g.nextRound(ctx, p, s, out)
	}
}

// mayNeedInput reports whether servers may ask for input during a method
// (2026-07-28, basic/patterns/mrtr "Supported Requests").
func mayNeedInput(method string) bool {
	switch method {
	case wire.MethodToolsCall, wire.MethodPromptsGet, wire.MethodResourcesRead:
		return true
	default:
		return false
	}
}

// hold serves a modern client's request for which nothing is held yet, in a way
// that it can be, should the server turn out to ask; round is how many rounds of
// input there were before.
func (g *Gateway) hold(ctx context.Context, p *passage, round int, out exchange.Stream) exchange.Reply {
	server, ok := g.set.Server(p.to.server)
	if !ok || server.Era() == wire.Modern {
		return g.answered(ctx, p, p.sends(p.way.send(ctx, &p.in.Request, out)), round)
	}
	if !exchange.Askable(p.in.Client.Capabilities) {
		p.deaf.Stream, p.deaf.capabilities = out, p.in.Client.Capabilities
		reply := p.sends(p.way.send(ctx, &p.in.Request, &p.deaf))
		return g.answered(ctx, p, missed(hold.Turn{Reply: reply, Refused: p.deaf.refused()}), round)
	}
	req, since := p.in.Request, time.Now() // the call may outlive this request
	var begun atomic.Bool
	turn, err := g.holds.Begin(ctx, p.owner(), req.Client.Capabilities, out, func(ctx context.Context, out exchange.Stream) exchange.Reply {
		begun.Store(true)
		return p.way.send(ctx, &req, &screen{out, g, &p.call})
	})
	if err != nil {
		if begun.Load() {
			p.handed(since)
		}
		return exchange.Fail(err)
	}
	return g.turned(ctx, p, turn, since)
}

// deaf is the stream of a modern client that cannot be asked anything. It notes
// what the server wanted to ask.
type deaf struct {
	exchange.Stream
	capabilities []byte

	mu     sync.Mutex // guards wanted
	wanted []string   // capabilities, each once
}

// Ask fails, as it does for every modern client that is asked directly.
func (d *deaf) Ask(ctx context.Context, method string, params []byte) exchange.Reply {
	if missing := exchange.Missing(d.capabilities, method, params); missing != "" {
		d.mu.Lock()
		if !slices.Contains(d.wanted, missing) {
			d.wanted = append(d.wanted, missing)
		}
		d.mu.Unlock()
	}
	return d.Stream.Ask(ctx, method, params)
}

func (d *deaf) refused() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.wanted)
}

// nextRound serves a retry for which nothing is held.
func (g *Gateway) nextRound(ctx context.Context, p *passage, s *state, out exchange.Stream) exchange.Reply {
	if s.again {
		if g.declined(p, s) {
			return toolError(p, "the user did not open the page that "+p.to.server+" needs, so the call was not made")
		}
		p.setParams(nil)
		return g.hold(ctx, p, s.round, out)
	}
	members := []wire.Member{}
	if s.own != nil {
		members = append(members, wire.Member{Name: "requestState", Value: s.own})
	}
	if answers := p.in.Params.InputResponses.Of(p.in.Params.Raw); answers != nil {
		members = append(members, wire.Member{Name: "inputResponses", Value: answers})
	}
	p.setParams(members)
	return g.answered(ctx, p, p.sends(p.way.send(ctx, &p.in.Request, out)), s.round)
}

// turned makes the reply of what one turn of a held call brought, which began at since.
func (g *Gateway) turned(ctx context.Context, p *passage, turn hold.Turn, since time.Time) exchange.Reply {
	if len(turn.Questions) == 0 {
		return g.answered(ctx, p, p.sends(missed(turn)), turn.Round)
	}
	p.handed(since)
	if turn.Round > g.limits.Rounds {
		return g.tooManyRounds(p)
	}
	questions := make([]wire.Member, len(turn.Questions))
	for i, q := range turn.Questions {
		questions[i] = wire.Member{Name: q.Key, Value: question(q.Method, q.Params)}
	}
	return g.ask(p, questions, &state{hold: turn.ID, round: turn.Round, expires: time.Now().Add(g.limits.HoldLife)})
}

// missed replaces the error of a call that failed after its server could not ask
// what it wanted: the client learns what it would have to declare.
func missed(turn hold.Turn) exchange.Reply {
	if turn.Reply.Error == nil || len(turn.Refused) == 0 {
		return turn.Reply
	}
	return exchange.Fail(missingCapability(turn.Refused...))
}

// answered looks at the reply to a modern client's request for questions of the
// server; round is how many there were before.
func (g *Gateway) answered(ctx context.Context, p *passage, reply exchange.Reply, round int) exchange.Reply {
	if reply.ResultType == "input_required" {
		return g.relayQuestions(ctx, p, reply, round+1)
	}
	if reply.Error == nil || reply.Era != wire.Legacy {
		return reply
	}
	if code, _ := wire.ErrorCode(reply.Error); code == codeURLElicitation {
		return g.relayPages(p, reply, round+1)
	}
	return reply
}

// relayQuestions passes a modern server's questions on, with its state inside ours.
func (g *Gateway) relayQuestions(ctx context.Context, p *passage, reply exchange.Reply, round int) exchange.Reply {
	own, err := ownState(p.to.server, reply.Result)
	if err != nil {
		return exchange.Fail(err)
	}
	if round > g.limits.Rounds {
		return g.tooManyRounds(p)
	}
	questions := wire.Get(reply.Result, "inputRequests")
	if err := admissible(p, questions); err != nil {
		return exchange.Fail(err)
	}
	changed, err := g.admitAll(ctx, p, questions)
	if err != nil {
		return exchange.Fail(err)
	}
	if changed != nil {
		reply.Result = wire.Splice(nil, reply.Result, wire.Edit{At: wire.Lookup(reply.Result, "inputRequests"), With: changed})
	}
	token := g.sealState(p, &state{
		server: p.call.Server, request: digest(p), own: own, round: round, expires: time.Now().Add(stateLife),
	})
	at := wire.Lookup(reply.Result, "requestState")
	if at.Present() {
		reply.Result = wire.Splice(nil, reply.Result, wire.Edit{At: at, With: token})
	} else {
		reply.Result = wire.SetResultMember(nil, reply.Result, wire.Member{Name: "requestState", Value: token})
	}
	return reply
}

// admissible says why questions cannot be put to the caller: it did not declare
// that it answers such (2026-07-28, basic/patterns/mrtr "Server Requirements").
func admissible(p *passage, questions []byte) error {
	var missing []string
	for _, at := range wire.Members(questions) {
		q := at.Of(questions)
		method, ok := wire.Unquote(wire.Get(q, "method"))
		if !ok {
			return durward.Errorf(durward.Unavailable, "server "+p.to.server, "it asks for input in a form that nobody knows: a member of inputRequests has no method")
		}
		if capability := exchange.Missing(p.in.Client.Capabilities, method, wire.Get(q, "params")); capability != "" {
			missing = append(missing, capability)
		}
	}
	if missing == nil {
		return nil
	}
	return missingCapability(missing...)
}

// codeURLElicitation is how a legacy server says that the user must visit a page
// first (2025-11-25, client/elicitation "URL Elicitation Required Error"). It has
// executed nothing: the request is to be sent again afterwards.
const codeURLElicitation = -32042

// relayPages asks a modern client to have pages visited that a legacy server
// wants to be visited before it serves the request.
func (g *Gateway) relayPages(p *passage, reply exchange.Reply, round int) exchange.Reply {
	pages := wire.Get(wire.Get(reply.Error, "data"), "elicitations")
	var questions []wire.Member
	for at := range wire.Elements(pages) {
		page := wire.RemoveResultMember(nil, at.Of(pages), "elicitationId") // not of 2026-07-28
		if capability := exchange.Missing(p.in.Client.Capabilities, wire.MethodElicit, page); capability != "" {
			return exchange.Fail(missingCapability(capability))
		}
		questions = append(questions, wire.Member{Name: "q" + strconv.Itoa(len(questions)+1), Value: question(wire.MethodElicit, page)})
	}
	switch {
	case len(questions) == 0:
		return reply
	case round > g.limits.Rounds:
		return g.tooManyRounds(p)
	}
	return g.ask(p, questions, &state{again: true, round: round, expires: time.Now().Add(stateLife)})
}

// declined reports whether the client answered that a page was not visited.
func (g *Gateway) declined(p *passage, _ *state) bool {
	answers := p.in.Params.InputResponses.Of(p.in.Params.Raw)
	accepted := false
	for _, at := range wire.Members(answers) {
		if action, _ := wire.Unquote(wire.Get(at.Of(answers), "action")); action != "accept" {
			return true
		}
		accepted = true
	}
	return !accepted
}

// ask ends a modern client's request with questions of ours.
func (g *Gateway) ask(p *passage, questions []wire.Member, s *state) exchange.Reply {
	s.server, s.request = p.call.Server, digest(p)
	return exchange.Reply{ResultType: "input_required", Result: wire.AppendObject(nil, nil, nil,
		wire.Member{Name: "resultType", Value: []byte(`"input_required"`)},
		wire.Member{Name: "inputRequests", Value: wire.AppendObject(nil, nil, nil, questions...)},
		wire.Member{Name: "requestState", Value: g.sealState(p, s)},
	)}
}

// question is one member of inputRequests.
func question(method string, params []byte) []byte {
	if params == nil { // roots/list needs none, but some clients do not read a question without
		params = []byte("{}")
	}
	return wire.AppendObject(nil, nil, nil,
		wire.Member{Name: "method", Value: wire.AppendQuote(nil, method)}, wire.Member{Name: "params", Value: params})
}

// answer returns what a retry answers to the question called key; nil: nothing.
func (p *passage) answer(key string) []byte {
	return wire.Get(p.in.Params.InputResponses.Of(p.in.Params.Raw), key)
}

func (p *passage) owner() hold.Owner {
	return hold.Owner{Principal: p.in.Caller.Principal, Server: p.to.server}
}

// sends counts how often a request was handed to a server.
func (p *passage) sends(reply exchange.Reply) exchange.Reply {
	if p.sent += reply.Attempts; p.first.IsZero() {
		p.first = reply.Dispatched
	}
	return reply
}

// handed notes that a server has the request, or may have it, without having answered yet.
func (p *passage) handed(since time.Time) {
	if p.sent = max(p.sent, 1); p.first.IsZero() {
		p.first = since
	}
}

// setParams puts other answers and another state into the request, in place of those it has.
func (p *passage) setParams(members []wire.Member) {
	raw := wire.AppendObject(nil, p.in.Params.Raw, retryMember, members...)
	if wire.ParseParams(raw, &p.in.Params) != nil { // it was checked before, and so was what is added
		p.in.Params = wire.Params{Raw: raw}
	}
}

func retryMember(name string) bool { return name == "requestState" || name == "inputResponses" }

func (g *Gateway) tooManyRounds(p *passage) exchange.Reply {
	return exchange.Fail(durward.Errorf(durward.Unavailable, "server "+p.to.server,
		"it asked for input more than %d times in one call, which is the bound limits.rounds", g.limits.Rounds))
}

// overdue and lost answer a retry that comes too late. A tool may have been
// executed or not; an agent reads a tool error, and decides what to do.
func overdue(p *passage) exchange.Reply {
	return toolError(p, "the answer came too late: the time for this round of input is over, and the call was given up; call again if that is safe")
}

func lost(p *passage, err error) exchange.Reply {
	if !errors.Is(err, hold.ErrLost) {
		return exchange.Fail(err)
	}
	return toolError(p, err.Error())
}

// toolError fails a call in a way that the agent sees; methods that have none
// fail with an error of the protocol.
func toolError(p *passage, text string) exchange.Reply {
	if p.in.Method != wire.MethodToolsCall {
		return exchange.Fail(durward.Errorf(durward.Unknown, "", "%s", text))
	}
	return exchange.Reply{IsError: true, ResultType: "complete",
		Result: []byte(`{"resultType":"complete","content":[{"type":"text","text":` + wire.Quote(text) + `}],"isError":true}`)}
}

// missingCapability tells a modern client what it would have to declare
// (2026-07-28, basic/index "Error Codes").
func missingCapability(names ...string) error {
	var data []byte
	for _, name := range names {
		member, use, nested := strings.Cut(name, ".")
		value := []byte("{}")
		if nested {
			value = wire.AppendObject(nil, wire.Get(data, member), nil, wire.Member{Name: use, Value: []byte("{}")})
		} else if there := wire.Get(data, member); there != nil {
			value = there
		}
		data = wire.AppendObject(nil, data, nil, wire.Member{Name: member, Value: value})
	}
	return &wire.CodeError{
		Code: wire.CodeMissingCapability, Message: "the server asks for input that the client did not declare it can give: " + strings.Join(names, ", "),
		Data: append(append([]byte(`{"requiredCapabilities":`), data...), '}'),
	}
}
