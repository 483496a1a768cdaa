package journal

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"time"

	"durward/ledger"
)

// Sizes are sizes.
type Sizes = sizes

// SmallSizes make everything happen often.
func SmallSizes() Sizes {
	return sizes{
		takeAfter: time.Millisecond, takeRecords: 4, takeMost: 6, waitMost: 20 << 10,
		turnAt: 2 << 10, emptyAt: 512, fileMost: 1 << 20, retryAfter: time.Millisecond,
	}
}

// Never has the store take something only when somebody waits for it, and the file that
// has its turn not be emptied.
func (s *Sizes) Never() {
	s.takeAfter, s.takeRecords, s.emptyAt, s.retryAfter = time.Hour, 1<<30, 1<<40, time.Hour
}

// TurnAt sets turnAt.
func (s *Sizes) TurnAt(n int64) { s.turnAt = n }

// WaitMost sets waitMost.
func (s *Sizes) WaitMost(n int) { s.waitMost = n }

// FileMost sets fileMost.
func (s *Sizes) FileMost(n int64) { s.fileMost = n }

// Window sets window.
func (s *Sizes) Window(n int64) { s.window = n }

// WithSizes returns options with other sizes.
func WithSizes(o Options, s Sizes) Options {
	o.sizes = s
	return o
}

// Names returns the names of the files.
func Names(path string) [2]string { return names(path) }

// Kill ends the journal as far as a process can that goes on: nothing more is written.
func (j *Journal) Kill() {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	close(j.quit)
	<-j.done
	for _, f := range j.files {
		_ = f.close()
	}
}

// Emptying makes it look as if the file that does not have its turn was being emptied.
func (j *Journal) Emptying() (ended func()) {
	j.emptying.Lock()
	return j.emptying.Unlock
}

// Rest returns when all is done that follows from what the store took before, for whose
// end Flush does not wait: files are emptied and made anew behind it.
func (j *Journal) Rest(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for range 2 { // the first may have begun before
		if err := j.attempt(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Waits returns how much waits for the store.
func (j *Journal) Waits() (batches, bytes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue), j.bytes
}

// Ghost writes a batch behind the end, as if it had been written and could not be synced
// nor cut off.
func (j *Journal) Ghost(b *ledger.Batch) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	f := j.files[j.active]
	frame := frameOf(nil, b)
	if err := f.appendFrame(frame, false); err != nil {
		return err
	}
	f.torn = true
	return nil
}

// FrameOf returns the frame of a batch.
func FrameOf(b *ledger.Batch) []byte {
	frame := frameOf(nil, b)
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-frameHead))
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[frameHead:], castagnoli))
	return frame
}

// Ends returns where the next frame of each file goes.
func (j *Journal) Ends() [2]int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return [2]int64{j.files[0].end, j.files[1].end}
}

// EmptyAt sets emptyAt.
func (s *Sizes) EmptyAt(n int64) { s.emptyAt = n }
