package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// hearsLater is a legacy server that answers logging/setLevel when it is told to.
func hearsLater() act {
	return act{opened: legacyOpened(`{"logging":{}}`), handle: func(_ *fakeConn, call *exchange.Call) bool {
		return call.Method == wire.MethodSetLevel
	}}
}

func withLevel(level string) *exchange.Request {
	req := modernTool()
	req.LogLevel = level
	return req
}

// toldLevels are the levels a server was told, in order.
func toldLevels(c *fakeConn) string {
	var levels []string
	for _, call := range callsTo(c, wire.MethodSetLevel) {
		level, _ := wire.Unquote(wire.Get(call.Params.Raw, "level"))
		levels = append(levels, level)
	}
	return strings.Join(levels, " ")
}

// hears answers the newest logging/setLevel.
func hears(c *fakeConn) {
	calls := callsTo(c, wire.MethodSetLevel)
	c.result(calls[len(calls)-1].ID, `{}`)
	synctest.Wait()
}

func toolCalls(c *fakeConn) int { return len(callsTo(c, wire.MethodToolsCall)) }

func TestACallWaitsUntilTheServerHeardOfItsLevel(t *testing.T) {
	for name, spec := range map[string]durward.Server{"stdio": stdio(), "http": overHTTP()} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, spec, &world{script: always(hearsLater())})
				c := r.world.conn(0)
				reply := r.going(context.Background(), alice(), withLevel("info"), &stream{})
				synctest.Wait()
				if got := toldLevels(c); got != "info" || toolCalls(c) != 0 {
					t.Fatalf("the server was told %q and sent %d calls before it answered", got, toolCalls(c))
				}
				wantOK(t, r.call(bob())) // wants no messages
				hears(c)
				wantOK(t, <-reply)
				wantOK(t, r.Do(context.Background(), bob(), withLevel("error"), &stream{}))
				if got := toldLevels(c); got != "info" {
					t.Errorf("the server was told %q", got)
				}
			})
		})
	}
}

func TestACallWaitsForTheLevelOfItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(hearsLater())})
		c := r.world.conn(0)
		r.SetLevel("warning")
		synctest.Wait()
		req := tool()
		req.LogLevel = "warning"
		reply := r.going(context.Background(), alice(), req, &stream{})
		synctest.Wait()
		if got := toldLevels(c); got != "warning" || toolCalls(c) != 0 {
			t.Fatalf("the server was told %q and sent %d calls before it answered", got, toolCalls(c))
		}
		hears(c)
		wantOK(t, <-reply)
	})
}

func TestLevelsDoNotOvertakeEachOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(hearsLater())})
		c := r.world.conn(0)
		var replies []<-chan exchange.Reply
		for _, level := range []string{"error", "warning", "debug"} {
			replies = append(replies, r.going(context.Background(), alice(), withLevel(level), &stream{}))
			synctest.Wait()
		}
		r.SetLevel("notice")
		synctest.Wait()
		if got := toldLevels(c); got != "error" {
			t.Errorf("before its first answer the server was told %q", got)
		}
		hears(c)
		if got := toldLevels(c); got != "error debug" {
			t.Errorf("after its first answer it was told %q", got)
		}
		hears(c)
		for _, reply := range replies {
			wantOK(t, <-reply)
		}
		r.SetLevel("error") // less than others want
		synctest.Wait()
		if got := toldLevels(c); got != "error debug" {
			t.Errorf("in the end it was told %q", got)
		}
	})
}

func TestAServerThatDoesNotAnswerALevelIsCalledAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(hearsLater())})
		c := r.world.conn(0)
		begun := time.Now()
		wantOK(t, r.Do(context.Background(), alice(), withLevel("info"), &stream{}))
		if waited := time.Since(begun); waited != 3*time.Second {
			t.Errorf("the first call waited %s", waited)
		}
		begun = time.Now()
		wantOK(t, r.Do(context.Background(), bob(), withLevel("debug"), &stream{}))
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the next call waited %s", waited)
		}
		hears(c)
		if got := toldLevels(c); got != "info debug" {
			t.Errorf("the server was told %q", got)
		}
		reply := r.going(context.Background(), bob(), withLevel("debug"), &stream{})
		synctest.Wait()
		if toolCalls(c) != 2 {
			t.Error("a call did not wait for a server that answers again")
		}
		hears(c)
		wantOK(t, <-reply)
	})
}

func TestACallThatWaitsForTheLevelSurvivesTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: func(n int, _ exchange.LinkSpec) act {
			if n == 0 {
				return hearsLater()
			}
			return act{opened: legacyOpened(`{"logging":{}}`)}
		}})
		reply := r.going(context.Background(), alice(), withLevel("info"), &stream{})
		synctest.Wait()
		r.world.conn(0).die()
		wantOK(t, <-reply)
		if c := r.world.conn(1); toolCalls(r.world.conn(0)) != 0 || toolCalls(c) != 1 || toldLevels(c) != "info" {
			t.Errorf("the new connection got %d calls and was told %q", toolCalls(c), toldLevels(c))
		}
	})
}

