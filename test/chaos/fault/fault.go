// Package fault names what goes wrong in the chaos test, and says of each kind
// where it strikes and whom it concerns. It is the vocabulary that the harness
// and the servers share.
package fault

// What a server does with one call, on command of its argument "fault".
const (
	CrashBefore = "crash-before" // dies when the call was read, before it is executed
	CrashAfter  = "crash-after"  // dies when it was executed, before it is answered
	CrashMid    = "crash-mid"    // dies in the middle of the answer
	Hang        = "hang"         // executes it and never answers; other calls are served
	Wedge       = "wedge"        // executes it; then the whole process hangs
	Slow        = "slow"         // takes its time before it is executed
	Noise       = "noise"        // says nonsense before the answer
	Twice       = "twice"        // answers twice
	Busy        = "busy"         // HTTP: 503 instead of executing
	LoseSession = "lose-session" // HTTP, legacy: all sessions are forgotten before the call is executed
)

// What a server does on command of the harness, at a random time.
const (
	Kill   = "kill"
	Deaf   = "deaf"   // stops reading, and then dies with requests unread
	Freeze = "freeze" // hangs
	Pause  = "pause"  // hangs for a moment
	Forget = "forget" // HTTP, legacy: all sessions are forgotten

	SlowStart  = "slow-start"  // dies, and its successor takes long to come up
	CrashStart = "crash-start" // dies, and its successor dies as well
)

// What the proxy between the gateway and an HTTP server does.
const (
	Refuse      = "refuse"        // accepts no connection for a moment
	ResetOpen   = "reset-open"    // resets a connection before its first byte
	ResetIdle   = "reset-idle"    // resets a connection when the next request comes, which is not passed on
	ResetMid    = "reset-request" // in the middle of a request
	ResetAnswer = "reset-answer"  // when the whole request is through, before the answer
	CutHead     = "cut-head"      // in the middle of the head of an answer
	CutBody     = "cut-body"      // in the middle of the body of an answer, or of a stream
	EndBody     = "end-body"      // the same with an orderly end instead of a reset
	HalfClose   = "half-close"    // ends its direction to the gateway before the answer
	HalfIdle    = "half-idle"     // ends it while the connection idles; a request that comes all the same is passed on
	Delay       = "delay"         // is slow
)

// What happens to the gateway and to clients.
const (
	GatewayKill = "gateway-kill" // SIGKILL, and another one with the same state
	GatewayTerm = "gateway-term" // SIGTERM, and another one
	ClientLeave = "client-leave" // a client drops its connection, or cancels
	ClientDrop  = "client-drop"  // a legacy client drops its stream and comes back for the answer
	ClientKill  = "client-kill"  // a durward stdio is killed
)

// Scope is whom a fault concerns.
type Scope uint8

// The scopes.
const (
	OneCall     Scope = iota // the call it is noted with, if any
	OneClient                // all calls of the client that are under way
	OneServer                // all calls of the server that are under way
	EveryServer              // all calls that are under way
)

// ScopeOf returns the scope of a kind of fault.
func ScopeOf(kind string) Scope {
	switch kind {
	case CrashBefore, CrashAfter, CrashMid, Wedge, LoseSession, Kill, Deaf, Freeze, Pause, Forget, SlowStart, CrashStart, Refuse:
		return OneServer
	case GatewayKill, GatewayTerm:
		return EveryServer
	case ClientKill:
		return OneClient
	default:
		return OneCall
	}
}

// OfCalls are the kinds that a call can be told to meet, by transport and era of
// the server, each as often as it is to be drawn.
func OfCalls(http, legacy bool) []string {
	kinds := []string{CrashBefore, CrashAfter, CrashMid, Wedge, Hang, Slow, Slow, Noise, Noise, Noise, Twice, Twice, Twice}
	if http {
		kinds = append(kinds, Busy, Busy, Busy)
		if legacy {
			kinds = append(kinds, LoseSession, LoseSession)
		}
	}
	return kinds
}

// OfProcesses are the kinds that are commanded.
func OfProcesses(http, legacy bool) []string {
	kinds := []string{Kill, Kill, Deaf, Freeze, Pause, Pause, SlowStart, CrashStart}
	if http && legacy {
		kinds = append(kinds, Forget, Forget)
	}
	return kinds
}

// OfConnections are the kinds of the proxy.
func OfConnections() []string {
	return []string{ResetOpen, ResetIdle, ResetMid, ResetAnswer, CutHead, CutBody, EndBody, HalfClose, HalfIdle, Delay}
}
