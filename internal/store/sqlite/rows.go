package sqlite

import (
	"strings"
	"time"
)

// rowsAtOnce is how many rows of the busy tables one statement inserts at most.
const rowsAtOnce = 8

// rows inserts rows into one of the busy tables, several with one statement. Values are
// given to the statement as they come: nothing is allocated for them.
type rows struct {
	columns int
	texts   []string // statements for 1, 2, 4 and 8 rows

	c    *conn
	left int // rows that will still come
	s    *nativeStmt
	next int   // the parameter that is given next
	err  error // the first
}

// newRows returns the rows of a table with so many columns.
func newRows(table string, columns int) *rows {
	r := &rows{columns: columns}
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	for n := 1; n <= rowsAtOnce; n *= 2 {
		r.texts = append(r.texts, "INSERT INTO "+table+" VALUES "+row+strings.Repeat(", "+row, n-1))
	}
	return r
}

func newIntents() *rows {
	return newRows("intents (seq, id, at, caller, target, verdict, bytes_in, parent, trace, span, request, body, preview)", 13)
}

func newOutcomes() *rows {
	return newRows("outcomes (seq, call, at, dispatched, duration, status, attempts, bytes_out, error, body, preview)", 11)
}

func newLinks() *rows {
	return newRows("chain (seq, at, first, records, digest, hash)", 6)
}

// begin says how many rows come.
func (r *rows) begin(c *conn, n int) { r.c, r.left, r.s, r.next, r.err = c, n, nil, 0, nil }

// take begins with the values of a row.
func (r *rows) take() {
	if r.s != nil || r.err != nil {
		return
	}
	i := len(r.texts) - 1
	for r.left < 1<<i {
		i--
	}
	s, err := r.c.stmt(r.texts[i])
	r.s, _ = s.(*nativeStmt)
	r.next, r.err = 0, err
}

// end ends a row. Only after the last are all inserted.
func (r *rows) end() error {
	if r.err == nil && r.next == len(r.s.bound) {
		r.left -= r.next / r.columns
		r.err = r.s.run()
		r.s = nil
	}
	if r.err != nil && r.s != nil {
		r.s.reset()
		r.s = nil
	}
	return r.err
}

func (r *rows) keep(err error) {
	if r.next++; err != nil && r.err == nil {
		r.err = err
	}
}

func (r *rows) number(n int64) {
	if r.err == nil {
		r.keep(r.s.number(r.next, n))
	}
}

// text is a text for which NULL stands when it is empty.
func (r *rows) text(s string) {
	switch {
	case r.err != nil:
	case s == "":
		r.keep(r.s.null(r.next))
	default:
		r.keep(r.s.text(r.next, s))
	}
}

// name is a text that is never NULL.
func (r *rows) name(s string) {
	if r.err == nil {
		r.keep(r.s.text(r.next, s))
	}
}

// blob are bytes that are never NULL.
func (r *rows) blob(b []byte) {
	if r.err == nil {
		r.keep(r.s.blob(r.next, b))
	}
}

// bytes are some for which NULL stands when all are zero.
func (r *rows) bytes(b []byte) {
	switch {
	case r.err != nil:
	case isZero(b):
		r.keep(r.s.null(r.next))
	default:
		r.keep(r.s.blob(r.next, b))
	}
}

func (r *rows) time(t time.Time) {
	switch {
	case r.err != nil:
	case t.IsZero():
		r.keep(r.s.null(r.next))
	default:
		r.keep(r.s.number(r.next, t.UnixMicro()))
	}
}

// id is what idValue is, NULL if it is optional and empty.
func (r *rows) id(text string, optional bool) {
	if r.err != nil {
		return
	}
	if id, ok := parseUUID(text); ok {
		r.keep(r.s.blob(r.next, id[:]))
	} else if optional && text == "" {
		r.keep(r.s.null(r.next))
	} else {
		r.keep(r.s.text(r.next, text))
	}
}
