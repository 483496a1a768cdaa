package ledger

import "time"

// crowdWait bounds how long a transaction waits for those who are expected to record
// something soon.
const crowdWait = 300 * time.Microsecond

// crowd knows how many callers there are and how often they come. With many, a
// transaction waits a little until half of them have come: the others work meanwhile,
// and a transaction of few records costs more than the records. For a single caller,
// and for calls that come seldom, none waits. It is guarded by Ledger.mu.
type crowd struct {
	open int // calls under way: recorded, and not ended
	most int // open or waiting, at the most lately
	want int // the writer waits until so many wait for it; 0: it waits for the first

	taken  time.Time     // when the last group was
	before int           // how many waited for that one
	took   time.Duration // until it was
}

// enough reports whether the writer is woken now that n wait for it.
func (c *crowd) enough(n int) bool { return n == 1 || n == c.want }

// expect returns how many should wait for a transaction before it begins, when n do.
func (c *crowd) expect(n int, now time.Time) int {
	here := c.open + n
	c.most = max(here, c.most-(c.most+7)/8)
	since := now.Sub(c.taken)
	if c.want = c.most / 2; c.want <= n || since > 2*crowdWait {
		c.want = 0
		return 0
	}
	// So many come while it waits, if they come as they did.
	come := int(crowdWait * time.Duration(n+c.before) / max(since+c.took, 1))
	if c.want = min(c.want, n+come); c.want <= n {
		c.want = 0
	}
	return c.want
}

// take notes that n no longer wait.
func (c *crowd) take(n int, now time.Time) {
	c.took, c.taken, c.before, c.want = now.Sub(c.taken), now, n, 0
}

// begun and ended count the calls under way.
func (c *crowd) begun(records []Record) {
	for _, r := range records {
		if _, ok := r.(*Intent); ok {
			c.open++
		}
	}
}

// alone reports whether there is a single caller.
func (c *crowd) alone() bool { return c.most <= 1 }

func (c *crowd) ended() { c.open = max(c.open-1, 0) }
