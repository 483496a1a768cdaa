//go:build race

package ledger_test

// share is which part of the many tampers is tried: SQLite takes twenty times as long
// under the race detector. Without it all are.
const share = 25
