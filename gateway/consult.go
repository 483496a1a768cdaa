package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/reveal"
	"durward/internal/wire"
)

// A decision "ask" parks the call until a person answered. Three ways lead to an
// answer, tried in this order:
//
//   - an earlier one that covers the call (a grant, or an earlier round of input
//     of the same call);
//   - a modern client, only where a rule names the client: it is asked by
//     input_required, so that nothing waits here;
//   - the approver's desk: console, terminal, HTTP; and with it a legacy client, where
//     a rule names the client, on the stream of its request. The first answer counts.
//
// Rules and definitions may be other ones when a person answers than when the call
// came. So a call that waited is looked at once more: see [Gateway.reconsider].

// approvalKey is the name of our own question among inputRequests.
const approvalKey = "durward-approval"

// consult has a person asked, if policy decided so. refused says that the call does
// not go on, and the reply what its caller is told.
func (g *Gateway) consult(ctx context.Context, p *passage, d *durward.Decision, out exchange.Stream) (reply exchange.Reply, refused bool) {
	switch {
	case d.Action == durward.Allow:
		return exchange.Reply{}, false
	case d.Action != durward.Ask || d.Question == nil || g.approver == nil:
		p.refused = durward.StatusRefused
		return g.refuse(p, d), true
	case p.lost != nil: // nobody is asked about what cannot be done
		return exchange.Fail(p.lost), true
	}
	s, expired, err := g.openState(p)
	switch {
	case err != nil:
		return exchange.Reply{Error: wire.ErrorObject(err), BadRequest: true}, true
	case s != nil && !expired && s.approval != "" && g.rounds.take(s.approval, s.round):
		p.approval = s.approval
		g.covered(p, d, "approved in an earlier round by "+s.approval, "")
		return exchange.Reply{}, false
	}
	if a, ok := g.approver.Granted(&p.call, d); ok {
		p.approval = a.Approval
		g.count(p, d)
		g.covered(p, d, "granted by "+a.Approval, a.By)
		return exchange.Reply{}, false
	}
	switch client := asksClient(p, d.Question); {
	case !client || p.in.Client.Era != wire.Modern:
		if reply, refused = g.wait(ctx, p, d, out, client); refused {
			return reply, true
		}
	case s == nil || !s.question || p.answer(approvalKey) == nil || !bytes.Equal(s.own, askedBy(d.Question)):
		return g.askModern(p, d), true
	default:
		p.settled(g.approver.Told(ctx, &p.call, d, agreed(p.answer(approvalKey)), expired))
	}
	if p.approval != "" {
		g.count(p, d)
		return exchange.Reply{}, false
	}
	p.refused = durward.StatusDenied
	if p.denied == durward.CauseCancelled {
		p.refused = durward.StatusCancelled
	}
	return g.unapproved(p, d, p.denied), true
}

// covered writes down which earlier answer let a call pass, for each rule that asks.
func (g *Gateway) covered(p *passage, d *durward.Decision, effective, by string) {
	matches := make([]durward.Match, 0, len(d.Question.Rules))
	for _, name := range d.Question.Rules {
		layer, rule, _ := strings.Cut(name, "/")
		m := durward.Match{Stage: "request", Layer: layer, Rule: rule, Action: durward.Ask.String(), Effective: effective}
		if by != "" {
			m.Detail = "approved by " + by
		}
		matches = append(matches, m)
	}
	g.matched(&p.call, matches)
}

// wait has a person asked while the call waits, and looks at the call once more when
// it was approved.
func (g *Gateway) wait(ctx context.Context, p *passage, d *durward.Decision, out exchange.Stream, client bool) (reply exchange.Reply, refused bool) {
	g.askDesk(ctx, p, d, out, client)
	if p.approval == "" {
		return exchange.Reply{}, false
	}
	return g.reconsider(ctx, p, d)
}

// count tells policy that a call goes on which it could not count when it decided.
func (g *Gateway) count(p *passage, d *durward.Decision) {
	if c, ok := g.decider.(Counter); ok {
		c.Count(&p.call, d)
	}
}

// settled notes what came of a question.
func (p *passage) settled(a durward.Answer, err error) {
	switch {
	case err != nil:
		p.denied = durward.CauseUnattended
	case a.Approved:
		p.approval = a.Approval
	default:
		p.denied = cmp.Or(a.Cause, durward.CauseDenied)
	}
}

// askDesk waits for the answer of an approver, or of the client itself. Meanwhile a
// client that wants progress is told that its call waits, so that it does not give up.
func (g *Gateway) askDesk(ctx context.Context, p *passage, d *durward.Decision, out exchange.Stream, client bool) {
	if p.in.Progress {
		defer pulse(out)()
	}
	var asks func(context.Context) (approved, answered bool)
	if client {
		asks = func(ctx context.Context) (approved, answered bool) {
			answer := out.Ask(ctx, wire.MethodElicit, approvalForm(p, d.Question))
			return agreed(answer.Result), answer.Error == nil
		}
	}
	a, err := g.approver.Ask(ctx, &p.call, d, asks)
	if err != nil {
		g.log.WarnContext(ctx, "nobody could be asked for an approval; the call is denied", "call", p.call.ID, "error", err)
	}
	p.settled(a, err)
}

