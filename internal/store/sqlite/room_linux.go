package sqlite

import "syscall"

// roomAt returns how many bytes are free on the disk of a file.
func roomAt(path string) int64 {
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) != nil {
		return 0
	}
	return int64(float64(fs.Bavail) * float64(fs.Bsize)) // their types differ between machines
}
