package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// view is one state of the file, read through one connection. What is written
// meanwhile is not in it.
type view struct {
	ctx context.Context // of the question that is being answered
	c   *conn
}

// query begins to read the rows of a query.
func (v *view) query(ctx context.Context, text string, args ...value) (driver.Rows, error) {
	s, err := v.c.stmt(text)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtQueryContext).QueryContext(ctx, v.c.named(args))
}

// each calls f for each row of a query that looks at few rows, so that it need not be
// interrupted while it looks for the next; the row is only valid until f returns.
func (v *view) each(text string, f func(row []value) error, args ...value) error {
	return v.eachOf(context.Background(), text, f, args...)
}

// eachOf is each for a query that may look at many rows before it finds the first.
func (v *view) eachOf(ctx context.Context, text string, f func(row []value) error, args ...value) error {
	rows, err := v.query(ctx, text, args...)
	if err != nil {
		return err
	}
	row := make([]value, len(rows.Columns()))
	for err == nil {
		if err = v.ctx.Err(); err != nil {
			break
		}
		if err = rows.Next(row); err == nil {
			err = f(row)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, rows.Close())
}

// number returns the number that a query gives, 0 when there is none.
func (v *view) number(text string, args ...value) (n int64, err error) {
	err = v.each(text, func(row []value) error {
		n, _ = row[0].(int64)
		return nil
	}, args...)
	return n, err
}

// blob returns the data of a row of segments, nil if it is not there.
func (v *view) blob(key int64) (data []byte, err error) {
	err = v.each("SELECT data FROM segments WHERE key = ?", func(row []value) error {
		data, _ = row[0].([]byte)
		return nil
	}, key)
	return data, err
}

// Rows of segments for one filter lie side by side:
//
//	SEARCH segments USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)
const segmentsSQL = "SELECT key, data FROM segments WHERE key >= ? AND key <= ? ORDER BY key DESC"

// segmentCursor reads one row of each segment that has it, the newest first.
type segmentCursor struct {
	rows  driver.Rows
	row   [2]value
	first int64 // seq of the first row of the segment that the row is of
	data  []byte
	done  bool
}

// segments opens a cursor on the segments up to the one that begins at newest. n tells
// cursors that are open at the same time apart: each needs a statement.
func (v *view) segments(n int, st stream, f field, bucket, newest int64) (*segmentCursor, error) {
	rows, err := v.query(context.Background(), segmentsSQL+cursorMarks[n], keyOf(st, f, bucket, 0), keyOf(st, f, bucket, newest))
	if err != nil {
		return nil, err
	}
	return &segmentCursor{rows: rows}, nil
}

// cursorMarks make texts of statements differ.
var cursorMarks = [...]string{" --0", " --1", " --2", " --3", " --4", " --5", " --6", " --7", " --8", " --9", " --10", " --11", " --12", " --13", " --14"}

// next goes to the next older segment; done is set when there is none.
func (c *segmentCursor) next() error {
	err := c.rows.Next(c.row[:])
	if errors.Is(err, io.EOF) {
		c.done = true
		return nil
	}
	if err != nil {
		return err
	}
	key, _ := c.row[0].(int64)
	c.first = firstOf(key)
	c.data, _ = c.row[1].([]byte)
	return nil
}

// at returns the row of a segment, nil if it has none. Segments are asked for from
// the newest to the oldest.
func (c *segmentCursor) at(first int64) ([]byte, error) {
	for !c.done && (c.data == nil || c.first > first) {
		if err := c.next(); err != nil {
			return nil, err
		}
	}
	if c.done || c.first != first {
		return nil, nil
	}
	return c.data, nil
}

func (c *segmentCursor) close() error { return c.rows.Close() }
