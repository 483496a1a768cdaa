package upstream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

func TestStatesOfAGoodServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		st := r.wantState(t, durward.StateReady)
		if st.Era != "legacy" || st.Revision != wire.RevisionLegacy || st.Confined != "test" {
			t.Errorf("status %+v", st)
		}
		if got := r.watch.stateNames(); got != "connecting ready" {
			t.Errorf("states: %s", got)
		}
		wantOK(t, r.call(alice()))
	})
}

func TestB1_AServerThatNeverAnswersFailsAtItsOwnDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{hang: true, diag: "its stderr ends with:\nwaiting for a token"})})
		began := time.Now()
		reply := r.call(alice())
		if took := time.Since(began); took > 31*time.Second {
			t.Errorf("the call waited %s", took)
		}
		wantCode(t, reply, wire.CodeUnavailable, "30s")
		wait(time.Second)
		st := r.Status()
		if st.State == durward.StateReady {
			t.Error("it claims to be ready")
		}
		if r.watch.last() != nil {
			t.Error("it has a catalog")
		}
		wantReason(t, r, "waiting for a token")
	})
}

// wantReason looks for a reason that was ever given.
func wantReason(t *testing.T, r *rig, word string) {
	t.Helper()
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	for _, st := range r.watch.states {
		if contains(st.Reason, word) {
			return
		}
	}
	t.Errorf("no state had a reason with %q", word)
}

func TestB2_AttemptsBackOffWithJitter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{err: exited()})})
		st := r.wantState(t, durward.StateBackoff, "the command was not found")
		if st.NextTry.IsZero() {
			t.Error("no next attempt is announced")
		}
		wait(10 * time.Minute)
		opens := r.world.openings()
		base := 500 * time.Millisecond
		for i := 1; i < len(opens); i++ {
			gap := opens[i].at.Sub(opens[i-1].at)
			if low, high := base*8/10, base*12/10+time.Millisecond; gap < low || gap > high {
				t.Errorf("attempt %d came after %s, want %s to %s", i, gap, low, high)
			}
			base = min(2*base, time.Minute)
		}
		if n := len(opens); n < 14 || n > 20 {
			t.Errorf("%d attempts in ten minutes", n)
		}
	})
}

func TestB2_DemandDoesNotHammer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{err: exited()})})
		for range 6000 { // a minute of a caller that does not give up
			wantCode(t, r.call(alice()), wire.CodeUnavailable, "the command was not found")
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(r.world.openings()); n > 75 {
			t.Errorf("%d attempts in a minute", n)
		}
	})
}

func TestB2_ACallDuringBackOffSaysWhyAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{err: exited()})})
		began := time.Now()
		wantCode(t, r.call(alice()), wire.CodeUnavailable, "the command was not found", "next attempt in")
		if took := time.Since(began); took != 0 {
			t.Errorf("it waited %s", took)
		}
	})
}

func TestB2_AServerThatComesUpLaterIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: func(n int, _ exchange.LinkSpec) act {
			if n < 3 {
				return act{err: exited()}
			}
			return act{}
		}})
		wait(10 * time.Second)
		r.wantState(t, durward.StateReady)
		if got := r.watch.stateNames(); got != "connecting back-off connecting back-off connecting back-off connecting ready" {
			t.Errorf("states: %s", got)
		}
	})
}

func TestB5_TheNextCallAfterADeathWorks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{delay: 100 * time.Millisecond})})
		wait(time.Second)
		r.world.conn(0).die()
		began := time.Now()
		wantOK(t, r.call(alice()))
		if took := time.Since(began); took > time.Second {
			t.Errorf("the call took %s", took)
		}
		if st := r.Status(); st.Restarts != 1 {
			t.Errorf("%d restarts", st.Restarts)
		}
		if !r.world.conn(0).isStopped() {
			t.Error("what was left of the dead server was not ended")
		}
	})
}

func TestB5_AServerThatKeepsDyingIsBackedOff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &world{}
		w.script = always(act{diag: "exit status 3, and its stderr ends with:\nout of memory", handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unknown), Delivered: true, Message: "the server ended"})
			c.die()
			return true
		}})
		r := start(t, stdio(), w)
		wantCode(t, r.call(alice()), wire.CodeUnknownOutcome, "exit status 3", "out of memory") // B26
		wait(10 * time.Millisecond)
		wantCode(t, r.call(alice()), wire.CodeUnknownOutcome)
		wait(10 * time.Millisecond)
		r.wantState(t, durward.StateBackoff, "out of memory", "exit status 3")
		wantCode(t, r.call(alice()), wire.CodeUnavailable, "out of memory")
		if n := len(w.openings()); n != 2 {
			t.Errorf("%d connections for two deaths, want the first and one quick replacement", n)
		}
		wait(time.Second)
		r.wantState(t, durward.StateReady)
	})
}

