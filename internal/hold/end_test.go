package hold_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/hold"
)

// cancelled makes a Call that asks once and says how its context ended.
func cancelled(ended chan<- string) hold.Call {
	return func(ctx context.Context, out exchange.Stream) exchange.Reply {
		answer := elicit(ctx, out, "a")
		<-ctx.Done()
		ended <- answer + " " + context.Cause(ctx).Error()
		return text("cancelled")
	}
}

// TestB10_WhoLeavesDuringATurnCancelsTheCall in all the turns there are.
func TestB10_WhoLeavesDuringATurnCancelsTheCall(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * ms} {
		in(t, hold.Options{}, func(t *testing.T, r *rig) {
			ended := make(chan string, 1)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(errors.New("stream closed")) })
			turn, err := r.table.Begin(ctx, owner(), []byte(all), nil, cancelled(ended))
			if err != nil || string(turn.Reply.Result) != "cancelled" { // its word on it
				t.Errorf("%+v, %v", turn, err)
			}
			if got := <-ended; !strings.Contains(got, "stream closed") {
				t.Error(got)
			}
			r.at(after)
		})
	}
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		ended := make(chan string, 1)
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			elicit(ctx, out, "a")
			return cancelled(ended)(ctx, out)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		next, err := r.table.Resume(ctx, owner(), turn.ID, 1, []byte(all), answers{"q1": `{}`}.of, nil)
		if err != nil || string(next.Reply.Result) != "cancelled" {
			t.Errorf("%+v, %v", next, err)
		}
		if got := <-ended; !strings.Contains(got, "the request ended before the call did") {
			t.Error(got)
		}
		r.lost(owner(), turn.ID, 1)
		r.lost(owner(), turn.ID, 2)
		if r.table.Len() != 0 {
			t.Error("held")
		}
	})
}

func TestACallThatDoesNotHearThatItIsCancelledDoesNotKeepTheTurn(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		turn, err := r.table.Begin(ctx, owner(), []byte(all), nil, func(context.Context, exchange.Stream) exchange.Reply {
			time.Sleep(time.Hour)
			return text("late")
		})
		if durward.KindOf(err) != durward.Timeout || !errors.Is(err, context.DeadlineExceeded) || turn.Reply.Result != nil {
			t.Errorf("%+v, %v", turn, err)
		}
		r.at(1100 * ms)
		_ = r.table.Close() // waits for it
		r.at(time.Hour)
	})
}

// TestB10_LeavingBetweenTurnsIsNormal: the request that was answered ends, its call does not.
func TestB10_LeavingBetweenTurnsIsNormal(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		turn, err := r.table.Begin(ctx, owner(), []byte(all), nil, func(ctx context.Context, out exchange.Stream) exchange.Reply {
			got := elicit(ctx, out, "a")
			return text(fmt.Sprint(got, ctx.Err()))
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if turn = r.resume(turn, answers{"q1": `{}`}); string(turn.Reply.Result) != `{}<nil>` {
			t.Errorf("%s", turn.Reply.Result)
		}
	})
}

func TestB9_AHeldCallLivesSoLong(t *testing.T) {
	in(t, hold.Options{Life: time.Minute}, func(t *testing.T, r *rig) {
		ended := make(chan string, 1)
		turn := r.begin(cancelled(ended))
		for range 3 { // each round has its own
			time.Sleep(time.Minute - 1)
			turn = r.resume(turn, answers{})
		}
		select {
		case got := <-ended:
			t.Fatal(got)
		default:
		}
		time.Sleep(time.Minute - 1)
		if r.table.Len() != 1 {
			t.Error("gone too early")
		}
		time.Sleep(time.Nanosecond)
		got := <-ended
		if strings.Count(got, "limits.hold_life") != 2 || strings.Count(got, "1m0s") != 2 {
			t.Error(got)
		}
		if r.table.Len() != 0 {
			t.Error("not forgotten")
		}
		r.lost(owner(), turn.ID, turn.Round)
	})
}

// TestB9_ARetryAtTheLastMomentCountsOrIsLost, and never half of both.
func TestB9_ARetryAtTheLastMomentCountsOrIsLost(t *testing.T) {
	counted := 0
	for range 300 {
		in(t, hold.Options{Life: time.Minute}, func(t *testing.T, r *rig) {
			server := make(chan string, 1)
			turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
				got := elicit(ctx, out, "a")
				time.Sleep(ms)
				server <- fmt.Sprint(got, context.Cause(ctx))
				return text(got)
			})
			time.Sleep(time.Minute)
			done, err := r.table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), answers{"q1": `{}`}.of, nil)
			saw := <-server
			switch {
			case err == nil && string(done.Reply.Result) == `{}` && saw == `{}<nil>`:
				counted++
			case errors.Is(err, hold.ErrLost) && strings.Count(saw, "limits.hold_life") == 2:
			default:
				t.Errorf("%+v, %v; the server saw %s", done, err, saw)
			}
		})
	}
	t.Logf("%d counted", counted)
}

