package upstream_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

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
		// The probe that the first refusal starts may end the connection before the call's
		// own second refusal comes; then nobody knows what became of the call.
		if a := r.call(alice()); code(a) != wire.CodeUnknownOutcome {
			wantCode(t, a, wire.CodeUnavailable, "connection refused")
		}
		wait(time.Second)
		r.wantState(t, durward.StateBackoff, "connection refused")
		down.Store(false)
		wait(time.Minute)
		r.wantState(t, durward.StateReady)
	})
}

// slowly answers a question after a while.
func slowly(d time.Duration) *stream {
	return &stream{ask: func(ctx context.Context, _ string) exchange.Reply {
		select {
		case <-time.After(d):
			return exchange.Reply{Result: []byte(`{"action":"accept"}`)}
		case <-ctx.Done():
			return exchange.Fail(ctx.Err())
		}
	}}
}

// asking is a server that thinks for a while, asks its requester during every call
// but those of others, and reads nothing until it has the answer; then it thinks
// again, and answers.
func asking(method string, before, after time.Duration) act {
	return act{handle: func(c *fakeConn, call *exchange.Call) bool {
		if call.Method == wire.MethodPing {
			return true // it does not read
		}
		if call.Method != method || call.LogLevel == "plain" {
			return false
		}
		go func() {
			if !c.lives(before) {
				return
			}
			c.emit(&exchange.ServerRequest{ID: call.ID, Method: wire.MethodElicit})
			for len(sentTo[*exchange.Response](c)) == 0 {
				if !c.lives(time.Second) {
					return
				}
			}
			if c.lives(after) {
				c.result(call.ID, `{"asked":true}`)
			}
		}()
		return true
	}}
}

// A server that waits for the answer of a requester is neither probed to death nor
// given up nor stopped as idle, however long that takes.
func TestAServerThatWaitsForAnAnswerIsLeftInPeace(t *testing.T) {
	for _, method := range []string{wire.MethodToolsCall, wire.MethodPromptsGet} {
		t.Run(method, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := stdio()
				spec.IdleStop = time.Minute
				r := start(t, spec, &world{script: always(asking(method, time.Second, 10*time.Second))})
				req := &exchange.Request{Method: method, Client: exchange.Client{Era: wire.Legacy}}
				wantOK(t, r.Do(context.Background(), alice(), req, slowly(50*time.Minute)))
				c := r.world.conn(0)
				if n := len(r.world.openings()); n != 1 || c.isStopped() {
					t.Errorf("%d connections", n)
				}
				if n := len(callsTo(c, wire.MethodPing)); n != 0 {
					t.Errorf("it was probed %d times", n)
				}
				r.wantState(t, durward.StateReady)
			})
		})
	}
}

// Once it has the answer it is watched like any other.
func TestAServerThatHangsAfterTheAnswerIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(asking(wire.MethodToolsCall, time.Second, 24*time.Hour))})
		began := time.Now()
		wantCode(t, r.Do(context.Background(), alice(), tool(), slowly(20*time.Minute)), wire.CodeUnknownOutcome, "health probes")
		if took := time.Since(began); took < 25*time.Minute || took > 27*time.Minute {
			t.Errorf("it ended after %s, want five minutes of silence after the answer", took)
		}
		plain := tool()
		plain.LogLevel = "plain"
		wantOK(t, r.Do(context.Background(), alice(), plain, &stream{}))
	})
}

// The time that a requester takes is not the server's.
func TestAQuestionDoesNotUseUpTheDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		before, answer, after time.Duration
		own                   time.Duration // of the requester
		took                  time.Duration
		want                  int
	}{
		"the answer takes long":            {10 * time.Second, 20 * time.Minute, 40 * time.Second, 0, 20*time.Minute + 50*time.Second, 0},
		"the server takes too long":        {10 * time.Second, 20 * time.Minute, time.Hour, 0, 21 * time.Minute, wire.CodeTimeout},
		"it takes too long before":         {61 * time.Second, time.Minute, 0, 0, time.Minute, wire.CodeTimeout},
		"asked at the last moment":         {58500 * time.Millisecond, 5 * time.Minute, 0, 0, 5*time.Minute + 58*time.Second, 0},
		"the requester has its own":        {10 * time.Second, 20 * time.Minute, 0, 30 * time.Second, 30 * time.Second, wire.CodeTimeout},
		"an answer that never comes, once": {10 * time.Second, 100 * time.Hour, 0, 0, time.Hour + time.Minute, wire.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := stdio()
				spec.HealthEvery = 24 * time.Hour
				r := start(t, spec, &world{script: always(asking(wire.MethodPromptsGet, tt.before, tt.after))})
				req := &exchange.Request{Method: wire.MethodPromptsGet, Client: exchange.Client{Era: wire.Legacy}}
				began := time.Now()
				if tt.own > 0 {
					req.Deadline = began.Add(tt.own)
				}
				reply := r.Do(context.Background(), alice(), req, slowly(tt.answer))
				if tt.want != 0 {
					wantCode(t, reply, tt.want)
				} else {
					wantOK(t, reply)
				}
				if took := time.Since(began); took < tt.took || took > tt.took+3*time.Second {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
			})
		})
	}
}
