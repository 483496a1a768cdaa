package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"math"
	"os"

	"durward"
	"durward/internal/private"
)

// frameHead is the length of a frame's content and its checksum, each 4 bytes, least
// significant first.
const frameHead = 8

// castagnoli is CRC-32C, which processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // it is constant

// file is one of the two files. Of its fields Journal.mu guards end; the others belong
// to whoever writes to the file: to the one who holds Journal.writing while it has its
// turn, else to the one who takes.
type file struct {
	path   string
	f      *os.File
	info   fs.FileInfo // what f is
	room   int64       // bytes of a window; 0: it has none
	window window      // nil until it is needed
	end    int64       // where the next frame goes
	torn   bool        // behind end there is something that was not accepted, and may look as if it was
	spoilt bool        // something is missing before end: it is to be made anew
}

// openFile opens a file, or makes it. It follows no link, and takes nothing that
// others may have written. room is that of its window.
func openFile(path string, room int64) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		if info, failed := os.Lstat(path); failed == nil && !info.Mode().IsRegular() {
			return nil, errIrregular(path)
		}
		return nil, durward.Errorf(durward.Unavailable, "ledger", "the ledger's journal cannot be opened: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = durward.Errorf(durward.Unavailable, "ledger", "the ledger's journal cannot be looked at: %w", err)
	case !info.Mode().IsRegular():
		err = errIrregular(path)
	default:
		err = private.CheckOwner(path, info)
	}
	if err == nil {
		err = explained(path, syncName(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{path: path, f: f, info: info, room: room}, nil
}

func errIrregular(path string) error {
	return durward.Errorf(durward.Denied, "ledger", "%s is no regular file; move it away", path)
}

// lost reports whether the file has lost its name, or whether that cannot be known.
func (f *file) lost() bool {
	now, err := os.Lstat(f.path)
	return err != nil || !os.SameFile(now, f.info)
}

// short reports whether somebody cut the file short. What is put into a page of a window
// that is partly behind the end would be in no file, and no fault.
func (f *file) short() bool {
	info, err := f.f.Stat()
	return err == nil && info.Size() < max(f.end, int64(len(f.window)))
}

// appendFrame writes a frame whose first frameHead bytes are still to be filled. It is
// part of the file once end is behind it.
func (f *file) appendFrame(frame []byte, sync bool) error {
	content := frame[frameHead:]
	if len(content) > math.MaxUint32 {
		return durward.Errorf(durward.Invalid, "ledger", "%d bytes are too much for one batch", len(content))
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(content)))
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(content, castagnoli))
	err := f.put(frame)
	if err == nil && sync {
		err = syncData(f.f)
	}
	if err != nil {
		f.torn, f.spoilt = true, errors.Is(err, errFault)
		_ = f.cut() // it is tried again before anything else is written
		return explain(f.path, err)
	}
	return nil
}

// put writes a frame at the end: to memory where that is in the file.
func (f *file) put(frame []byte) error {
	end := f.end + int64(len(frame))
	if f.window == nil && end <= f.room {
		if f.window = openWindow(f.f, f.room); f.window == nil {
			f.room = 0
		}
	}
	if end <= int64(len(f.window)) {
		return f.window.put(frame, f.end)
	}
	_, err := f.f.WriteAt(frame, f.end)
	return err
}

// cut cuts off what was not accepted.
func (f *file) cut() error {
	if !f.torn {
		return nil
	}
	if err := f.truncate(f.end); err != nil {
		return explain(f.path, err)
	}
	f.torn = false
	return nil
}

// truncate makes the file shorter. What is no longer in it must not be in a window.
func (f *file) truncate(size int64) error {
	err := f.window.close()
	f.window = nil
	return errors.Join(err, f.f.Truncate(size))
}

// clear forgets all frames, of which the file has so many bytes. A window stays, and its
// memory too. end is for the caller to set.
func (f *file) clear(size int64) error {
	if f.window != nil {
		var err error
		if most := int64(len(f.window)); size > most {
			size, err = most, f.f.Truncate(most)
		}
		if err == nil && f.window.wipe(size) == nil {
			return nil
		}
	}
	return explained(f.path, f.truncate(0))
}

// wipe overwrites all frames, and returns when the disk has that. The space stays with
// the file: to sync what is written over something takes the disk half as long as to
// sync what makes a file longer.
func (f *file) wipe(size int64) error {
	zeros := make([]byte, 1<<16)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return explain(f.path, err)
		}
	}
	return explained(f.path, syncData(f.f))
}

// remove closes the file and removes it, if it has its name.
func (f *file) remove() error {
	lost := f.lost()
	err := f.close() // first: not every system removes what is open
	if err == nil && !lost {
		err = os.Remove(f.path)
	}
	return explained(f.path, err)
}

// close closes the file. What is in it stays.
func (f *file) close() error {
	err := f.window.close()
	f.window = nil
	return errors.Join(err, f.f.Close())
}

// explained is explain, also of no error.
func explained(path string, err error) error {
	if err == nil {
		return nil
	}
	return explain(path, err)
}

// explain says what to do about an error of the file system.
func explain(path string, err error) error {
	if errors.Is(err, errNoSpace) {
		return durward.Errorf(durward.Unavailable, "ledger", "%s cannot grow because its disk is full; free some space and calls go on by themselves: %w", path, err)
	}
	return durward.Errorf(durward.Unavailable, "ledger", "%s cannot be used because its disk, or a limit on files, gives errors; see the system's log: %w", path, err)
}
