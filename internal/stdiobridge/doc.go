// Package stdiobridge carries the lines of one MCP client to a service that may
// end and come back, so that the client need not be started anew. It is what
// `durward stdio` is, between a desktop client's pipes and the service's socket.
//
// While the connection stands, bytes pass untouched; a line is scanned only for
// what it is, and noted when it is a request. When the connection breaks, each
// request in flight gets what can honestly be said of it: one that was provably
// not handed over, or that changes nothing by protocol, is sent again on the next
// connection; any other is answered with 50402, and never sent twice. The bridge
// then dials again, repeats the handshake of a legacy client and its
// subscriptions, swallows the answers that the client has had already, and tells
// it that lists may have changed (2025-11-25, basic/lifecycle; 2026-07-28,
// basic/patterns/subscriptions).
//
// It keeps a bounded amount of everything: see the constants of [Options] and of
// the files. Start at [New] and [Bridge.Run]; one connection is a link (link.go).
package stdiobridge
