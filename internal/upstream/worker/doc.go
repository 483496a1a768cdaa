// Package worker is the confined half of a connection to an upstream server: it
// reads the bytes the server sends, which nobody has checked before, and turns
// them into link messages ([exchange.Message]); the other way it builds the
// requests the server gets, with ids, routing values and protocol metadata of
// this hop.
//
// It starts no process and dials nothing: it is handed open pipes, or a way to
// do HTTP. It can therefore run in a process of its own that has no rights; only
// link messages cross between it and the core. For the same reason it imports the
// standard library, the vocabulary, wire and exchange, and nothing else.
//
// What it is not: it keeps no catalog, decides no policy, does not restart
// anything. Those who hold the [exchange.Link] do.
//
// Start at [OpenStdio] for a server behind two pipes, at [OpenHTTP] or [OpenSSE]
// for one behind a URL. The handshake with its
// probing of eras (handshake.go) and the translation of single messages
// (common.go, peer.go) are shared by all drivers.
package worker