// TestTheEndOfOneRoundIsNotThatOfTheNext, which may have begun at the same moment.
func TestTheEndOfOneRoundIsNotThatOfTheNext(t *testing.T) {
	for range 300 {
		in(t, hold.Options{Life: time.Minute}, func(t *testing.T, r *rig) {
			turn := r.begin(askAfter(0))
			time.Sleep(time.Minute)
			next, err := r.table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), answers{}.of, nil)
			if errors.Is(err, hold.ErrLost) {
				return
			}
			time.Sleep(time.Second)
			if done := r.resume(next, answers{"q1": `{}`}); err != nil || string(done.Reply.Result) != `{}` {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
}

func TestAReplyBetweenTurnsIsKeptForTheRetry(t *testing.T) {
	in(t, hold.Options{Life: time.Minute, Most: 1}, func(t *testing.T, r *rig) {
		do := func(ctx context.Context, out exchange.Stream) exchange.Reply {
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			elicit(brief, out, "a")
			return text("done without")
		}
		turn := r.begin(do)
		time.Sleep(30 * time.Second)
		if turn = r.resume(turn, answers{"q1": `{}`}); string(turn.Reply.Result) != "done without" || turn.Questions != nil {
			t.Errorf("%+v", turn)
		}
		r.at(30*time.Second + 15*ms)
		// It is not kept for longer than a question is, and counts as long as it is kept.
		turn = r.begin(do)
		time.Sleep(30 * time.Second)
		if full := r.begin(askAfter(0)); !strings.Contains(string(full.Reply.Result), "limits.holds") {
			t.Errorf("%+v", full)
		}
		time.Sleep(31 * time.Second)
		r.lost(owner(), turn.ID, 1)
		if again := r.begin(askAfter(0)); again.ID == "" {
			t.Errorf("%+v", again)
		}
	})
}

func TestB9_HoldsAreBoundedPerOwner(t *testing.T) {
	in(t, hold.Options{Most: 2}, func(t *testing.T, r *rig) {
		one, two := r.begin(askAfter(0, 0)), r.begin(askAfter(0))
		three := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			reply := out.Ask(ctx, "roots/list", nil)
			return text("went on: " + message(string(reply.Error)))
		})
		if got := string(three.Reply.Result); !strings.HasPrefix(got, "went on: ") || !strings.Contains(got, "2 calls") || !strings.Contains(got, "limits.holds") {
			t.Error(got)
		}
		for _, o := range []hold.Owner{{Principal: "other", Server: "s"}, {Principal: "p", Server: "other"}} {
			if turn := r.beginAs(o, all, askAfter(0)); turn.ID == "" {
				t.Errorf("%v: %+v", o, turn)
			}
		}
		if r.table.Len() != 4 {
			t.Error(r.table.Len())
		}
		// A call that is held may go on asking.
		one = r.resume(one, answers{one.Questions[0].Key: `{}`})
		if len(one.Questions) != 1 {
			t.Fatalf("%+v", one)
		}
		if done := r.resume(one, answers{one.Questions[0].Key: `{}`}); done.Reply.Result == nil {
			t.Errorf("%+v", done)
		}
		if turn := r.begin(askAfter(0)); turn.ID == "" {
			t.Errorf("no room after one is answered: %+v", turn)
		}
		if done := r.resume(two, answers{"q1": `{}`}); done.Reply.Result == nil {
			t.Errorf("%+v", done)
		}
	})
}

// TestACancelledCallCountsUntilItEnds: or else any number could be going on.
func TestACancelledCallCountsUntilItEnds(t *testing.T) {
	in(t, hold.Options{Most: 1}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		if _, err := r.table.Begin(ctx, owner(), []byte(all), nil, func(ctx context.Context, out exchange.Stream) exchange.Reply {
			elicit(ctx, out, "a")
			time.Sleep(time.Minute)
			return text("late")
		}); err == nil {
			t.Fatal("no error")
		}
		if turn := r.begin(askAfter(0)); turn.ID != "" {
			t.Errorf("%+v", turn)
		}
		time.Sleep(time.Minute)
		if turn := r.begin(askAfter(0)); turn.ID == "" {
			t.Errorf("%+v", turn)
		}
	})
}

