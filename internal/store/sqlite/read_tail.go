package sqlite

import "slices"

// tailStep is how many records are looked through by one step of a query: between two
// steps a question can be given up.
const tailStep = 32 << 10

// readTail looks through the rows that are in no segment.
func (s *search) readTail(last int64) error {
	if s.ofCalls() {
		return s.readTailOfCalls(last)
	}
	return s.eachTail(s.tail, s.from.args, last, func(row []value) error {
		p := point{}
		p.seq, _ = row[0].(int64)
		p.at, _ = row[1].(int64)
		if s.matches(p) {
			s.found.add(p)
		}
		return nil
	})
}

// eachTail calls f for the rows of a query that come after a segment.
func (s *search) eachTail(query string, args []value, last int64, f func(row []value) error) error {
	newest, err := s.number("SELECT max(seq) FROM " + tableOf(s.stream))
	if err != nil {
		return err
	}
	last = max(last, s.floor-1)
	args = append(slices.Clone(args), nil, nil)
	for newest > last {
		from := max(last, newest-tailStep)
		args[len(args)-2], args[len(args)-1] = from, newest
		if err := s.eachOf(s.ctx, query, f, args...); err != nil {
			return err
		}
		newest = from
	}
	return nil
}

// readTailOfCalls is readTail where the terms are about the calls that rows belong to,
// which may be anywhere in the file. Of a call only the index of ids is read, not the
// row, unless the segment that it is in has all terms:
//
//	SEARCH x USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
//	SEARCH i USING COVERING INDEX intents_id (id=?)
func (s *search) readTailOfCalls(last int64) error {
	calls := termCalls{search: s}
	if any, err := calls.begin(); err != nil || !any {
		return err
	}
	query := "SELECT x.seq, x.at, i.seq FROM " + tableOf(s.stream) + " x CROSS JOIN intents i ON i.id = x.call WHERE x.seq > ? AND x.seq <= ? ORDER BY x.seq DESC"
	return s.eachTail(query, nil, last, func(row []value) error {
		p := point{}
		p.seq, _ = row[0].(int64)
		p.at, _ = row[1].(int64)
		call, _ := row[2].(int64)
		if !s.matches(p) || !s.found.takes(p.at) {
			return nil
		}
		ok, err := calls.may(call)
		if ok && err == nil {
			ok, err = calls.has(call)
		}
		if err != nil || !ok {
			return err
		}
		return s.take(p, false)
	})
}

// termCalls knows which calls have the terms of a search.
type termCalls struct {
	*search
	trace   string           // "": any
	callers []map[int64]bool // of the session, of the sandbox: a call's is in all of them
	without bool             // there are no segments that can be read
	seen    []seenSegment
}

type seenSegment struct {
	first, last int64
	may         bool // it has all terms
}

// begin looks who the callers are. any is false if there is none, and so no call.
func (c *termCalls) begin() (any bool, err error) {
	if c.without, err = c.otherVersion(); err != nil {
		return false, err
	}
	for _, t := range c.terms {
		query, arg := sandboxCallers, value(t.value)
		switch t.field {
		case fieldTrace:
			c.trace = t.value
			continue
		case fieldSession:
			query, arg = sessionCallers, idValue(t.value)
		}
		ids := map[int64]bool{}
		err := c.eachOf(c.ctx, query, func(row []value) error {
			id, _ := row[0].(int64)
			ids[id] = true
			return nil
		}, arg)
		if err != nil || len(ids) == 0 {
			return false, err
		}
		c.callers = append(c.callers, ids)
	}
	return true, nil
}

// has looks at a call itself.
func (c *termCalls) has(call int64) (ok bool, err error) {
	err = c.each("SELECT caller, trace FROM intents WHERE seq = ?", func(row []value) error {
		caller, _ := row[0].(int64)
		trace, _ := row[1].([]byte)
		ok = c.trace == "" || c.trace == string(trace)
		for _, ids := range c.callers {
			ok = ok && ids[caller]
		}
		return nil
	}, call)
	return ok, err
}

// may reports whether a call may have all terms.
func (c *termCalls) may(call int64) (bool, error) {
	for _, s := range c.seen {
		if s.first <= call && call <= s.last {
			return s.may, nil
		}
	}
	sp, ok, err := c.of(call)
	if err != nil || !ok {
		return true, err
	}
	seen := seenSegment{sp.first, sp.last, true}
	for _, t := range c.terms {
		data, err := c.blob(keyOf(streamCalls, t.field, bucketOf(t.field, term(t.value)), sp.first))
		if err != nil {
			return false, err
		}
		found, err := find(data, term(t.value))
		if err != nil {
			return false, err
		}
		seen.may = seen.may && found != nil
	}
	c.seen = append(c.seen, seen)
	return seen.may, nil
}

// of returns the segment that a call is in, if it is in one:
//
//	SEARCH segments USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
func (c *termCalls) of(call int64) (sp span, ok bool, err error) {
	if c.without {
		return span{}, false, nil
	}
	err = c.each("SELECT key, data FROM segments WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1", func(row []value) (err error) {
		key, _ := row[0].(int64)
		data, _ := row[1].([]byte)
		sp, err = readSpan(key, data)
		ok = call <= sp.last
		return err
	}, keyOf(streamCalls, fieldSpan, 0, 0), keyOf(streamCalls, fieldSpan, 0, call))
	return sp, ok, err
}
