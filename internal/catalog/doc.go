// Package catalog is what is offered: the raw listings of all servers on one
// side, and on the other an immutable [View] for each route, which answers the
// list methods from bytes that were assembled once and finds out whose a name or
// a URI is.
//
// Items stay the bytes the server sent. What a route must change, a name, a URI,
// a configured description, is spliced in; everything else passes untouched.
// On a route to one server nothing but a configured description changes.
//
// Writers ([Catalog.Put], [Catalog.SetServers], …) take turns under a lock;
// readers take one atomic load and then own a view that never changes. A writer
// learns from [Change] which routes' lists differ now.
//
// It is not policy: it knows what the operator's [durward.ToolRules] leave of a
// server, and applies a filter that is handed to [View.List], but decides nothing
// per caller. It does no input or output and starts no goroutine.
//
// Start at [New].
package catalog
