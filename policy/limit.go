package policy

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"durward/internal/yamlx"
)

// unit is what a limit counts.
type unit uint8

const (
	unitCalls unit = iota
	unitBytes
	unitApprovals
)

// limit is a LimitSpec that was checked.
type limit struct {
	unit unit
	n    int64
	per  time.Duration
	by   []string // sorted: principal, server, session, tool
}

func limitKeys() []string { return []string{"principal", "session", "server", "tool"} }

func (c *compiler) checkLimit(r *rule, path yamlx.Path) *limit {
	src := &r.src.Limit
	if *src == (LimitSpec{}) {
		return nil
	}
	path = path.In("limit")
	l := &limit{per: src.Per, by: []string{"principal"}}
	found := 0
	for i, n := range []int64{int64(src.Calls), int64(src.Bytes), int64(src.Approvals)} {
		if n > 0 {
			l.unit, l.n, found = unit(i), n, found+1
		}
	}
	switch {
	case found != 1:
		c.report(CodeConflict, path, "a limit needs exactly one of calls, bytes and approvals")
	case src.Per == 0:
		c.report(yamlx.CodeRequired, path.In("per"), "is missing: the time in which so many are permitted, such as 1m or 1d")
	case src.Per < time.Second || src.Per > 31*24*time.Hour:
		c.report(yamlx.CodeRange, path.In("per"), "must be between 1s and 31d")
	case r.act != actAsk && r.act != actBlock:
		c.report(CodeConflict, path, "beyond a limit a call can be asked about or blocked; the action is %s", r.act)
	case r.response:
		c.report(CodeConflict, path, "a limit belongs to the request phase")
	}
	if src.By != "" {
		l.by = strings.Split(src.By, "+")
		slices.Sort(l.by)
	}
	for i, key := range l.by {
		if !slices.Contains(limitKeys(), key) {
			c.report(yamlx.CodeValue, path.In("by"), "must be one of %s, or several joined by +, is %q", strings.Join(limitKeys(), ", "), clip(src.By))
			break
		}
		if i > 0 && l.by[i-1] == key {
			c.report(yamlx.CodeValue, path.In("by"), "names %s twice", key)
			break
		}
	}
	return l
}

// key is whose counter a call uses. Parts are quoted, so that none can look like another.
func (l *limit) key(by *counted) string {
	var b strings.Builder
	for _, part := range l.by {
		switch part {
		case "principal":
			b.WriteString(strconv.Quote(by.principal))
		case "session":
			b.WriteString(strconv.Quote(by.session))
		case "server":
			b.WriteString(strconv.Quote(by.server))
		default:
			b.WriteString(strconv.Quote(by.server) + strconv.Quote(by.tool))
		}
		b.WriteByte('+')
	}
	return b.String()
}

// counted is what of a call counters need.
type counted struct {
	principal, session, server, tool string
	bytes                            int64
}

// same reports whether counts for one limit are counts for the other, which may permit
// more or less.
func (l *limit) same(other *limit) bool {
	return l.unit == other.unit && l.per == other.per && slices.Equal(l.by, other.by)
}

// amount is how much a call uses up.
func (l *limit) amount(by *counted) int64 {
	if l.unit == unitBytes {
		return by.bytes
	}
	return 1
}

// limiter counts for one rule, by key. Its memory is bounded: a counter has at most
// maxSpans spans, and all limiters of an engine share a bound on counters.
type limiter struct {
	limit limit
	*counts
}

// counts are those of one rule. They stay when its limit permits more or less from
// now on.
type counts struct {
	room *room

	mu    sync.Mutex               // guards all below
	byKey map[string]*list.Element // of *counter
	order list.List                // the one that was used longest ago first
}

// room is how many counters there may be.
type room struct {
	left atomic.Int64
}

// counter is what was used by one key within the last period.
type counter struct {
	key   string
	spans []span
	sum   int64
}

// span is what was used between two moments that lie close together; it is
// forgotten when a period has passed since the later one.
type span struct {
	first, last int64 // nanoseconds
	n           int64
}

