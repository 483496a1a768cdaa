package gateway_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/approval"
	"durward/internal/wire"
	"durward/policy"
)

// waiter is a client on lines of a gateway that asks about echo, in a bubble of time.
type waiter struct {
	t      *testing.T
	engine *policy.Engine
	conn   net.Conn
	meta   string
	from   durward.Entrance // default stdio
	asked  int              // how often it was asked something itself
	notes  []note
	done   chan wire.Message
	over   sync.WaitGroup

	mu    sync.Mutex // guards all below
	steps []approval.Status
	ends  []durward.Status
}

type note struct {
	at       time.Duration
	progress float64
}

func (w *waiter) record(_ context.Context, s approval.Step) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, s.Status)
	return nil
}

func (w *waiter) Intent(context.Context, *durward.Call, durward.Decision) error { return nil }

func (w *waiter) Outcome(_ context.Context, c *durward.Call, o durward.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.Method == wire.MethodToolsCall {
		w.ends = append(w.ends, o.Status)
	}
}

// begin starts a gateway and a client of it, whose call of echo waits.
func (w *waiter) begin(modern bool, via ...string) {
	w.t.Helper()
	var err error
	w.engine, err = policy.New(policy.Options{Set: w.rules(via...)})
	if err != nil {
		w.t.Fatal(err)
	}
	desk, err := approval.New(w.t.Context(), approval.Options{Record: w.record, Present: func() bool { return true }})
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Builtin: true, Decider: w.engine, Approver: desk, Recorder: w, Access: gateway.Access{NoAuth: true}})
	if err != nil {
		w.t.Fatal(err)
	}
	var theirs net.Conn
	w.conn, theirs = net.Pipe()
	w.over.Go(func() {
		_ = g.ServeStdio(context.Background(), theirs, durward.Caller{Principal: "local", Entrance: cmp.Or(w.from, durward.EntranceStdio)}, durward.Route{}) // it ends with its client
	})
	w.done = make(chan wire.Message, 1)
	w.over.Go(w.read)
	w.t.Cleanup(func() {
		_ = w.conn.Close()
		w.over.Wait()
		if err := g.Close(); err != nil {
			w.t.Error(err)
		}
		_ = desk.Close()
	})
	w.meta = `"progressToken":"p"`
	if modern {
		w.meta += `,` + strings.Replace(modernMeta[len(`"_meta":{`):len(modernMeta)-1], "Capabilities\":{}", "Capabilities\":{\"elicitation\":{\"form\":{}}}", 1)
	} else {
		w.write(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`)
		w.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	w.call("")
}

// call calls echo; more are members of its params.
func (w *waiter) call(more string) {
	w.t.Helper()
	w.write(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"local__echo","arguments":{"message":"x"},"_meta":{` + w.meta + `}` + more + `}}`)
	synctest.Wait()
}

// rules ask about calls, by the ways that are named.
func (w *waiter) rules(via ...string) *policy.Set {
	w.t.Helper()
	text := "rules: [{id: asks, on: [tools/call], action: ask, ask: {timeout: 4m, via: [console, cli"
	for _, v := range via {
		text += ", " + v
	}
	return rules(w.t, userRules(text+"]}}]"))
}

func (w *waiter) write(line string) {
	w.t.Helper()
	if _, err := fmt.Fprintln(w.conn, line); err != nil {
		w.t.Fatal(err)
	}
}

func (w *waiter) read() {
	in, began := bufio.NewReader(w.conn), time.Now()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m wire.Message
		if wire.Parse(line, wire.FromServer, &m) != nil {
			continue
		}
		switch {
		case m.Method == wire.NoteProgress:
			progress, err := strconv.ParseFloat(string(wire.Get(m.Params.Raw, "progress")), 64)
			if err != nil || string(wire.Get(m.Params.Raw, "progressToken")) != `"p"` {
				w.t.Errorf("%s", line)
			}
			w.notes = append(w.notes, note{time.Since(began), progress})
		case m.Method == wire.MethodElicit:
			w.asked++
		case string(m.ID) == `"call"`:
			w.done <- m
		}
	}
}

// ended returns what is on record of the question, and how the call ended.
func (w *waiter) ended() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.steps, w.ends)
}

