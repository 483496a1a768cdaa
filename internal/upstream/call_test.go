package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

func TestB4_ALostSessionIsRenewedOnceForAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var executions atomic.Int32
		w := &world{script: func(n int, _ exchange.LinkSpec) act {
			return act{delay: time.Duration(n) * 200 * time.Millisecond, handle: func(c *fakeConn, call *exchange.Call) bool {
				if call.Method != wire.MethodToolsCall {
					return false
				}
				if c.n == 0 { // all at the same time
					if calls := callsTo(c, wire.MethodToolsCall); len(calls) == 50 {
						for _, call := range calls {
							c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), NoSession: true, Message: "HTTP 404"})
						}
					}
					return true
				}
				executions.Add(1)
				return false
			}}
		}}
		r := start(t, overHTTP(), w)
		wait(time.Minute)
		var replies []<-chan exchange.Reply
		for range 50 {
			replies = append(replies, r.going(context.Background(), alice(), tool(), &stream{}))
			synctest.Wait() // each is sent before the next, and once only
		}
		for _, reply := range replies {
			wantOK(t, <-reply)
		}
		if n := len(w.openings()); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
		if n := executions.Load(); n != 50 {
			t.Errorf("%d executions of 50 calls", n)
		}
	})
}

func TestB4_ASessionThatIsLostAgainAndAgainIsRenewedEachTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall || len(callsTo(c, wire.MethodToolsCall)) < 2 {
				return false
			}
			c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), NoSession: true, Message: "HTTP 404"})
			return true
		}})}
		r := start(t, overHTTP(), w)
		for range 20 {
			wantOK(t, r.call(alice()))
			time.Sleep(2 * time.Second)
		}
	})
}

func TestB4_ACallThatMayHaveRunIsNotRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls atomic.Int32
		r := start(t, overHTTP(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method == wire.MethodToolsCall {
				calls.Add(1)
				c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), Delivered: true, NoSession: true, Message: "the stream broke"})
				return true
			}
			return false
		}})})
		wantCode(t, r.call(alice()), wire.CodeUnknownOutcome, "may have been executed", "the stream broke")
		if n := calls.Load(); n != 1 {
			t.Errorf("it was sent %d times", n)
		}
	})
}

func TestAFaultBeforeDeliveryIsTriedOnceMore(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls atomic.Int32
		r := start(t, overHTTP(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall || calls.Add(1)%2 == 0 {
				return false
			}
			c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), Message: "connection refused"})
			return true
		}})})
		wantOK(t, r.call(alice()))
		wantOK(t, r.call(alice()))
		if n := calls.Load(); n != 4 {
			t.Errorf("%d attempts for two calls", n)
		}
	})
}

func TestACallIsNotTriedAgainOnADyingConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: func(n int, _ exchange.LinkSpec) act {
			return act{diag: "exit status 2", handle: func(c *fakeConn, call *exchange.Call) bool {
				if n > 0 || call.Method != wire.MethodToolsCall {
					return false
				}
				c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), Delivered: call.LogLevel == "ran", Message: "the pipe is broken"})
				if len(callsTo(c, wire.MethodToolsCall)) == 2 {
					go func() {
						time.Sleep(100 * time.Millisecond)
						c.die() // the end is noticed a moment after the fault
					}()
				}
				return true
			}}
		}})
		ran := tool()
		ran.LogLevel = "ran"
		first := r.Do(context.Background(), alice(), ran, &stream{})
		wantCode(t, first, wire.CodeUnknownOutcome, "the pipe is broken")
		reply := r.call(alice())
		wantOK(t, reply)
		if n := len(callsTo(r.world.conn(0), wire.MethodToolsCall)); n != 2 {
			t.Errorf("the dying connection was given %d calls", n)
		}
	})
}

func TestTheErrorOfACallHasTheServersLastWords(t *testing.T) { // B26
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{diag: "exit status 2", handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unknown), Delivered: true, Message: "the pipe is broken"})
			go func() {
				time.Sleep(100 * time.Millisecond)
				c.die()
			}()
			return true
		}})})
		wantCode(t, r.call(alice()), wire.CodeUnknownOutcome, "the pipe is broken", "exit status 2")
	})
}

func TestAMessageThatCannotBeSentIsNotTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var calls atomic.Int32
		r := start(t, overHTTP(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			calls.Add(1)
			c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Invalid), Message: "over limits.message"})
			return true
		}})})
		wantCode(t, r.call(alice()), wire.CodeInvalidParams, "limits.message")
		if n := calls.Load(); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

func TestB5_AHungServerIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &world{script: func(n int, _ exchange.LinkSpec) act {
			if n > 0 {
				return act{}
			}
			return act{noStop: true, handle: func(_ *fakeConn, call *exchange.Call) bool {
				return call.Method == wire.MethodPing || call.Method == wire.MethodResourcesRead
			}}
		}}
		r := start(t, stdio(), w)
		read := &exchange.Request{Method: wire.MethodResourcesRead, Client: exchange.Client{Era: wire.Legacy}, Deadline: time.Now().Add(20 * time.Second)}
		wantCode(t, r.Do(context.Background(), alice(), read, &stream{}), wire.CodeTimeout)
		wait(70 * time.Second)
		r.wantState(t, durward.StateReady)
		wantOK(t, r.call(alice()))
		if n := len(w.openings()); n != 2 {
			t.Fatalf("%d connections, want 2", n)
		}
		if !w.conn(0).killed {
			t.Error("the hung server was asked to end instead of killed")
		}
	})
}

func TestB5_CallsInFlightOnAHungServerEndAsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w := &world{script: func(n int, _ exchange.LinkSpec) act {
			return act{handle: func(_ *fakeConn, call *exchange.Call) bool {
				return n == 0 && (call.Method == wire.MethodPing || call.Method == wire.MethodToolsCall)
			}}
		}}
		r := start(t, stdio(), w)
		began := time.Now()
		wantCode(t, r.call(alice()), wire.CodeUnknownOutcome, "health probes")
		if took := time.Since(began); took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("a tool call on a silent server ended after %s, want the five minutes of silence that are allowed", took)
		}
		wantOK(t, r.call(alice()))
	})
}

func TestB18_ALongToolCallIsNotCut(t *testing.T) {
	for name, tc := range map[string]struct{ answersPing, progress bool }{"ping": {answersPing: true}, "progress": {progress: true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				w := &world{}
				w.script = always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
					if call.Method == wire.MethodPing {
						return !tc.answersPing
					}
					if call.Method != wire.MethodToolsCall {
						return false
					}
					go func() {
						for range 40 {
							time.Sleep(4 * time.Minute)
							if tc.progress {
								c.emit(&exchange.Notification{Related: call.ID, Method: wire.NoteProgress, Params: []byte(`{}`)})
							}
						}
						c.result(call.ID, `{"done":true}`)
					}()
					return true
				}})
				r := start(t, stdio(), w)
				wantOK(t, r.call(alice()))
				if n := len(w.openings()); n != 1 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

func TestB30_AFailingToolCallMarksNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.CallTimeout = 5 * time.Second
		var n atomic.Int32
		r := start(t, spec, &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			switch n.Add(1) % 3 {
			case 0:
				c.failure(call.ID, -32000, "geofence violated: EOF, broken pipe")
			case 1:
				c.emit(&exchange.Response{ID: call.ID, Reply: exchange.Reply{Result: []byte(`{"isError":true,"content":[]}`), IsError: true}})
			}
			return true // the third never answers
		}})})
		for range 30 {
			r.call(alice())
		}
		wait(3 * time.Minute)
		r.wantState(t, durward.StateReady)
		if got := r.watch.stateNames(); got != "connecting ready" {
			t.Errorf("states: %s", got)
		}
		if opens := len(r.world.openings()); opens != 1 {
			t.Errorf("%d connections", opens)
		}
	})
}

