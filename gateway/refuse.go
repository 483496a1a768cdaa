package gateway

import (
	"cmp"
	"strconv"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Causes of a refusal that an agent may see as data.reason, besides those of
// [durward.Decision.Cause] and [durward.Answer.Cause].
const (
	causeEvaluation = "evaluation" // policy failed
	causePin        = "pin"        // the definition is held, or another one than it was
	causeChanged    = "changed"    // what decides changed while the call waited
)

// Refusal says in which form an agent learns that its call was refused.
type Refusal string

// The forms.
const (
	RefusalError  Refusal = "error"  // a JSON-RPC error; the default
	RefusalResult Refusal = "result" // a tool result with isError, for clients whose model sees no errors
)

// refuse answers a call that policy does not let pass: the agent learns that, not why.
func (g *Gateway) refuse(p *passage, d *durward.Decision) exchange.Reply {
	data := []wire.Member{{Name: "reason", Value: wire.AppendQuote(nil, cmp.Or(d.Cause, "policy"))}}
	if d.Disclose && d.Rule != "" {
		data = append(data, wire.Member{Name: "rule", Value: wire.AppendQuote(nil, d.Rule)})
	}
	if d.Cause == "limit" {
		wait := max(d.RetryAfter, time.Millisecond)
		data = append(data, wire.Member{Name: "retryAfterMs", Value: strconv.AppendInt(nil, wait.Milliseconds(), 10)})
		// The words say it as well: data is not in a result, and a model may not see it.
		seconds := (wait + time.Second - 1).Truncate(time.Second)
		return g.refusal(p, wire.CodeRateLimited, "over a limit that policy sets; the call was not made, and may be made again in "+seconds.String(), data)
	}
	if d.Cause == causeChanged {
		return g.refusal(p, wire.CodeRefused, "what decides about the call changed while it waited for a person; it was not made, and may be sent again", data)
	}
	return g.refusal(p, wire.CodeRefused, "refused by policy", data)
}

// unapproved answers a call that no person let pass.
func (g *Gateway) unapproved(p *passage, d *durward.Decision, cause string) exchange.Reply {
	data := []wire.Member{{Name: "reason", Value: wire.AppendQuote(nil, cause)}}
	if d.Disclose && d.Rule != "" {
		data = append(data, wire.Member{Name: "rule", Value: wire.AppendQuote(nil, d.Rule)})
	}
	switch cause {
	case durward.CauseExpired:
		return g.refusal(p, wire.CodeApprovalTimeout, "the call needs the approval of a person, and nobody answered in time; it was not made", data)
	case durward.CauseUnattended:
		return g.refusal(p, wire.CodeDeniedByPerson, "the call needs the approval of a person, and nobody is there who could answer; it was not made", data)
	case durward.CauseCancelled:
		return g.refusal(p, wire.CodeDeniedByPerson, "the call was cancelled while it waited for the approval of a person; it was not made", data)
	case durward.CauseEnded:
		return g.refusal(p, wire.CodeDeniedByPerson, "the call needs the approval of a person, and the service ended before an answer was on record; it was not made", data)
	default:
		return g.refusal(p, wire.CodeDeniedByPerson, "a person denied the call; it was not made", data)
	}
}

// refusal is the one form of a refusal on every entrance.
func (g *Gateway) refusal(p *passage, code int, message string, data []wire.Member) exchange.Reply {
	if g.refusals.Load() && p.in.Method == wire.MethodToolsCall {
		return toolError(p, message)
	}
	return exchange.Fail(&wire.CodeError{Code: code, Message: message, Data: wire.AppendObject(nil, nil, nil, data...)})
}
