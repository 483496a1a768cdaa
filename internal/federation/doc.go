// Package federation is the engine beneath the public packages gateway and
// federation: a set of upstream servers, the catalog of what they offer, and
// the fan-out of what changes there.
//
// It decides nothing: whoever gets a server from it with [Set.Server] calls it.
// Policy and ledger stand in front of it, in package gateway. Start at [New].
package federation
