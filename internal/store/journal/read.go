package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"durward/ledger"
)

// left is what a process that was killed left in a file.
type left struct {
	file    int             // of Journal.files
	batches []*ledger.Batch // each follows the one before
	rest    int             // bytes behind them that are no zeros
	beyond  uint64          // the highest number of a link in the rest; 0: there is none
}

// last returns the last of the batches; nil when there is none.
func (l *left) last() *ledger.Link {
	if len(l.batches) == 0 {
		return nil
	}
	return &l.batches[len(l.batches)-1].Link
}

// Read returns the batches in the files of a journal, the oldest first, without
// changing anything, also while they are in use: what the store may not have yet. A
// batch leaves the files when the store has it, so whoever looks for something reads
// them first, and then the store.
func Read(path string) ([]*ledger.Batch, error) {
	var all []*ledger.Batch
	for _, name := range names(path) {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, explain(name, err)
		}
		l, err := (&file{path: name, f: f}).read()
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
		all = append(all, l.batches...)
	}
	slices.SortFunc(all, func(a, b *ledger.Batch) int { return cmp.Compare(a.Link.Seq, b.Link.Seq) })
	return all, nil
}

// read reads a file up to the first thing that is not what was written. What is behind
// it is searched as well: a frame that was being written is the last, and others behind
// a bad one say that the file was damaged.
func (f *file) read() (l left, err error) {
	info, err := f.f.Stat()
	if err != nil {
		return l, explain(f.path, err)
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(io.NewSectionReader(f.f, 0, info.Size()), data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) { // it may be emptied meanwhile
		return l, explain(f.path, err)
	}
	data = data[:n]
	for content := contentAt(data); content != nil; content = contentAt(data) {
		b, whole := batchOf(data, content)
		if b == nil || l.last() != nil && !b.Link.Follows(l.last()) {
			if b == nil && whole { // by another version
				l.beyond = ^uint64(0)
			}
			break
		}
		l.batches = append(l.batches, b)
		data = data[frameHead+len(content):]
	}
	if l.rest = len(bytes.TrimRight(data, "\x00")); l.rest > 0 {
		l.beyond = max(l.beyond, highest(data))
	}
	return l, nil
}

// frameLeast is how long the content of a frame is at least, in bytes: a batch has a link,
// with two digests.
const frameLeast = 64

// contentAt returns the content of the frame that data begins with; nil when there is
// none, as its length says.
func contentAt(data []byte) []byte {
	if len(data) <= frameHead {
		return nil
	}
	length := int64(binary.LittleEndian.Uint32(data))
	if length < frameLeast || length > int64(len(data)-frameHead) {
		return nil
	}
	return data[frameHead : frameHead+length]
}

// batchOf returns the batch in a frame with this content; nil when there is none. A
// frame that is whole has one, unless it is of another version.
func batchOf(frame, content []byte) (b *ledger.Batch, whole bool) {
	if crc32.Checksum(content, castagnoli) != binary.LittleEndian.Uint32(frame[4:]) {
		return nil, false
	}
	b, err := ledger.DecodeBatch(content)
	if err != nil {
		return nil, true
	}
	return b, true
}

// searchMost bounds the bytes that are looked at in search of frames: a second's work.
const searchMost = int64(2 << 30)

// highest returns the highest number of a link in what may have frames anywhere. When
// the search takes too long, that is the highest of all: doubt means that there are
// some.
func highest(data []byte) (seq uint64) {
	for looked := int64(0); len(data) > frameHead; {
		content := contentAt(data)
		if content == nil || !ledger.MayBeBatch(content) {
			data = data[1:]
			continue
		}
		if looked += int64(len(content)); looked > searchMost {
			return ^uint64(0)
		}
		b, _ := batchOf(data, content)
		if b == nil {
			data = data[1:]
			continue
		}
		seq = max(seq, b.Link.Seq)
		data = data[frameHead+len(content):]
	}
	return seq
}
