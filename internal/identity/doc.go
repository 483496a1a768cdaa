// Package identity says who is speaking at an HTTP entrance, and refuses those
// who must not: a web page that a browser was lured into sending (foreign Host
// or Origin), somebody without a valid token, and on the unix socket anybody who
// is not the user the service runs as.
//
// It judges by what cannot be forged (the connection, the token), never by what
// a client says of itself. It knows no MCP and keeps no sessions.
//
// Start at [New] and [Gate.Admit]; [LoadToken] reads or makes the token file;
// [ConnContext] must be set on every http.Server that listens on a unix socket.
package identity
