package sqlite

import (
	"cmp"
	"container/heap"
	"errors"
	"slices"
)

// point is a place in the order of time: rows of the same time follow their seq.
type point struct{ at, seq int64 }

func (p point) compare(q point) int {
	return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.seq, q.seq))
}

// want is what rows are searched for, newest first.
type want struct {
	stream       stream
	terms        []wantTerm // all must hold
	since, until int64      // microseconds; until is exclusive; 0: no bound
	before       point      // only what is older; zero: everything
	limit        int

	status      string // of calls
	minDuration int64  // of calls, microseconds

	from  callsFrom  // of calls
	tail  string     // query of seq and at of rows that match, to be completed by bounded
	known *termCalls // of the calls that rows of a timeline belong to
}

type wantTerm struct {
	field field
	value string
}

// newest returns the latest time that can match.
func (w *want) newest() int64 {
	n := int64(1<<63 - 1)
	if w.until != 0 {
		n = w.until - 1
	}
	if w.before != (point{}) {
		n = min(n, w.before.at)
	}
	return n
}

func (w *want) matches(p point) bool {
	return p.at >= w.since && (w.until == 0 || p.at < w.until) && (w.before == point{} || p.compare(w.before) < 0)
}

// newestPoints keeps the newest of many points, at most limit.
type newestPoints struct {
	points []point // a heap, the oldest first
	limit  int
}

func (n *newestPoints) Len() int           { return len(n.points) }
func (n *newestPoints) Less(i, j int) bool { return n.points[i].compare(n.points[j]) < 0 }
func (n *newestPoints) Swap(i, j int)      { n.points[i], n.points[j] = n.points[j], n.points[i] }
func (n *newestPoints) Push(x any)         { n.points = append(n.points, x.(point)) }
func (n *newestPoints) Pop() any {
	last := n.points[len(n.points)-1]
	n.points = n.points[:len(n.points)-1]
	return last
}

// takes reports whether a point of this time could be among them.
func (n *newestPoints) takes(at int64) bool { return len(n.points) < n.limit || at >= n.points[0].at }

func (n *newestPoints) add(p point) {
	switch {
	case len(n.points) < n.limit:
		heap.Push(n, p)
	case p.compare(n.points[0]) > 0:
		n.points[0] = p
		heap.Fix(n, 0)
	}
}

// search finds the newest rows that match, at most limit, the newest first.
func (v *view) search(w *want) ([]point, error) {
	s := search{view: v, want: w, found: newestPoints{limit: w.limit}}
	err := s.run()
	return s.found.points, errors.Join(err, s.close())
}

// search is one search through the segments and the rows after them.
type search struct {
	*view
	*want
	found   newestPoints
	floor   int64 // rows up to this seq are gone
	spans   *segmentCursor
	cursors []*segmentCursor // of terms, then of status and of duration
	seqs    []int64
	ats     []int64
	costs   []int64
}

func (s *search) close() error {
	var all error
	for _, c := range append(s.cursors, s.spans) {
		if c != nil {
			all = errors.Join(all, c.close())
		}
	}
	return all
}

func (s *search) run() error {
	floor, err := s.floorOf(s.stream)
	if err != nil {
		return err
	}
	s.floor = floor
	if s.spans, err = s.view.spans(s.stream); err != nil {
		return err
	}
	last := int64(0)
	for tail := true; ; tail = false {
		if err := s.spans.next(); err != nil {
			return err
		}
		var sp span
		if !s.spans.done {
			if sp, err = readSpan(s.spans.first, s.spans.data); err != nil {
				return err
			}
			last = sp.last
		}
		if tail {
			if err := s.readTail(last); err != nil {
				return err
			}
		}
		if s.spans.done || sp.upto < s.since || !s.found.takes(sp.upto) || sp.last < s.floor {
			break
		}
		if sp.max < s.since || sp.min > s.newest() || !s.found.takes(sp.max) {
			continue
		}
		over, err := s.segment(sp)
		if err != nil || over {
			return s.sorted(err)
		}
	}
	return s.sorted(nil)
}

func (s *search) sorted(err error) error {
	slices.SortFunc(s.found.points, func(a, b point) int { return b.compare(a) })
	return err
}

