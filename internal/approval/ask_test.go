package approval_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/approval"
)

func TestTheFirstAnswerWins(t *testing.T) {
	for _, approve := range []bool{true, false} {
		r := newRig(t)
		c := call(`{"a":1}`)
		id, done := r.ask(t.Context(), t, c, asks(""))
		s, err := r.Answer(t.Context(), " "+strings.ToUpper(id[:4]), approval.Reply{Approve: approve, By: "bob", Reason: " so "})
		if err != nil || s.Reason != "so" || s.By != "bob" || s.Call != c.ID {
			t.Fatalf("%+v %v", s, err)
		}
		if a := <-done; a.err != nil || a.Approved != approve || a.By != "bob" || a.Approval != id || (a.Cause == "") != approve {
			t.Errorf("%+v", a)
		}
		if _, err := r.Answer(t.Context(), id, approval.Reply{Approve: true, By: "eve"}); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "by bob") {
			t.Error(err)
		}
		if want := []approval.Status{approval.Pending, s.Status}; !reflect.DeepEqual(r.book.statuses(), want) {
			t.Errorf("%v, want %v", r.book.statuses(), want)
		}
		if len(r.List()) != 0 {
			t.Error("it is still listed")
		}
	}
}

// Of many who answer at once one counts, and the record, its answer and the call say the same.
func TestOneOfManyAnswersCounts(t *testing.T) {
	r := newRig(t)
	id, done := r.ask(t.Context(), t, call(`{}`), asks(""))
	var wg sync.WaitGroup
	won := make(chan approval.Step, 20)
	for i := range 20 {
		wg.Go(func() {
			s, err := r.Answer(t.Context(), id, approval.Reply{Approve: i%2 == 0, By: fmt.Sprint("p", i)})
			if err == nil {
				won <- s
			} else if kind := durward.KindOf(err); kind != durward.Conflict && kind != durward.NotFound {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(won)
	a, s := <-done, <-won
	if _, two := <-won; two || a.By != s.By || a.Approved != (s.Status == approval.Approved) || len(r.book.statuses()) != 2 {
		t.Errorf("%+v %+v %v", a, s, r.book.statuses())
	}
}

func TestNoAnswerMeansNo(t *testing.T) {
	for name, tt := range map[string]struct {
		end    func(cancel context.CancelFunc, d *approval.Desk)
		status approval.Status
		cause  string
	}{
		"time runs out":     {func(context.CancelFunc, *approval.Desk) { time.Sleep(time.Minute) }, approval.Expired, durward.CauseExpired},
		"the client leaves": {func(cancel context.CancelFunc, _ *approval.Desk) { cancel() }, approval.Cancelled, durward.CauseCancelled},
		"the service ends":  {func(_ context.CancelFunc, d *approval.Desk) { _ = d.Close() }, approval.Denied, durward.CauseEnded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, done := r.ask(ctx, t, call(`{}`), asks(""))
				time.Sleep(59 * time.Second)
				synctest.Wait()
				if len(r.List()) != 1 {
					t.Error("it is over before its time")
				}
				tt.end(cancel, r.Desk)
				if a := <-done; a.err != nil || a.Approved || a.Cause != tt.cause || a.Reason == "" || a.Approval == "" {
					t.Errorf("%+v", a)
				}
				if got := r.book.statuses(); len(got) != 2 || got[1] != tt.status {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

// What a rule says of time counts, up to limits.approval_life.
func TestTheTimeOfAQuestionIsBounded(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Second: time.Second, time.Hour: 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r, d := newRig(t), asks("")
			d.Question.Timeout = asked
			began := time.Now()
			_, done := r.ask(t.Context(), t, call(`{}`), d)
			if l := r.List(); len(l) != 1 || l[0].Deadline.Sub(began) != want {
				t.Errorf("%v: %+v", asked, l)
			}
			<-done
			if took := time.Since(began); took != want {
				t.Errorf("%v: %v", asked, took)
			}
		})
	}
}

func TestWhereNobodyCanAnswerNobodyWaits(t *testing.T) {
	r := newRig(t, func(o *approval.Options) { o.Present = nil })
	a, err := r.Ask(t.Context(), call(`{}`), asks(""), nil)
	if err != nil || a.Approved || a.Cause != durward.CauseUnattended || a.Approval != "" || !strings.Contains(a.Reason, "policy.approvals.attended") {
		t.Errorf("%+v %v", a, err)
	}
	if got := r.book.statuses(); !reflect.DeepEqual(got, []approval.Status{approval.Denied}) {
		t.Errorf("%v", got)
	}
	d := asks("")
	d.Question.Via = []string{durward.ViaClient}
	stop := r.Watch(func(approval.Event) {})
	if a, err := r.Ask(t.Context(), call(`{}`), d, nil); err != nil || a.Approved || !strings.Contains(a.Reason, "ask.via") {
		t.Errorf("%+v %v", a, err)
	}
	// Who watches can answer.
	_, done := r.ask(t.Context(), t, call(`{}`), asks(""))
	stop()
	if len(r.List()) != 1 {
		t.Error("it is not parked")
	}
	if err := r.Close(); err != nil || (<-done).Approved {
		t.Error(err)
	}
}

func TestWhatCannotBeRecordedIsNotApproved(t *testing.T) {
	r := newRig(t)
	r.book.broken = func(s approval.Step) bool { return s.Status == approval.Pending }
	if a, err := r.Ask(t.Context(), call(`{}`), asks(""), nil); durward.KindOf(err) != durward.Unavailable || err == nil || a.Approved || len(r.List()) != 0 {
		t.Errorf("%+v %v", a, err)
	}
	r.book.broken = func(s approval.Step) bool { return s.Status == approval.Approved }
	id, done := r.ask(t.Context(), t, call(`{}`), asks(durward.ScopeGrant))
	s, err := r.Answer(t.Context(), id, approval.Reply{Approve: true, By: "bob", Scope: durward.ScopeGrant})
	if durward.KindOf(err) != durward.Unavailable || err == nil || s.Status != approval.Denied {
		t.Errorf("%+v %v", s, err)
	}
	if a := <-done; a.Approved || a.err != nil {
		t.Errorf("%+v", a)
	}
	if len(r.Grants()) != 0 || len(r.shelf.grants) != 0 {
		t.Error("what was not approved is remembered")
	}
	r.book.broken = func(approval.Step) bool { return true }
	if _, err := r.Told(t.Context(), call(`{}`), &durward.Decision{Question: &durward.Question{Via: []string{durward.ViaClient}}}, true, false); err == nil {
		t.Error("an answer of the client that is not on record")
	}
}

// Nothing is shown to anybody before it is on record.
func TestAQuestionIsOnRecordBeforeAnybodySeesIt(t *testing.T) {
	r := newRig(t)
	var seen []string
	r.book.broken = func(s approval.Step) bool {
		if s.Status == approval.Pending {
			seen = append(seen, fmt.Sprint(len(r.List())))
			if _, err := r.Answer(t.Context(), s.ID, approval.Reply{Approve: true, By: "early"}); durward.KindOf(err) != durward.NotFound {
				t.Error(err)
			}
		}
		return false
	}
	id, done := r.ask(t.Context(), t, call(`{}`), asks(""))
	if fmt.Sprint(seen) != "[0]" {
		t.Error(seen)
	}
	if _, err := r.Answer(t.Context(), id, approval.Reply{By: "bob"}); err != nil || (<-done).Approved {
		t.Error(err)
	}
}

func TestTheParkedCallsOfOnePrincipalAreBounded(t *testing.T) {
	r := newRig(t, func(o *approval.Options) { o.Most = 2 })
	var all []chan outcome
	for range 2 {
		_, done := r.ask(t.Context(), t, call(`{}`), asks(""))
		all = append(all, done)
	}
	if _, err := r.Ask(t.Context(), call(`{}`), asks(""), nil); durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "limits.approvals") {
		t.Error(err)
	}
	_, done := r.ask(t.Context(), t, call(`{}`, func(c *durward.Call) { c.Caller.Principal = "bob" }), asks(""))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, done := range append(all, done) {
		if (<-done).Approved {
			t.Error("approved")
		}
	}
	if _, err := r.Ask(t.Context(), call(`{}`), asks(""), nil); durward.KindOf(err) != durward.Unavailable || err == nil {
		t.Error("after the end:", err)
	}
}

func TestAClientAnswersOnlyWhereARuleSaysSo(t *testing.T) {
	r := newRig(t)
	if _, err := r.Told(t.Context(), call(`{}`), asks(""), true, false); durward.KindOf(err) != durward.Denied {
		t.Error(err)
	}
	d := asks(durward.ScopeGrant)
	d.Question.Via = []string{durward.ViaClient}
	for _, approved := range []bool{true, false} {
		a, err := r.Told(t.Context(), call(`{}`), d, approved, false)
		if err != nil || a.Approved != approved || a.By != "the client agent 1 of alice" || (a.Scope == durward.ScopeCall) != approved {
			t.Errorf("%+v %v", a, err)
		}
	}
	if got := r.book.statuses(); !reflect.DeepEqual(got, []approval.Status{approval.Approved, approval.Denied}) || len(r.Grants()) != 0 {
		t.Errorf("%v", got)
	}
}

func TestAnAnswerOfAClientThatComesTooLateIsNone(t *testing.T) {
	r, d := newRig(t), asks("")
	d.Question.Via = []string{durward.ViaClient}
	a, err := r.Told(t.Context(), call(`{}`), d, true, true)
	if err != nil || a.Approved || a.Cause != durward.CauseExpired || !reflect.DeepEqual(r.book.statuses(), []approval.Status{approval.Expired}) {
		t.Errorf("%+v %v %v", a, err, r.book.statuses())
	}
}

func TestWatchersSeeAllOfIt(t *testing.T) {
	r := newRig(t)
	first, done1 := r.ask(t.Context(), t, call(`{}`), asks(""))
	var got []string
	stop := r.Watch(func(e approval.Event) {
		switch {
		case e.Asked != nil:
			got = append(got, "asked "+e.Asked.ID)
		case e.Answer != nil:
			got = append(got, string(e.Answer.Status)+" "+e.Answer.ID)
		}
	})
	second, done2 := r.ask(t.Context(), t, call(`{}`), asks(""))
	for _, id := range []string{second, first} {
		if _, err := r.Answer(t.Context(), id, approval.Reply{By: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	<-done1
	<-done2
	if want := []string{"asked " + first, "asked " + second, "denied " + second, "denied " + first}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// People see what the server would get: whole, without secrets, and what rules made of it.
func TestWhatPeopleSee(t *testing.T) {
	r := newRig(t, func(o *approval.Options) {
		o.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "***")) }
	})
	long := strings.Repeat("x", 1<<20)
	c := call(`{"force":true,"text":"` + long + `","key":"hunter2"}`)
	d := asks("")
	d.Changed = []byte(`{"name":"files__write","arguments":{"force":false,"text":"` + long + `","key":"hunter2"}}`)
	d.Question.Changes = []durward.Change{{Path: "/force", Rule: "user/soft", Old: []byte("true"), New: []byte("false")}, {Path: "/key", Rule: "user/soft", New: []byte(`"hunter2"`)}}
	id, done := r.ask(t.Context(), t, c, d)
	got, err := r.Get(id)
	if err != nil || string(got.Arguments) != `{"force":false,"text":"`+long+`","key":"***"}` || got.Pin != "pin1" || got.Text != "why" || got.Server != "files" {
		t.Errorf("%.200s %v", got.Arguments, err)
	}
	if len(got.Changes) != 2 || string(got.Changes[0].Old) != "true" || string(got.Changes[1].New) != `"***"` {
		t.Errorf("%+v", got.Changes)
	}
	if _, err := r.Answer(t.Context(), id, approval.Reply{By: "bob"}); err != nil || (<-done).err != nil {
		t.Error(err)
	}
	// What a plugin found in it is not shown, nor what a rule wrote over it.
	d.Recorded = []byte(`{"name":"files__write","arguments":{"force":false,"key":"[found]"}}`)
	id, done = r.ask(t.Context(), t, c, d)
	got, err = r.Get(id)
	if err != nil || string(got.Arguments) != `{"force":false,"key":"[found]"}` || string(got.Changes[0].Old) != `"(not shown)"` || string(got.Changes[0].New) != "false" || string(got.Changes[1].New) != `"[found]"` {
		t.Errorf("%s %+v %v", got.Arguments, got.Changes, err)
	}
	if _, err := r.Answer(t.Context(), id, approval.Reply{By: "bob"}); err != nil || (<-done).err != nil {
		t.Error(err)
	}
	if _, err := r.Get(id); durward.KindOf(err) != durward.Conflict {
		t.Error(err)
	}
}

func TestIDsAreNotGuessedFromALetter(t *testing.T) {
	r := newRig(t)
	id, done := r.ask(t.Context(), t, call(`{}`), asks(""))
	for _, wrong := range []string{"", id[:1], id[:3], "zzzz", id + "0"} {
		if _, err := r.Answer(t.Context(), wrong, approval.Reply{By: "bob", Approve: true}); durward.KindOf(err) != durward.NotFound || errors.Is(err, nil) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if err := r.Close(); err != nil || (<-done).Approved {
		t.Error(err)
	}
}

func TestNothingIsApprovedWithoutARecord(t *testing.T) {
	if _, err := approval.New(t.Context(), approval.Options{}); err == nil {
		t.Error("a desk without a record")
	}
	if _, err := approval.New(t.Context(), approval.Options{Record: (&book{}).record, Store: &shelf{err: errors.New("x")}}); err == nil {
		t.Error("a desk without its grants")
	}
}

// Where a rule lets it, the client that asked may answer besides the people at the
// desk: the first answer counts, and each question has an end on record.
func TestTheClientAndTheDeskAreAskedTogether(t *testing.T) {
	waits := func(ctx context.Context) (approved, answered bool) { <-ctx.Done(); return true, false }
	says := func(approved, answered bool) func(context.Context) (bool, bool) {
		return func(context.Context) (bool, bool) { return approved, answered }
	}
	byDesk := func(t *testing.T, r *rig, id string) {
		t.Helper()
		if _, err := r.Answer(t.Context(), id, approval.Reply{Approve: true, By: "bob"}); err != nil {
			t.Error(err)
		}
	}
	for name, tt := range map[string]struct {
		asks    func(context.Context) (approved, answered bool)
		absent  bool // nobody is at the desk
		desk    func(t *testing.T, r *rig, id string)
		status  approval.Status
		by      string
		cause   string
		instant bool
	}{
		"the client says yes":                      {says(true, true), false, nil, approval.Approved, "the client agent 1 of alice", "", true},
		"the client says no":                       {says(false, true), false, nil, approval.Denied, "the client agent 1 of alice", durward.CauseDenied, true},
		"the client says yes, nobody else could":   {says(true, true), true, nil, approval.Approved, "the client agent 1 of alice", "", true},
		"the desk is faster":                       {waits, false, byDesk, approval.Approved, "bob", "", true},
		"the client says nothing, the desk does":   {says(false, false), false, byDesk, approval.Approved, "bob", "", true},
		"the client says nothing, nobody else can": {says(true, false), true, nil, approval.Expired, approval.ByService, durward.CauseExpired, true},
		"nobody says anything":                     {waits, false, nil, approval.Expired, approval.ByService, durward.CauseExpired, false},
		"nobody says anything, nobody else could":  {waits, true, nil, approval.Expired, approval.ByService, durward.CauseExpired, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(o *approval.Options) { o.Present = func() bool { return !tt.absent } })
				d, c := asks(durward.ScopeGrant), call(`{}`)
				d.Question.Via = []string{durward.ViaConsole, durward.ViaCLI, durward.ViaClient}
				done, began := make(chan outcome, 1), time.Now()
				go func() {
					a, err := r.Ask(t.Context(), c, d, tt.asks)
					done <- outcome{a, err}
				}()
				if synctest.Wait(); tt.desk != nil {
					tt.desk(t, r, r.List()[0].ID)
				}
				a := <-done
				if a.err != nil || a.Approved != (tt.status == approval.Approved) || a.By != tt.by || a.Cause != tt.cause || (time.Since(began) == 0) != tt.instant {
					t.Errorf("%+v after %v", a, time.Since(began))
				}
				if got := r.book.statuses(); !reflect.DeepEqual(got, []approval.Status{approval.Pending, tt.status}) || len(r.Grants()) != 0 {
					t.Errorf("%v", got)
				}
			})
		})
	}
}

// A rule that does not name the client has it not asked, and what it would say is
// not written down as an approval when that cannot be done.
func TestAClientsAnswerIsHeldToTheSameRules(t *testing.T) {
	asked := false
	yes := func(context.Context) (bool, bool) { asked = true; return true, true }
	r := newRig(t, func(o *approval.Options) { o.Present = nil })
	if a, err := r.Ask(t.Context(), call(`{}`), asks(""), yes); err != nil || a.Approved || asked {
		t.Errorf("%+v %v", a, err)
	}
	d := asks("")
	d.Question.Via = []string{durward.ViaClient}
	r.book.broken = func(s approval.Step) bool { return s.Status != approval.Pending }
	if a, err := r.Ask(t.Context(), call(`{}`), d, yes); err != nil || a.Approved || a.Cause != durward.CauseEnded || !asked {
		t.Errorf("%+v %v", a, err)
	}
}
