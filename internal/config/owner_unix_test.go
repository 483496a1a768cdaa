//go:build unix

package config_test

import (
	"syscall"
	"testing"
)

func ownedBy(t *testing.T, uid uint32) any { t.Helper(); return &syscall.Stat_t{Uid: uid} }
func rootOwned(t *testing.T) any           { t.Helper(); return ownedBy(t, 0) }
