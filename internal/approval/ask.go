package approval

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"durward"
)

// parked is a call that waits for an answer. It is in Desk.calls for as long as its
// Ask runs, and only so long may call and decision be read.
type parked struct {
	id       string
	call     *durward.Call
	decision *durward.Decision
	question question
	at       time.Time
	deadline time.Time
	answer   chan durward.Answer // has an element once a person's answer is on record

	shown bool // the question is on record: it may be answered; Desk.mu
	taken bool // an answer is being written down: no other counts; Desk.mu
}

func (p *parked) asked() Asked {
	c := p.call
	return Asked{
		ID: p.id, Call: c.ID, At: p.at, Deadline: p.deadline, Caller: c.Caller, Route: c.Route, Method: c.Method,
		Server: c.Server, Tool: c.Name, FullName: c.FullName, Risk: c.Risk,
		Rules: slices.Clone(p.question.Rules), Text: p.question.Text, Remember: p.question.Remember,
	}
}

// arguments are those that the server would get.
func (p *parked) arguments() []byte { return argumentsOf(p.call.Method, sent(p.call, p.decision)) }

// question is what is asked, with defaults filled in.
type question struct{ durward.Question }

// desk reports whether people with the approver credential may answer.
func (q *question) desk() bool {
	return slices.Contains(q.Via, durward.ViaConsole) || slices.Contains(q.Via, durward.ViaCLI)
}

// question returns what a decision asks, with defaults filled in. What asks for an
// unknown scope gets the narrowest.
func (d *Desk) question(dec *durward.Decision) question {
	var q question
	if dec.Question != nil {
		q.Question = *dec.Question
	}
	if q.Timeout <= 0 || q.Timeout > d.opt.Life {
		q.Timeout = d.opt.Life
	}
	if q.Remember != durward.ScopeSession && q.Remember != durward.ScopeGrant {
		q.Remember = durward.ScopeCall
	}
	if len(q.Via) == 0 {
		q.Via = []string{durward.ViaConsole, durward.ViaCLI}
	}
	return q
}

// Ask parks a call until it is answered, its time runs out, ctx ends or the desk
// closes. asks, which may be nil, puts the question to the requesting client, too,
// where the question allows that: it returns what the client says, or that it said
// nothing, and no later than its ctx ends. The first answer counts, whoever gives it.
// Where nobody can answer a call does not wait. Every answer is on record
// before it is returned, and the question before that; if one of them cannot be
// recorded, the answer is no. The error says why nobody was asked: too many calls
// of the principal are parked, the question could not be recorded, or the service
// ends.
func (d *Desk) Ask(ctx context.Context, call *durward.Call, dec *durward.Decision, asks func(context.Context) (approved, answered bool)) (durward.Answer, error) {
	q := d.question(dec)
	if !slices.Contains(q.Via, durward.ViaClient) {
		asks = nil
	}
	if why := d.nobody(&q); why != "" && asks == nil {
		return d.unasked(ctx, call, why)
	}
	p, err := d.reserve(call, dec, &q)
	if err != nil {
		return durward.Answer{}, err
	}
	defer d.release(p)
	if err := d.record(ctx, Step{ID: p.id, Call: call.ID, At: p.at, Status: Pending, Reason: cut(q.Text, reasonMost), Scope: q.Remember}); err != nil {
		return durward.Answer{}, err
	}
	d.show(p)
	return d.wait(ctx, p, asks), nil
}

// nobody says why nobody can answer; empty if somebody may.
func (d *Desk) nobody(q *question) string {
	if !q.desk() {
		return "the rule lets only the requesting client answer (ask.via), and that could not be asked"
	}
	d.mu.Lock()
	watched := len(d.watchers) > 0
	d.mu.Unlock()
	if watched || d.opt.Present() {
		return ""
	}
	return "nobody can answer: no approvals are watched (durward approvals) and no notices are sent; " +
		"policy.approvals.attended: true has calls wait for durward approve all the same"
}

// unasked answers a question that nobody could be asked.
func (d *Desk) unasked(ctx context.Context, call *durward.Call, why string) (durward.Answer, error) {
	s := Step{ID: newID(), Call: call.ID, At: d.opt.Now(), Status: Denied, By: ByService, Reason: why}
	if err := d.record(ctx, s); err != nil {
		return durward.Answer{}, err
	}
	return durward.Answer{Cause: durward.CauseUnattended, By: ByService, Reason: why}, nil // without an id: nobody was asked
}

// Told writes down the answer that the requesting client gave itself, where the
// question allows that. One that is late counts as none.
func (d *Desk) Told(ctx context.Context, call *durward.Call, dec *durward.Decision, approved, late bool) (durward.Answer, error) {
	q := d.question(dec)
	if !slices.Contains(q.Via, durward.ViaClient) {
		return durward.Answer{}, durward.Errorf(durward.Denied, "approvals", "the rule does not let the requesting client answer (ask.via)")
	}
	s := saidByClient(newID(), call, approved)
	if late {
		s = Step{ID: s.ID, Call: s.Call, Status: Expired, By: ByService, Reason: "the client answered, but not within " + q.Timeout.String()}
	}
	s.At = d.opt.Now()
	if err := d.record(ctx, s); err != nil {
		return durward.Answer{}, err
	}
	return answerOf(&s), nil
}

// saidByClient is the answer of the requesting client itself. It is never remembered.
func saidByClient(id string, call *durward.Call, approved bool) Step {
	s := Step{ID: id, Call: call.ID, Status: Denied, By: "the client " + clientOf(&call.Caller)}
	if approved {
		s.Status, s.Scope = Approved, durward.ScopeCall
	}
	return s
}

