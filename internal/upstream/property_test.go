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
	fateAnswer       fate = iota
	fateToolError         // executed, answered with isError
	fateTwice             // executed, answered two times
	fateRPCError          // executed or not, answered with an error
	fateNotGiven          // provably not delivered
	fateNotGivenEnd       // the same, and the connection ends
	fateNoSession         // the server forgot the session: not executed
	fateRanNoSession      // executed, and it forgot the session before it answered
	fateRanLost           // executed, the answer is lost with the connection
	fateLost              // not executed, but nobody can know
	fateEnd               // the same, and the connection says only that it ended
	fateRanReset          // executed, the answer of this call alone is lost
	fateReset             // not executed, but nobody can know
	fateRanFault          // executed, a fault of this call alone
	fateSpoilt            // executed, the answer is of no use
	fatePutOff            // not executed: the server is busy
	fateRanPutOff         // executed, and a proxy says that it is busy
	fateSilence           // executed, never answered
	fateLate              // executed, answered after the deadline
	fates
)

// ledger counts the executions of each call, by what it carries, and the faults.
type ledger struct {
	mu     sync.Mutex // guards the fields below
	random *rand.Rand
	runs   map[string]int
	met    [fates]int // how often each fate was met
}

func (l *ledger) run(call *exchange.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[string(call.Params.Raw)]++
}

func (l *ledger) pick(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.random.IntN(n)
}

// chance is one in n.
func (l *ledger) chance(n int) bool { return l.pick(n) == 0 }

func (l *ledger) millis(n int) time.Duration { return time.Duration(l.pick(n)) * time.Millisecond }

// suffer makes one call meet its fate.
func (l *ledger) suffer(c *fakeConn, call *exchange.Call, f fate) {
	l.mu.Lock()
	l.met[f]++
	l.mu.Unlock()
	switch f {
	case fateNotGiven, fateNotGivenEnd, fateNoSession, fateLost, fateEnd, fateReset, fatePutOff, fateRPCError:
	default:
		l.run(call)
	}
	if answered := l.answer(c, call, f); answered {
		return
	}
	fault := exchange.Fault{Kind: uint8(durward.Unavailable), Message: "fault of a test"}
	switch f {
	case fateNoSession:
		fault.NoSession = true
	case fateRanNoSession:
		fault.NoSession, fault.Delivered, fault.Again = true, true, true
	case fateRanLost, fateLost, fateRanReset, fateReset:
		fault.Kind, fault.Delivered, fault.Again = uint8(durward.Unknown), true, true
	case fateRanFault, fateSpoilt:
		fault.Delivered = true
	case fatePutOff, fateRanPutOff:
		fault.Delivered, fault.Again, fault.RetryAfter = true, true, l.millis(1000)+1
	}
	c.fault(call.ID, fault)
	overPipes := c.spec.URL == "" // where a call is lost only with its connection
	if f == fateNotGivenEnd || f == fateRanLost || f == fateLost || overPipes && (f == fateRanReset || f == fateReset) {
		c.die()
	}
}

// answer is suffer for fates without a fault of the call itself.
func (l *ledger) answer(c *fakeConn, call *exchange.Call, f fate) bool {
	switch f {
	case fateAnswer:
		c.result(call.ID, `{}`)
	case fateTwice:
		c.result(call.ID, `{}`)
		c.result(call.ID, `{}`)
	case fateToolError:
		c.emit(&exchange.Response{ID: call.ID, Reply: exchange.Reply{Result: []byte(`{"isError":true}`), IsError: true}})
	case fateRPCError:
		c.failure(call.ID, -32000, "EOF")
	case fateEnd:
		c.die()
	case fateSilence:
	case fateLate:
		go func() {
			if c.lives(10 * time.Second) {
				c.result(call.ID, `{}`)
			}
		}()
	default:
		return false
	}
	return true
}

// open is what an attempt to connect does.
func (l *ledger) open(mix []fate) act {
	a := act{delay: l.millis(300)}
	switch {
	case l.chance(8):
		return act{err: exited(), delay: a.delay}
	case l.chance(12):
		a.closed = &exchange.Closed{Phase: exchange.PhaseHandshake, Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "closed during the handshake"}}
	case l.chance(16):
		a.hang = true
	case l.chance(16):
		a.dies = true
	}
	a.refuse = func(call *exchange.Call) bool { return call.Method == wire.MethodToolsCall && l.chance(20) }
	a.handle = func(c *fakeConn, call *exchange.Call) bool {
		if call.Method != wire.MethodToolsCall {
			return false
		}
		l.suffer(c, call, mix[l.pick(len(mix))])
		return true
	}
	return a
}

// turmoil is one run of servers through random faults.
type turmoil struct {
	seed       uint64
	remote     bool
	idempotent bool
	steered    bool // an operator interferes
	mix        []fate
	callers    int
}

// TestNeverASecondExecution drives servers through random faults and compares
// what callers are told with what was executed.
func TestNeverASecondExecution(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		run := turmoil{
			seed: rapid.Uint64().Draw(rt, "seed"), remote: rapid.Bool().Draw(rt, "remote"), idempotent: rapid.Bool().Draw(rt, "idempotent"),
			steered: rapid.Bool().Draw(rt, "steered"), callers: rapid.IntRange(1, 8).Draw(rt, "callers"),
		}
		for _, f := range rapid.SliceOfN(rapid.IntRange(0, int(fates)-1), 1, 12).Draw(rt, "mix") {
			run.mix = append(run.mix, fate(f))
		}
		problems, _ := run.check(t)
		for _, p := range problems {
			rt.Error(p)
		}
	})
}

