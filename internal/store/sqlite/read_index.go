package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// How calls are found without an index for every column of the hot tables.
//
// A segment is a run of consecutive rows of one table: 8,192 of them. For each value
// that occurs in it (a principal, a tool, a status …) it has the set of the positions
// of the rows that have it, as a list or as a bitmap. A filter of any number of fields
// is the intersection of their sets: for each field one row of a few hundred bytes per
// segment, 1,221 of them for ten million calls, whether much matches or nothing.
// Lists of callers or targets would not do: a principal is thousands of callers, a
// method hundreds of targets, and uniting their lists takes longer than reading rows.
//
// The writer keeps the last segment in memory and writes it in one transaction when it
// is full and its calls have ended, about 200 rows for 8,192 calls. Calls that go on
// for longer have the status dispatched in their segment until it is written anew,
// which is when some of them have ended; until then each is looked at by itself.
//
// Everything here is derived: no part of the chain, and made anew from the rows when
// it is missing. Verifying a ledger holds it against the rows (read_inspect.go).
//
// The writer, which owns it, calls
//
//	x, err := loadIndex(conn)                        when it opens, on its connection
//	x.intent(seq, i, caller, target, verdict)        for each row it inserts,
//	x.outcome(call, o) and x.other(seq, r)           call: seq of the intent
//	x.keep()                                         when the transaction was committed; if not, a new index is loaded
//	x.seal(conn)                                     after keep; does nothing unless a segment is due
//	x.call(id)                                       seq of the intent of a call without outcome
//	x.open(limit)                                    calls without outcome, oldest first
//	pruneIndex(conn, seq)                            when all records up to seq are gone

// stream is a table of records that has segments. The values are on disk.
type stream int64

const (
	streamCalls     stream = 1
	streamDecisions stream = 2
	streamApprovals stream = 3
	streamFlows     stream = 4
	streamEvents    stream = 5
	streamChanges   stream = 6
	streamNotes     stream = 7
)

// field is what a row of segments is about. The values are on disk.
type field int64

// What rows are looked for by.
const (
	fieldStatus    field = 1 // of calls: the status, or dispatched
	fieldDuration  field = 2 // of calls: the binary logarithm of the microseconds
	fieldAction    field = 3
	fieldEntrance  field = 4
	fieldOrigin    field = 5
	fieldLayer     field = 6 // of events
	fieldPrincipal field = 7
	fieldServer    field = 8
	fieldMethod    field = 9
	fieldRule      field = 10
	fieldTool      field = 11 // own and offered names
	fieldSession   field = 12
	fieldTrace     field = 13
	fieldSandbox   field = 14
	// of what belongs to calls: those that were not there yet when the segment was made,
	// as when somebody is asked before the call is made
	fieldEarly field = 15

	// What is known of each row.
	fieldSpan     field = 24 // the whole segment: see span
	fieldSeq      field = 25 // seq of each row
	fieldAt       field = 26 // time of each row
	fieldCost     field = 27 // duration of each call
	fieldMeasures field = 28 // what else statistics need of each call
)

// bucketsOf says over how many rows of a segment the values of a field are spread:
// one where there are few values or all of them are read, more where a filter would
// have to read past too many others.
func bucketsOf(f field) int64 {
	switch f {
	case fieldDuration:
		return 2
	case fieldPrincipal, fieldServer, fieldMethod, fieldRule:
		return 16
	case fieldTool, fieldSession, fieldTrace, fieldSandbox:
		return 64
	default:
		return 1
	}
}

// The key of a row of segments has, from the highest bit down, the stream (4 bits),
// the field (5), the bucket (6), and the seq of the first row of the segment (44), so
// that what is read for one filter lies side by side, oldest segment first. Key 0
// holds the version of all that.
const (
	keySeqBits    = 44
	keyBucketBits = 6
	keyFieldBits  = 5

	segmentsVersion = 1
)

// keyOf returns the key of a segment's row.
func keyOf(s stream, f field, bucket, first int64) int64 {
	return (((int64(s)<<keyFieldBits|int64(f))<<keyBucketBits)|bucket)<<keySeqBits | first
}

