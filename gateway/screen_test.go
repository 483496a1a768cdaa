package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
)

// noSampling lets servers ask for everything but the model, and notes what passes.
type noSampling struct {
	mu   sync.Mutex // guards rows
	rows []row
}

type row struct {
	call    durward.Call
	action  durward.Action
	outcome durward.Status
}

func (*noSampling) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	if c.Method == wire.MethodSampling {
		return durward.Decision{Action: durward.Block, Rule: "no-sampling", Cause: "rule"}, nil
	}
	return durward.Decision{}, nil
}

func (*noSampling) DecideResult(context.Context, *durward.Call, []byte) (durward.Decision, error) {
	return durward.Decision{}, nil
}

func (*noSampling) Visible(*durward.Caller, *durward.Call) bool { return true }

func (n *noSampling) Intent(_ context.Context, c *durward.Call, d durward.Decision) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows = append(n.rows, row{call: *c, action: d.Action})
	return nil
}

func (n *noSampling) Outcome(_ context.Context, c *durward.Call, o durward.Outcome) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.rows {
		if n.rows[i].call.ID == c.ID {
			n.rows[i].outcome = o.Status
		}
	}
}

// of returns the rows of a method since the last time.
func (n *noSampling) of(method string) (rows []row) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.rows {
		if r.call.Method == method {
			rows = append(rows, r)
		}
	}
	n.rows = nil
	return rows
}

// What a server asks of a client is decided and written down, in each pair of eras.
func TestServersQuestionsPassTheGate(t *testing.T) {
	n := new(noSampling)
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern, hostileServer("l")}, Decider: n, Recorder: n})
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	for _, era := range []bool{true, false} {
		for _, server := range []string{"m", "l"} {
			c, kinds := g.asking(t, era, "/mcp"), map[string]string{"form": wire.MethodElicit, "sampling": wire.MethodSampling}
			for kind, method := range kinds {
				n.of("")
				asked := 0
				a, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"`+server+`__interview","arguments":`+arguments("me", 1, 2, kind)+`}`,
					func(q rawclient.Question) string { asked++; return saysWhat(q) })
				if err != nil {
					t.Fatal(err)
				}
				rows := n.of(method)
				if len(rows) == 0 {
					t.Fatalf("modern=%v %s %s: nothing was written down", era, server, kind)
				}
				for _, r := range rows {
					if r.call.Parent == "" || r.call.Server != server || r.call.Caller.Principal != "local" || r.outcome == "" {
						t.Errorf("modern=%v %s: %+v ended %q", era, server, r.call, r.outcome)
					}
				}
				if blocked := kind == "sampling"; blocked && (asked > 0 || rows[0].action != durward.Block || rows[0].outcome != durward.StatusRefused) {
					t.Errorf("modern=%v %s: the client was asked %d times for what policy refuses: %+v", era, server, asked, rows[0])
				} else if !blocked && (asked != 2 || !strings.Contains(a.Text(), "question 1")) {
					t.Errorf("modern=%v %s: asked %d times: %s %s", era, server, asked, a.Msg.Result, a.Msg.Error)
				}
			}
		}
	}
}

// timed counts calls that ended, and those of them that do not say rightly when they were
// handed to a server.
type timed struct {
	noSampling
	mu           sync.Mutex // guards all below
	ended, wrong int
}

func (m *timed) Outcome(_ context.Context, c *durward.Call, o durward.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Method != wire.MethodToolsCall {
		return
	}
	if m.ended++; o.Attempts == 0 || o.Dispatched.Before(c.Received) || o.Dispatched.After(o.Finished) {
		m.wrong++
	}
}

// taken returns both since the last time.
func (m *timed) taken() (ended, wrong int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ended, wrong = m.ended, m.wrong
	m.ended, m.wrong = 0, 0
	return ended, wrong
}

// A call that waits for the input of its client was made, and its record says when.
func TestCallsThatWaitForInputSayWhenTheyWereMade(t *testing.T) {
	m := new(timed)
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern, hostileServer("l")}, Recorder: m})
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	for _, server := range []string{"m", "l"} {
		m.taken()
		c := g.asking(t, true, "/mcp")
		if _, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"`+server+`__interview","arguments":`+arguments("me", 2, 1, "form")+`}`, saysWhat); err != nil {
			t.Fatal(err)
		}
		if ended, wrong := m.taken(); ended != 3 || wrong > 0 {
			t.Errorf("%s: %d of %d calls say that they were not made, or made at another time", server, wrong, ended)
		}
	}
}

