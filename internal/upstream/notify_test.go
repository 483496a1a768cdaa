package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// silentTools never answers tools/call by itself.
func silentTools(opened *exchange.Opened) act {
	return act{opened: opened, handle: func(_ *fakeConn, call *exchange.Call) bool { return call.Method == wire.MethodToolsCall }}
}

// calling has calls in flight on conn n, whose tools stay silent.
type calling struct {
	out   *stream
	reply <-chan exchange.Reply
}

func (r *rig) inFlight(key upstream.Key, req *exchange.Request, out *stream) calling {
	c := calling{out, r.going(context.Background(), key, req, out)}
	synctest.Wait()
	return c
}

func logNote(related uint64, level string) *exchange.Notification {
	return &exchange.Notification{Related: related, Method: wire.NoteMessage, Params: fmt.Appendf(nil, `{"level":%q,"data":1}`, level)}
}

func TestLogMessagesGoToTheirCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(silentTools(modernOpened(`{"logging":{}}`)))})
		warn := modernTool()
		warn.LogLevel = "warning"
		wants := r.inFlight(alice(), warn, &stream{})
		not := r.inFlight(bob(), modernTool(), &stream{})
		c := r.world.conn(0)
		calls := callsTo(c, wire.MethodToolsCall)
		for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
			c.emit(logNote(calls[0].ID, level))
			c.emit(logNote(calls[1].ID, level))
		}
		if n := len(wants.out.heard()); n != 5 {
			t.Errorf("%d messages of warning and above, want 5", n)
		}
		if n := len(not.out.heard()); n != 0 {
			t.Errorf("a modern requester that asked for none got %d messages", n)
		}
	})
}

func TestLogMessagesWithoutRelation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(legacyOpened(`{"logging":{}}`)))})
		c := r.world.conn(0)
		c.emit(logNote(0, "error")) // nobody is there
		first := r.inFlight(alice(), tool(), &stream{})
		second := r.inFlight(alice(), tool(), &stream{})
		c.emit(logNote(0, "error"))
		if a, b := len(first.out.heard()), len(second.out.heard()); a != 0 || b != 1 {
			t.Errorf("calls of one principal got %d and %d messages", a, b)
		}
		third := r.inFlight(bob(), tool(), &stream{})
		c.emit(logNote(0, "error"))
		if n := len(third.out.heard()) + len(first.out.heard()) + len(second.out.heard()); n != 1 {
			t.Error("a message of nobody knows whom was given to somebody")
		}
		if n := r.Status().Anomalies["unattributed-log"]; n != 2 {
			t.Errorf("%d messages counted as dropped", n)
		}
	})
}

func TestOtherNotificationsGoToTheObserver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		mine := r.inFlight(alice(), tool(), &stream{})
		c := r.world.conn(0)
		id := callsTo(c, wire.MethodToolsCall)[0].ID
		c.emit(&exchange.Notification{Method: wire.NoteResourceUpdated, Related: id, Params: []byte(`{"uri":"a:b"}`)})
		c.emit(&exchange.Notification{Method: "vendor/thing", Params: []byte(`{}`)})
		c.emit(&exchange.Notification{Method: "vendor/thing", Related: id, Params: []byte(`{}`)})
		if got := strings.Join(mine.out.heard(), " "); got != "vendor/thing{}" {
			t.Errorf("the call got %s", got)
		}
		if len(r.watch.notes) != 2 || r.watch.notes[0].Method != wire.NoteResourceUpdated || r.watch.notes[1].Method != "vendor/thing" {
			t.Errorf("the Observer got %+v", r.watch.notes)
		}
	})
}

func TestRootsChanged(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		r.RootsChanged()
		notes := sentTo[*exchange.Notification](r.world.conn(0))
		if len(notes) != 1 || notes[0].Method != wire.NoteRootsChanged {
			t.Errorf("sent %+v", notes)
		}
	})
}

// answers returns what the server was answered.
func answers(c *fakeConn) map[uint64]exchange.Reply {
	synctest.Wait()
	out := map[uint64]exchange.Reply{}
	for _, r := range sentTo[*exchange.Response](c) {
		out[r.ID] = r.Reply
	}
	return out
}

func says(text string) *stream {
	return &stream{ask: func(context.Context, string) exchange.Reply { return exchange.Reply{Result: []byte(text)} }}
}

func TestARequestOfTheServerIsPutToItsCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(silentTools(nil))})
		r.inFlight(alice(), tool(), says(`"alice"`))
		r.inFlight(bob(), tool(), says(`"bob"`))
		c := r.world.conn(0)
		for i, call := range callsTo(c, wire.MethodToolsCall) {
			c.emit(&exchange.ServerRequest{ID: uint64(i + 1), Related: call.ID, Method: wire.MethodElicit})
		}
		got := answers(c)
		if string(got[1].Result) != `"alice"` || string(got[2].Result) != `"bob"` {
			t.Errorf("answers %v", got)
		}
	})
}

