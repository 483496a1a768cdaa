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
