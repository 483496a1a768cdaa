package clientconf

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"durward"
	"durward/internal/clientconf/syntax"
)

// BackupSuffix is what the name of a backup ends in.
const BackupSuffix = ".durward-backup"

// Backup says what happens to the file that is replaced.
type Backup uint8

// The choices.
const (
	BackupLast  Backup = iota // the backup is what the file held before this change
	BackupFirst               // a backup that is there stays: it is from before the first change
	BackupNone
)

// ReadFile reads a client's file; nil without an error if there is none.
// Errors: durward.Invalid (no regular file, larger than 16 MiB, not readable).
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, path, "the file cannot be opened: %w", reason(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, durward.Errorf(durward.Invalid, path, "this is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, syntax.MaxBytes+1))
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, path, "the file cannot be read: %w", reason(err))
	}
	if len(data) > syntax.MaxBytes {
		return nil, durward.Errorf(durward.Invalid, path, "the file is larger than the limit of 16 MiB")
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// Replacement is a change to a file on the disk.
type Replacement struct {
	Path   string
	Old    []byte // what the file is believed to hold; nil: there is none
	New    []byte
	Remove bool // remove the file instead
	Backup Backup
}

// Replace writes a file anew: its whole content or nothing of it is there at any
// instant. Symbolic links are followed, so that the file they lead to is replaced
// and the link stays; mode and owner stay. It returns the path of the backup,
// empty if none was needed.
//
// Refused are files and directories that everybody may write (durward.Denied),
// files that hold something else than Old by now (durward.Conflict), and what is
// no regular file (durward.Invalid).
func Replace(r Replacement) (backup string, err error) {
	t, err := r.target()
	if err != nil {
		return "", err
	}
	if t.info != nil && r.Backup != BackupNone {
		backup = t.path + BackupSuffix
		_, err := os.Lstat(backup)
		if there := err == nil; !there || r.Backup == BackupLast {
			if err := writeFile(backup, r.Old, t.mode(), t.info); err != nil {
				return "", durward.Errorf(durward.Unavailable, r.Path, "the backup cannot be written, so nothing was changed: %w", reason(err))
			}
		}
	}
	switch {
	case r.Remove && t.info == nil:
	case r.Remove:
		err = os.Remove(t.path)
	default:
		if t.info == nil {
			err = os.MkdirAll(filepath.Dir(t.path), 0o700)
		}
		if err == nil {
			err = writeFile(t.path, r.New, t.mode(), t.info)
		}
	}
	if err != nil {
		return backup, durward.Errorf(durward.Unavailable, r.Path, "the file cannot be written; it is unchanged: %w", reason(err))
	}
	return backup, nil
}

// target is the real file behind a path.
type target struct {
	path string
	info fs.FileInfo // nil: there is none
}

func (t target) mode() fs.FileMode {
	if t.info == nil {
		return 0o600
	}
	return t.info.Mode().Perm()
}

func (r Replacement) target() (target, error) {
	real, err := filepath.EvalSymlinks(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(r.Path); err == nil {
			return target{}, durward.Errorf(durward.Invalid, r.Path, "this is a link that leads nowhere; remove or mend it")
		}
		if r.Old != nil {
			return target{}, changed(r.Path)
		}
		return target{path: r.Path}, checkDir(r.Path, filepath.Dir(r.Path))
	}
	if err != nil {
		return target{}, durward.Errorf(durward.Invalid, r.Path, "the path cannot be followed: %w", reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return target{}, durward.Errorf(durward.Invalid, r.Path, "the file cannot be looked at: %w", reason(err))
	}
	if !info.Mode().IsRegular() {
		return target{}, durward.Errorf(durward.Invalid, r.Path, "this is not a regular file")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
		return target{}, durward.Errorf(durward.Denied, r.Path, "everybody may write this file, so that its content cannot be trusted; run chmod o-w %q first", real)
	}
	now, err := ReadFile(real)
	if err != nil {
		return target{}, err
	}
	if r.Old == nil || !bytes.Equal(now, r.Old) {
		return target{}, changed(r.Path)
	}
	return target{path: real, info: info}, checkDir(r.Path, filepath.Dir(real))
}

func changed(path string) error {
	return durward.Errorf(durward.Conflict, path, "the file was changed by another program meanwhile; nothing was written, try again")
}

// checkDir refuses directories in which everybody could put another file in place.
func checkDir(path, dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it will be made, for the owner alone
	}
	if err != nil {
		return durward.Errorf(durward.Invalid, path, "its directory cannot be looked at: %w", reason(err))
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return durward.Errorf(durward.Denied, path, "everybody may write the directory %q; run chmod o-w on it first", dir)
	}
	return nil
}

// writeFile puts a new file in place of path, with mode and, if there was one,
// the owner of the old.
func writeFile(path string, data []byte, mode fs.FileMode, old fs.FileInfo) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".durward-*")
	if err != nil {
		return err
	}
	name := f.Name()
	_, err = f.Write(data)
	if err == nil && old != nil {
		err = sameOwner(f, old)
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		return errors.Join(err, ignoreAbsent(os.Remove(name)))
	}
	return syncDir(filepath.Dir(path))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// reason drops the path from an error of the os package: the message has it already.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
