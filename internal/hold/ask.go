package hold

import (
	"context"
	"slices"
	"strconv"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// question is a question that has no answer. All but answer is guarded by call.mu.
type question struct {
	Question
	sent   bool                // it was part of a turn
	answer chan exchange.Reply // capacity 1; sent to once, by who takes the question off call.open
}

// Notify implements exchange.Stream for the call.
func (c *call) Notify(method string, params []byte) {
	if !passes(method) {
		return
	}
	c.mu.Lock()
	out := c.out
	c.mu.Unlock()
	if out != nil {
		out.Notify(method, params)
	}
}

// passes reports whether a modern client may get a notification on the stream of
// its request: progress, log messages, and those of extensions (2026-07-28,
// basic/transports/streamable-http).
func passes(method string) bool {
	switch method {
	case wire.NoteElicitComplete, "notifications/tasks/status", // gone
		wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged, wire.NoteResourceUpdated, wire.NoteAcknowledged, // of subscriptions/listen
		wire.NoteCancelled, wire.NoteInitialized, wire.NoteRootsChanged: // of a client, or of the hop
		return false
	default:
		return true
	}
}

// Ask implements exchange.Stream for the call.
func (c *call) Ask(ctx context.Context, method string, params []byte) exchange.Reply {
	q := &question{Question: Question{Method: method, Params: modernParams(method, params)}, answer: make(chan exchange.Reply, 1)}
	if err := c.put(q); err != nil {
		return exchange.Fail(err)
	}
	select {
	case reply := <-q.answer:
		return reply
	case <-ctx.Done():
	}
	if c.withdraw(q) {
		return exchange.Fail(durward.Errorf(durward.Timeout, "", "%s was withdrawn: %w", method, context.Cause(ctx)))
	}
	return <-q.answer // it came at the same moment
}

// put opens a question, or returns why it cannot be asked.
func (c *call) put(q *question) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch q.Method {
	case wire.MethodElicit, wire.MethodSampling, wire.MethodRootsList:
	default: // a modern client takes no other (2026-07-28, basic/patterns/mrtr)
		return &wire.CodeError{Code: wire.CodeMethodNotFound, Message: "the client of this request cannot be asked for " + clip(q.Method)}
	}
	if c.phase == over || c.finished {
		return durward.Errorf(durward.Conflict, "", "the call that needed %s is over", q.Method)
	}
	missing := exchange.Missing(c.capabilities, q.Method, q.Params)
	switch {
	case missing == "":
		if err := c.number(q); err != nil {
			return err
		}
	case c.phase != inTurn:
		c.note(missing)
		return exchange.NotDeclared(missing)
	}
	// What the client cannot answer is refused when the turn ends: a server that
	// gives up at the first refusal would else take back what it asked besides.
	c.last = time.Now()
	if len(c.open) == 0 {
		c.first = c.last
	}
	c.open = append(c.open, q)
	c.signal()
	return nil
}

// number counts a question that can be asked. mu is held.
func (c *call) number(q *question) error {
	if !c.counted {
		if !c.table.admit(c.owner) {
			return durward.Errorf(durward.Unavailable, "", "%d calls of this client wait for input, which is the bound limits.holds; answer or cancel one first", c.table.opt.Most)
		}
		c.counted = true
	}
	c.questions++
	q.Key = "q" + strconv.Itoa(c.questions)
	return nil
}

// withdraw drops a question; false if it has its answer.
func (c *call) withdraw(q *question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.open, q)
	if i < 0 {
		return false
	}
	if c.open = slices.Delete(c.open, i, i+1); len(c.open) == 0 {
		c.urgent = false // there is nothing to ask again
	}
	return true
}

// failOpen answers all open questions with an error. mu is held.
func (c *call) failOpen(why func(*question) error) {
	for _, q := range c.open {
		q.answer <- exchange.Fail(why(q))
	}
	c.open = nil
}

// note remembers a capability that was asked for and not declared. mu is held.
// The list is never changed in place: turns have it.
func (c *call) note(capability string) {
	if len(c.refused) < maxRefused && !slices.Contains(c.refused, capability) {
		c.refused = append(slices.Clip(c.refused), capability)
	}
}

// clip bounds what of a server's word is repeated to it.
func clip(s string) string { return s[:min(len(s), 100)] }