func TestB30_AProbeThatFailsOnceFailsNobodysCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var pings atomic.Int32
		r := start(t, stdio(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			switch call.Method {
			case wire.MethodPing:
				return pings.Add(1)%2 == 1
			case wire.MethodResourcesRead:
				go func() {
					time.Sleep(55 * time.Second)
					c.result(call.ID, `{}`)
				}()
				return true
			}
			return false
		}})})
		for range 3 {
			read := &exchange.Request{Method: wire.MethodResourcesRead}
			wantOK(t, r.Do(context.Background(), alice(), read, &stream{}))
		}
		if pings.Load() < 2 {
			t.Fatalf("%d probes were sent", pings.Load())
		}
		if opens := len(r.world.openings()); opens != 1 {
			t.Errorf("%d connections", opens)
		}
	})
}

func TestB30_AServerThatSaysAnythingIsAlive(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			switch call.Method {
			case wire.MethodPing: // never answered, but it does something else
				c.emit(&exchange.Anomaly{Kind: "stdout-text", Count: 1})
				return true
			case wire.MethodResourcesRead:
				go func() {
					time.Sleep(59 * time.Second)
					c.result(call.ID, `{}`)
				}()
				return true
			}
			return false
		}})})
		for range 3 {
			wantOK(t, r.Do(context.Background(), alice(), &exchange.Request{Method: wire.MethodResourcesRead}, &stream{}))
		}
		if n := r.Status().Anomalies["stdout-text"]; n < 2 {
			t.Errorf("%d probes", n)
		}
		if opens := len(r.world.openings()); opens != 1 {
			t.Errorf("%d connections", opens)
		}
	})
}

func TestARemoteServerThatIsDownIsNoticedByProbes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var down atomic.Bool
		r := start(t, overHTTP(), &world{script: func(int, exchange.LinkSpec) act {
			if down.Load() {
				return act{closed: &exchange.Closed{Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "connection refused"}}}
			}
			return act{handle: func(c *fakeConn, call *exchange.Call) bool {
				if down.Load() {
					c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), Message: "connection refused"})
				}
				return down.Load()
			}}
		}})
		down.Store(true)
		wantCode(t, r.call(alice()), wire.CodeUnavailable, "connection refused")
		wait(time.Second)
		r.wantState(t, durward.StateBackoff, "connection refused")
		down.Store(false)
		wait(time.Minute)
		r.wantState(t, durward.StateReady)
	})
}

func TestB9_ProgressArrivesInOrderAndBeforeTheResult(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			for i := range 100 {
				c.emit(&exchange.Notification{Related: call.ID, Method: wire.NoteProgress, Params: fmt.Appendf(nil, "%d", i)})
			}
			c.result(call.ID, `{}`)
			c.emit(&exchange.Notification{Related: call.ID, Method: wire.NoteProgress, Params: []byte(`late`)})
			return true
		}})})
		out := &stream{}
		wantOK(t, r.Do(context.Background(), alice(), tool(), out))
		notes := out.heard() // at the very moment of the reply
		if len(notes) != 100 {
			t.Fatalf("%d notifications before the result", len(notes))
		}
		for i, n := range notes {
			if n != wire.NoteProgress+fmt.Sprint(i) {
				t.Fatalf("notification %d is %s", i, n)
			}
		}
		synctest.Wait()
		if n := r.Status().Anomalies["unknown-progress"]; n != 1 {
			t.Errorf("%d late notifications counted", n)
		}
	})
}

func TestB9_CancellationCarriesTheIDOfItsCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{handle: func(_ *fakeConn, call *exchange.Call) bool {
			return call.Method == wire.MethodToolsCall
		}})})
		ctx, cancel := context.WithCancel(context.Background())
		other := r.going(context.Background(), alice(), tool(), &stream{})
		synctest.Wait()
		mine := r.going(ctx, alice(), tool(), &stream{})
		synctest.Wait()
		cancel()
		wantCode(t, <-mine, wire.CodeUnknownOutcome, "cancelled")
		c := r.world.conn(0)
		cancels, calls := sentTo[*exchange.Cancel](c), callsTo(c, wire.MethodToolsCall)
		if len(cancels) != 1 || cancels[0].ID != calls[1].ID {
			t.Errorf("cancelled %+v of %d calls", cancels, len(calls))
		}
		c.result(calls[0].ID, `{"mine":false}`)
		wantOK(t, <-other)
		c.result(calls[1].ID, `{}`) // too late
		if n := r.Status().Anomalies["late-response"]; n != 1 {
			t.Errorf("%d late responses counted", n)
		}
	})
}

