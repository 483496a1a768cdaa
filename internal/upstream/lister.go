package upstream

import (
	"context"
	"time"

	"durward"
)

// lister says what of a catalog has to be read. Guarded by Server.mu.
type lister struct {
	dirty   kinds
	said    kinds         // of those dirty: the server says that they changed
	told    time.Time     // when clients were last told of a change that was none
	urgent  bool          // somebody waits: no coalescing
	waiters []chan error  // of those who wait for the next round
	kick    chan struct{} // one slot
	backoff time.Duration // before lists that failed are tried again
}

func newLister() lister {
	return lister{dirty: everyKind(), urgent: true, kick: make(chan struct{}, 1)}
}

// changed has lists read anew because the server says so. Any connection may say
// it; the primary reads for those that do not list themselves.
func (c *conn) changed(which kinds) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c.heard()
	p := s.primary.up
	if c.link.shelf != nil {
		p = c
	}
	if p != nil {
		p.lister.dirty |= which
		p.lister.said |= which
		p.lister.nudge()
	}
}

func (l *lister) nudge() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// refresh reads lists anew and waits until the Observer has them.
func (c *conn) refresh(ctx context.Context, which kinds) error {
	s := c.s
	s.mu.Lock()
	if c.closed != nil || c.link.up != c {
		s.mu.Unlock()
		return durward.Errorf(durward.Unavailable, s.op(), "the connection ended before the lists were read")
	}
	done := make(chan error, 1)
	c.lister.dirty |= which
	c.lister.urgent = true
	c.lister.waiters = append(c.lister.waiters, done)
	c.lister.nudge()
	s.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-c.gone:
		return durward.Errorf(durward.Unavailable, s.op(), "the connection ended while the lists were read")
	case <-ctx.Done():
		return durward.Errorf(durward.Timeout, s.op(), "the lists were not read in time; it goes on in the background")
	}
}

// listLoop reads the catalog of a connection that lists: all of it at first, then
// what changes. One round at a time; what changes meanwhile is read in the next.
func (c *conn) listLoop() {
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	for {
		which, waiters, urgent := c.takeDirty()
		if which != 0 && !urgent {
			pause(c, coalesceFor)
			more, late, _ := c.takeDirty()
			which, waiters = which|more, append(waiters, late...)
		}
		if which != 0 {
			err := c.round(which)
			for _, w := range waiters {
				w <- err
			}
			retry.Reset(c.retryIn())
			continue
		}
		select {
		case <-c.gone:
			return
		case <-c.lister.kick:
		case <-retry.C:
			c.requeueFailed()
		}
	}
}

func (c *conn) takeDirty() (which kinds, waiters []chan error, urgent bool) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	l := &c.lister
	if c.closed != nil {
		return 0, nil, false
	}
	which, waiters, urgent = l.dirty, l.waiters, l.urgent
	l.dirty, l.waiters, l.urgent = 0, nil, false
	return which, waiters, urgent
}

// retryIn is the time until lists that failed are tried again.
func (c *conn) retryIn() time.Duration {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, why := range c.link.shelf.failed {
		if why != "" {
			c.lister.backoff = min(relistMost, max(relistFirst, 2*c.lister.backoff))
			return c.lister.backoff
		}
	}
	c.lister.backoff = 0
	return 24 * time.Hour
}

func (c *conn) requeueFailed() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for k, why := range c.link.shelf.failed {
		if why != "" {
			c.lister.dirty |= 1 << k
		}
	}
	c.lister.urgent = true
}

// listed is one list, or why there is none.
type listed struct {
	kind  kind
	items [][]byte
	err   error
}

// round reads some lists at the same time and publishes them: all together, or
// those that are there already if others take long (B1).
func (c *conn) round(which kinds) error {
	results := make(chan listed, kindCount)
	left := 0
	for k := range kindCount {
		if which&(1<<k) != 0 {
			left++
			go func() { // waited for below: each call ends with the connection or at its deadline
				items, err := c.list(c.s.ctx, k)
				results <- listed{k, items, err}
			}()
		}
	}
	partial := time.NewTimer(partialAfter)
	defer partial.Stop()
	var got []listed
	var firstErr error
	for left > 0 {
		select {
		case r := <-results:
			left--
			got = append(got, r)
			if r.err != nil && firstErr == nil {
				firstErr = r.err
			}
			if left > 0 {
				continue
			}
		case <-partial.C:
			partial.Reset(partialAfter)
		}
		if len(got) > 0 {
			c.store(got, left == 0)
			got = nil
		}
	}
	return firstErr
}

// store merges lists into the catalog, hands it to the Observer if anything
// differs, and waits until it is there.
func (c *conn) store(got []listed, last bool) {
	s, at := c.s, c.link.shelf
	s.mu.Lock()
	if c.link.up != c {
		s.mu.Unlock()
		return
	}
	next := *at.listing
	next.Overlay = c.link != s.primary
	next.Era, next.Revision, next.Info = c.opened.Era, c.opened.Revision, c.opened.Info
	next.Capabilities, next.Instructions = c.opened.Capabilities, c.opened.Instructions
	for _, r := range got {
		if r.err != nil {
			at.failed[r.kind] = messageOf(r.err) // what was read before stays offered
			continue
		}
		at.failed[r.kind] = ""
		*next.items(r.kind) = r.items
	}
	first := last && !at.listed
	if last {
		at.listed = true
	}
	next.Complete = at.listed && at.failed == [kindCount]string{}
	next.Announced = Announced{}
	var told <-chan struct{}
	if changed := first || !next.same(at.listing); changed || last && c.announces() {
		next.Announced = c.lister.said.announced()
		told = s.publish(at, &next)
	}
	if last {
		c.lister.said &= c.lister.dirty // what was said meanwhile is for the next round
	}
	s.mu.Unlock()
	if told != nil {
		<-told
	}
	if last {
		c.settle()
	}
}

// settle says how the server is whose lists were read. Who sees that it is ready finds
// what it lists, so the Observer has that by now.
func (c *conn) settle() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.link == s.primary && c.link.up == c {
		s.settleState()
	}
}

// announceEvery bounds how often clients are told of changes that are none: a
// server that says list_changed all the time must not make them all list.
const announceEvery = time.Second

// announces reports whether clients are to be told of what the server said
// although no list differs. mu is held.
func (c *conn) announces() bool {
	now := time.Now()
	if c.lister.said&^c.lister.dirty == 0 || now.Sub(c.lister.told) < announceEvery {
		return false
	}
	c.lister.told = now
	return true
}
