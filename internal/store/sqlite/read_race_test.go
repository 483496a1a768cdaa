//go:build race

package sqlite_test

// casesOf is how many cases of a property are tried: each takes ten times as long with
// the race detector.
const casesOf = "12"
