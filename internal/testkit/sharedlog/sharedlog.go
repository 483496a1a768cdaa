// Package sharedlog is where tests have logs and outputs written that they read
// meanwhile: a bytes.Buffer there is a data race.
package sharedlog

import (
	"bytes"
	"sync"
)

// Buffer takes what is written to it. The zero value is ready, and may be used by many
// goroutines.
type Buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write implements [io.Writer]. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written since Reset.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Reset forgets what was written.
func (b *Buffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}
