// Package exchange is the language of the core: what a request and its reply
// are once the downstream edge took off its era, and before the upstream edge
// puts on its own. It has modern semantics: a [Request] stands alone and says
// everything about its requester.
//
// It also holds the messages that cross between the core and one connection to
// an upstream server ([Link], [Sink]). They are plain data, bytes and deadlines,
// so that the connection may live in another process (see the pipe subpackage);
// no closure and no shared memory crosses.
//
// Edges and stages meet in this package and nowhere else.
package exchange
