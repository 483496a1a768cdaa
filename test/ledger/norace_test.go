//go:build !race

package ledger_test

// share is which part of the many tampers is tried: all.
const share = 1
