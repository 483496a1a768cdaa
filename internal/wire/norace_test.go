//go:build !race

package wire_test

import (
	"strings"
	"testing"

	"durward/internal/wire"
)

// scale divides the sizes of hostile messages.
const scale = 1

// TestMaxScan: what is larger is refused before a byte of it is looked at. The
// pages are never touched, except by the race detector, so this runs without it.
func TestMaxScan(t *testing.T) {
	huge := make([]byte, wire.MaxScan+1)
	var m wire.Message
	if err := wire.Parse(huge, wire.FromServer, &m); err == nil || !strings.Contains(err.Error(), "limits.message") {
		t.Error(err)
	}
	if err := wire.ParseParams(huge, &m.Params); err == nil || !strings.Contains(err.Error(), "512 MiB") {
		t.Error(err)
	}
	if wire.Valid(huge) {
		t.Error("accepted")
	}
}
