//go:build race

package sqlite_test

// casesOf is how many cases of a property are tried: each takes several times as long
// with the race detector. make test tries all without it.
const casesOf = "12"
