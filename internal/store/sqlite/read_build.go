package sqlite

import (
	"cmp"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"time"

	"durward"
	"durward/ledger"
)

// statusDispatched is the status of a call that has no outcome yet.
const statusDispatched durward.Status = "dispatched"

// fullMost is how many full segments wait for their calls to end before the oldest
// is written all the same.
const fullMost = 1

// segmentSizes are how large segments are made.
type segmentSizes struct {
	calls, others int // rows
	amend         int // how many calls of written segments may have ended before these are written anew
}

// usualSizes are those outside of tests. Rows of other tables are fewer in all, and
// those after the last segment cost more: the call of each is looked up.
func usualSizes() segmentSizes { return segmentSizes{calls: segmentRows, others: 1024, amend: 1024} }

// index makes the segments. It belongs to the writer and is used by one goroutine at a
// time. After a failure the writer makes a new one from the file, so what it keeps in
// memory is bounded: segments that are full are written after the next batch.
type index struct {
	sizes  segmentSizes
	staged []staged // of the transaction that is under way

	calls   map[durward.CallID]int64 // without outcome: seq of their intents
	full    []*callSegment           // the oldest first
	current *callSegment
	others  map[stream]*otherSegment

	written []span            // segments of calls with open ones, the oldest first
	ended   map[int64][]ended // calls of those that ended since, by first seq of the segment
	amend   int               // how many

	upto      map[stream]int64 // the latest time in the segments that are written
	sandboxes bool             // there are sessions in sandboxes
}

// staged is a row that was inserted.
type staged struct {
	seq, caller, target, verdict int64 // seq of an outcome: that of its intent
	record                       ledger.Record
}

// ended is the outcome of a call in a segment that is written.
type ended struct {
	seq, duration, bytes int64
	status               string
}

func newIndex(sizes segmentSizes) *index {
	if sizes == (segmentSizes{}) {
		sizes = usualSizes()
	}
	return &index{
		sizes: sizes, calls: map[durward.CallID]int64{}, current: newCallSegment(),
		others: map[stream]*otherSegment{}, ended: map[int64][]ended{}, upto: map[stream]int64{},
	}
}

// intent notes that a call was inserted.
func (x *index) intent(seq int64, i *ledger.Intent, caller, target, verdict int64) {
	x.staged = append(x.staged, staged{seq, caller, target, verdict, i})
	x.calls[i.ID] = seq // for its outcome, which may be in the same transaction
}

// outcome notes that an outcome was inserted; call is the seq of its intent.
func (x *index) outcome(call int64, o *ledger.Outcome) {
	x.staged = append(x.staged, staged{seq: call, record: o})
}

// other notes that another record was inserted.
func (x *index) other(seq int64, r ledger.Record) {
	x.staged = append(x.staged, staged{seq: seq, record: r})
}

// keep takes what was noted: it was committed. Outcomes come last, so that what
// belongs to a call finds it in memory.
func (x *index) keep() {
	for i := range x.staged {
		if r, ok := x.staged[i].record.(*ledger.Intent); ok {
			x.begin(&x.staged[i], r)
		}
	}
	for i := range x.staged {
		switch r := x.staged[i].record.(type) {
		case *ledger.Intent, *ledger.Outcome:
		case *ledger.SessionStart:
			x.sandboxes = x.sandboxes || r.Sandbox != ""
		default:
			x.note(x.staged[i].seq, r)
		}
	}
	for i := range x.staged {
		if r, ok := x.staged[i].record.(*ledger.Outcome); ok {
			delete(x.calls, r.Call)
			x.end(ended{x.staged[i].seq, r.Duration.Microseconds(), int64(r.BytesOut), string(r.Status)})
		}
	}
	clear(x.staged) // the records may go
	x.staged = x.staged[:0]
}

// begin takes a call.
func (x *index) begin(s *staged, i *ledger.Intent) {
	x.current.add(s, i)
	if len(x.current.seqs) == x.sizes.calls {
		x.full = append(x.full, x.current)
		x.current = newCallSegment()
	}
}

// call returns the seq of the intent of a call that has no outcome.
func (x *index) call(id durward.CallID) (seq int64, ok bool) {
	seq, ok = x.calls[id]
	return seq, ok
}

// open returns calls without outcome, the oldest first.
func (x *index) open(limit int) []durward.CallID {
	ids := make([]durward.CallID, 0, len(x.calls))
	for id := range x.calls {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b durward.CallID) int { return cmp.Compare(x.calls[a], x.calls[b]) })
	return ids[:min(limit, len(ids))]
}

// end gives a call its outcome.
func (x *index) end(e ended) {
	if s, p := x.find(e.seq); s != nil {
		s.set(p, e)
		return
	}
	i := sort.Search(len(x.written), func(i int) bool { return x.written[i].last >= e.seq })
	if i < len(x.written) && x.written[i].first <= e.seq {
		first := x.written[i].first
		x.ended[first] = append(x.ended[first], e)
		x.amend++
	}
}

// find returns where a call is in a segment that is not written yet; nil if it is in none.
func (x *index) find(seq int64) (*callSegment, int) {
	if p, ok := x.current.position(seq); ok {
		return x.current, p
	}
	for _, s := range x.full {
		if p, ok := s.position(seq); ok {
			return s, p
		}
	}
	return nil, 0
}