func TestB5_AMinuteOfServiceMakesFailuresForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		for i := range 3 {
			wait(61 * time.Second)
			r.world.conn(i).die()
			synctest.Wait()
			r.wantState(t, durward.StateReady)
		}
	})
}

func TestB16_Refused_CredentialsAreNotAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var open atomic.Bool
		r := start(t, overHTTP(), &world{script: func(int, exchange.LinkSpec) act {
			if open.Load() {
				return act{}
			}
			return act{closed: &exchange.Closed{Fault: exchange.Fault{Kind: uint8(durward.Unauthenticated), Message: "HTTP 401: the token has expired"}}}
		}})
		st := r.wantState(t, durward.StateBackoff, "401")
		if !st.NextTry.IsZero() {
			t.Error("it is tried again without new credentials")
		}
		wantCode(t, r.call(alice()), wire.CodeRefused, "HTTP 401")
		wait(time.Hour)
		if n := len(r.world.openings()); n != 1 {
			t.Fatalf("%d attempts without anybody asking", n)
		}
		for range 300 { // five minutes of calls
			wantCode(t, r.call(alice()), wire.CodeRefused)
			time.Sleep(time.Second)
		}
		if n := len(r.world.openings()); n > 7 {
			t.Errorf("%d attempts in five minutes of calls", n)
		}
		open.Store(true)
		if err := r.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.wantState(t, durward.StateReady)
	})
}

func TestB16_CredentialsThatExpireLaterAreNoticed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var expired atomic.Bool
		r := start(t, overHTTP(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if expired.Load() {
				c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unauthenticated), Message: "HTTP 401"})
			}
			return expired.Load()
		}})})
		expired.Store(true)
		wantCode(t, r.call(alice()), wire.CodeRefused, "HTTP 401")
		wait(time.Second)
		if st := r.wantState(t, durward.StateBackoff, "401"); !st.NextTry.IsZero() {
			t.Error("it is tried again without new credentials")
		}
	})
}

func TestB26_TheReasonHasTheServersLastWords(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{
			closed: &exchange.Closed{Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "the server ended before it answered"}},
			diag:   "exit status 1, and its stderr ends with:\nModuleNotFoundError: No module named 'mcp'",
		})})
		r.wantState(t, durward.StateBackoff, "before it answered", "exit status 1", "ModuleNotFoundError")
		wantCode(t, r.call(alice()), wire.CodeUnavailable, "ModuleNotFoundError")
		if !r.world.conn(0).isStopped() {
			t.Error("the failed server was left alone")
		}
	})
}

func TestACallerThatLeavesDoesNotEndTheConnectOfOthers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, stdio(), &world{script: always(act{delay: 5 * time.Second})})
		ctx, cancel := context.WithCancel(context.Background())
		first := r.going(ctx, alice(), tool(), &stream{})
		second := r.going(context.Background(), bob(), tool(), &stream{})
		wait(time.Second)
		cancel()
		wantCode(t, <-first, wire.CodeUnavailable, "nothing was executed")
		wantOK(t, <-second)
		if n := len(r.world.openings()); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestAWaiterDoesNotWaitBeyondItsDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, stdio(), &world{script: always(act{delay: 5 * time.Second})})
		req := tool()
		req.Deadline = time.Now().Add(2 * time.Second)
		began := time.Now()
		wantCode(t, r.Do(context.Background(), alice(), req, &stream{}), wire.CodeUnavailable)
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it waited %s", took)
		}
	})
}

func TestAServerThatFallsSilentOnTheProbeIsOpenedAgainAsLegacy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: func(_ int, spec exchange.LinkSpec) act {
			if spec.Era != wire.Legacy {
				return act{closed: &exchange.Closed{RetryLegacy: true, Fault: exchange.Fault{Message: "it ended"}}}
			}
			return act{}
		}})
		r.wantState(t, durward.StateReady)
		if n := len(r.world.openings()); n != 2 {
			t.Fatalf("%d openings, want 2", n)
		}
		r.world.conn(1).die() // the era is remembered
		synctest.Wait()
		opens := r.world.openings()
		if len(opens) != 3 || opens[2].spec.Era != wire.Legacy {
			t.Errorf("reopened with %+v", opens[2:])
		}
	})
}

func TestTheEraIsProbedAgainAfterAFailedHandshake(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: func(n int, spec exchange.LinkSpec) act {
			switch n {
			case 0:
				return act{opened: modernOpened(`{}`)}
			case 1: // it was replaced by a legacy version
				return act{closed: &exchange.Closed{EraRefused: wire.Modern, Fault: exchange.Fault{Message: "no modern"}}}
			default:
				return act{}
			}
		}})
		r.world.conn(0).die()
		wait(2 * time.Second)
		opens := r.world.openings()
		if opens[0].spec.Era != wire.EraUnknown || opens[1].spec.Era != wire.Modern || opens[2].spec.Era != wire.EraUnknown {
			t.Errorf("eras asked for: %v %v %v", opens[0].spec.Era, opens[1].spec.Era, opens[2].spec.Era)
		}
		if st := r.wantState(t, durward.StateReady); st.Era != "legacy" {
			t.Errorf("era %q", st.Era)
		}
	})
}

func TestThePinnedEraIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Era = "legacy"
		r := start(t, spec, &world{})
		if opens := r.world.openings(); opens[0].spec.Era != wire.Legacy {
			t.Errorf("asked for %v", opens[0].spec.Era)
		}
	})
}

func TestDisableEnableRestart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method == wire.MethodToolsList {
				c.result(call.ID, `{"tools":[{"name":"a"}]}`)
				return true
			}
			return call.Method == wire.MethodToolsCall
		}})})
		under := r.going(context.Background(), alice(), tool(), &stream{})
		synctest.Wait()
		if err := r.Disable(); err != nil {
			t.Fatal(err)
		}
		wantCode(t, <-under, wire.CodeUnknownOutcome, "disabled")
		wantCode(t, r.call(alice()), wire.CodeUnavailable, "disabled")
		r.wantState(t, durward.StateDisabled)
		synctest.Wait()
		if l := r.watch.last(); len(l.Tools) != 0 {
			t.Error("a disabled server still offers tools")
		}
		if !r.world.conn(0).isStopped() {
			t.Error("a disabled server still runs")
		}
		wait(time.Hour)
		if n := len(r.world.openings()); n != 1 {
			t.Errorf("%d openings while disabled", n)
		}
		r.Enable()
		synctest.Wait()
		r.wantState(t, durward.StateReady)
		if l := r.watch.last(); len(l.Tools) != 1 {
			t.Errorf("%d tools after Enable", len(l.Tools))
		}
		if err := r.Restart(context.Background()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.wantState(t, durward.StateReady)
		if n := len(r.world.openings()); n != 3 || !r.world.conn(1).isStopped() {
			t.Errorf("%d openings after Restart", n)
		}
	})
}

func TestADisabledServerStaysDisabled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Disabled = true
		r := start(t, spec, &world{})
		r.wantState(t, durward.StateDisabled)
		if err := r.Refresh(context.Background()); err == nil {
			t.Error("Refresh of a disabled server succeeded")
		}
		if n := len(r.world.openings()); n != 0 {
			t.Errorf("%d openings", n)
		}
	})
}

func TestCloseEndsADialUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{hang: true})})
		call := r.going(context.Background(), alice(), tool(), &stream{})
		synctest.Wait()
		began := time.Now()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("Close took %s", took)
		}
		wantCode(t, <-call, wire.CodeUnavailable)
		wantCode(t, r.call(alice()), wire.CodeUnavailable)
	})
}

func TestIdleStopAndStartOnDemand(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		r.Retain()
		wait(30 * time.Minute)
		r.wantState(t, durward.StateReady)
		r.Release()
		wait(9 * time.Minute)
		wantOK(t, r.call(alice()))
		wait(9 * time.Minute)
		r.wantState(t, durward.StateReady)
		wait(2 * time.Minute)
		r.wantState(t, durward.StateConfigured, "idle_stop")
		if !r.world.conn(0).isStopped() {
			t.Error("it was not stopped")
		}
		if r.watch.last() == nil {
			t.Error("its catalog is gone")
		}
		wantOK(t, r.call(alice()))
		r.wantState(t, durward.StateReady)
		if st := r.Status(); st.Restarts != 0 {
			t.Errorf("%d restarts counted for an idle stop", st.Restarts)
		}
	})
}

func TestRemoteServersAreNotStoppedWhenIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{})
		wait(2 * time.Hour)
		r.wantState(t, durward.StateReady)
	})
}

func TestOnDemand(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{}, func(o *upstream.Options) { o.OnDemand = true })
		wait(time.Minute)
		r.wantState(t, durward.StateConfigured)
		wantOK(t, r.call(alice()))
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, opt := range map[string]upstream.Options{
		"opener":    {Spec: stdio()},
		"name":      {Spec: durward.Server{Name: "Not a name"}, Opener: &world{}},
		"era":       {Spec: durward.Server{Name: "x", Era: "future"}, Opener: &world{}},
		"instances": {Spec: durward.Server{Name: "x", Instances: "many"}, Opener: &world{}},
	} {
		if _, err := upstream.New(opt); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who waits for a server that is stopped over and over is told so.
func TestAWaiterThatIsCalledOffAgainAndAgainIsToldWhy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, stdio(), &world{script: always(act{hang: true})})
		call := r.going(context.Background(), alice(), tool(), &stream{})
		for range 6 {
			wait(time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			_ = r.Restart(ctx) // it hangs
			cancel()
		}
		wantCode(t, <-call, wire.CodeUnavailable, "restarted")
	})
}
