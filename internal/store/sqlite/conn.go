package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

// conn is one connection, spoken to without database/sql: that takes locks, copies
// arguments and looks at their types for each statement, a third of what a row costs.
// It is used by one goroutine at a time.
type conn struct {
	driver driver.Conn
	stmts  map[string]driver.Stmt // by their text
	args   []driver.NamedValue    // for the next statement
	until  time.Time              // when a reader closes it

	generation int // of the Reader, when it opened it
}

// dial opens a connection to a file that is there. Settings are those of every
// connection that writes.
func dial(path, sync string, busy time.Duration, cache int) (*conn, error) {
	return openNative(path, []string{
		"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")",
		"journal_mode(wal)", "synchronous(" + sync + ")",
		"wal_autocheckpoint(" + strconv.Itoa(logLimit(roomAt(path))) + ")", "journal_size_limit(" + strconv.Itoa(walLimit) + ")",
		"cache_size(" + strconv.Itoa(-cache) + ")",
		// A damaged page is noticed when it is read, and a file is data, not a program.
		"cell_size_check(1)", "trusted_schema(0)", "foreign_keys(0)",
	})
}

// connect opens a connection with these settings.
func connect(path string, settings url.Values) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn(path, settings))
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{driver: c, stmts: map[string]driver.Stmt{}}, nil
}

const (
	pageSize = 4096
	walLimit = 64 << 20 // bytes that the write-ahead log keeps on disk when it is empty
	cacheKiB = 8 << 10
)

// dsn is the name of a database file for the driver.
func dsn(path string, query url.Values) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	return u.String()
}

// stmt returns a statement, prepared once.
func (c *conn) stmt(query string) (driver.Stmt, error) {
	if s, ok := c.stmts[query]; ok {
		return s, nil
	}
	s, err := c.driver.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) named(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs one statement. Its text is prepared once and kept, so it must be one of
// a few. Values are int64, string, []byte or nil.
func (c *conn) exec(query string, args ...driver.Value) (driver.Result, error) {
	s, err := c.stmt(query)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(context.Background(), c.named(args))
}

// cursor goes through the rows of a query.
type cursor struct {
	rows driver.Rows
	row  []driver.Value // valid until next is called
}

// query begins a query. Until its cursor is closed, no other with the same text may begin.
func (c *conn) query(text string, args ...driver.Value) (*cursor, error) {
	s, err := c.stmt(text)
	if err != nil {
		return nil, err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.named(args))
	if err != nil {
		return nil, err
	}
	return &cursor{rows, make([]driver.Value, len(rows.Columns()))}, nil
}

// next goes to the next row; false when there is none.
func (c *cursor) next() (bool, error) {
	err := c.rows.Next(c.row)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

func (c *cursor) close() error { return c.rows.Close() }

// each calls f for each row of a query; the row is only valid until f returns, and f
// may run other statements. An error of f ends it.
func (c *conn) each(query string, f func(row []driver.Value) error, args ...driver.Value) error {
	rows, err := c.query(query, args...)
	if err != nil {
		return err
	}
	more, err := rows.next()
	for more && err == nil {
		if err = f(rows.row); err == nil {
			more, err = rows.next()
		}
	}
	return errors.Join(err, rows.close())
}

// number returns the first column of the first row of a query; ok is false when there
// is no row or it is NULL.
func (c *conn) number(query string, args ...driver.Value) (n int64, ok bool, err error) {
	seen := false
	err = c.each(query, func(row []driver.Value) error {
		if !seen {
			n, ok = row[0].(int64)
		}
		seen = true
		return nil
	}, args...)
	return n, ok, err
}

func (c *conn) close() error {
	var all error
	for _, s := range c.stmts {
		all = errors.Join(all, s.Close())
	}
	return errors.Join(all, c.driver.Close())
}
