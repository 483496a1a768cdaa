// Package upstream is the core's half of one configured MCP server: [Server]
// knows in which state it is, opens and replaces connections to it, hands calls
// to them, loads its catalog and takes what it says on its own.
//
// What it is not: it reads no byte a server sends. That is done by the confined
// half in the subpackage worker; between the two run only the messages of
// package exchange. It also decides nothing about who may call what, and it
// never repeats a call that may have been executed, unless the operator said
// that this one may be; retry.go is the only place that repeats any.
//
// A Server has links. A link is a place for one connection at a time, which is
// dialled, lost and dialled again. The first one, the primary, decides the
// server's state and is where the catalog is read and subscriptions live.
// Others exist for requesters of the other protocol era and, depending on
// durward.Server.Instances, for single principals or sessions.
//
// Everything is guarded by one mutex per server. It is held for some map
// operations per call and never while anything is sent, launched or told.
//
// Start at [New] and [Server.Do]; state.go holds the one function that changes
// the state, link.go says when a connection is opened and when it is not.
package upstream