// maxSpans bounds a counter: what happens within a 64th of the period shares a span,
// and so counts for at most that much longer than it should.
const maxSpans = 64

func newLimiter(l limit, room *room) *limiter {
	return &limiter{limit: l, counts: &counts{room: room, byKey: make(map[string]*list.Element)}}
}

// over reports whether n more would be beyond the limit, and after how long it would not.
func (l *limiter) over(key string, n int64, now time.Time) (yes bool, retry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.check(key, n, now.UnixNano())
}

func (l *limiter) check(key string, n, now int64) (yes bool, retry time.Duration) {
	at, ok := l.byKey[key]
	if !ok {
		if n > l.limit.n || !l.canAdd(now) {
			return true, l.limit.per
		}
		return false, 0
	}
	c := at.Value.(*counter)
	c.forget(now - int64(l.limit.per))
	if c.sum+n <= l.limit.n {
		return false, 0
	}
	return true, c.wait(c.sum+n-l.limit.n, now, l.limit.per)
}

// full reports whether a key has no counter because there is no room for one.
func (l *limiter) full(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.byKey[key]
	return !ok && l.room.left.Load() <= 0
}

// take counts n if that is within the limit.
func (l *limiter) take(key string, n int64, now time.Time) (ok bool, retry time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over, retry := l.check(key, n, now.UnixNano()); over {
		return false, retry
	}
	l.add(key, n, now.UnixNano())
	return true, 0
}

// count counts n, within the limit or not.
func (l *limiter) count(key string, n int64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(key, n, now.UnixNano())
}

// giveBack takes back what take counted for a call that did not go on after all.
func (l *limiter) giveBack(key string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.byKey[key]
	if !ok {
		return
	}
	c := at.Value.(*counter)
	for i := len(c.spans) - 1; i >= 0 && n > 0; i-- {
		part := min(n, c.spans[i].n)
		c.spans[i].n -= part
		c.sum -= part
		n -= part
	}
}

// canAdd makes room for one more counter if there is none: by the one that was used
// longest ago, if it counts nothing any more. Doubt means no.
func (l *limiter) canAdd(now int64) bool {
	if l.room.left.Load() > 0 {
		return true
	}
	oldest := l.order.Front()
	if oldest == nil {
		return false
	}
	c := oldest.Value.(*counter)
	if c.forget(now - int64(l.limit.per)); c.sum > 0 {
		return false
	}
	l.drop(oldest)
	return true
}

func (l *limiter) drop(at *list.Element) {
	delete(l.byKey, at.Value.(*counter).key)
	l.order.Remove(at)
	l.room.left.Add(1)
}

func (l *limiter) add(key string, n, now int64) {
	at, ok := l.byKey[key]
	if !ok {
		if !l.canAdd(now) {
			return // whoever asks is told that the limit is reached
		}
		at = l.order.PushBack(&counter{key: key})
		l.byKey[key] = at
		l.room.left.Add(-1)
	}
	l.order.MoveToBack(at)
	c := at.Value.(*counter)
	c.sum += n
	if last := len(c.spans) - 1; last >= 0 && now-c.spans[last].first < max(int64(l.limit.per)/maxSpans, 1) {
		c.spans[last].n += n
		c.spans[last].last = max(c.spans[last].last, now)
		return
	}
	c.spans = append(c.spans, span{now, now, n})
}

// forget drops what was used before a moment, and then.
func (c *counter) forget(before int64) {
	i := 0
	for ; i < len(c.spans) && c.spans[i].last <= before; i++ {
		c.sum -= c.spans[i].n
	}
	if i > 0 {
		c.spans = slices.Delete(c.spans, 0, i)
	}
}

// wait is after how long n will have been forgotten.
func (c *counter) wait(n, now int64, per time.Duration) time.Duration {
	for i := range c.spans {
		if n -= c.spans[i].n; n <= 0 {
			return time.Duration(c.spans[i].last + int64(per) - now)
		}
	}
	return per
}

// close gives back the room of a limiter that is not used any more.
func (l *limiter) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.room.left.Add(int64(len(l.byKey)))
	l.byKey, l.order = make(map[string]*list.Element), list.List{}
}
