//go:build !unix

package worker

import "io"

// nonBlocking is not to be had here: the pump's goroutine writes everything.
func nonBlocking(io.Writer) func([]byte) (int, error) { return nil }
