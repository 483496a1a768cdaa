package hold_test

import (
	"slices"
	"time"

	"durward/internal/wire"

	"pgregory.net/rapid"
)

// What the property test lets servers and clients do.

// askPlan is one question of a server.
type askPlan struct {
	After    time.Duration // since the step began
	Method   string
	Withdraw time.Duration // 0: never
}

// stepPlan are questions of a server that overlap; the next step comes when all are settled.
type stepPlan struct {
	Pause time.Duration
	Asks  []askPlan
}

// turnPlan is what a client does with one turn.
type turnPlan struct {
	Think   time.Duration
	Answer  int           // bits: which of the questions get an answer
	Junk    bool          // the others get something that is none
	Intrude bool          // others try first
	Twice   bool          // two retries at once
	Leave   time.Duration // during the turn that follows; 0: stays
}

type callPlan struct {
	Owner        int
	Capabilities string
	Start, Leave time.Duration
	Deaf         time.Duration // how long the server needs to notice that it is cancelled
	Steps        []stepPlan
	Turns        []turnPlan // after the last one all is answered at once
	Quit         bool       // the client does not come back after the last one
}

func drawPlans(t *rapid.T) []callPlan {
	short := rapid.SampledFrom([]time.Duration{0, 0, 1 * ms, 7 * ms, 14 * ms, 15 * ms, 16 * ms, 40 * ms, time.Second})
	leave := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 1 * ms, 15 * ms, 20 * ms, time.Second})
	ask := rapid.Custom(func(t *rapid.T) askPlan {
		return askPlan{
			short.Draw(t, "after"), rapid.SampledFrom([]string{wire.MethodElicit, wire.MethodElicit, wire.MethodSampling, wire.MethodRootsList}).Draw(t, "method"),
			rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 1 * ms, 15 * ms, time.Second, 2 * life}).Draw(t, "withdraw"),
		}
	})
	step := rapid.Custom(func(t *rapid.T) stepPlan {
		return stepPlan{short.Draw(t, "pause"), rapid.SliceOfN(ask, 0, 4).Draw(t, "asks")}
	})
	turn := rapid.Custom(func(t *rapid.T) turnPlan {
		return turnPlan{
			rapid.SampledFrom([]time.Duration{0, 0, 5 * ms, time.Second, life - 1, life, life + 1}).Draw(t, "think"),
			rapid.IntRange(0, 15).Draw(t, "answer"), rapid.Bool().Draw(t, "junk"), rapid.Bool().Draw(t, "intrude"), rapid.Bool().Draw(t, "twice"), leave.Draw(t, "leave"),
		}
	})
	call := rapid.Custom(func(t *rapid.T) callPlan {
		return callPlan{
			rapid.IntRange(0, 2).Draw(t, "owner"), rapid.SampledFrom([]string{all, all, all, `{"elicitation":{}}`, `{}`}).Draw(t, "capabilities"),
			short.Draw(t, "start"), leave.Draw(t, "leave"), rapid.SampledFrom([]time.Duration{0, 0, 50 * ms, life}).Draw(t, "deaf"),
			rapid.SliceOfN(step, 0, 3).Draw(t, "steps"), rapid.SliceOfN(turn, 0, 4).Draw(t, "turns"), rapid.IntRange(0, 4).Draw(t, "quit") == 0,
		}
	})
	return rapid.SliceOfN(call, 1, 6).Draw(t, "calls")
}

// diligent reports whether nothing the client does or lets pass can end the call.
func (p *callPlan) diligent() bool {
	if p.Leave > 0 || p.Quit {
		return false
	}
	return !slices.ContainsFunc(p.Turns, func(t turnPlan) bool { return t.Leave > 0 || t.Think >= life })
}