// pulseEvery is how often a waiting client hears that its call waits. Clients give
// up after 60 s without a sign, by the default of the official SDKs.
const pulseEvery = 15 * time.Second

// pulse tells a client in regular intervals that its call waits, until stop.
func pulse(out exchange.Stream) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		ticker := time.NewTicker(pulseEvery)
		defer ticker.Stop()
		for n := 1; ; n++ {
			// Progress must increase, and what the server itself reports begins behind ours.
			out.Notify(wire.NoteProgress, []byte(`{"progressToken":0,"progress":`+strconv.FormatFloat(float64(n)*1e-9, 'f', 9, 64)+`,"message":"waiting for a person to approve the call"}`))
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// asksClient reports whether the requesting client is to be asked: a rule names it,
// and it can be.
func asksClient(p *passage, q *durward.Question) bool {
	return slices.Contains(q.Via, durward.ViaClient) && mayAnswer(p.in.Caller.Entrance) && len(p.call.FullName)+len(p.call.Arguments) <= shownMost &&
		exchange.Missing(p.in.Client.Capabilities, wire.MethodElicit, approvalForm(p, q)) == "" &&
		(p.in.Client.Era != wire.Modern || mayNeedInput(p.in.Method))
}

// mayAnswer reports whether clients of an entrance may answer for themselves where
// a rule lets them. A sandboxed agent never may.
func mayAnswer(e durward.Entrance) bool {
	switch e {
	case durward.EntranceHTTP, durward.EntranceStdio, durward.EntranceLibrary:
		return true
	default:
		return false
	}
}

// askModern ends the request with the question. The answer comes with another request.
func (g *Gateway) askModern(p *passage, d *durward.Decision) exchange.Reply {
	q := wire.Member{Name: approvalKey, Value: question(wire.MethodElicit, approvalForm(p, d.Question))}
	return g.ask(p, []wire.Member{q}, &state{question: true, round: 1, expires: time.Now().Add(questionTime(d.Question)), own: askedBy(d.Question)})
}

// askedBy identifies the rules that ask, so that no answer counts for others.
func askedBy(q *durward.Question) []byte {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(q.Rules)), "\n")))
	return sum[:]
}

func questionTime(q *durward.Question) time.Duration {
	if q.Timeout > 0 {
		return q.Timeout
	}
	return 5 * time.Minute
}

// agreed reports whether the answer to an elicitation is a yes: sent, and ticked.
func agreed(result []byte) bool {
	action, _ := wire.Unquote(wire.Get(result, "action"))
	return action == "accept" && string(wire.Get(wire.Get(result, "content"), "approve")) == "true"
}

// shownMost is the longest that name and arguments may be for a client to be asked, in
// bytes: nobody is to approve what is not shown.
const shownMost = 8 << 10

// approvalForm is the elicitation that asks a client for an approval.
func approvalForm(p *passage, q *durward.Question) []byte {
	var b strings.Builder
	b.WriteString("Durward: may this call be made?\n\n" + p.in.Method)
	if p.call.FullName != "" {
		b.WriteString(" " + reveal.Line(p.call.FullName))
	}
	if p.call.Server != "" {
		b.WriteString(" of server " + p.call.Server)
	}
	if arguments := p.call.Arguments; arguments != nil {
		text := string(wire.AppendCanonical(nil, arguments)) // in which nothing is escaped that can be read
		b.WriteString("\n" + reveal.Line(text))
		for _, l := range reveal.LookAlikes(text) {
			b.WriteString("\n" + l.String())
		}
	}
	if q.Text != "" {
		b.WriteString("\n\n" + reveal.Line(q.Text))
	}
	return []byte(`{"mode":"form","message":` + wire.Quote(b.String()) +
		`,"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean","title":"Make the call","default":false}},"required":["approve"]}}`)
}

// rounds remembers which round of input an approved call is in, so that its token
// is good once: a client that sends it again is asked again.
type rounds struct {
	mu   sync.Mutex // guards open
	open map[string]openRound
}

type openRound struct {
	round   int
	expires time.Time
}

// roundsMost bounds the approved calls that are between two rounds of input.
const roundsMost = 10_000

// put notes that an approved call waits for the answers of a round.
func (r *rounds) put(id string, round int, expires time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) >= roundsMost {
		now := time.Now()
		for k, o := range r.open {
			if now.After(o.expires) {
				delete(r.open, k)
			}
		}
	}
	if len(r.open) >= roundsMost {
		return // doubt means no: it will be asked again
	}
	if r.open == nil {
		r.open = map[string]openRound{}
	}
	r.open[id] = openRound{round, expires}
}

// take reports whether an approved call waits for the answers of this round, and
// ends the wait.
func (r *rounds) take(id string, round int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.open[id]
	if !ok || o.round != round || time.Now().After(o.expires) {
		return false
	}
	delete(r.open, id)
	return true
}
