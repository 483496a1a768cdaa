//go:build !unix

package clientconf

import (
	"io/fs"
	"os"
)

// sameOwner has nothing to do: the directory's access list applies.
func sameOwner(*os.File, fs.FileInfo) error { return nil }

// syncDir has nothing to do: directories cannot be synced.
func syncDir(string) error { return nil }
