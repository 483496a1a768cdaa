package upstream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
	"pgregory.net/rapid"
)

// fate is what happens to one call that reaches a connection.
type fate int

const (
	fateAnswer      fate = iota
	fateToolError        // executed, answered with isError
	fateRPCError         // executed or not, answered with an error
	fateNotGiven         // provably not delivered
	fateNotGivenEnd      // the same, and the connection ends
	fateNoSession        // the server forgot the session: not executed
	fateRanLost          // executed, the answer is lost with the connection
	fateLost             // not executed, but nobody can know
	fateRanFault         // executed, a fault of this call alone
	fateSilence          // executed, never answered
	fateLate             // executed, answered after the deadline
	fates
)

// ledger counts the executions of each call, by what it carries.
type ledger struct {
	mu   sync.Mutex // guards runs
	runs map[string]int
}

func (l *ledger) run(call *exchange.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[string(call.Params.Raw)]++
}

// suffer makes one call meet its fate.
func (l *ledger) suffer(c *fakeConn, call *exchange.Call, f fate) {
	switch f {
	case fateNotGiven, fateNotGivenEnd:
		c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), Message: "not handed over"})
	case fateNoSession:
		c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), NoSession: true, Message: "HTTP 404"})
	case fateLost:
	case fateRPCError:
		c.failure(call.ID, -32000, "EOF")
	default:
		l.run(call)
	}
	switch f {
	case fateAnswer:
		c.result(call.ID, `{}`)
	case fateToolError:
		c.emit(&exchange.Response{ID: call.ID, Reply: exchange.Reply{Result: []byte(`{"isError":true}`), IsError: true}})
	case fateRanFault:
		c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unavailable), Delivered: true, Message: "HTTP 502"})
	case fateRanLost, fateLost:
		c.fault(call.ID, exchange.Fault{Kind: uint8(durward.Unknown), Delivered: true, Message: "lost"})
		c.die()
	case fateNotGivenEnd:
		c.die()
	case fateLate:
		go func() {
			time.Sleep(10 * time.Second)
			c.result(call.ID, `{}`)
		}()
	}
}

// TestNeverASecondExecution drives servers through random faults and compares
// what callers are told with what was executed.
func TestNeverASecondExecution(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		remote := rapid.Bool().Draw(rt, "remote")
		mix := rapid.SliceOfN(rapid.IntRange(0, int(fates)-1), 1, 12).Draw(rt, "mix")
		callers := rapid.IntRange(1, 8).Draw(rt, "callers")
		var problems []string
		inBubble(t, func(t *testing.T) { problems = chaos(t, seed, remote, mix, callers) })
		for _, p := range problems {
			rt.Error(p)
		}
	})
}

func chaos(t *testing.T, seed uint64, remote bool, mix []int, callers int) (problems []string) {
	l := &ledger{runs: map[string]int{}}
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	pick := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.IntN(n) }
	w := &world{script: func(int, exchange.LinkSpec) act {
		if pick(5) == 0 {
			return act{err: exited()}
		}
		return act{delay: time.Duration(pick(300)) * time.Millisecond, handle: func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsCall {
				return false
			}
			l.suffer(c, call, fate(mix[pick(len(mix))]))
			return true
		}}
	}}
	spec := stdio()
	if remote {
		spec = overHTTP()
	}
	spec.CallTimeout = 3 * time.Second
	r := start(t, spec, w)
	var all sync.WaitGroup
	var outs []told
	for i := range callers {
		all.Go(func() {
			for j := range 15 {
				time.Sleep(time.Duration(pick(700)) * time.Millisecond)
				out := chaosCall(r, fmt.Sprintf(`{"call":"%d.%d"}`, i, j), pick(4) == 0)
				mu.Lock()
				outs = append(outs, out)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	wait(time.Minute)
	for _, out := range outs {
		if p := l.judge(out); p != "" {
			problems = append(problems, p)
		}
	}
	if st := r.Status(); st.InFlight != 0 || st.Queued != 0 {
		problems = append(problems, fmt.Sprintf("%d in flight, %d queued at the end", st.InFlight, st.Queued))
	}
	return problems
}

// told is what one caller was told, and how long it waited.
type told struct {
	name  string
	reply exchange.Reply
	took  time.Duration
}

func chaosCall(r *rig, name string, leave bool) told {
	ctx := context.Background()
	if leave {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	req := tool()
	req.Params.Raw = []byte(name)
	began := time.Now()
	reply := r.Do(ctx, upstream.Key{Principal: name}, req, &stream{})
	return told{name, reply, time.Since(began)}
}

// judge says what is wrong with what a caller was told; "" if nothing is.
func (l *ledger) judge(out told) string {
	l.mu.Lock()
	runs := l.runs[out.name]
	l.mu.Unlock()
	said := code(out.reply)
	switch {
	case runs > 1:
		return fmt.Sprintf("%s was executed %d times", out.name, runs)
	case out.took > 3*time.Second+500*time.Millisecond:
		return fmt.Sprintf("%s took %s", out.name, out.took)
	case out.reply.Error == nil && runs != 1:
		return fmt.Sprintf("%s has a result and was executed %d times", out.name, runs)
	case said == wire.CodeUnavailable && runs != 0:
		return fmt.Sprintf("%s was executed although its caller was told that it was not: %s", out.name, out.reply.Error)
	case out.reply.Error == nil || said == -32000 || said == wire.CodeUnavailable || said == wire.CodeUnknownOutcome || said == wire.CodeTimeout:
		return ""
	default:
		return fmt.Sprintf("%s was told %s", out.name, out.reply.Error)
	}
}