// discreet lets everything pass, keeps nothing of questions and answers, and
// withholds an answer that says "never".
type discreet struct {
	noSampling
	mu   sync.Mutex // guards kept
	kept []string
}

func (*discreet) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	if c.Method == wire.MethodElicit {
		return durward.Decision{Recorded: []byte(`{"message":"***"}`)}, nil
	}
	return durward.Decision{}, nil
}

func (*discreet) DecideResult(_ context.Context, c *durward.Call, result []byte) (durward.Decision, error) {
	switch {
	case c.Method != wire.MethodElicit:
		return durward.Decision{}, nil
	case strings.Contains(string(result), "never"):
		return durward.Decision{Action: durward.Block, Cause: "rule"}, nil
	default:
		return durward.Decision{Recorded: []byte(`{"action":"***"}`)}, nil
	}
}

func (d *discreet) keep(c *durward.Call, text []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Method == wire.MethodElicit {
		d.kept = append(d.kept, string(text))
	}
}

func (d *discreet) Intent(_ context.Context, c *durward.Call, _ durward.Decision) error {
	d.keep(c, c.Params)
	return nil
}

func (d *discreet) Outcome(_ context.Context, c *durward.Call, o durward.Outcome) {
	d.keep(c, o.Result)
}

// What policy keeps out of the record of calls it keeps out of that of questions and
// answers, too; and an answer that it withholds does not reach the server.
func TestAnswersToServersAreReviewed(t *testing.T) {
	d := new(discreet)
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("l")}, Decider: d, Recorder: d})
	g.await(t, "l", isReady)
	c := g.asking(t, false, "/mcp")
	for answer, passes := range map[string]bool{"my-password": true, "never": false} {
		a, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"l__interview","arguments":`+arguments("me", 1, 1, "form")+`}`,
			func(rawclient.Question) string { return `{"action":"accept","content":{"name":"` + answer + `"}}` })
		if err != nil || strings.Contains(a.Text(), answer) != passes {
			t.Errorf("%s: %v %s %s", answer, err, a.Msg.Result, a.Msg.Error)
		}
	}
	d.mu.Lock()
	all := strings.Join(d.kept, "\n")
	d.mu.Unlock()
	if strings.Contains(all, "my-password") || strings.Contains(all, "never") || strings.Contains(all, "question 1") || !strings.Contains(all, "***") {
		t.Errorf("kept:\n%s", all)
	}
}

// censor replaces a word in what servers ask, and fails where it finds another one.
type censor struct{ noSampling }

func (*censor) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	switch {
	case c.Method == wire.MethodElicit && strings.Contains(string(c.Params), "round 2"):
		return durward.Decision{}, errors.New("it broke")
	case c.Method == wire.MethodElicit:
		return durward.Decision{Changed: []byte(strings.ReplaceAll(string(c.Params), "question 1", "a [question]"))}, nil
	}
	return durward.Decision{}, nil
}

// What policy replaces in a question of a server the client never sees, nor the
// record; and of what could not be looked at only the size is written down.
func TestQuestionsOfServersAreRewritten(t *testing.T) {
	n := new(censor)
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern, hostileServer("l")}, Decider: n, Recorder: n})
	g.await(t, "m", isReady)
	g.await(t, "l", isReady)
	for _, era := range []bool{true, false} {
		for _, server := range []string{"m", "l"} {
			c := g.asking(t, era, "/mcp")
			n.of("")
			var asked []string
			_, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"`+server+`__interview","arguments":`+arguments("me", 2, 1, "form")+`}`,
				func(q rawclient.Question) string { asked = append(asked, string(q.Params)); return saysWhat(q) })
			if err != nil {
				t.Fatal(err)
			}
			if len(asked) != 1 || !strings.Contains(asked[0], "a [question]") {
				t.Errorf("modern=%v %s: the client was asked %q", era, server, asked)
			}
			kept := ""
			for _, r := range n.of(wire.MethodElicit) {
				kept += string(r.call.Params) + "\n"
			}
			if strings.Contains(kept, "question 1") || strings.Contains(kept, "round 2") || !strings.Contains(kept, "a [question]") || !strings.Contains(kept, wire.MemberWithheld) {
				t.Errorf("modern=%v %s: kept\n%s", era, server, kept)
			}
		}
	}
}