func TestACallThatEndsWhileItWaitsForTheLevelIsNotSent(t *testing.T) {
	for name, limit := range map[string]func(*exchange.Request) context.Context{
		"left": func(*exchange.Request) context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			return ctx
		},
		"deadline": func(req *exchange.Request) context.Context {
			req.Deadline = time.Now().Add(time.Second)
			return context.Background()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				r := start(t, overHTTP(), &world{script: always(hearsLater())})
				req := withLevel("info")
				reply := r.Do(limit(req), alice(), req, &stream{})
				if !contains(string(reply.Error), "nothing was executed") || toolCalls(r.world.conn(0)) != 0 {
					t.Errorf("reply %s%s after %d calls", reply.Result, reply.Error, toolCalls(r.world.conn(0)))
				}
			})
		})
	}
}

func TestAServerThatRefusesALevelIsToldOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(act{opened: legacyOpened(`{"logging":{}}`), handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodSetLevel {
				return false
			}
			c.failure(call.ID, wire.CodeInternal, "no")
			return true
		}})})
		for range 3 {
			wantOK(t, r.Do(context.Background(), alice(), withLevel("info"), &stream{}))
		}
		if got := toldLevels(r.world.conn(0)); got != "info" {
			t.Errorf("the server was told %q", got)
		}
	})
}

func TestLevels(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(`{"logging":{}}`)})})
		told := func(i int) (levels string) {
			for _, call := range callsTo(r.world.conn(i), wire.MethodSetLevel) {
				levels += string(call.Params.Raw)
			}
			return levels
		}
		r.SetLevel("warning")
		r.SetLevel("warning")
		synctest.Wait()
		if got := told(0); got != `{"level":"warning"}` {
			t.Errorf("told %s", got)
		}
		req := tool()
		req.LogLevel = "debug" // more than anybody wanted so far: asked for before the call
		r.Do(context.Background(), alice(), req, &stream{})
		if got := told(0); got != `{"level":"warning"}{"level":"debug"}` {
			t.Errorf("told %s", got)
		}
		sent := sentTo[*exchange.Call](r.world.conn(0))
		if last := sent[len(sent)-1]; last.Method != wire.MethodToolsCall {
			t.Errorf("%s was sent after the call", last.Method)
		}
		r.world.conn(0).die()
		synctest.Wait()
		if got := told(1); got != `{"level":"debug"}` {
			t.Errorf("a new connection was told %s", got)
		}
		if n := r.Status().Anomalies["late-response"]; n != 0 {
			t.Errorf("%d answers were not expected", n)
		}
	})
}

func TestTheLevelIsToldBeforeTheFirstCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := newRig(t, stdio(), &world{script: always(act{opened: legacyOpened(`{"logging":{}}`)})})
		r.SetLevel("info")
		req := tool()
		req.LogLevel = "info"
		wantOK(t, r.Do(context.Background(), alice(), req, &stream{}))
		level, call := -1, -1
		for i, m := range sentTo[*exchange.Call](r.world.conn(0)) {
			switch m.Method {
			case wire.MethodSetLevel:
				level = i
			case wire.MethodToolsCall:
				call = i
			}
		}
		if level < 0 || level > call {
			t.Errorf("the level was message %d, the call message %d", level, call)
		}
	})
}

func TestServersWithoutLoggingAreToldNoLevel(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{})
		r.SetLevel("debug")
		synctest.Wait()
		if n := len(callsTo(r.world.conn(0), wire.MethodSetLevel)); n != 0 {
			t.Errorf("told %d times", n)
		}
	})
}

func TestModernLevelsReachALegacyServer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, overHTTP(), &world{script: always(silentTools(legacyOpened(`{"logging":{}}`)))})
		var calls []calling
		for i, level := range []string{"error", "info", "", "warning"} {
			req := modernTool()
			req.LogLevel = level
			calls = append(calls, r.inFlight(upstream.Key{Principal: fmt.Sprint(i)}, req, &stream{}))
		}
		c := r.world.conn(0)
		var told string
		for _, call := range callsTo(c, wire.MethodSetLevel) {
			told += string(call.Params.Raw)
		}
		if told != `{"level":"error"}{"level":"info"}` {
			t.Errorf("the server was told %s", told)
		}
		for _, call := range callsTo(c, wire.MethodToolsCall) {
			for _, level := range []string{"debug", "info", "warning", "error"} {
				c.emit(logNote(call.ID, level))
			}
		}
		for i, want := range []int{1, 3, 0, 2} {
			if got := len(calls[i].out.heard()); got != want {
				t.Errorf("call %d heard %d messages, want %d", i, got, want)
			}
		}
	})
}
