//go:build !linux

package ledgerfile

import "durward"

// forget is known only on Linux.
func forget(string) error {
	return durward.Errorf(durward.Unavailable, "ledger", "only Linux can be told to forget a file")
}

// diskBytes is not told here.
func diskBytes() int64 { return 0 }