func TestDeadlines(t *testing.T) {
	for name, tc := range map[string]struct {
		spec   durward.Server
		method string
		own    time.Duration
		want   time.Duration
	}{
		"a tool has none by default":     {stdio(), wire.MethodToolsCall, 0, 0},
		"the requester's":                {stdio(), wire.MethodToolsCall, 3 * time.Second, 3 * time.Second},
		"configured for tools":           {durward.Server{Name: "fake", CallTimeout: 7 * time.Second}, wire.MethodToolsCall, time.Hour, 7 * time.Second},
		"others have a minute":           {stdio(), wire.MethodPromptsGet, 0, time.Minute},
		"configured for others":          {durward.Server{Name: "fake", Timeout: 5 * time.Second}, wire.MethodPromptsGet, 0, 5 * time.Second},
		"the requester's, if it is less": {durward.Server{Name: "fake", Timeout: 5 * time.Second}, wire.MethodPromptsGet, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, tc.spec, &world{script: always(act{handle: func(_ *fakeConn, call *exchange.Call) bool { return call.Method == tc.method }})})
				req := &exchange.Request{Method: tc.method}
				if tc.own > 0 {
					req.Deadline = time.Now().Add(tc.own)
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				reply := r.Do(ctx, alice(), req, &stream{})
				wantCode(t, reply, wire.CodeTimeout)
				want := tc.want
				if want == 0 {
					want = 2 * time.Minute // only ctx ends it
				}
				if took := time.Since(began); took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
				sent := callsTo(r.world.conn(0), tc.method)[0]
				if sent.Deadline.IsZero() != (tc.want == 0) {
					t.Errorf("the connection was told the deadline %v", sent.Deadline)
				}
			})
		})
	}
}

func TestConcurrencyIsBoundedInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Concurrency = 3
		r := start(t, spec, &world{script: always(act{handle: func(_ *fakeConn, call *exchange.Call) bool { return call.Method == wire.MethodToolsCall }})})
		var replies []<-chan exchange.Reply
		for i := range 6 {
			replies = append(replies, r.going(context.Background(), upstream.Key{Principal: fmt.Sprint(i)}, &exchange.Request{Method: wire.MethodToolsCall, LogLevel: fmt.Sprint(i)}, &stream{}))
			synctest.Wait()
		}
		if st := r.Status(); st.InFlight != 3 || st.Queued != 3 {
			t.Errorf("%d in flight, %d queued", st.InFlight, st.Queued)
		}
		wantCode(t, r.call(alice()), wire.CodeUnavailable, "servers.fake.concurrency", "3 calls")
		c := r.world.conn(0)
		for i := range 6 {
			calls := callsTo(c, wire.MethodToolsCall)
			if got := calls[i].LogLevel; got != fmt.Sprint(i) {
				t.Errorf("call %s was sent at place %d", got, i)
			}
			c.result(calls[i].ID, `{}`)
			wantOK(t, <-replies[i])
			synctest.Wait()
		}
		if st := r.Status(); st.InFlight != 0 || st.Queued != 0 {
			t.Errorf("%d in flight, %d queued at the end", st.InFlight, st.Queued)
		}
	})
}

func TestACallLeavesTheQueueWithItsContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := stdio()
		spec.Concurrency = 1
		r := start(t, spec, &world{script: always(act{handle: func(_ *fakeConn, call *exchange.Call) bool { return call.Method == wire.MethodToolsCall }})})
		first := r.going(context.Background(), alice(), tool(), &stream{})
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		second := r.going(ctx, alice(), tool(), &stream{})
		synctest.Wait()
		cancel()
		wantCode(t, <-second, wire.CodeTimeout, "queue")
		c := r.world.conn(0)
		c.result(callsTo(c, wire.MethodToolsCall)[0].ID, `{}`)
		wantOK(t, <-first)
		if n := len(callsTo(c, wire.MethodToolsCall)); n != 1 {
			t.Errorf("%d calls were sent", n)
		}
	})
}

func TestStaleHeadersReadTheToolsAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var lists, calls atomic.Int32
		r := start(t, overHTTP(), &world{script: always(act{opened: modernOpened(`{"tools":{}}`), handle: func(c *fakeConn, call *exchange.Call) bool {
			switch call.Method {
			case wire.MethodToolsList:
				c.result(call.ID, fmt.Sprintf(`{"tools":[{"name":"v%d"}]}`, lists.Add(1)))
				return true
			case wire.MethodToolsCall:
				if calls.Add(1) == 1 {
					c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Invalid), StaleHeaders: true, Message: "-32020"})
					return true
				}
			}
			return false
		}})})
		reply := r.Do(context.Background(), alice(), modernTool(), &stream{})
		if !upstream.StaleHeaders(reply) {
			t.Fatalf("the reply does not say that headers are stale: %s", reply.Error)
		}
		if l := r.watch.last(); string(l.Tools[0]) != `{"name":"v2"}` {
			t.Errorf("the Observer has %s when Do returns", l.Tools[0])
		}
		reply = r.Do(context.Background(), alice(), modernTool(), &stream{})
		wantOK(t, reply)
		if upstream.StaleHeaders(reply) || reply.Era != wire.Modern {
			t.Errorf("reply %+v", reply)
		}
	})
}

func TestNoServerCanPretendStaleHeaders(t *testing.T) {
	r := exchange.Reply{Result: []byte(`{}`), ResultType: "\x00stale-headers"}
	if upstream.StaleHeaders(r) {
		t.Error("a result was taken for our own word")
	}
}

// TestTheHotPathAllocatesLittle runs without fake time: it measures.
func TestTheHotPathAllocatesLittle(t *testing.T) {
	w := &quickWorld{}
	s, err := upstream.New(upstream.Options{Spec: stdio(), Opener: w})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	out, req, ctx := &stream{}, tool(), context.Background()
	n := testing.AllocsPerRun(2000, func() {
		if r := s.Do(ctx, alice(), req, out); r.Error != nil {
			t.Fatalf("%s", r.Error)
		}
	})
	if n > 3 { // the call message, and the response of the test's connection
		t.Errorf("%v allocations per call", n)
	}
	timed := *req
	timed.Deadline = time.Now().Add(time.Hour)
	n = testing.AllocsPerRun(2000, func() { s.Do(ctx, alice(), &timed, out) })
	if n > 3 {
		t.Errorf("%v allocations per call with a deadline", n)
	}
}

// quickWorld answers everything at once, from another goroutine.
type quickWorld struct{}

func (quickWorld) Open(_ context.Context, _ durward.Server, _ exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	c := &quickConn{sink: sink, calls: make(chan uint64, 256)}
	c.done.Go(c.run)
	return c, nil
}

type quickConn struct {
	sink  exchange.Sink
	calls chan uint64
	once  sync.Once
	done  sync.WaitGroup
}

func (c *quickConn) run() {
	c.sink.Receive(&exchange.Opened{Era: wire.Legacy, Revision: wire.RevisionLegacy})
	result := []byte(`{"tools":[]}`)
	for id := range c.calls {
		c.sink.Receive(&exchange.Response{ID: id, Reply: exchange.Reply{Result: result}})
	}
	c.sink.Receive(&exchange.Closed{Phase: exchange.PhaseStopped})
}

func (c *quickConn) Send(m exchange.Message) error {
	if call, ok := m.(*exchange.Call); ok {
		c.calls <- call.ID
	}
	return nil
}
func (c *quickConn) Close()           {}
func (c *quickConn) Diagnose() string { return "" }
func (c *quickConn) Confined() string { return "" }
func (c *quickConn) Stop(context.Context) error {
	c.once.Do(func() { close(c.calls) })
	c.done.Wait()
	return nil
}

func BenchmarkDo(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s, err := upstream.New(upstream.Options{Spec: stdio(), Opener: quickWorld{}})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Refresh(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				out, req := &stream{}, tool()
				for pb.Next() {
					if r := s.Do(context.Background(), alice(), req, out); r.Error != nil {
						b.Fatal(strings.TrimSpace(string(r.Error)))
					}
				}
			})
		})
	}
}