// TestAThousandFaults does the same with every kind of fault, until calls met more
// than a thousand in each of four kinds of server.
func TestAThousandFaults(t *testing.T) {
	mix := make([]fate, 0, fates+8)
	for f := range fates {
		mix = append(mix, f)
	}
	for range 8 {
		mix = append(mix, fateAnswer)
	}
	for i := range 4 {
		run := turmoil{remote: i&1 != 0, idempotent: i&2 != 0, mix: mix, callers: 12}
		t.Run(fmt.Sprintf("remote %v, idempotent %v", run.remote, run.idempotent), func(t *testing.T) {
			var met [fates]int
			faults := 0
			for run.seed = 1; faults < 1000; run.seed++ {
				run.steered = run.seed%2 == 0
				problems, l := run.check(t)
				for _, p := range problems {
					t.Errorf("seed %d: %s", run.seed, p)
				}
				if t.Failed() {
					return
				}
				faults = 0
				for f := range fates {
					met[f] += l.met[f]
					if f > fateTwice {
						faults += met[f]
					}
				}
			}
			for f := range fates {
				if met[f] < 10 {
					t.Errorf("%d calls met fate %d", met[f], f)
				}
			}
			t.Logf("%d calls were answered, %d met a fault", met[fateAnswer]+met[fateToolError]+met[fateTwice], faults)
		})
	}
}

// check makes the run and returns what was wrong.
func (run turmoil) check(t *testing.T) (problems []string, l *ledger) {
	l = &ledger{random: rand.New(rand.NewPCG(run.seed, 1)), runs: map[string]int{}}
	inBubble(t, func(t *testing.T) { problems = run.through(t, l) })
	return problems, l
}

func (run turmoil) through(t *testing.T, l *ledger) (problems []string) {
	spec := stdio()
	if run.remote {
		spec = overHTTP()
	}
	spec.CallTimeout, spec.StartTimeout = 3*time.Second, 2*time.Second
	if run.idempotent {
		spec.Tools.Idempotent = []string{"may-be-*"}
	}
	r := start(t, spec, &world{script: func(int, exchange.LinkSpec) act { return l.open(run.mix) }}, func(o *upstream.Options) {
		o.Limits.BackoffFirst, o.Limits.BackoffMost = 10*time.Millisecond, 50*time.Millisecond // the faults are to be met
	})
	var all sync.WaitGroup
	var mu sync.Mutex // guards outs
	var outs []told
	for i := range run.callers {
		all.Go(func() {
			for j := range 15 {
				time.Sleep(l.millis(700))
				out := run.call(r, fmt.Sprintf(`{"name":"may-be-called","call":"%d.%d"}`, i, j), l)
				mu.Lock()
				outs = append(outs, out)
				mu.Unlock()
			}
		})
	}
	if run.steered {
		all.Go(func() { run.steer(r, l) })
	}
	all.Wait()
	wait(time.Minute)
	for _, out := range outs {
		if p := run.judge(l, out); p != "" {
			problems = append(problems, p)
		}
	}
	if st := r.Status(); st.InFlight != 0 || st.Queued != 0 {
		problems = append(problems, fmt.Sprintf("%d in flight, %d queued at the end", st.InFlight, st.Queued))
	}
	return problems
}

// steer is an operator who interferes, and in the end stops it all.
func (run turmoil) steer(r *rig, l *ledger) {
	for range 4 {
		time.Sleep(l.millis(3000))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		switch l.pick(4) {
		case 0:
			_ = r.Restart(ctx) // whether it comes up is for the fates
		case 1:
			_ = r.Refresh(ctx)
		case 2:
			_ = r.Disable()
			time.Sleep(l.millis(500))
			r.Enable()
		case 3:
			r.EndSession("s1")
		}
		cancel()
	}
	if l.chance(2) {
		_ = r.Close()
	}
}

// told is what one caller was told, and how long it waited.
type told struct {
	name  string
	reply exchange.Reply
	took  time.Duration
}

func (run turmoil) call(r *rig, name string, l *ledger) told {
	ctx := context.Background()
	if l.chance(6) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.millis(2000))
		defer cancel()
	}
	req := tool()
	if err := wire.ParseParams([]byte(name), &req.Params); err != nil {
		panic(err)
	}
	began := time.Now()
	reply := r.Do(ctx, upstream.Key{Principal: name, Session: fmt.Sprintf("s%d", l.pick(3))}, req, &stream{})
	return told{name, reply, time.Since(began)}
}

// judge says what is wrong with what a caller was told; "" if nothing is.
func (run turmoil) judge(l *ledger, out told) string {
	l.mu.Lock()
	runs := l.runs[out.name]
	l.mu.Unlock()
	most := 1
	if run.idempotent {
		most = 2
	}
	said := code(out.reply)
	switch {
	case runs > most || out.reply.Attempts > most || runs > out.reply.Attempts:
		return fmt.Sprintf("%s was executed %d times, of %d attempts", out.name, runs, out.reply.Attempts)
	case out.took > 3*time.Second+600*time.Millisecond:
		return fmt.Sprintf("%s took %s", out.name, out.took)
	case out.reply.Error == nil && runs == 0:
		return fmt.Sprintf("%s has a result and was never executed", out.name)
	case said == wire.CodeUnavailable && (runs != 0 || out.reply.Attempts != 0):
		return fmt.Sprintf("%s was executed although its caller was told that it was not: %s", out.name, out.reply.Error)
	case out.reply.Error == nil || said == -32000 || said == wire.CodeUnavailable || said == wire.CodeUnknownOutcome || said == wire.CodeTimeout:
		return ""
	default:
		return fmt.Sprintf("%s was told %s", out.name, out.reply.Error)
	}
}