// firstOf returns the seq of the first row of the segment that a key is of.
func firstOf(key int64) int64 { return key & (1<<keySeqBits - 1) }

// term is a value of a field as it is written: itself, or its digest when it is long.
// The first byte tells the two apart.
func term(value string) string {
	if len(value) <= 48 {
		return "=" + value
	}
	d := sha256.Sum256([]byte(value))
	return "#" + string(d[:])
}

// bucketOf returns the row that a term is in.
func bucketOf(f field, term string) int64 {
	n := bucketsOf(f)
	switch {
	case n == 1:
		return 0
	case f == fieldDuration && term[len(term)-1] < magnitudeLong: // see magnitudeTerm
		return bucketShort
	case f == fieldDuration:
		return bucketLong
	}
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * 1099511628211
	}
	return int64((h ^ h>>32) % uint64(n))
}

// magnitude is how durations are looked for: calls of at least 2^m-1 and less than
// 2^(m+1)-1 microseconds.
func magnitude(micros int64) int { return bits.Len64(uint64(max(0, micros)+1)) - 1 }

// Calls of a second or longer are looked for most and are the fewest, so they have a
// row of their own.
const (
	magnitudeLong = 20
	bucketShort   = 0
	bucketLong    = 1
)

// magnitudeTerm is a magnitude as a value of fieldDuration.
func magnitudeTerm(m int) string { return string([]byte{byte(m)}) }

// span is what is known of a segment as a whole.
type span struct {
	first int64 // seq of its first row; part of the key
	last  int64 // seq of its last row
	rows  int
	min   int64 // the earliest time in it
	max   int64 // the latest
	upto  int64 // the latest time in it and in all segments before it
	open  int   // calls in it that had not ended when it was written
}

func (s *span) append(b []byte) []byte {
	for _, v := range [...]int64{s.last - s.first, int64(s.rows), s.min, s.max, s.upto, int64(s.open)} {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func readSpan(key int64, b []byte) (span, error) {
	var v [6]int64
	for i := range v {
		n, size := binary.Varint(b)
		if size <= 0 {
			return span{}, errIndex
		}
		v[i], b = n, b[size:]
	}
	s := span{first: firstOf(key), rows: int(v[1]), min: v[2], max: v[3], upto: v[4], open: int(v[5])}
	s.last = s.first + v[0]
	if len(b) != 0 || v[1] <= 0 || v[1] > segmentRows {
		return span{}, errIndex
	}
	return s, nil
}

// find returns the set of a term in a row of segments, nil if it is not in it.
func find(row []byte, want string) (found []byte, err error) {
	err = eachTerm(row, func(term, content []byte) error {
		if string(term) == want {
			found = content
		}
		return nil
	})
	return found, err
}

// eachTerm calls f for the terms in a row of segments, and their sets.
func eachTerm(row []byte, f func(term, content []byte) error) error {
	for len(row) > 0 {
		term, rest, err := cutField(row)
		if err != nil || len(term) == 0 {
			return errIndex
		}
		content, rest, err := cutField(rest)
		if err != nil {
			return err
		}
		if err := f(term, content); err != nil {
			return err
		}
		row = rest
	}
	return nil
}

// cutField splits a length and as many bytes off.
func cutField(b []byte) (field, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errIndex
	}
	return b[size : size+int(n)], b[size+int(n):], nil
}

// appendColumn appends numbers as differences to the one before.
func appendColumn(b []byte, v []int64) []byte {
	last := int64(0)
	for _, n := range v {
		b = binary.AppendVarint(b, n-last)
		last = n
	}
	return b
}

// readColumn reads n numbers that appendColumn wrote into dst.
func readColumn(dst []int64, b []byte, n int) ([]int64, error) {
	r := reader{b: b}
	dst = r.varints(dst, n)
	last := int64(0)
	for i := range dst {
		last += dst[i]
		dst[i] = last
	}
	return dst, r.done()
}