// answerOf is a step that ends a question, for who asked.
func answerOf(s *Step) durward.Answer {
	a := durward.Answer{Approved: s.Status == Approved, Approval: s.ID, By: s.By, Reason: s.Reason, Scope: s.Scope}
	switch {
	case a.Approved:
	case s.Status == Expired:
		a.Cause = durward.CauseExpired
	case s.Status == Cancelled:
		a.Cause = durward.CauseCancelled
	case s.By == ByService:
		a.Cause = durward.CauseEnded
	default:
		a.Cause = durward.CauseDenied
	}
	return a
}

// clientOf names a client by what it says of itself.
func clientOf(c *durward.Caller) string {
	name := strings.TrimSpace(c.Client.Name + " " + c.Client.Version)
	if name == "" {
		name = "without a name"
	}
	return cut(name, previewMost) + " of " + c.Principal
}

// reserve takes a place for a call.
func (d *Desk) reserve(call *durward.Call, dec *durward.Decision, q *question) (*parked, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, durward.Errorf(durward.Unavailable, "approvals", "the service ends, so nobody was asked")
	}
	if d.counts[call.Caller.Principal] >= d.opt.Most {
		return nil, durward.Errorf(durward.Unavailable, "approvals",
			"%d calls of %s wait for an answer already (limits.approvals); nobody was asked about this one", d.opt.Most, call.Caller.Principal)
	}
	p := &parked{call: call, decision: dec, question: *q, at: d.opt.Now(), answer: make(chan durward.Answer, 1)}
	for p.id = newID(); d.calls[p.id] != nil; p.id = newID() { // one in 10^15
	}
	p.deadline = p.at.Add(q.Timeout)
	d.calls[p.id] = p
	d.counts[call.Caller.Principal]++
	d.parked.Add(1)
	return p, nil
}

func (d *Desk) release(p *parked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, p.id)
	if d.counts[p.call.Caller.Principal]--; d.counts[p.call.Caller.Principal] == 0 {
		delete(d.counts, p.call.Caller.Principal)
	}
	d.parked.Done()
}

// show lets people answer, if they may.
func (d *Desk) show(p *parked) {
	if !p.question.desk() {
		return
	}
	d.mu.Lock()
	p.at = d.opt.Now()
	p.deadline = p.at.Add(p.question.Timeout)
	p.shown = true
	a := p.asked()
	d.tell(Event{Asked: &a})
	d.mu.Unlock()
	d.opt.Notify(a)
}

// wait waits for the end of a question.
func (d *Desk) wait(ctx context.Context, p *parked, asks func(context.Context) (approved, answered bool)) durward.Answer {
	timer := time.NewTimer(p.question.Timeout) // monotonic: a clock that is set changes nothing
	defer timer.Stop()
	said, stop := ask(ctx, asks)
	defer stop()
	for {
		end := Step{ID: p.id, Call: p.call.ID, By: ByService}
		select {
		case a := <-p.answer:
			return a
		case s := <-said:
			said = nil
			switch {
			case s.answered:
				end = saidByClient(p.id, p.call, s.approved)
			case d.nobody(&p.question) == "":
				continue // people may answer still
			case ctx.Err() != nil:
				end.Status, end.Reason = Cancelled, reasonLeft
			default:
				end.Status, end.Reason = Expired, "the client gave no answer, and nobody else could"
			}
		case <-timer.C:
			end.Status, end.Reason = Expired, "nobody answered within "+p.question.Timeout.String()
		case <-ctx.Done():
			end.Status, end.Reason = Cancelled, reasonLeft
		case <-d.closing:
			end.Status, end.Reason = Denied, "the service ended before it was answered"
		}
		if !d.take(p) {
			return <-p.answer // somebody was faster, and that is being written down
		}
		return d.end(ctx, end)
	}
}

const reasonLeft = "whoever made the call cancelled it or left"

// said is what a client said to a question.
type said struct{ approved, answered bool }

// ask puts a question to a client, until stop.
func ask(ctx context.Context, asks func(context.Context) (approved, answered bool)) (answer <-chan said, stop func()) {
	if asks == nil {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan said, 1)
	var done sync.WaitGroup
	done.Go(func() {
		approved, answered := asks(ctx)
		out <- said{approved, answered}
	})
	return out, func() {
		cancel()
		done.Wait()
	}
}

// end writes down how a question ended, other than by a person at the desk. What
// cannot be written is no approval.
func (d *Desk) end(ctx context.Context, s Step) durward.Answer {
	s.At = d.opt.Now()
	if err := d.recordAnswer(ctx, s); err != nil {
		d.opt.Log.Error("what came of a question is not on record; the call is denied", "approval", s.ID, "call", s.Call, "error", err)
		if s.Status == Approved {
			s = Step{ID: s.ID, Call: s.Call, At: s.At, Status: Denied, By: ByService, Reason: reasonUnrecorded}
		}
	}
	d.over(s)
	return answerOf(&s)
}

const reasonUnrecorded = "the answer could not be recorded"

// take makes the caller the one who answers; false if somebody else is.
func (d *Desk) take(p *parked) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.taken {
		return false
	}
	p.taken = true
	return true
}

// over tells what came of a question.
func (d *Desk) over(s Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.answered) >= answeredMost {
		d.answered = slices.Delete(d.answered, 0, 1)
	}
	d.answered = append(d.answered, s)
	d.tell(Event{Answer: &s})
}

func (d *Desk) record(ctx context.Context, s Step) error {
	if err := d.opt.Record(ctx, s); err != nil {
		return durward.Errorf(durward.Unavailable, "approvals", "the call is refused: %w", err)
	}
	return nil
}

// recordAnswer is record for what has to be on record even if whoever waits for it
// is gone.
func (d *Desk) recordAnswer(ctx context.Context, s Step) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	return d.record(ctx, s)
}

// cut cuts a text to so many bytes, between characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
