package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// desk asks for every tools/call and answers as it is told.
type desk struct {
	via     []string
	answer  durward.Answer
	err     error
	granted bool
	rewrite string // params in place of those of the caller

	mu    sync.Mutex // guards below
	notes []string
	asks  int
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *desk) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	if c.Method != wire.MethodToolsCall {
		return durward.Decision{}, nil
	}
	out := durward.Decision{
		Action: durward.Ask, Rule: "careful", Layer: "user", Cause: "rule", Question: &durward.Question{Via: d.via, Text: "is it\u202e wise?"},
		Matches: []durward.Match{{Stage: "request", Rule: "careful", Action: "ask", Effective: "ask"}},
	}
	if d.rewrite != "" {
		out.Changed = []byte(d.rewrite)
	}
	return out, nil
}

func (*desk) DecideResult(context.Context, *durward.Call, []byte) (durward.Decision, error) {
	return durward.Decision{}, nil
}

func (*desk) Visible(*durward.Caller, *durward.Call) bool { return true }

func (d *desk) Granted(*durward.Call, *durward.Decision) (durward.Answer, bool) {
	return durward.Answer{Approved: true, Approval: "grant"}, d.granted
}

func (d *desk) Ask(ctx context.Context, c *durward.Call, _ *durward.Decision, asks func(context.Context) (approved, answered bool)) (durward.Answer, error) {
	if asks != nil {
		yes, answered := asks(ctx)
		d.note("said %s %v %v", c.Name, yes, answered)
		return durward.Answer{Approved: yes, Approval: "said"}, nil
	}
	d.mu.Lock()
	d.asks++
	a := d.answer
	a.Approval = fmt.Sprintf("a%d", d.asks)
	d.mu.Unlock()
	d.note("ask %s %s", c.Name, c.Arguments)
	return a, d.err
}

func (d *desk) Told(_ context.Context, c *durward.Call, _ *durward.Decision, yes, late bool) (durward.Answer, error) {
	d.note("told %s %v", c.Name, yes)
	if late {
		return durward.Answer{Approval: "late", Cause: durward.CauseExpired}, nil
	}
	return durward.Answer{Approved: yes, Approval: "told"}, nil
}

func (d *desk) Intent(_ context.Context, _ *durward.Call, dec durward.Decision) error {
	d.note("intent %s", dec.Action)
	return nil
}

func (d *desk) Outcome(_ context.Context, _ *durward.Call, o durward.Outcome) {
	d.note("outcome %s", o.Status)
}

func (d *desk) Matched(_ *durward.Call, matches []durward.Match) {
	d.note("matched %s", matches[0].Rule)
}

// taken returns what happened since the last time, without what is no tools/call.
func (d *desk) taken() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := strings.Join(d.notes, "\n")
	d.notes = nil
	return all
}

// asked is how often a person was asked.
func (d *desk) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asks
}

func (d *desk) start(t *testing.T, opt gateway.Options) *running {
	t.Helper()
	opt.Servers, opt.Decider, opt.Recorder, opt.Approver = []durward.Server{hostileServer("h")}, d, d, d
	r := start(t, opt)
	r.await(t, "h", isReady)
	return r
}

func TestACallWaitsForAPerson(t *testing.T) {
	for _, c := range []struct {
		name   string
		desk   *desk
		code   int // 0: the call is made
		reason string
		notes  string
	}{
		{"approved", &desk{answer: durward.Answer{Approved: true}}, 0, "", "matched careful\nintent ask\nask echo {\"text\":\"x\"}\noutcome ok"},
		{"granted", &desk{granted: true}, 0, "", "matched careful\nintent ask\noutcome ok"},
		{"denied", &desk{}, wire.CodeDeniedByPerson, "denied", "matched careful\nintent ask\nask echo {\"text\":\"x\"}\noutcome denied"},
		{"nobody answered", &desk{answer: durward.Answer{Cause: durward.CauseExpired}}, wire.CodeApprovalTimeout, "expired", "matched careful\nintent ask\nask echo {\"text\":\"x\"}\noutcome denied"},
		{"nobody can", &desk{err: errors.New("nobody is there")}, wire.CodeDeniedByPerson, "unattended", "matched careful\nintent ask\nask echo {\"text\":\"x\"}\noutcome denied"},
		{
			"rewritten", &desk{answer: durward.Answer{Approved: true}, rewrite: `{"name":"h__echo","arguments":{"text":"y"}}`}, 0, "",
			"matched careful\nintent ask\nask echo {\"text\":\"y\"}\noutcome ok",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.desk.start(t, gateway.Options{})
			for era, client := range r.clients(t, "/mcp") {
				c.desk.taken()
				a := call(t, client, "h__echo", `{"text":"x"}`)
				if a.Code() != c.code || c.reason != "" && !strings.Contains(string(a.Msg.Error), `"reason":"`+c.reason+`"`) {
					t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
				}
				if want := map[bool]string{false: "x", true: "y"}[c.desk.rewrite != ""]; c.code == 0 && a.Text() != want {
					t.Errorf("%s: the server was sent %q", era, a.Text())
				}
				if got := c.desk.taken(); !strings.HasSuffix(got, c.notes) {
					t.Errorf("%s: %s", era, got)
				}
			}
		})
	}
}

