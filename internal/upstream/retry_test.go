package upstream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

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

// lost is the fault of a call whose connection broke after it was sent.
func lost() exchange.Fault {
	return exchange.Fault{Kind: uint8(durward.Unknown), Delivered: true, Again: true, Message: "the connection was reset"}
}

// named is a request for something with a name; own is the server's name of it,
// where it is offered under another.
func named(method, name, own string) *exchange.Request {
	r := &exchange.Request{Method: method, Client: exchange.Client{Era: wire.Legacy}}
	if err := wire.ParseParams([]byte(`{"name":`+wire.Quote(name)+`}`), &r.Params); err != nil {
		panic(err)
	}
	if own != "" {
		r.Name = []byte(wire.Quote(own))
	}
	return r
}

// afterFaults is a connection that gives one fault after the other to calls of a
// method, and then answers them.
func afterFaults(method string, seen *atomic.Int32, faults ...exchange.Fault) act {
	return act{opened: legacyOpened(`{"tools":{}}`), handle: func(c *fakeConn, call *exchange.Call) bool {
		if call.Method != method {
			return false
		}
		n := int(seen.Add(1))
		if n > len(faults) {
			return false
		}
		c.fault(call.ID, faults[n-1])
		return true
	}}
}

// Only what the operator said may be executed twice is, and only if its answer was
// lost on the way.
func TestWhatIsSentAgain(t *testing.T) {
	spoilt := exchange.Fault{Kind: uint8(durward.Unknown), Delivered: true, Message: "the answer is over limits.message"}
	late := exchange.Fault{Kind: uint8(durward.Timeout), Delivered: true, Message: "too late"}
	denied := exchange.Fault{Kind: uint8(durward.Unauthenticated), Delivered: true, Message: "HTTP 401"}
	unsent := exchange.Fault{Kind: uint8(durward.Unavailable), Message: "connection refused"}
	tools, prompts := wire.MethodToolsCall, wire.MethodPromptsGet
	all, some := durward.RetryIdempotent, []string{"read_*", "list"}
	for name, tt := range map[string]struct {
		retry    durward.Retry
		globs    []string
		req      *exchange.Request
		faults   []exchange.Fault
		sent     int32
		attempts int // as the Reply says
		code     int // 0: it has a result
	}{
		"a tool by default":             {"", nil, named(tools, "read_x", ""), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"undelivered is the default":    {durward.RetryUndelivered, nil, named(tools, "read_x", ""), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"every tool":                    {all, nil, named(tools, "write", ""), []exchange.Fault{lost()}, 2, 2, 0},
		"a tool that matches":           {"", some, named(tools, "read_x", ""), []exchange.Fault{lost()}, 2, 2, 0},
		"a tool that does not":          {"", some, named(tools, "write", ""), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"a tool by the server's name":   {"", some, named(tools, "s__write", "read_x"), []exchange.Fault{lost()}, 2, 2, 0},
		"not by the name it is offered": {"", some, named(tools, "read_x", "write"), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"a glob that is none":           {"", []string{"["}, named(tools, "[", ""), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"a prompt":                      {all, nil, named(prompts, "p", ""), []exchange.Fault{lost()}, 2, 2, 0},
		"a prompt is no tool":           {"", []string{"*"}, named(prompts, "p", ""), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"what nobody knows":             {all, nil, named("vendor/thing", "p", ""), []exchange.Fault{lost()}, 1, 1, wire.CodeUnknownOutcome},
		"twice at most":                 {all, nil, named(tools, "a", ""), []exchange.Fault{lost(), lost()}, 2, 2, wire.CodeUnknownOutcome},
		"an answer of no use":           {all, nil, named(tools, "a", ""), []exchange.Fault{spoilt}, 1, 1, wire.CodeUnknownOutcome},
		"a deadline":                    {all, nil, named(tools, "a", ""), []exchange.Fault{late}, 1, 1, wire.CodeTimeout},
		"credentials":                   {all, nil, named(tools, "a", ""), []exchange.Fault{denied}, 1, 1, wire.CodeRefused},
		"credentials, the second time":  {all, nil, named(tools, "a", ""), []exchange.Fault{lost(), denied}, 2, 2, wire.CodeUnknownOutcome},
		"not sent, then lost":           {all, nil, named(tools, "a", ""), []exchange.Fault{unsent, lost()}, 3, 2, 0},
		"lost, then not sent":           {all, nil, named(tools, "a", ""), []exchange.Fault{lost(), unsent, unsent, unsent}, 5, 2, 0},
		"not sent":                      {"", nil, named(tools, "a", ""), []exchange.Fault{unsent}, 2, 1, 0},
		"not sent twice":                {all, nil, named(tools, "a", ""), []exchange.Fault{unsent, unsent}, 2, 0, wire.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := overHTTP()
				spec.Retry, spec.Tools.Idempotent = tt.retry, tt.globs
				var seen atomic.Int32
				r := start(t, spec, &world{script: always(afterFaults(tt.req.Method, &seen, tt.faults...))})
				reply := r.Do(context.Background(), alice(), tt.req, &stream{})
				if tt.code != 0 {
					wantCode(t, reply, tt.code)
				} else {
					wantOK(t, reply)
				}
				if reply.Attempts != tt.attempts || seen.Load() != tt.sent {
					t.Errorf("sent %d times and said %d, want %d and %d", seen.Load(), reply.Attempts, tt.sent, tt.attempts)
				}
				if reply.Dispatched.IsZero() != (tt.attempts == 0) {
					t.Errorf("handed over at %s in %d attempts", reply.Dispatched, reply.Attempts)
				}
			})
		})
	}
}

// What may have been executed once stays unknown, whatever becomes of the second attempt.
func TestALostCallThatCannotBeSentAgainIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := overHTTP()
		spec.Retry = durward.RetryIdempotent
		faults := []exchange.Fault{lost()}
		for range 100 {
			faults = append(faults, exchange.Fault{Kind: uint8(durward.Unavailable), Message: "connection refused"})
		}
		var seen atomic.Int32
		r := start(t, spec, &world{script: always(afterFaults(wire.MethodToolsCall, &seen, faults...))})
		began := time.Now()
		reply := r.call(alice())
		wantCode(t, reply, wire.CodeUnknownOutcome, "the connection was reset", "second attempt", "connection refused")
		if took := time.Since(began); took < 10*time.Second || took > 31*time.Second {
			t.Errorf("it took %s, want at most the start time-out", took)
		}
		if n := seen.Load(); reply.Attempts != 1 || n < 4 || n > 20 {
			t.Errorf("%d attempts, said %d", n, reply.Attempts)
		}
	})
}

func TestAnErrorOfTheServerIsAnAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := overHTTP()
		spec.Retry = durward.RetryIdempotent
		var seen atomic.Int32
		r := start(t, spec, &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			seen.Add(1)
			c.failure(call.ID, -32000, "connection reset by peer; try again")
			return true
		}})})
		reply := r.call(alice())
		wantCode(t, reply, -32000)
		if seen.Load() != 1 || reply.Attempts != 1 {
			t.Errorf("sent %d times and said %d", seen.Load(), reply.Attempts)
		}
	})
}

// A server that crashed under a call that may be repeated is waited for.
func TestARepeatedCallWaitsForItsServer(t *testing.T) {
	for name, tt := range map[string]struct {
		down      int // attempts to connect that fail
		deadline  time.Duration
		least     time.Duration
		most      time.Duration
		want      int
		executed  int32
		forbidden bool // it is no call that may be repeated
	}{
		"up at once":       {0, 0, 0, time.Second, 0, 2, false},
		"up after a while": {4, 0, 3 * time.Second, 20 * time.Second, 0, 2, false},
		"never up":         {1000, 0, 10 * time.Second, 40 * time.Second, wire.CodeUnknownOutcome, 1, false},
		"up too late":      {1000, 4 * time.Second, 1 * time.Second, 4 * time.Second, wire.CodeUnknownOutcome, 1, false},
		"not to be called": {4, 0, 0, time.Second, wire.CodeUnknownOutcome, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := stdio()
				spec.Retry, spec.CallTimeout = durward.RetryIdempotent, tt.deadline
				if tt.forbidden {
					spec.Retry = ""
				}
				var executed atomic.Int32
				r := start(t, spec, &world{script: func(n int, _ exchange.LinkSpec) act {
					if n > 0 && n <= tt.down {
						return act{err: exited()}
					}
					return act{diag: "exit status 2", handle: func(c *fakeConn, call *exchange.Call) bool {
						if call.Method != wire.MethodToolsCall {
							return false
						}
						if executed.Add(1) == 1 {
							c.die()
							return true
						}
						return false
					}}
				}})
				began := time.Now()
				reply := r.call(alice())
				if tt.want != 0 {
					wantCode(t, reply, tt.want, "may have been executed", "the server ended")
				} else {
					wantOK(t, reply)
				}
				if took := time.Since(began); took < tt.least || took > tt.most {
					t.Errorf("it took %s, want %s to %s", took, tt.least, tt.most)
				}
				if n := executed.Load(); n != tt.executed || reply.Attempts != int(n) {
					t.Errorf("executed %d times and said %d, want %d", n, reply.Attempts, tt.executed)
				}
			})
		})
	}
}

// putOff is what comes of HTTP 429.
func putOff(d time.Duration) exchange.Fault {
	return exchange.Fault{Kind: uint8(durward.Unavailable), Delivered: true, Again: true, RetryAfter: d, Message: "the server takes no more requests for now (HTTP 429)"}
}