// note takes a record that belongs to no call, or to one.
func (x *index) note(seq int64, r ledger.Record) {
	switch r := r.(type) {
	case *ledger.Decision:
		x.put(streamDecisions, otherRow{seq: seq, at: micros(r.At), call: r.Call})
	case *ledger.Approval:
		x.put(streamApprovals, otherRow{seq: seq, at: micros(r.At), call: r.Call})
	case *ledger.Flow:
		x.put(streamFlows, otherRow{seq: seq, at: micros(r.At), call: r.Call})
	case *ledger.Event:
		x.put(streamEvents, otherRow{
			seq: seq, at: micros(r.At), session: string(r.Session), trace: traceText(r.TraceID), layer: r.Layer, sandbox: r.Sandbox,
		})
	case *ledger.Change:
		x.put(streamChanges, otherRow{seq: seq, at: micros(r.At)})
	case *ledger.Note:
		x.put(streamNotes, otherRow{seq: seq, at: micros(r.At)})
	}
}

func (x *index) put(s stream, row otherRow) {
	if call, p := x.find(x.calls[row.call]); call != nil {
		row.call, row.session, row.trace = "", call.caller.terms[call.caller.of[p]].session, traceText(call.traces[p])
	}
	if x.others[s] == nil {
		x.others[s] = &otherSegment{}
	}
	x.others[s].rows = append(x.others[s].rows, row)
}

// callSegment is a segment of calls that is not written yet.
type callSegment struct {
	seqs, ats, bytesIn []int64
	traces             [][16]byte
	caller             column[callerTerms]
	target             column[targetTerms]
	verdict            column[verdictTerms]
	costs
}

// costs is what outcomes add to a segment of calls.
type costs struct {
	statuses  []string // number 0 is dispatched
	status    []uint16 // of each call
	durations []int64
	bytesOut  []int64
	open      int
}

type (
	callerTerms  struct{ session, principal, entrance string }
	targetTerms  struct{ server, method, tool, full, origin string }
	verdictTerms struct {
		action durward.Action
		rule   string
	}
)

// column is what each row of a segment names of another table.
type column[T any] struct {
	slots map[int64]uint16 // by the number in that table
	ids   []int64          // that number, by slot
	terms []T
	of    []uint16 // the slot of each row
}

func (c *column[T]) add(id int64, terms func() T) {
	slot, ok := c.slots[id]
	if !ok {
		slot = uint16(len(c.ids))
		c.slots[id] = slot
		c.ids = append(c.ids, id)
		c.terms = append(c.terms, terms())
	}
	c.of = append(c.of, slot)
}

func newCallSegment() *callSegment {
	return &callSegment{
		caller: column[callerTerms]{slots: map[int64]uint16{}}, target: column[targetTerms]{slots: map[int64]uint16{}},
		verdict: column[verdictTerms]{slots: map[int64]uint16{}}, costs: costs{statuses: []string{string(statusDispatched)}},
	}
}

// add takes a call. Texts are copied: the segment outlives the record, which may be
// part of something larger.
func (s *callSegment) add(row *staged, i *ledger.Intent) {
	s.seqs = append(s.seqs, row.seq)
	s.ats = append(s.ats, micros(i.At))
	s.bytesIn = append(s.bytesIn, int64(i.BytesIn))
	s.traces = append(s.traces, i.TraceID)
	s.caller.add(row.caller, func() callerTerms {
		return callerTerms{strings.Clone(string(i.Session)), strings.Clone(i.Principal), strings.Clone(string(i.Entrance))}
	})
	s.target.add(row.target, func() targetTerms {
		return targetTerms{
			strings.Clone(i.Server), strings.Clone(i.Method), strings.Clone(i.Tool), strings.Clone(i.FullName), strings.Clone(string(i.Origin)),
		}
	})
	s.verdict.add(row.verdict, func() verdictTerms { return verdictTerms{i.Action, strings.Clone(i.Rule)} })
	s.status = append(s.status, 0)
	s.durations = append(s.durations, 0)
	s.bytesOut = append(s.bytesOut, 0)
	s.open++
}

// position returns where a call is in the segment.
func (s *callSegment) position(seq int64) (int, bool) {
	if len(s.seqs) == 0 || seq < s.seqs[0] || seq > s.seqs[len(s.seqs)-1] {
		return 0, false
	}
	return slices.BinarySearch(s.seqs, seq)
}

// set gives the call at position p its outcome.
func (c *costs) set(p int, e ended) {
	if c.status[p] != 0 {
		return
	}
	n := slices.Index(c.statuses, e.status)
	if n < 0 {
		n = len(c.statuses)
		c.statuses = append(c.statuses, strings.Clone(e.status))
	}
	if n == 0 {
		return
	}
	c.status[p], c.durations[p], c.bytesOut[p] = uint16(n), e.duration, e.bytes
	c.open--
}

// otherSegment is a segment of another table that is not written yet.
type otherSegment struct{ rows []otherRow }

type otherRow struct {
	seq, at               int64
	call                  durward.CallID // whose session and trace are the row's, until they are known
	session, trace, layer string
	sandbox               string // of an event; other rows are of those of their session
}

// micros is a time as it is compared; the zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// traceText is a trace id as it is looked for: 16 bytes, nothing for none.
func traceText(id [16]byte) string {
	if id == ([16]byte{}) {
		return ""
	}
	return string(id[:])
}

// traceValue reads the trace id of a filter; it may be empty.
func traceValue(text string) (string, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 16 && len(b) != 0 {
		return "", durward.Errorf(durward.Invalid, "ledger", "the trace id %.64q is not 32 hexadecimal digits", text)
	}
	return string(b), nil
}
