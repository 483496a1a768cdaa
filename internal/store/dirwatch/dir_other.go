//go:build !unix

package dirwatch

import "time"

// handle is nothing: when Windows updates the times of a directory is not told.
type handle struct{}

type state struct{}

func (state) changed() time.Time { return time.Time{} }

func open(string) handle { return handle{} }

func (handle) state() (state, bool) { return state{}, false }

func (handle) close() error { return nil }