func TestAServerThatWantsToBeLeftAloneIs(t *testing.T) {
	for name, tt := range map[string]struct {
		retry    durward.Retry
		after    []time.Duration
		deadline time.Duration
		took     time.Duration
		want     int
	}{
		"it is asked again then":     {durward.RetryIdempotent, []time.Duration{7 * time.Second}, 0, 7 * time.Second, 0},
		"once":                       {durward.RetryIdempotent, []time.Duration{time.Second, time.Second}, 0, time.Second, wire.CodeUnknownOutcome},
		"a minute at most":           {durward.RetryIdempotent, []time.Duration{61 * time.Second}, 0, 0, wire.CodeUnknownOutcome},
		"not beyond the deadline":    {durward.RetryIdempotent, []time.Duration{7 * time.Second}, 5 * time.Second, 0, wire.CodeUnknownOutcome},
		"not if that may not happen": {"", []time.Duration{7 * time.Second}, 0, 0, wire.CodeUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := overHTTP()
				spec.Retry, spec.CallTimeout = tt.retry, tt.deadline
				var faults []exchange.Fault
				for _, after := range tt.after {
					faults = append(faults, putOff(after))
				}
				var seen atomic.Int32
				r := start(t, spec, &world{script: always(afterFaults(wire.MethodToolsCall, &seen, faults...))})
				began := time.Now()
				reply := r.call(alice())
				if tt.want != 0 {
					wantCode(t, reply, tt.want, "HTTP 429")
				} else {
					wantOK(t, reply)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// B30: a server that is busy is not down, and others' calls on it go on.
func TestB30_ABusyServerIsNotDown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var busy atomic.Bool
		var refused atomic.Int32
		r := start(t, overHTTP(), &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.LogLevel == "slow" {
				return true
			}
			if busy.Load() {
				refused.Add(1)
				c.fault(call.ID, putOff(time.Second))
			}
			return busy.Load()
		}})})
		slow := tool()
		slow.LogLevel = "slow"
		other := r.going(context.Background(), bob(), slow, &stream{})
		synctest.Wait()
		busy.Store(true)
		for range 20 {
			wantCode(t, r.call(alice()), wire.CodeUnknownOutcome, "HTTP 429")
			wait(10 * time.Second)
		}
		if n := refused.Load(); n < 22 {
			t.Fatalf("%d requests were put off, no probe among them", n)
		}
		busy.Store(false)
		c := r.world.conn(0)
		for _, call := range callsTo(c, wire.MethodToolsCall) {
			if call.LogLevel == "slow" {
				c.result(call.ID, `{}`)
			}
		}
		wantOK(t, <-other)
		if n := len(r.world.openings()); n != 1 {
			t.Errorf("%d connections", n)
		}
		r.wantState(t, durward.StateReady)
	})
}

func TestACallThatIsToBeRepeatedEndsWithItsRequester(t *testing.T) {
	for name, tt := range map[string]struct {
		stop func(r *rig, cancel func())
		took time.Duration
	}{
		"it leaves":              {func(_ *rig, cancel func()) { cancel() }, time.Second},
		"the server is disabled": {func(r *rig, _ func()) { _ = r.Disable() }, 20 * time.Second},
		"the gateway stops":      {func(r *rig, _ func()) { _ = r.Close() }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := overHTTP()
				spec.Retry = durward.RetryIdempotent
				var seen atomic.Int32
				r := start(t, spec, &world{script: always(afterFaults(wire.MethodToolsCall, &seen, putOff(20*time.Second)))})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				began := time.Now()
				reply := r.going(ctx, alice(), tool(), &stream{})
				wait(time.Second)
				tt.stop(r, cancel)
				wantCode(t, <-reply, wire.CodeUnknownOutcome, "HTTP 429")
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if n := seen.Load(); n != 1 {
					t.Errorf("sent %d times", n)
				}
			})
		})
	}
}

// Progress begins anew with the second attempt; the requester must not see it go
// backwards (2025-11-25, basic/utilities/progress).
func TestASecondAttemptHasNoProgress(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := overHTTP()
		spec.Retry = durward.RetryIdempotent
		var seen atomic.Int32
		r := start(t, spec, &world{script: always(afterFaults(wire.MethodToolsCall, &seen, lost()))})
		req := tool()
		req.Progress = true
		wantOK(t, r.Do(context.Background(), alice(), req, &stream{}))
		calls := callsTo(r.world.conn(0), wire.MethodToolsCall)
		if !calls[0].Progress || calls[1].Progress || !req.Progress {
			t.Errorf("progress wanted: %v, %v", calls[0].Progress, calls[1].Progress)
		}
	})
}

// A call that may have run when its session was lost is repeated on the new one.
func TestB4_ARepeatedCallGoesToTheNewSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		spec := overHTTP()
		spec.Retry = durward.RetryIdempotent
		var seen atomic.Int32
		gone := lost()
		gone.NoSession = true
		forgotten := exchange.Fault{Kind: uint8(durward.Unavailable), NoSession: true, Message: "HTTP 404"}
		r := start(t, spec, &world{script: always(afterFaults(wire.MethodToolsCall, &seen, gone, forgotten))})
		wait(time.Minute)
		reply := r.call(alice())
		wantOK(t, reply)
		if n := len(r.world.openings()); n != 3 || reply.Attempts != 2 {
			t.Errorf("%d sessions, %d attempts", n, reply.Attempts)
		}
	})
}