func TestARequestWithoutRelationIsNeverGuessed(t *testing.T) {
	same := upstream.Key{Principal: "alice", Session: "a2"}
	for name, tc := range map[string]struct {
		keys []upstream.Key
		want string // "" = an error
	}{
		"nobody calls":                    {nil, ""},
		"one call":                        {[]upstream.Key{alice()}, `"0"`},
		"two calls of one session":        {[]upstream.Key{alice(), alice()}, `"1"`},
		"two sessions of one principal":   {[]upstream.Key{alice(), same}, ""},
		"two principals":                  {[]upstream.Key{alice(), bob()}, ""},
		"two principals, one of them two": {[]upstream.Key{alice(), bob(), alice()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, stdio(), &world{script: always(silentTools(nil))})
				for i, key := range tc.keys {
					r.inFlight(key, tool(), says(fmt.Sprintf(`"%d"`, i)))
				}
				c := r.world.conn(0)
				c.emit(&exchange.ServerRequest{ID: 7, Method: wire.MethodElicit})
				got := answers(c)[7]
				if string(got.Result) != tc.want || (got.Error == nil) != (tc.want != "") {
					t.Errorf("answer %s %s, want %s", got.Result, got.Error, tc.want)
				}
			})
		})
	}
}

func TestARequestAfterACancelledCallOfSomebodyElseIsNotGuessed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		ctx, cancel := context.WithCancel(context.Background())
		gone := r.going(ctx, bob(), tool(), says(`"bob"`))
		synctest.Wait()
		r.inFlight(alice(), tool(), says(`"alice"`))
		cancel()
		<-gone
		c := r.world.conn(0)
		c.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodSampling}) // bob's call may have caused it
		if got := answers(c)[1]; got.Error == nil {
			t.Errorf("alice was asked for bob: %s", got.Result)
		}
		wait(2 * time.Minute)
		c.emit(&exchange.ServerRequest{ID: 2, Method: wire.MethodSampling})
		if got := answers(c)[2]; string(got.Result) != `"alice"` {
			t.Errorf("after a while: %s %s", got.Result, got.Error)
		}
	})
}

func TestRootsOfNobodyAreNone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		c := r.world.conn(0)
		c.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodRootsList})
		if got := answers(c)[1]; string(got.Result) != `{"roots":[]}` {
			t.Errorf("answer %s %s", got.Result, got.Error)
		}
	})
}

func TestAQuestionEndsWithItsCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var ended []error
		patient := &stream{ask: func(ctx context.Context, _ string) exchange.Reply {
			<-ctx.Done()
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, ctx.Err())
			return exchange.Reply{Result: []byte(`{}`)}
		}}
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		call := r.inFlight(alice(), tool(), patient)
		c := r.world.conn(0)
		id := callsTo(c, wire.MethodToolsCall)[0].ID
		c.emit(&exchange.ServerRequest{ID: 1, Related: id, Method: wire.MethodElicit})
		c.emit(&exchange.ServerRequest{ID: 2, Related: id, Method: wire.MethodElicit})
		synctest.Wait()
		c.emit(&exchange.Notification{Related: id, Method: wire.NoteCancelled, Params: []byte(`{"requestId":2}`)}) // the server withdraws one
		got := answers(c)
		if len(ended) != 1 || len(got) != 0 {
			t.Fatalf("%d questions ended, answers %v", len(ended), got)
		}
		c.result(id, `{}`)
		wantOK(t, <-call.reply)
		got = answers(c)
		if len(ended) != 2 || got[1].Error == nil || len(got) != 1 {
			t.Errorf("%d questions ended, answers %v", len(ended), got)
		}
	})
}

func TestQuestionsAreBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		patient := &stream{ask: func(ctx context.Context, _ string) exchange.Reply { <-ctx.Done(); return exchange.Reply{} }}
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		r.inFlight(alice(), tool(), patient)
		c := r.world.conn(0)
		for i := range uint64(20) {
			c.emit(&exchange.ServerRequest{ID: i + 1, Method: wire.MethodElicit})
		}
		got := answers(c)
		if len(got) != 4 || !contains(string(got[20].Error), "limits.server_asks") {
			t.Errorf("%d of 20 questions were refused: %v", len(got), got)
		}
	})
}

