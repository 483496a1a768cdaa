// Package hold keeps calls to legacy servers that wait for the input of a modern
// client. A legacy server asks in the middle of a call; a modern client is asked
// by the answer to its request (input_required) and brings the input with a
// retry, which is a request of its own. Between the two the call stays open here.
//
// A call has turns: one per request of the client. A turn begins with the
// request and ends with the final reply, or with the questions that are open
// once the server fell silent. Who leaves during a turn cancels the call
// (2026-07-28, basic/transports); between turns nobody is there and nobody has
// to be, but the wait is bounded.
package hold

import (
	"context"
	"time"

	"durward"
	"durward/internal/exchange"
)

// Owner says whose a call is. Only its owner can resume it, and the cap counts per owner.
type Owner struct{ Principal, Server string }

// Options bound a Table. Zero or less means the default.
type Options struct {
	// Most is how many calls of one owner may be held at a time: limits.holds;
	// default 16. A call counts from its first question until it is forgotten.
	Most int
	// Life is how long a held call waits for the input of one round:
	// limits.hold_life; default 5 min.
	Life time.Duration
	// Quiet is how long the server must have asked nothing more until what it
	// asked becomes one turn; default 15 ms. A turn waits at most ten times as
	// long for more questions.
	Quiet time.Duration
}

func (o Options) withDefaults() Options {
	if o.Most <= 0 {
		o.Most = 16
	}
	if o.Life <= 0 {
		o.Life = 5 * time.Minute
	}
	if o.Quiet <= 0 {
		o.Quiet = 15 * time.Millisecond
	}
	return o
}

// Call is the upstream call. It is run once, in a goroutine of the table. Its
// context has the values of the request that began the call and outlives it: it
// ends when the call is cancelled, and has no deadline. Ask of out waits until
// the client brought the answer.
type Call func(ctx context.Context, out exchange.Stream) exchange.Reply

// Question is a request of the server to the client.
type Question struct {
	Key    string // "q1", "q2", …: unique over the life of the call
	Method string
	Params []byte // raw, fit for a modern client; nil when there were none
}

// Turn is what one request of the client brought: the final Reply, or Questions.
type Turn struct {
	Reply exchange.Reply // empty when there are Questions
	// ID names the held call, set with Questions: 128 random bits or more, as text.
	ID        string
	Round     int        // 1 with the first questions; 0 without
	Questions []Question // all that are open, in the order they were asked
	// Refused are the capabilities for which the server asked over the whole call
	// and which the client did not declare, each once; at most 16.
	Refused []string
}

// ErrLost says that there is nothing to resume: the id is unknown or another
// owner's, or the call is not at that round any more, because the answer for it
// was given before. It is of kind NotFound; use errors.Is.
var ErrLost error = durward.Errorf(durward.NotFound, "", "the call that waited for this input is over: it was answered, "+
	"ran out of time (limits.hold_life), or the gateway was restarted; whether the tool ran to its end is not known. Call again if that is safe")
