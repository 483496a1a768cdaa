package outbox

import "sync/atomic"

// Budget bounds what several boxes keep together for readers that may come back.
// It is safe for concurrent use.
type Budget struct {
	most int64
	used atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// Used returns how many bytes are kept.
func (g *Budget) Used() int64 { return g.used.Load() }

func (g *Budget) take(n int) bool {
	if g.used.Add(int64(n)) > g.most {
		g.used.Add(int64(-n))
		return false
	}
	return true
}

func (g *Budget) give(n int) { g.used.Add(int64(-n)) }

// held is what a box keeps: with a reader, only what that has taken.
func (b *Box) held() int {
	if len(b.readers) > 0 {
		return b.kept
	}
	return b.kept + b.pending
}

// charge accounts for what is held. When the boxes together may hold no more, the
// oldest of what came since the last time goes. b.mu is held.
func (b *Box) charge() {
	if b.opts.Budget == nil {
		return
	}
	more := b.held() - b.charged
	if more > 0 && !b.opts.Budget.take(more) {
		for b.held() > b.charged {
			b.dropFirst()
		}
		more = b.held() - b.charged
	}
	if more < 0 {
		b.opts.Budget.give(-more)
	}
	b.charged += more
}
