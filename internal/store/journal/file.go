package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"

	"durward"
	"durward/internal/private"
	"durward/ledger"
)

// frameHead is the length of a frame's content and its checksum, each 4 bytes, least
// significant first.
const frameHead = 8

// castagnoli is CRC-32C, which processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // it is constant

// file is one of the two files.
type file struct {
	path string
	f    *os.File
	info fs.FileInfo // what f is
	end  int64       // where the next frame goes
	gone bool        // it has lost its name
}

// openFile opens a file, or makes it. It follows no link, and takes nothing that
// others may have written.
func openFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "ledger", "the ledger's journal cannot be opened: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = durward.Errorf(durward.Unavailable, "ledger", "the ledger's journal cannot be looked at: %w", err)
	case !info.Mode().IsRegular():
		err = durward.Errorf(durward.Denied, "ledger", "%s is no regular file", path)
	default:
		err = private.CheckOwner(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{path: path, f: f, info: info}, nil
}

// lost reports whether the file has lost its name, or whether that cannot be known.
func (f *file) lost() bool {
	now, err := os.Lstat(f.path)
	return err != nil || !os.SameFile(now, f.info)
}

// appendFrame writes a frame whose first frameHead bytes are still to be filled.
func (f *file) appendFrame(frame []byte, sync bool) error {
	content := frame[frameHead:]
	if len(content) > math.MaxUint32 {
		return durward.Errorf(durward.Invalid, "ledger", "%d bytes are too much for one batch", len(content))
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(content)))
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(content, castagnoli))
	_, err := f.f.WriteAt(frame, f.end)
	if err == nil && sync {
		err = syncData(f.f)
	}
	if err != nil { // the next frame takes the place of what was written of this one
		return explain(f.path, err)
	}
	f.end += int64(len(frame))
	return nil
}

// empty forgets all frames.
func (f *file) empty() error {
	if err := f.f.Truncate(0); err != nil {
		return explain(f.path, err)
	}
	f.end = 0
	return nil
}

// wipe overwrites all frames, and returns when the disk has that. The space stays with
// the file: to sync what is written over something takes the disk half as long as to
// sync what makes a file longer.
func (f *file) wipe() error {
	zeros := make([]byte, 1<<16)
	for at := int64(0); at < f.end; at += int64(len(zeros)) {
		if _, err := f.f.WriteAt(zeros[:min(int64(len(zeros)), f.end-at)], at); err != nil {
			return explain(f.path, err)
		}
	}
	if err := syncData(f.f); err != nil {
		return explain(f.path, err)
	}
	return nil
}

// remove removes the file, if it has its name.
func (f *file) remove() error {
	if f.lost() {
		return nil
	}
	if err := os.Remove(f.path); err != nil {
		return explain(f.path, err)
	}
	return nil
}

// read calls take for each batch, and returns how many bytes were behind the last good
// one.
func (f *file) read(take func(*ledger.Batch) error) (rest int64, err error) {
	size, err := f.f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, explain(f.path, err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f.f, 0, size), 1<<16)
	var head [frameHead]byte
	for at := int64(0); ; {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return size - at, unlessEnd(f.path, err)
		}
		length := int64(binary.LittleEndian.Uint32(head[:]))
		if length == 0 { // wiped
			return 0, nil
		}
		if length > size-at-frameHead {
			return size - at, nil
		}
		content := make([]byte, length)
		if _, err := io.ReadFull(in, content); err != nil {
			return size - at, unlessEnd(f.path, err)
		}
		if crc32.Checksum(content, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			return size - at, nil
		}
		b, err := ledger.DecodeBatch(content)
		if err != nil {
			return size - at, nil //nolint:nilerr // what is no batch ends the file
		}
		at += frameHead + length
		f.end = at
		if err := take(b); err != nil {
			return 0, err
		}
	}
}

// unlessEnd is an error, unless it says that there is no more.
func unlessEnd(path string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return explain(path, err)
}

// explain says what to do about an error of the file system.
func explain(path string, err error) error {
	if errors.Is(err, errNoSpace) {
		return durward.Errorf(durward.Unavailable, "ledger", "%s cannot grow because its disk is full; free some space and calls go on by themselves: %w", path, err)
	}
	return durward.Errorf(durward.Unavailable, "ledger", "%s cannot be written or read; look at the file and its disk: %w", path, err)
}
