package ledger

import (
	"context"
	"time"
)

// Progress is told how far a long operation has come: at most every 100 ms, by the
// goroutine that does it, and it must not block. of is 0 while nobody knows how much
// there is to do. It grows when there is more to do than there was in the beginning,
// and is only for show: a damaged ledger can make it too big.
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

// set is a function that a [Keeper] takes for its progress. What a damaged store makes
// of it is never less than nothing.
func (m *meter) set(done, of int64) {
	if m.done, m.of = max(done, 0), max(of, 0); m.of > 0 {
		m.of = max(m.of, m.done)
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

// header is implemented by an [Auditor] whose store can tell its last link, as a [Store] can.
type header interface {
	Head(ctx context.Context) (Link, error)
}

// linksMost bounds how many links are believed to be there, for show: so many take
// 100 TB. A number behind it is damage, which the walk finds.
const linksMost = 1 << 40

// expected returns how many links there should be from one on: up to the last that a
// checkpoint or the store knows, whichever is later. 0 if neither tells. Nothing but
// what is shown depends on it, so what keeps a store from telling is no finding here.
func (v *verification) expected(ctx context.Context, from uint64) (of int64) {
	upTo := func(seq uint64) {
		if seq >= from && seq-from < linksMost {
			of = max(of, int64(seq-from)+1)
		}
	}
	if n := len(v.anchors); n > 0 {
		upTo(v.anchors[n-1].Seq)
	}
	if s, ok := v.store.(header); ok && v.meter.tell != nil {
		if head, err := s.Head(ctx); err == nil {
			upTo(head.Seq)
		}
	}
	return of
}
