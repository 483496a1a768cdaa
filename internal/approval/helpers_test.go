package approval_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"durward"
	"durward/internal/approval"
	"durward/internal/testkit/leftover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// book is a record that may fail.
type book struct {
	mu     sync.Mutex // guards all below
	steps  []approval.Step
	broken func(approval.Step) bool
}

func (b *book) record(_ context.Context, s approval.Step) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil && b.broken(s) {
		return errors.New("the disk is full")
	}
	b.steps = append(b.steps, s)
	return nil
}

// statuses are those that were recorded, in their order.
func (b *book) statuses() []approval.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []approval.Status
	for _, s := range b.steps {
		all = append(all, s.Status)
	}
	return all
}

// shelf is a store in memory.
type shelf struct {
	mu     sync.Mutex // guards all below
	grants []approval.Grant
	err    error
}

func (s *shelf) AddGrant(_ context.Context, g *approval.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.grants = append(s.grants, *g)
	}
	return s.err
}

func (s *shelf) Grants(context.Context) ([]approval.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants), s.err
}

func (s *shelf) RemoveGrant(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = slices.DeleteFunc(s.grants, func(g approval.Grant) bool { return g.ID == id })
	return s.err
}

// rig is a desk, its record and its store.
type rig struct {
	*approval.Desk
	book  *book
	shelf *shelf
}

func newRig(t *testing.T, change ...func(*approval.Options)) *rig {
	t.Helper()
	r := &rig{book: &book{}, shelf: &shelf{}}
	opt := approval.Options{Store: r.shelf, Record: r.book.record, Present: func() bool { return true }}
	for _, c := range change {
		c(&opt)
	}
	var err error
	if r.Desk, err = approval.New(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return r
}

// call is a call of a tool with arguments.
func call(arguments string, change ...func(*durward.Call)) *durward.Call {
	c := &durward.Call{
		ID: durward.NewCallID(), Caller: durward.Caller{Principal: "alice", Session: "s1", Client: durward.ClientInfo{Name: "agent", Version: "1"}},
		Method: "tools/call", Server: "files", Name: "write", FullName: "files__write", Risk: durward.RiskHigh, Tool: &durward.Tool{Hash: "pin1"},
		Params: []byte(`{"name":"files__write","arguments":` + arguments + `}`), Arguments: []byte(arguments),
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func asks(remember durward.Scope, rules ...string) *durward.Decision {
	if rules == nil {
		rules = []string{"user/ask"}
	}
	return &durward.Decision{Action: durward.Ask, Question: &durward.Question{Rules: rules, Text: "why", Remember: remember, Timeout: time.Minute}}
}

// outcome is what Ask returned.
type outcome struct {
	durward.Answer
	err error
}

// ask asks in the background, and returns when the call is parked.
func (r *rig) ask(ctx context.Context, t *testing.T, c *durward.Call, d *durward.Decision) (id string, done chan outcome) {
	t.Helper()
	shown := make(chan string, 1)
	stop := r.Watch(func(e approval.Event) {
		if e.Asked != nil && e.Asked.Call == c.ID {
			shown <- e.Asked.ID
		}
	})
	defer stop()
	done = make(chan outcome, 1)
	go func() {
		a, err := r.Ask(ctx, c, d, nil)
		done <- outcome{a, err}
	}()
	select {
	case id = <-shown:
	case o := <-done:
		select {
		case id = <-shown: // it was shown, and is over already
			done <- o
		default:
			t.Fatalf("it was not parked: %+v", o)
		}
	}
	return id, done
}

// approve asks about a call and approves it.
func (r *rig) approve(t *testing.T, c *durward.Call, d *durward.Decision, reply approval.Reply) {
	t.Helper()
	id, done := r.ask(t.Context(), t, c, d)
	reply.Approve, reply.By = true, "bob"
	if _, err := r.Answer(t.Context(), id, reply); err != nil {
		t.Fatal(err)
	}
	if a := <-done; !a.Approved || a.err != nil {
		t.Fatalf("%+v", a)
	}
}
