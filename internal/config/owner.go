package config

import (
	"io/fs"

	"durward"
)

// writableByOthers are the bits of group and world.
const writableByOthers fs.FileMode = 0o022

// checkOwner refuses a corp layer that somebody other than root can have
// written: it would only look like the company's word. It is asked of the open
// file, so that the file cannot be exchanged in between.
func checkOwner(path string, info fs.FileInfo) error {
	op := "config " + path
	uid, known := ownerOf(info)
	switch {
	case !known:
		return durward.Errorf(durward.Invalid, op, "%s: the owner of the file cannot be told on this system, so the corp layer cannot be used here; remove it", codeOwner)
	case uid != 0:
		return durward.Errorf(durward.Invalid, op, "%s: the file belongs to user %d, but the corp layer must belong to root; correct it (chown root %s) or remove the file", codeOwner, uid, path)
	case info.Mode()&writableByOthers != 0:
		return durward.Errorf(durward.Invalid, op, "%s: the file can be written by others than root (mode %04o); correct it (chmod go-w %s)", codeOwner, info.Mode().Perm(), path)
	}
	return nil
}
