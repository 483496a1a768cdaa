package sqlite

import "slices"

// Bounds of what is kept of calls while one question is answered.
const (
	// tailAsks is how many of a run of calls that are in no segment are looked at
	// themselves before the rows of all are read, which takes as long.
	tailAsks = 512

	callRunsMost  = 1024     // runs of calls that something is known of
	callsKeptMost = 64 << 10 // calls of them that have the terms
)

// termCalls knows which calls have the terms of a question. What it learns of a call it
// keeps for those near it, for this question, also when it is asked about another table.
type termCalls struct {
	*view
	terms   []wantTerm
	any     bool             // there may be some
	trace   string           // "": any
	callers []map[int64]bool // of the session, of the sandbox: a call's is in all of them
	without bool             // there are no segments that can be read

	runs  []*callRun // no call is in two of them
	last  *callRun   // that was asked for
	kept  int        // calls that runs have
	seqs  []int64    // for the next segment
	begun bool
}

// callRun is a run of calls: a segment, or some that are in none.
type callRun struct {
	first, last int64 // seq
	rows        int   // of the segment; 0: it is none
	has         *set  // of the segment: those that have all terms; nil: none has
	asked       int
	read        bool    // calls are known
	calls       []int64 // that have all terms, ascending
}

// begin looks who the callers are, the first time. any is false if there is none, and so
// no call.
func (c *termCalls) begin(v *view, terms []wantTerm) (any bool, err error) {
	if c.begun {
		return c.any, nil
	}
	c.view, c.terms, c.begun = v, terms, true
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
	c.any = true
	return true, nil
}

// has reports whether a call has all terms.
func (c *termCalls) has(call int64) (bool, error) {
	r, err := c.run(call)
	if err != nil || r.rows > 0 && r.has == nil {
		return false, err
	}
	if r.asked++; !r.read && r.asked > r.asks() {
		if err := c.read(r); err != nil {
			return false, err
		}
	}
	if r.read {
		_, ok := slices.BinarySearch(r.calls, call)
		return ok, nil
	}
	ok := false
	err = c.each("SELECT caller, trace FROM intents WHERE seq = ?", func(row []value) error {
		ok = c.matches(row[0], row[1])
		return nil
	}, call)
	return ok, err
}

// asks is how many calls of the run are looked at themselves before it is read which of
// them have the terms.
func (r *callRun) asks() int {
	if r.rows > 0 {
		return fewOf(r.rows)
	}
	return tailAsks
}

// matches looks at the caller and the trace of a call.
func (c *termCalls) matches(caller, trace value) bool {
	id, _ := caller.(int64)
	have, _ := trace.([]byte)
	ok := c.trace == "" || c.trace == string(have)
	for _, ids := range c.callers {
		ok = ok && ids[id]
	}
	return ok
}

// run returns the run that a call is in. They are asked for from the newest to the
// oldest, nearly, so that it is most often the last one.
func (c *termCalls) run(call int64) (*callRun, error) {
	in := func(r *callRun) bool { return r.first <= call && call <= r.last }
	if c.last != nil && in(c.last) {
		return c.last, nil
	}
	i := slices.IndexFunc(c.runs, in)
	if i < 0 {
		r, err := c.newRun(call)
		if err != nil {
			return nil, err
		}
		c.forget(len(c.runs) >= callRunsMost)
		i, c.runs = len(c.runs), append(c.runs, r)
	}
	c.last = c.runs[i]
	return c.last, nil
}

// forget forgets everything if that is due: it can be read again.
func (c *termCalls) forget(due bool) {
	if due {
		c.runs, c.last, c.kept = nil, nil, 0
	}
}

// newRun makes a run of the segment that a call is in, or of calls near it that are in
// none.
func (c *termCalls) newRun(call int64) (*callRun, error) {
	sp, ok, err := c.of(call)
	if err != nil {
		return nil, err
	}
	if !ok {
		first := call - call%segmentRows
		return &callRun{first: max(first, sp.last+1), last: first + segmentRows - 1}, nil
	}
	r := &callRun{first: sp.first, last: sp.last, rows: sp.rows}
	var rows set
	rows.fill(sp.rows)
	for _, t := range c.terms {
		data, err := c.blob(keyOf(streamCalls, t.field, bucketOf(t.field, term(t.value)), sp.first))
		if err != nil {
			return nil, err
		}
		var have set
		if err := orTerm(&have, data, t.value, sp.rows); err != nil {
			return nil, err
		}
		if rows.and(&have); rows.empty() {
			return r, nil
		}
	}
	r.has = &rows
	return r, nil
}

// read finds the calls of a run that have all terms.
func (c *termCalls) read(r *callRun) (err error) {
	if r.rows == 0 {
		err = c.readRows(r)
	} else {
		err = c.readSegment(r)
	}
	if err != nil {
		return err
	}
	r.read = true
	if c.kept += len(r.calls); c.kept > callsKeptMost {
		c.forget(true)
	}
	return nil
}

func (c *termCalls) readSegment(r *callRun) error {
	data, err := c.blob(keyOf(streamCalls, fieldSeq, 0, r.first))
	if err != nil {
		return err
	}
	if c.seqs, err = readColumn(c.seqs, data, r.rows); err != nil {
		return err
	}
	r.calls = make([]int64, 0, r.has.count())
	r.has.each(func(p int) bool {
		r.calls = append(r.calls, c.seqs[p])
		return true
	})
	slices.Reverse(r.calls)
	return nil
}

// readRows reads the rows of calls that are in no segment:
//
//	SEARCH intents USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
func (c *termCalls) readRows(r *callRun) error {
	return c.each("SELECT seq, caller, trace FROM intents WHERE seq >= ? AND seq <= ? ORDER BY seq", func(row []value) error {
		if seq, _ := row[0].(int64); c.matches(row[1], row[2]) {
			r.calls = append(r.calls, seq)
		}
		return nil
	}, r.first, r.last)
}

// of returns the segment that a call is in, if it is in one; if not, the one before it.
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