// spans opens a cursor on what is known of the segments of a table as wholes. A file
// whose segments are of another version is read as if it had none.
func (v *view) spans(st stream) (*segmentCursor, error) {
	other, err := v.otherVersion()
	if err != nil {
		return nil, err
	}
	newest := int64(1<<keySeqBits - 1)
	if other {
		newest = -1
	}
	return v.segments(0, st, fieldSpan, 0, newest)
}

// otherVersion reports whether the segments are of another version than ours.
func (v *view) otherVersion() (bool, error) {
	version, err := v.blob(0)
	return len(version) != 1 || version[0] != segmentsVersion, err
}

// floorOf returns the seq of the oldest row of a table.
func (v *view) floorOf(st stream) (int64, error) {
	return v.number("SELECT min(seq) FROM " + tableOf(st))
}

// tableOf returns the table of a stream.
func tableOf(st stream) string {
	switch st {
	case streamCalls:
		return "intents"
	case streamDecisions:
		return "decisions"
	case streamApprovals:
		return "approvals"
	case streamFlows:
		return "http_requests"
	case streamEvents:
		return "events"
	case streamChanges:
		return "changes"
	default:
		return "notes"
	}
}

// segment looks through one segment. over says that no older one can have anything.
func (s *search) segment(sp span) (over bool, err error) {
	if err := s.ctx.Err(); err != nil {
		return true, err
	}
	if s.cursors == nil {
		if err := s.openCursors(sp.first); err != nil {
			return true, err
		}
	}
	var rows, doubtful set
	rows.fill(sp.rows)
	if err := s.early(sp, &doubtful); err != nil {
		return true, err
	}
	if over, err := s.intersect(sp, &rows, &doubtful); err != nil || over || rows.empty() {
		return over, err
	}
	if err := s.outcomes(sp, &rows, &doubtful); err != nil || rows.empty() {
		return err != nil, err
	}
	return false, s.collect(sp, &rows, &doubtful)
}

// ofCalls reports whether what the terms are about is that of the calls which the rows
// belong to.
func (w *want) ofCalls() bool {
	return len(w.terms) > 0 && (w.stream == streamDecisions || w.stream == streamApprovals || w.stream == streamFlows)
}

// early finds the rows of which the segment does not know what they belong to.
func (s *search) early(sp span, doubtful *set) error {
	if !s.ofCalls() {
		return nil
	}
	data, err := s.cursors[len(s.terms)].at(sp.first)
	if err != nil {
		return err
	}
	return orTerm(doubtful, data, earlyValue, sp.rows)
}

// openCursors opens a cursor for each term, one for the status, which also says whose
// outcome is not known, and one or two for durations.
func (s *search) openCursors(newest int64) error {
	open := func(f field, bucket int64) error {
		c, err := s.segments(len(s.cursors)+1, s.stream, f, bucket, newest)
		if err == nil {
			s.cursors = append(s.cursors, c)
		}
		return err
	}
	s.cursors = make([]*segmentCursor, 0, len(s.terms)+3)
	for _, t := range s.terms {
		if err := open(t.field, bucketOf(t.field, term(t.value))); err != nil {
			return err
		}
	}
	if s.ofCalls() {
		return open(fieldEarly, 0)
	}
	if s.status == "" && s.minDuration <= 0 {
		return nil
	}
	if err := open(fieldStatus, 0); err != nil || s.minDuration <= 0 {
		return err
	}
	if err := open(fieldDuration, bucketLong); err != nil || magnitude(s.minDuration) >= magnitudeLong {
		return err
	}
	return open(fieldDuration, bucketShort)
}

// intersect leaves the rows that have all terms, and doubtful ones.
func (s *search) intersect(sp span, rows, doubtful *set) (over bool, err error) {
	for i, t := range s.terms {
		data, err := s.cursors[i].at(sp.first)
		if err != nil {
			return true, err
		}
		if s.cursors[i].done && !s.ofCalls() {
			return true, nil // no older segment has it
		}
		have := *doubtful
		if err := orTerm(&have, data, t.value, sp.rows); err != nil {
			return true, err
		}
		if rows.and(&have); rows.empty() {
			return false, nil
		}
	}
	return false, nil
}
