package transport

import (
	"context"
	"sync"
	"time"

	"durward"
)

// live is what an edge serves at the moment: one entry per HTTP request and per
// connection. One keeper looks after all of them, so that none needs a timer.
type live struct {
	mu     sync.Mutex // guards everything below and the links of the entries
	most   int
	count  int
	first  *entry
	closed bool
	empty  chan struct{} // closed when closed and nothing is left
}

// entry is one thing that is served.
type entry struct {
	next, prev *entry
	what       served
	idle       bool // belongs to no request: need not be waited for
}

// served is what an entry stands for. Its methods do not block.
type served interface {
	// beat is called now and then, to keep a silent connection alive.
	beat(now time.Time)
	// cancel ends it.
	cancel()
}

// enter notes an entry. The error is of kind Unavailable.
func (l *live) enter(e *entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosing
	}
	if l.count >= l.most {
		return durward.Errorf(durward.Unavailable, "transport", "%d requests are being served, which is the bound limits.requests; try again later or raise it", l.count)
	}
	l.count++
	if e.next = l.first; e.next != nil {
		e.next.prev = e
	}
	l.first = e
	return nil
}

func (l *live) leave(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
	if l.count--; l.count == 0 && l.closed {
		close(l.empty)
	}
}

// load returns how many entries there are, and how many of them are idle.
func (l *live) load() (count, idle int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.first; e != nil; e = e.next {
		if e.idle {
			idle++
		}
	}
	return l.count, idle
}

// keep beats all entries a few times per interval until ctx ends.
func (l *live) keep(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(max(interval/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.each(func(e *entry) { e.what.beat(now) })
		case <-ctx.Done():
			return
		}
	}
}

func (l *live) each(f func(*entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.first; e != nil; e = e.next {
		f(e)
	}
}

// close lets nothing new in and returns when everything has ended; what is not
// idle gets the grace to do so by itself.
func (l *live) close(grace time.Duration) {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		l.empty = make(chan struct{})
		if l.count == 0 {
			close(l.empty)
		}
	}
	l.mu.Unlock()
	l.each(func(e *entry) {
		if e.idle {
			e.what.cancel()
		}
	})
	if grace > 0 {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-l.empty:
			return
		case <-timer.C:
		}
	}
	l.each(func(e *entry) { e.what.cancel() })
	<-l.empty
}

// setIdle says that an entry need not be waited for.
func (l *live) setIdle(e *entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.idle = true
	if l.closed {
		e.what.cancel()
	}
}
