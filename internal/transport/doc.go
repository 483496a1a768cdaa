// Package transport is the downstream edges: it takes the messages of MCP
// clients off HTTP and off line-delimited streams, both protocol eras on each,
// turns them into requests of the core, and the core's replies back.
//
// An [Edge] is the http.Handler for /mcp, /servers/NAME/mcp and
// /toolsets/NAME/mcp (streamable HTTP: 2026-07-28 and 2025-11-25,
// basic/transports), serves the stdio framing over any connection
// ([Edge.ServeStdio]), and over an HTTP connection that was upgraded to it
// ([Edge.Upgrade]). The era of a request is decided by its metadata first, and
// by session or initialize only when there is none.
//
// It does not decide who may call what, keeps no catalog and knows no server.
// Who is speaking, what a session is and what a request means is asked of
// [Authenticator], [Sessions] and exchange.Core, which it is given.
//
// The path of a request over HTTP: http.go, http_post.go, then modern.go or
// legacy.go, call.go and reply.go. Its way back while it is under way: stream.go
// and pump.go. The same over lines: stdio.go and stdio_conn.go.
package transport
