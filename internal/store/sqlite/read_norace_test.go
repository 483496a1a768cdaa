//go:build !race

package sqlite_test

// casesOf is how many cases of a property are tried.
const casesOf = "100"
