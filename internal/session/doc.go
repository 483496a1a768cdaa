// Package session keeps the conversations with clients: what a legacy client
// said of itself at initialize, which of its requests are in flight, which of
// our requests it still has to answer, and what it may ask for again after it
// lost its connection.
//
// A [Session] is a passive state machine. It has no goroutine, no timer and does
// no input or output; an idle one costs two or three kilobytes. A [Store] keeps
// the sessions of streamable HTTP (2025-11-25, transports "Session Management"),
// bound to principal and route, bounded in number, and ended when idle. A stdio
// connection is its own session, see [Store.Loose].
//
// With a [Sealer] the id that a client carries holds what it said at initialize,
// so that its session goes on after a restart, and on a replica: revive.go has the
// rules, and their limits.
//
// Modern requests over HTTP have no session. Start at [New].
package session
