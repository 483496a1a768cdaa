//go:build race

package ledger_test

// share is which part of the many tampers is tried: it takes several times as long with
// the race detector. make test tries all without it.
const share = 25