func TestASharedLegacyServerThatAsksIsSplitByPrincipal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		r.inFlight(alice(), tool(), says(`"alice"`))
		first := r.world.conn(0)
		first.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodElicit})
		if got := answers(first)[1]; string(got.Result) != `"alice"` {
			t.Fatalf("answer %s %s", got.Result, got.Error)
		}
		r.inFlight(bob(), tool(), says(`"bob"`))
		r.inFlight(alice(), tool(), says(`"alice"`))
		if n := len(r.world.openings()); n != 2 {
			t.Fatalf("%d connections, want one for each principal", n)
		}
		second := r.world.conn(1)
		if a, b := len(callsTo(first, wire.MethodToolsCall)), len(callsTo(second, wire.MethodToolsCall)); a != 2 || b != 1 {
			t.Errorf("%d calls on alice's connection, %d on bob's", a, b)
		}
		if n := len(callsTo(second, wire.MethodToolsList)); n != 0 {
			t.Error("a second connection was listed")
		}
		first.emit(&exchange.ServerRequest{ID: 2, Method: wire.MethodElicit})
		second.emit(&exchange.ServerRequest{ID: 3, Method: wire.MethodElicit})
		if a, b := answers(first)[2], answers(second)[3]; string(a.Result) != `"alice"` || string(b.Result) != `"bob"` {
			t.Errorf("answers %s %s", a.Result, b.Result)
		}
	})
}

func TestAQuestionBeforeAnyCallCostsNoSecondProcess(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		r.world.conn(0).emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodRootsList})
		synctest.Wait()
		r.inFlight(alice(), tool(), &stream{})
		if n := len(r.world.openings()); n != 1 {
			t.Errorf("%d connections for the only principal", n)
		}
	})
}

// Over HTTP a server says for which call it asks, by the stream on which it does.
// One that asks on the stream that belongs to no call is like one over stdio.
func TestRemoteServersAreSplitOnlyIfTheyDoNotSayForWhomTheyAsk(t *testing.T) {
	for related, want := range map[bool]int{true: 1, false: 2} {
		inBubble(t, func(t *testing.T) {
			r := start(t, overHTTP(), &world{script: always(silentTools(nil))})
			r.inFlight(alice(), tool(), says(`1`))
			c := r.world.conn(0)
			ask := &exchange.ServerRequest{ID: 1, Method: wire.MethodElicit}
			if related {
				ask.Related = callsTo(c, wire.MethodToolsCall)[0].ID
			}
			c.emit(ask)
			synctest.Wait()
			r.inFlight(bob(), tool(), &stream{})
			if n := len(r.world.openings()); n != want {
				t.Errorf("related %v: %d connections", related, n)
			}
			r.wantState(t, durward.StateReady)
		})
	}
}

// A question that does not say for which call it is may have been for another call
// of the same requester than the one it was put to.
func TestAQuestionMovesToAnotherCallOfItsRequester(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		waits := &stream{ask: func(ctx context.Context, _ string) exchange.Reply { <-ctx.Done(); return exchange.Reply{} }}
		r := start(t, stdio(), &world{script: always(silentTools(nil))})
		r.inFlight(alice(), able(wire.Legacy, canElicit), says(`"older"`))
		newer := r.inFlight(alice(), able(wire.Legacy, canElicit), waits)
		c := r.world.conn(0)
		c.emit(&exchange.ServerRequest{ID: 1, Method: wire.MethodElicit})
		synctest.Wait()
		c.result(callsTo(c, wire.MethodToolsCall)[1].ID, `{}`)
		wantOK(t, <-newer.reply)
		if got := answers(c)[1]; string(got.Result) != `"older"` {
			t.Errorf("answer %s %s", got.Result, got.Error)
		}
	})
}

// One principal that does not answer keeps nobody else from being asked.
func TestQuestionsAreBoundedByPrincipal(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		patient := &stream{ask: func(ctx context.Context, _ string) exchange.Reply { <-ctx.Done(); return exchange.Reply{} }}
		r := start(t, overHTTP(), &world{script: always(silentTools(nil))})
		r.inFlight(alice(), tool(), patient)
		r.inFlight(bob(), tool(), says(`"bob"`))
		c := r.world.conn(0)
		calls := callsTo(c, wire.MethodToolsCall)
		for i := range uint64(20) {
			c.emit(&exchange.ServerRequest{ID: i + 1, Related: calls[0].ID, Method: wire.MethodElicit})
		}
		c.emit(&exchange.ServerRequest{ID: 100, Related: calls[1].ID, Method: wire.MethodElicit})
		if got := answers(c)[100]; string(got.Result) != `"bob"` {
			t.Errorf("answer %s %s", got.Result, got.Error)
		}
	})
}
