package ledger

import "time"

// Progress is told how far a long operation has come: at most every 100 ms, by the
// goroutine that does it, and it must not block. of is 0 while nobody knows how much
// there is to do: a check without checkpoints finds the end of the links when it is
// there. It grows when there is more to do than there was in the beginning.
type Progress func(done, of int64)

const progressEvery = 100 * time.Millisecond

// meter calls a Progress not too often.
type meter struct {
	tell     Progress
	done, of int64
	last     time.Time
}

func newMeter(tell Progress, of int64) *meter { return &meter{tell: tell, of: of} }

func (m *meter) add(n int64) { m.set(m.done+n, m.of) }

// set is a function that a [Keeper] takes for its progress.
func (m *meter) set(done, of int64) {
	if m.done, m.of = done, of; of > 0 {
		m.of = max(of, done)
	}
	if m.tell == nil {
		return
	}
	if now := time.Now(); now.Sub(m.last) >= progressEvery {
		m.last = now
		m.tell(m.done, m.of)
	}
}

// end tells the last state, however short ago the one before it was.
func (m *meter) end() {
	if m.tell != nil {
		m.tell(m.done, m.done)
	}
}