// choosy refuses one question of several.
type choosy struct{ noSampling }

func (*choosy) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	if c.Method == wire.MethodElicit && strings.Contains(string(c.Params), "question 2") {
		return durward.Decision{Action: durward.Block, Rule: "no-second", Cause: "rule"}, nil
	}
	return durward.Decision{}, nil
}

// Of questions that come together none is put when one is refused, and none is recorded
// as one that was.
func TestQuestionsThatAreNotPutAreNotRecordedAsPut(t *testing.T) {
	d := new(choosy)
	_, modern := modernServer(t, "m")
	g := start(t, gateway.Options{Servers: []durward.Server{modern}, Decider: d, Recorder: d})
	g.await(t, "m", isReady)
	c := g.asking(t, true, "/mcp")
	d.of("")
	a, err := c.Converse(t.Context(), wire.MethodToolsCall, `{"name":"m__interview","arguments":`+arguments("me", 1, 3, "form")+`}`,
		func(rawclient.Question) string { t.Error("the client was asked"); return `{"action":"cancel"}` })
	if err != nil || a.Code() != wire.CodeRefused {
		t.Fatalf("%v %s", err, a.Body)
	}
	rows := d.of(wire.MethodElicit)
	if len(rows) == 0 {
		t.Fatal("nothing was written down")
	}
	for _, r := range rows {
		if r.outcome != durward.StatusRefused {
			t.Errorf("%s ended %q", r.call.Params, r.outcome)
		}
	}
}

// cautious keeps no query of a URI.
type cautious struct {
	noSampling
	mu      sync.Mutex // guards failure
	failure string     // of the last call
}

func (d *cautious) said() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failure
}

func (d *cautious) Outcome(ctx context.Context, c *durward.Call, o durward.Outcome) {
	d.noSampling.Outcome(ctx, c, o)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failure = string(o.Error)
}

func (*cautious) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	if before, after, ok := strings.Cut(string(c.Params), "?token=hunter2"); ok {
		return durward.Decision{Recorded: []byte(before + "?***" + after)}, nil
	}
	if strings.Contains(string(c.Params), "?opaque") {
		return durward.Decision{Recorded: wire.Withheld(c.Params)}, nil
	}
	return durward.Decision{}, nil
}

// What policy keeps out of the record is in none of its names.
func TestNamesInTheRecordAreWithoutWhatIsNotKept(t *testing.T) {
	d := new(cautious)
	g := start(t, gateway.Options{Servers: []durward.Server{hostileServer("l")}, Decider: d, Recorder: d})
	g.await(t, "l", isReady)
	for era, c := range g.clients(t, "/servers/l/mcp") {
		for method, params := range map[string]string{
			wire.MethodResourcesRead: `{"uri":"hostile://state?token=hunter2"}`,
			wire.MethodToolsCall:     `{"name":"?token=hunter2","arguments":{}}`,
			wire.MethodComplete:      `{"ref":{"type":"ref/resource","uri":"hostile://{x}?token=hunter2"},"argument":{"name":"x","value":"y"}}`,
		} {
			d.of("")
			do(t, c, method, params)
			rows := d.of(method)
			if len(rows) != 1 || !strings.Contains(string(rows[0].call.Params), "?***") {
				t.Fatalf("%s %s: %+v", era, method, rows)
			}
			if all := rows[0].call.Name + rows[0].call.FullName + string(rows[0].call.Params) + d.said(); strings.Contains(all, "hunter2") {
				t.Errorf("%s %s: %s", era, method, all)
			}
		}
		d.of("")
		do(t, c, wire.MethodToolsCall, `{"name":"what?opaque","arguments":{}}`)
		if rows := d.of(wire.MethodToolsCall); len(rows) != 1 || rows[0].call.FullName != "" || strings.Contains(d.said(), "opaque") {
			t.Errorf("%s: %+v, %s", era, rows, d.said())
		}
		do(t, c, wire.MethodResourcesRead, `{"uri":"hostile://state"}`)
		if rows := d.of(wire.MethodResourcesRead); len(rows) != 1 || rows[0].call.FullName != "hostile://state" {
			t.Errorf("%s: %+v", era, rows)
		}
	}
}