// A client that wants progress hears that its call waits often enough not to give up,
// and its own time counts: the call ends when it cancels it.
func TestACallThatWaitsSaysSoUntilItEnds(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("nobody answers, modern=%v", modern), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &waiter{t: t}
				w.begin(modern)
				m := <-w.done
				if code, _ := wire.ErrorCode(m.Error); code != wire.CodeApprovalTimeout || w.ended() != "[pending expired] [denied]" {
					t.Errorf("%s %s", m.Error, w.ended())
				}
				if len(w.notes) < 16 { // in 4 minutes
					t.Errorf("%d notes: %v", len(w.notes), w.notes)
				}
				for i, n := range w.notes {
					if i > 0 && (n.progress <= w.notes[i-1].progress || n.at-w.notes[i-1].at > 20*time.Second) || n.progress > 0.001 {
						t.Errorf("note %d: %v", i, w.notes)
					}
				}
			})
		})
		t.Run(fmt.Sprintf("the client cancels, modern=%v", modern), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &waiter{t: t}
				w.begin(modern)
				time.Sleep(time.Minute) // of the bubble
				w.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call"}}`)
				synctest.Wait()
				if w.ended() != "[pending cancelled] [cancelled]" {
					t.Error(w.ended())
				}
				before := len(w.notes)
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(w.notes) != before {
					t.Error("it is told of a call that is over")
				}
			})
		})
		t.Run(fmt.Sprintf("the client leaves, modern=%v", modern), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &waiter{t: t}
				w.begin(modern)
				_ = w.conn.Close()
				w.over.Wait()
				synctest.Wait()
				if w.ended() != "[pending cancelled] [cancelled]" {
					t.Error(w.ended())
				}
			})
		})
	}
}

// An agent in a sandbox is never asked whether its own call may be made, whatever a
// rule says: people at the desk are.
func TestASandboxNeverAnswersForItself(t *testing.T) {
	for _, from := range []durward.Entrance{"sandbox", "relay", durward.EntranceStdio} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s modern=%v", from, modern), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &waiter{t: t, from: from}
					w.begin(modern, "client")
					itself := from == durward.EntranceStdio
					if got, want := w.ended(), map[bool]string{true: "[] [input]", false: "[pending] []"}[itself && modern]; got != want {
						t.Errorf("%s, wanted %s", got, want)
					}
					if (w.asked > 0) != (itself && !modern) {
						t.Errorf("it was asked %d times", w.asked)
					}
				})
			})
		}
	}
}

// A modern client that is asked itself may take as long as the question is open, and
// its answer is for the rules that asked.
func TestAModernClientAnswersInTimeAndForTheRulesThatAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile func(w *waiter)
		code      int
		asked     bool // again
		ended     string
	}{
		"in time": {func(*waiter) { time.Sleep(3 * time.Minute) }, 0, false, "[approved] [input ok]"},
		"late":    {func(*waiter) { time.Sleep(5 * time.Minute) }, wire.CodeApprovalTimeout, false, "[expired] [input denied]"},
		"other rules ask by now": {func(w *waiter) {
			w.engine.Swap(rules(w.t, userRules("rules: [{id: others, on: [tools/call], action: ask, ask: {via: [client]}}]")), nil)
		}, 0, true, "[] [input input]"},
		"it is blocked by now": {func(w *waiter) {
			w.engine.Swap(rules(w.t, userRules("rules: [{id: no, on: [tools/call], action: block}]")), nil)
		}, wire.CodeRefused, false, "[] [input refused]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &waiter{t: t}
				w.begin(true, "client")
				first := <-w.done
				tt.meanwhile(w)
				w.call(`,"requestState":` + string(wire.Get(first.Result, "requestState")) +
					`,"inputResponses":{"durward-approval":{"action":"accept","content":{"approve":true}}}`)
				m := <-w.done
				code, _ := wire.ErrorCode(m.Error)
				if code != tt.code || (m.Type() == "input_required") != tt.asked || w.ended() != tt.ended {
					t.Errorf("%s %s %s", m.Result, m.Error, w.ended())
				}
			})
		})
	}
}
