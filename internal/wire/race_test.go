//go:build race

package wire_test

// scale divides the sizes of hostile messages: the race detector makes all ten times as slow.
const scale = 16
