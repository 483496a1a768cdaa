package upstream_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

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
