//go:build unix

package launch

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// executable returns path if this process may execute it, fs.ErrPermission if
// it exists and may not be executed.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() || unix.Access(path, unix.X_OK) != nil {
		return "", fs.ErrPermission
	}
	return path, nil
}
