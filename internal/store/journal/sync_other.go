//go:build !linux

package journal

import "os"

// syncData returns when the disk has what was written.
func syncData(f *os.File) error { return f.Sync() }
