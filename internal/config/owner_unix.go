//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the numeric user who owns a file.
func ownerOf(info fs.FileInfo) (uid uint32, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
