package upstream_test

import (
	"context"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

func TestTheErrorOfACallHasTheServersLastWords(t *testing.T) { // B26
	for name, tt := range map[string]struct {
		again bool          // it is a fault of the connection's end
		after time.Duration // comes the end itself
	}{
		"of a call":         {false, 100 * time.Millisecond},
		"of the connection": {true, 100 * time.Millisecond},
		"on a busy machine": {true, 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, stdio(), &world{script: always(act{diag: "exit status 2", handle: func(c *fakeConn, call *exchange.Call) bool {
					if call.Method != wire.MethodToolsCall {
						return false
					}
					c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unknown), Delivered: true, Again: tt.again, Message: "the pipe is broken"})
					go func() {
						time.Sleep(tt.after)
						c.die()
					}()
					return true
				}})})
				wantCode(t, r.call(alice()), wire.CodeUnknownOutcome, "the pipe is broken", "exit status 2")
			})
		})
	}
}

// What is sure to come is waited for within the deadline, and while somebody wants the answer.
func TestTheWaitForTheLastWordsEndsWithItsCall(t *testing.T) {
	for name, tt := range map[string]struct {
		deadline, leaves, most time.Duration
	}{
		"it never comes":       {0, 0, 11 * time.Second},
		"the deadline":         {3 * time.Second, 0, 3 * time.Second},
		"the requester leaves": {0, 2 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				spec := stdio()
				spec.CallTimeout = tt.deadline
				r := start(t, spec, &world{script: always(act{handle: func(c *fakeConn, call *exchange.Call) bool {
					if call.Method == wire.MethodToolsCall {
						c.fault(call.ID, lost())
					}
					return call.Method == wire.MethodToolsCall
				}})})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if tt.leaves > 0 {
					time.AfterFunc(tt.leaves, cancel)
				}
				began := time.Now()
				wantCode(t, r.Do(ctx, alice(), tool(), &stream{}), wire.CodeUnknownOutcome)
				if took := time.Since(began); took > tt.most {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
