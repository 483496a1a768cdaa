package gateway_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/approval"
	"durward/internal/pin"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
	"durward/policy"
)

// rules makes a set of rules of YAML, by layer.
func rules(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, docs map[policy.Layer]string) *policy.Set {
	t.Helper()
	var parsed []policy.Document
	for _, layer := range []policy.Layer{policy.Package, policy.User, policy.Corp} {
		if text, ok := docs[layer]; ok {
			doc, problems := policy.ParseFile(layer.String()+".yaml", []byte(text), layer)
			if len(problems) > 0 {
				t.Fatalf("%v", problems)
			}
			parsed = append(parsed, *doc)
		}
	}
	set, problems := policy.Compile(parsed, policy.CompileOptions{})
	if len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return set
}

func userRules(text string) map[policy.Layer]string {
	return map[policy.Layer]string{policy.User: text}
}

// ruled is a shifty server behind a gateway with real rules and a real desk.
type ruled struct {
	*shifty
	engine *policy.Engine
	desk   *approval.Desk
	asked  chan string // the id of each call that waits
	done   chan *rawclient.Answer

	mu      sync.Mutex // guards all below
	later   time.Duration
	steps   []approval.Step
	matches []durward.Match
	ends    []durward.Status
	grants  []approval.Grant
}

func startRuled(t *testing.T, docs map[policy.Layer]string) *ruled {
	t.Helper()
	r := &ruled{asked: make(chan string, 10), done: make(chan *rawclient.Answer, 10)}
	r.shifty = startShifty(t, func(o *gateway.Options) {
		var err error
		if r.engine, err = policy.New(policy.Options{Set: rules(t, docs), Pins: o.Pins.(*pin.Book)}); err != nil {
			t.Fatal(err)
		}
		r.desk, err = approval.New(t.Context(), approval.Options{
			Store: r, Record: r.record, Present: func() bool { return true }, Notify: func(a approval.Asked) { r.asked <- a.ID },
			Now: func() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return time.Now().Add(r.later) },
		})
		if err != nil {
			t.Fatal(err)
		}
		o.Decider, o.Approver, o.Recorder = r.engine, r.desk, r
	})
	t.Cleanup(func() { _ = r.desk.Close() })
	return r
}

// swap puts other rules in force.
func (r *ruled) swap(t *testing.T, docs map[policy.Layer]string) {
	t.Helper()
	r.engine.Swap(rules(t, docs), nil)
	r.PolicyChanged()
}

// begin calls echo in the background, and returns the id of the question about it.
func (r *ruled) begin(t *testing.T, c *rawclient.Client, arguments string) string {
	t.Helper()
	go func() {
		a, err := c.CallTool(context.WithoutCancel(t.Context()), "h__echo", arguments)
		if err != nil {
			a = &rawclient.Answer{Status: -1, Body: []byte(err.Error())}
		}
		r.done <- a
	}()
	return await(t, "a question", r.asked)
}

func (r *ruled) reply(t *testing.T, id string, reply approval.Reply) {
	t.Helper()
	reply.By = "ann"
	if _, err := r.desk.Answer(t.Context(), id, reply); err != nil {
		t.Fatal(err)
	}
}

// asks reports whether a call of echo is asked about, and denies it then.
func (r *ruled) asks(t *testing.T, c *rawclient.Client, arguments string) bool {
	t.Helper()
	go func() {
		a, err := c.CallTool(context.WithoutCancel(t.Context()), "h__echo", arguments)
		if err != nil {
			a = &rawclient.Answer{Status: -1, Body: []byte(err.Error())}
		}
		r.done <- a
	}()
	select {
	case id := <-r.asked:
		r.reply(t, id, approval.Reply{})
		if a := await(t, "the end of the call", r.done); a.Code() != wire.CodeDeniedByPerson {
			t.Errorf("%s %s", a.Msg.Result, a.Msg.Error)
		}
		return true
	case a := <-r.done:
		if a.Msg.Error != nil {
			t.Errorf("%s", a.Msg.Error)
		}
		return false
	case <-time.After(time.Minute):
		t.Fatal("neither a question nor an answer came")
		return false
	}
}

// executed counts how often tools were executed.
func (r *ruled) executed(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(r.counter)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(data)
}

func (r *ruled) record(_ context.Context, s approval.Step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, s)
	return nil
}

func (r *ruled) Intent(context.Context, *durward.Call, durward.Decision) error { return nil }

func (r *ruled) Outcome(_ context.Context, c *durward.Call, o durward.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Method == "tools/call" {
		r.ends = append(r.ends, o.Status)
	}
}

func (r *ruled) Matched(_ *durward.Call, matches []durward.Match) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.matches = append(r.matches, matches...)
}

// last returns the last thing that rules did, and how the last call ended.
func (r *ruled) last() (durward.Match, durward.Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.matches[len(r.matches)-1], r.ends[len(r.ends)-1]
}

func (r *ruled) AddGrant(_ context.Context, g *approval.Grant) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grants = append(r.grants, *g)
	return nil
}

func (r *ruled) Grants(context.Context) ([]approval.Grant, error) { return nil, nil }
func (r *ruled) RemoveGrant(context.Context, string) error        { return nil }
