//go:build !race

package wire_test

// scale divides the sizes of hostile messages.
const scale = 1
