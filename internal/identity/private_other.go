//go:build !unix

package identity

import (
	"io/fs"
	"os"

	"durward"
)

func openNoFollow(path string) (*os.File, error) { return os.Open(path) }

// checkPrivate trusts the access list of the user's own directory, which is
// where token files live; mode bits say nothing here.
func checkPrivate(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return durward.Errorf(durward.Denied, tokenOpName, "%s is no regular file", path)
	}
	return nil
}
