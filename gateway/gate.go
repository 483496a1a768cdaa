package gateway

import (
	"context"

	"durward"
)

// Decider decides every call: the one gate. It is called by many goroutines.
type Decider interface {
	// Decide decides a call before anything is done. It may correct call.Risk. An
	// error blocks the call.
	Decide(ctx context.Context, call *durward.Call) (durward.Decision, error)
	// DecideResult decides whether the caller may have the result, and in which form.
	// It never asks. An error withholds the result.
	DecideResult(ctx context.Context, call *durward.Call, result []byte) (durward.Decision, error)
	// Visible reports whether something is listed for the caller: false for what
	// Decide would block whatever the arguments are. call has the method that uses
	// what is listed (tools/call, prompts/get, resources/read) and no params, and for a
	// resource template no name: which URI is read is open. It may correct call.Risk as
	// Decide does.
	Visible(caller *durward.Caller, call *durward.Call) bool
}

// Counter is what a [Decider] may implement besides: it is told of calls that a
// person let pass, which count towards limits from then on.
type Counter interface {
	Count(call *durward.Call, d *durward.Decision)
}

// Reconsiderer is what a [Decider] may implement besides: it decides anew about a
// call that waited for a person since it was decided first. Nothing is counted
// towards a limit by it. A block ends the call, whoever approved it.
type Reconsiderer interface {
	Reconsider(ctx context.Context, call *durward.Call, first *durward.Decision) durward.Decision
}

// Approver asks people. It is called by many goroutines.
type Approver interface {
	// Granted looks for an earlier answer that covers the call, which is bound to its
	// principal, rules, server, definition of the tool, and canonical arguments.
	Granted(call *durward.Call, d *durward.Decision) (durward.Answer, bool)
	// Ask parks a call until somebody answers, time runs out, or ctx ends, and has
	// written down the question before and the answer after. asks, unless it is nil,
	// puts the question to the requesting client as well, until its ctx ends; it
	// returns what the client says, or that it says nothing. The first answer counts.
	// An error means that nobody was asked, and refuses the call.
	Ask(ctx context.Context, call *durward.Call, d *durward.Decision, asks func(context.Context) (approved, answered bool)) (durward.Answer, error)
	// Told writes down an answer that the requesting client gave with another request
	// than the one that was asked about, where the question allows it. One that is late
	// counts as none.
	Told(ctx context.Context, call *durward.Call, d *durward.Decision, approved, late bool) (durward.Answer, error)
}

// MatchRecorder is what a [Recorder] may implement besides: it writes down each
// rule that matched, and each thing a plugin did. Its methods must not block.
type MatchRecorder interface {
	Matched(call *durward.Call, matches []durward.Match)
}

// Recorder writes every call down: Intent before it acts, Outcome after.
type Recorder interface {
	// Intent returns once the call is recorded. An error refuses the call.
	Intent(ctx context.Context, call *durward.Call, d durward.Decision) error
	// Outcome records how a call ended. The reply is not delayed by it.
	Outcome(ctx context.Context, call *durward.Call, o durward.Outcome)
}

// SessionRecorder is what a [Recorder] may implement besides: it writes down when
// legacy sessions begin and end. Its methods must not block. A session outlives
// the process: one that goes on later begins again, under the same id.
type SessionRecorder interface {
	SessionBegan(caller durward.Caller, route durward.Route)
	SessionEnded(caller durward.Caller, reason string)
}

// allowAll is the policy of a gateway that was given none. Status says so.
type allowAll struct{}

func (allowAll) Decide(context.Context, *durward.Call) (durward.Decision, error) {
	return durward.Decision{Action: durward.Allow, Layer: "none"}, nil
}

func (allowAll) DecideResult(context.Context, *durward.Call, []byte) (durward.Decision, error) {
	return durward.Decision{Action: durward.Allow, Layer: "none"}, nil
}

func (allowAll) Visible(*durward.Caller, *durward.Call) bool { return true }

// recordNothing is the ledger of a gateway that was given none. Status says so.
type recordNothing struct{}

func (recordNothing) Intent(context.Context, *durward.Call, durward.Decision) error { return nil }
func (recordNothing) Outcome(context.Context, *durward.Call, durward.Outcome)       {}