func TestRefusalsCanBeResults(t *testing.T) {
	d := desk{}
	r := d.start(t, gateway.Options{Refusals: gateway.RefusalResult})
	for era, c := range r.clients(t, "/mcp") {
		if a := call(t, c, "h__echo", `{"text":"x"}`); a.Msg.Error != nil || string(wire.Get(a.Msg.Result, "isError")) != "true" || !strings.Contains(a.Text(), "denied") {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
	}
}

// Where a rule lets it, the requesting client is asked itself, in the way of its era.
func TestTheClientIsAskedWhereARuleSaysSo(t *testing.T) {
	d := desk{via: []string{durward.ViaClient}}
	r := d.start(t, gateway.Options{})
	for _, modern := range []bool{true, false} {
		for _, yes := range []bool{true, false} {
			c := r.asking(t, modern, "/mcp")
			asked := ""
			a, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"h__echo","arguments":{"text":"p\u0430y \u0078\u200by"}}`, func(q rawclient.Question) string {
				asked = q.Text()
				return fmt.Sprintf(`{"action":"accept","content":{"approve":%v}}`, yes)
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(asked, `{"text":"pаy x<U+200B>y"}`) || !strings.Contains(asked, `"pаy" is not "pay": U+0430`) || !strings.Contains(asked, "is it<U+202E> wise?") {
				t.Errorf("modern=%v: the question was %q", modern, asked)
			}
			if yes && a.Text() != "p\u0430y x\u200by" || !yes && a.Code() != wire.CodeDeniedByPerson {
				t.Errorf("modern=%v yes=%v: %s %s", modern, yes, a.Msg.Result, a.Msg.Error)
			}
			said := map[bool]string{true: fmt.Sprintf("told echo %v", yes), false: fmt.Sprintf("said echo %v true", yes)}[modern]
			if got := d.taken(); !strings.Contains(got, said) || strings.Contains(got, "ask echo") {
				t.Errorf("modern=%v yes=%v:\n%s", modern, yes, got)
			}
		}
		// Nobody is asked to approve what is too long to be shown.
		if a := do(t, r.asking(t, modern, "/mcp"), wire.MethodToolsCall, `{"name":"h__echo","arguments":{"text":"`+strings.Repeat("x", 9<<10)+`"}}`); a.Code() != wire.CodeDeniedByPerson || !strings.Contains(d.taken(), "ask echo") {
			t.Errorf("modern=%v: %s", modern, a.Msg.Error)
		}
		// A client that cannot be asked is no way to an answer: the desk is.
		c := r.clients(t, "/mcp")[map[bool]string{true: "modern", false: "legacy"}[modern]]
		if a := call(t, c, "h__echo", `{}`); a.Code() != wire.CodeDeniedByPerson || !strings.Contains(d.taken(), "ask echo") {
			t.Errorf("modern=%v: %s", modern, a.Msg.Error)
		}
	}
}

// An answer is for one request: not for another one, and not for other arguments.
func TestB23_AClientsAnswerIsForWhatWasAsked(t *testing.T) {
	d := desk{via: []string{durward.ViaClient}}
	r := d.start(t, gateway.Options{})
	c := r.asking(t, true, "/mcp")
	first := do(t, c, wire.MethodToolsCall, `{"name":"h__echo","arguments":{"text":"x"}}`)
	yes := func(rawclient.Question) string { return `{"action":"accept","content":{"approve":true}}` }
	for _, other := range []string{`{"name":"h__echo","arguments":{"text":"z"}}`, `{"name":"h__env","arguments":{"text":"x"}}`} {
		if a := do(t, c, wire.MethodToolsCall, rawclient.Retry(other, first, yes)); a.Code() != wire.CodeInvalidParams {
			t.Errorf("%s: %s %s", other, a.Msg.Result, a.Msg.Error)
		}
	}
	if got := d.taken(); strings.Contains(got, "told") {
		t.Errorf("an answer counted:\n%s", got)
	}
}

// A server that needs several rounds of input does not make the person answer
// anew in each; but the token of a round is good once.
func TestAnApprovalHoldsForTheRoundsOfItsCall(t *testing.T) {
	_, modern := modernServer(t, "m")
	for _, server := range []durward.Server{modern, hostileServer("l")} {
		d := &desk{answer: durward.Answer{Approved: true}}
		r := start(t, gateway.Options{Servers: []durward.Server{server}, Decider: d, Recorder: d, Approver: d})
		r.await(t, server.Name, isReady)
		c := r.asking(t, true, "/mcp")
		params := `{"name":"` + server.Name + `__interview","arguments":` + arguments("me", 3, 1, "form") + `}`
		a := do(t, c, wire.MethodToolsCall, params)
		second := rawclient.Retry(params, a, saysWhat)
		for range 3 {
			a = do(t, c, wire.MethodToolsCall, rawclient.Retry(params, a, saysWhat))
		}
		if a.Msg.Error != nil || !strings.Contains(a.Text(), "round 3") {
			t.Fatalf("%s: %s %s", server.Name, a.Msg.Result, a.Msg.Error)
		}
		if n := d.asked(); n != 1 {
			t.Errorf("%s: a person was asked %d times for one call", server.Name, n)
		}
		d.mu.Lock()
		d.answer.Approved = false
		d.mu.Unlock()
		if a := do(t, c, wire.MethodToolsCall, second); a.Code() != wire.CodeDeniedByPerson || d.asked() != 2 {
			t.Errorf("%s: a round that was answered before was made again without asking: %s %s", server.Name, a.Msg.Result, a.Msg.Error)
		}
	}
}

// Nobody is asked about a call that cannot be made.
func TestNobodyIsAskedAboutWhatIsNotThere(t *testing.T) {
	d := &desk{answer: durward.Answer{Approved: true}}
	r := d.start(t, gateway.Options{})
	for era, c := range r.clients(t, "/mcp") {
		d.taken()
		if a := call(t, c, "h__nothing", `{}`); a.Code() != wire.CodeInvalidParams {
			t.Errorf("%s: %s %s", era, a.Msg.Result, a.Msg.Error)
		}
		if got := d.taken(); !strings.HasSuffix(got, "intent ask\noutcome error") {
			t.Errorf("%s: %s", era, got)
		}
	}
}
