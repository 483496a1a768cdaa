// Package guard keeps what the operator's people decided, in one small SQLite file:
// grants (remembered approvals) and pins (what servers offered, and what was
// accepted of it). It is written seldom, by one process, and every write is on the
// disk when it returns: what somebody revoked or rejected must not come back with
// the power.
//
// The record of how it came to that is in the ledger, not here.
package guard