// panics returns what f panics with.
func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestAPanicReachesTheTurn(t *testing.T) {
	boom := errors.New("boom")
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		if got := panics(func() { r.begin(func(context.Context, exchange.Stream) exchange.Reply { panic(boom) }) }); got != any(boom) {
			t.Error(got)
		}
		after := func(d time.Duration) hold.Call {
			return func(ctx context.Context, out exchange.Stream) exchange.Reply {
				go func() { elicit(context.WithoutCancel(ctx), out, "a") }()
				time.Sleep(d)
				panic(boom)
			}
		}
		turn := r.begin(after(time.Second))
		if got := panics(func() { r.resume(turn, answers{"q1": `{}`}) }); got != any(boom) { // during the turn
			t.Error(got)
		}
		turn = r.begin(after(time.Second))
		time.Sleep(time.Minute)
		if got := panics(func() { r.resume(turn, answers{}) }); got != any(boom) { // between turns
			t.Error(got)
		}
		r.lost(owner(), turn.ID, 1)
		r.begin(after(time.Second)) // nobody comes back
		time.Sleep(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), ms)
		defer cancel()
		if got := panics(func() { _, _ = r.table.Begin(ctx, owner(), nil, nil, after(10*ms)) }); got != any(boom) { // while it is cancelled
			t.Error(got)
		}
		if r.table.Len() != 0 {
			t.Error(r.table.Len())
		}
	})
}

func TestAPanicOfAnswersLeavesTheTurnForAnotherRetry(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(askAfter(0))
		if panics(func() {
			_, _ = r.table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), func(string) []byte { panic("x") }, nil)
		}) == nil {
			t.Error("swallowed")
		}
		if done := r.resume(turn, answers{"q1": `{}`}); string(done.Reply.Result) != `{}` {
			t.Errorf("%+v", done)
		}
	})
}

func TestACallThatEndsItsGoroutineIsAnError(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(context.Context, exchange.Stream) exchange.Reply { runtime.Goexit(); return text("") })
		if !strings.Contains(message(string(turn.Reply.Error)), "without a reply") {
			t.Errorf("%+v", turn)
		}
	})
}

func TestCloseEndsAllCalls(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		ended := make(chan string, 3)
		turn := r.begin(cancelled(ended))
		again := r.resume(r.begin(cancelled(ended)), answers{})
		errs := make(chan error, 1)
		go func() {
			turn, err := r.table.Begin(t.Context(), owner(), []byte(all), nil, cancelled(ended))
			if string(turn.Reply.Result) != "cancelled" {
				err = fmt.Errorf("%+v, %w", turn, err)
			}
			errs <- err
		}()
		synctest.Wait()
		_ = r.table.Close()
		r.at(30 * ms)
		for range 3 {
			if got := <-ended; strings.Count(got, "the gateway is stopping") != 2 {
				t.Error(got)
			}
		}
		if err := <-errs; err != nil {
			t.Error(err)
		}
		r.lost(owner(), turn.ID, 1)
		r.lost(owner(), again.ID, 2)
		_, err := r.table.Begin(t.Context(), owner(), []byte(all), nil, askAfter(0))
		if durward.KindOf(err) != durward.Unavailable {
			t.Error(err)
		}
	})
}

// TestCloseAtTheEndOfATurn: a call must not become one that is held behind the back of Close.
func TestCloseAtTheEndOfATurn(t *testing.T) {
	for i := range 600 {
		in(t, hold.Options{}, func(t *testing.T, r *rig) {
			begun := make(chan struct{})
			go func() {
				defer close(begun)
				turn, err := r.table.Begin(t.Context(), owner(), []byte(all), nil, askAfter(0))
				for err == nil && turn.Questions != nil {
					turn, err = r.table.Resume(t.Context(), owner(), turn.ID, turn.Round, []byte(all), answers{}.of, nil)
					time.Sleep(time.Nanosecond)
				}
			}()
			time.Sleep(15*ms + time.Duration(i%3)) // at the end of the first turn, or of a later one
			_ = r.table.Close()
			<-begun
			if since := time.Since(r.start); since > time.Second {
				t.Errorf("closed after %v", since)
			}
		})
	}
}

func TestCloseWithNothingToDo(t *testing.T) {
	table := hold.New(hold.Options{})
	for range 3 {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAskingAfterTheEnd(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		var stream exchange.Stream
		r.begin(func(_ context.Context, out exchange.Stream) exchange.Reply { stream = out; return text("") })
		if got := elicit(t.Context(), stream, "a"); !strings.Contains(message(got), "is over") {
			t.Error(got)
		}
		stream.Notify("notifications/progress", nil)
		// And while the reply waits for its retry.
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			stream = out
			brief, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			elicit(brief, out, "a")
			return text("done")
		})
		time.Sleep(2 * time.Second)
		if got := elicit(t.Context(), stream, "b"); !strings.Contains(message(got), "is over") {
			t.Error(got)
		}
		if turn = r.resume(turn, answers{}); string(turn.Reply.Result) != "done" {
			t.Errorf("%+v", turn)
		}
	})
}
