//go:build !unix

package ledgerfile

import "time"

// cpu is not told here.
func cpu() time.Duration { return 0 }
