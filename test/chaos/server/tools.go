package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"durward/test/chaos/journal"
)

// call executes a tool.
func (s *server) call(ctx context.Context, m *message, to back) {
	c := &call{server: s, message: m, to: to, fault: s.fault(&m.Params.Arguments)}
	c.before()
	if ctx.Err() != nil {
		return // nobody wants it any more, and nothing was done yet
	}
	switch m.Params.Name {
	case "work":
		c.work(ctx)
	case "progress":
		c.progress()
	case "ask":
		c.ask(ctx)
	default:
		to.send(errorLine(m.ID, -32602, "unknown tool: "+m.Params.Name, ""))
	}
}

// call is one call of a tool.
type call struct {
	*server
	message *message
	to      back
	fault   string // what is to go wrong; empty when nothing is
}

func (c *call) id() string { return c.message.Params.Arguments.ID }

// execute is what a call is for: after it there is no way back.
func (c *call) execute() {
	c.journal.Write(journal.Entry{Kind: journal.Execution, Server: c.name, Call: c.id()})
}

func (c *call) work(ctx context.Context) {
	timer := time.NewTimer(time.Duration(c.message.Params.Arguments.MS) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // cancelled, and nothing was done yet
		return
	}
	c.breathe()
	c.finish("did " + c.id())
}

// finish executes the call and answers it, unless something goes wrong.
func (c *call) finish(text string) {
	c.execute()
	c.after()
	c.reply(resultLine(c.message.ID, textResult(text, false)))
}

func (c *call) progress() {
	for i := range c.message.Params.Arguments.Steps {
		if token := c.message.Params.Meta.ProgressToken; token != nil {
			c.to.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":%s}}`, token, i+1, quote(c.id())))
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.finish("did " + c.id())
}

// ask asks its owner a few times and then does its work.
func (c *call) ask(ctx context.Context) {
	if c.message.modern() {
		c.askModern()
		return
	}
	for round := 1; round <= c.message.Params.Arguments.Rounds; round++ {
		r, err := c.to.ask(ctx, []byte(c.question(round)))
		if err == nil && r.Action != "accept" {
			err = fmt.Errorf("the answer is %q", r.Action)
		}
		if err != nil {
			c.to.send(resultLine(c.message.ID, textResult("not done: round "+fmt.Sprint(round)+" of "+c.id()+" was not answered: "+err.Error(), true)))
			return
		}
		c.check(r)
	}
	c.finish("did " + c.id())
}

// check notes an answer that belongs to somebody or something else.
func (c *call) check(r response) {
	if a := &c.message.Params.Arguments; r.Content.Name != a.Owner || r.Content.Call != a.ID {
		c.journal.Write(journal.Entry{Kind: journal.Misdirected, Server: c.name, Call: a.ID, Text: "answered by " + r.Content.Name + " for " + r.Content.Call})
	}
}

// question names who is to be asked, so that whoever gets it can tell.
func (c *call) question(round int) string {
	a := &c.message.Params.Arguments
	text := fmt.Sprintf("owner=%s call=%s round=%d", a.Owner, a.ID, round)
	return `{"mode":"form","message":` + quote(text) + `,"requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"call":{"type":"string"}}}}`
}

// state is what a modern call carries from round to round.
type state struct {
	ID    string `json:"id"`
	Round int    `json:"round"`
}

func (c *call) askModern() {
	if c.message.Params.Meta.Capabilities["elicitation"] == nil {
		c.to.send(errorLine(c.message.ID, -32021, "elicitation is needed", `{"requiredCapabilities":{"elicitation":{}}}`))
		return
	}
	at := c.state()
	key := fmt.Sprintf("round-%d", at.Round)
	if at.Round > 0 {
		r, answered := c.message.Params.InputResponses[key]
		switch {
		case !answered:
			at.Round-- // asked again
		case r.Action != "accept":
			c.to.send(resultLine(c.message.ID, textResult("not done: "+key+" of "+c.id()+" was answered with "+quote(r.Action), true)))
			return
		default:
			c.check(r)
		}
	}
	if at.Round >= c.message.Params.Arguments.Rounds {
		c.finish("did " + c.id())
		return
	}
	at.Round++
	key = fmt.Sprintf("round-%d", at.Round)
	sealed := base64.RawURLEncoding.EncodeToString([]byte(quote(at)))
	c.to.send(resultLine(c.message.ID, `{"resultType":"input_required","requestState":"`+sealed+`","inputRequests":{"`+key+`":{"method":"elicitation/create","params":`+c.question(at.Round)+`}}}`))
}

// state reads what the client brought back. That of another call is as bad as
// another's answer.
func (c *call) state() state {
	at := state{ID: c.id()}
	if c.message.Params.RequestState == "" {
		return at
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.message.Params.RequestState)
	if err == nil {
		err = json.Unmarshal(raw, &at)
	}
	if err != nil || at.ID != c.id() {
		c.journal.Write(journal.Entry{Kind: journal.Misdirected, Server: c.name, Call: c.id(), Text: "came with the state of " + at.ID + " " + strings.ToValidUTF8(c.message.Params.RequestState, "?")})
	}
	return at
}
