package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// native is the connection that writes. It speaks to SQLite's library without the
// driver, which takes two locks for each value that a statement is given, allocates
// each text and tells the library to forget it afterwards: a third of what a row
// costs. It implements as much of a driver as conn needs. It is used by one goroutine
// at a time, so the library takes no locks either.
//
// Nothing that Go allocated is ever given to the library: texts and blobs are copied
// to memory of its own. All pointers are those that it returned.
type native struct {
	tls *libc.TLS
	db  uintptr
	out uintptr  // where the library puts what it opens and prepares
	got *uintptr // the same, to be read
}

const outSize = 8 // an address, or two numbers of four bytes

// openNative opens a database file that is there.
func openNative(path string, pragmas []string) (*conn, error) {
	n := &native{tls: libc.NewTLS()}
	if n.out = sqlite3.Xsqlite3_malloc64(n.tls, outSize); n.out == 0 {
		n.tls.Close()
		return nil, &nativeError{sqlite3.SQLITE_NOMEM, "out of memory"}
	}
	n.got = at[uintptr](n.out)
	err := n.withText(path, func(text uintptr) int32 {
		*n.got = 0
		rc := sqlite3.Xsqlite3_open_v2(n.tls, text, n.out, sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
		n.db = *n.got // which says what went wrong
		return rc
	})
	if err == nil {
		err = n.configure()
	}
	c := &conn{driver: n, stmts: map[string]driver.Stmt{}}
	for _, p := range pragmas {
		if err == nil {
			_, err = c.exec("PRAGMA " + p)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// configure makes a file that somebody prepared harmless, and texts in double quotes errors.
func (n *native) configure() error {
	list := sqlite3.Xsqlite3_malloc64(n.tls, 16)
	if list == 0 {
		return &nativeError{sqlite3.SQLITE_NOMEM, "out of memory"}
	}
	defer sqlite3.Xsqlite3_free(n.tls, list)
	for op, on := range map[int32]int32{sqlite3.SQLITE_DBCONFIG_DEFENSIVE: 1, sqlite3.SQLITE_DBCONFIG_DQS_DDL: 0, sqlite3.SQLITE_DBCONFIG_DQS_DML: 0} {
		if rc := sqlite3.Xsqlite3_db_config(n.tls, n.db, op, libc.VaList(list, on, uintptr(0))); rc != sqlite3.SQLITE_OK {
			return n.failed(rc)
		}
	}
	if rc := sqlite3.Xsqlite3_extended_result_codes(n.tls, n.db, 1); rc != sqlite3.SQLITE_OK {
		return n.failed(rc)
	}
	return nil
}

// at makes a pointer of an address that the library returned.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// withText calls f with a copy of a text.
func (n *native) withText(text string, f func(uintptr) int32) error {
	p := sqlite3.Xsqlite3_malloc64(n.tls, uint64(len(text)+1))
	if p == 0 {
		return &nativeError{sqlite3.SQLITE_NOMEM, "out of memory"}
	}
	defer sqlite3.Xsqlite3_free(n.tls, p)
	b := unsafe.Slice(at[byte](p), len(text)+1)
	b[copy(b, text)] = 0
	if rc := f(p); rc != sqlite3.SQLITE_OK {
		return n.failed(rc)
	}
	return nil
}

// nativeError is an error of the library.
type nativeError struct {
	code int
	text string
}

func (e *nativeError) Error() string { return e.text }

// Code returns the extended result code.
func (e *nativeError) Code() int { return e.code }

// failed says what went wrong. What the connection has to say of it may be about
// something else.
func (n *native) failed(rc int32) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(n.tls, rc))
	if n.db != 0 && sqlite3.Xsqlite3_extended_errcode(n.tls, n.db)&0xff == rc&0xff {
		if more := libc.GoString(sqlite3.Xsqlite3_errmsg(n.tls, n.db)); more != text {
			text += ": " + more
		}
	}
	return &nativeError{int(rc), text}
}

// written returns how many pages were written to the log since it was asked last.
func (c *conn) written() int {
	n, ok := c.driver.(*native)
	if !ok {
		return 0
	}
	numbers := at[[2]int32](n.out)
	if sqlite3.Xsqlite3_db_status(n.tls, n.db, sqlite3.SQLITE_DBSTATUS_CACHE_WRITE, n.out, n.out+4, 1) != sqlite3.SQLITE_OK {
		return 0
	}
	return int(numbers[0])
}

// PrepareContext implements [driver.ConnPrepareContext]. The context is not looked at:
// what is prepared here does not take long.
func (n *native) PrepareContext(_ context.Context, text string) (driver.Stmt, error) {
	s := &nativeStmt{n: n}
	err := n.withText(text, func(p uintptr) int32 {
		*n.got = 0
		rc := sqlite3.Xsqlite3_prepare_v3(n.tls, n.db, p, int32(len(text)+1), sqlite3.SQLITE_PREPARE_PERSISTENT, n.out, 0)
		s.stmt = *n.got
		return rc
	})
	if err != nil {
		return nil, err
	}
	s.bound = make([]bound, sqlite3.Xsqlite3_bind_parameter_count(n.tls, s.stmt))
	return s, nil
}

// Prepare implements [driver.Conn].
func (n *native) Prepare(text string) (driver.Stmt, error) {
	return n.PrepareContext(context.Background(), text)
}

// Begin implements [driver.Conn]. Transactions are statements here.
func (n *native) Begin() (driver.Tx, error) { return nil, driver.ErrSkip }

// Close implements [driver.Conn]. Statements are closed before.
func (n *native) Close() error {
	var err error
	if rc := sqlite3.Xsqlite3_close_v2(n.tls, n.db); rc != sqlite3.SQLITE_OK {
		err = n.failed(rc)
	}
	sqlite3.Xsqlite3_free(n.tls, n.out)
	n.tls.Close()
	return err
}

// arenaSize is the memory of a statement for texts and blobs: those of a full row of
// calls. What is larger gets memory of its own.
const arenaSize = 16 << 10

// nativeStmt is a prepared statement.
type nativeStmt struct {
	n     *native
	stmt  uintptr
	bound []bound // what the parameters are

	arena []byte  // texts and blobs; made when the first comes
	base  uintptr // address of arena
	used  int
	large []uintptr // those that did not fit
}

// bound is what a parameter is, as far as it need not be given again.
type bound struct {
	kind boundKind
	n    int64
}

type boundKind uint8

const (
	boundNothing boundKind = iota // NULL, which parameters are in the beginning
	boundNumber
	boundText // or a blob: it is given anew each time, since its memory is
)

func (s *nativeStmt) check(rc int32) error {
	if rc == sqlite3.SQLITE_OK {
		return nil
	}
	return s.n.failed(rc)
}

// null, number, text and blob give parameter i, from 0 on, a value.
func (s *nativeStmt) null(i int) error {
	if s.bound[i].kind == boundNothing {
		return nil
	}
	s.bound[i].kind = boundNothing
	return s.check(sqlite3.Xsqlite3_bind_null(s.n.tls, s.stmt, int32(i+1)))
}

func (s *nativeStmt) number(i int, v int64) error {
	if s.bound[i] == (bound{boundNumber, v}) {
		return nil
	}
	s.bound[i] = bound{boundNumber, v}
	return s.check(sqlite3.Xsqlite3_bind_int64(s.n.tls, s.stmt, int32(i+1), v))
}

func (s *nativeStmt) text(i int, v string) error {
	s.bound[i].kind = boundText
	p, err := copyIn(s, v)
	if err != nil {
		return err
	}
	return s.check(sqlite3.Xsqlite3_bind_text(s.n.tls, s.stmt, int32(i+1), p, int32(len(v)), sqlite3.SQLITE_STATIC))
}

func (s *nativeStmt) blob(i int, v []byte) error {
	s.bound[i].kind = boundText
	p, err := copyIn(s, v)
	if err != nil {
		return err
	}
	return s.check(sqlite3.Xsqlite3_bind_blob(s.n.tls, s.stmt, int32(i+1), p, int32(len(v)), sqlite3.SQLITE_STATIC))
}

// copyIn copies bytes to where they stay until the statement has run.
func copyIn[T ~string | ~[]byte](s *nativeStmt, v T) (uintptr, error) {
	if len(v) > sqlite3.SQLITE_MAX_LENGTH {
		return 0, &nativeError{sqlite3.SQLITE_TOOBIG, "string or blob too big"}
	}
	if s.arena == nil {
		if s.base = sqlite3.Xsqlite3_malloc64(s.n.tls, arenaSize); s.base == 0 {
			return 0, &nativeError{sqlite3.SQLITE_NOMEM, "out of memory"}
		}
		s.arena = unsafe.Slice(at[byte](s.base), arenaSize)
	}
	if s.used+len(v) <= len(s.arena) {
		p := s.base + uintptr(s.used)
		s.used += copy(s.arena[s.used:], v)
		return p, nil
	}
	p := sqlite3.Xsqlite3_malloc64(s.n.tls, uint64(len(v)))
	if p == 0 {
		return 0, &nativeError{sqlite3.SQLITE_NOMEM, "out of memory"}
	}
	s.large = append(s.large, p)
	copy(unsafe.Slice(at[byte](p), len(v)), v)
	return p, nil
}

// bind gives all parameters their values.
func (s *nativeStmt) bind(args []driver.NamedValue) error {
	if len(args) != len(s.bound) {
		return &nativeError{sqlite3.SQLITE_RANGE, "a statement was given too few or too many values"}
	}
	for i := range args {
		var err error
		switch v := args[i].Value.(type) {
		case nil:
			err = s.null(i)
		case int64:
			err = s.number(i, v)
		case string:
			err = s.text(i, v)
		case []byte:
			err = s.blob(i, v)
		default:
			err = &nativeError{sqlite3.SQLITE_MISMATCH, "a statement was given what is no value"}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs a statement to its end.
func (s *nativeStmt) run() error {
	rc := sqlite3.Xsqlite3_step(s.n.tls, s.stmt)
	for rc == sqlite3.SQLITE_ROW {
		rc = sqlite3.Xsqlite3_step(s.n.tls, s.stmt)
	}
	var err error
	if rc != sqlite3.SQLITE_DONE {
		err = s.n.failed(rc)
	}
	s.reset()
	return err
}

// reset makes a statement ready to be given values.
func (s *nativeStmt) reset() {
	sqlite3.Xsqlite3_reset(s.n.tls, s.stmt) // it repeats the error of the last step
	s.used = 0
	if len(s.large) == 0 {
		return
	}
	sqlite3.Xsqlite3_clear_bindings(s.n.tls, s.stmt) // before what they point to is gone
	clear(s.bound)
	for _, p := range s.large {
		sqlite3.Xsqlite3_free(s.n.tls, p)
	}
	s.large = s.large[:0]
}

// ExecContext implements [driver.StmtExecContext].
func (s *nativeStmt) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.bind(args); err != nil {
		s.reset()
		return nil, err
	}
	return nativeResult{s.n}, s.run()
}

// nativeResult is what the last statement did; it is only valid until the next.
type nativeResult struct{ n *native }

// LastInsertId implements [driver.Result].
func (r nativeResult) LastInsertId() (int64, error) {
	return sqlite3.Xsqlite3_last_insert_rowid(r.n.tls, r.n.db), nil
}

// RowsAffected implements [driver.Result].
func (r nativeResult) RowsAffected() (int64, error) {
	return sqlite3.Xsqlite3_changes64(r.n.tls, r.n.db), nil
}

// QueryContext implements [driver.StmtQueryContext].
func (s *nativeStmt) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.bind(args); err != nil {
		s.reset()
		return nil, err
	}
	return &nativeRows{s}, nil
}

// Exec implements [driver.Stmt].
func (s *nativeStmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements [driver.Stmt].
func (s *nativeStmt) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// NumInput implements [driver.Stmt].
func (s *nativeStmt) NumInput() int { return len(s.bound) }

// Close implements [driver.Stmt].
func (s *nativeStmt) Close() error {
	s.reset()
	sqlite3.Xsqlite3_finalize(s.n.tls, s.stmt) // it repeats the error of the last step
	sqlite3.Xsqlite3_free(s.n.tls, s.base)
	return nil
}

// nativeRows are the rows of a query.
type nativeRows struct{ *nativeStmt }

// Columns implements [driver.Rows].
func (r *nativeRows) Columns() []string {
	names := make([]string, sqlite3.Xsqlite3_column_count(r.n.tls, r.stmt))
	for i := range names {
		names[i] = libc.GoString(sqlite3.Xsqlite3_column_name(r.n.tls, r.stmt, int32(i)))
	}
	return names
}

// Next implements [driver.Rows].
func (r *nativeRows) Next(row []driver.Value) error {
	switch rc := sqlite3.Xsqlite3_step(r.n.tls, r.stmt); rc {
	case sqlite3.SQLITE_ROW:
	case sqlite3.SQLITE_DONE:
		return io.EOF
	default:
		return r.n.failed(rc)
	}
	for i := range row {
		row[i] = r.column(int32(i))
	}
	return nil
}

func (r *nativeRows) column(i int32) driver.Value {
	tls, s := r.n.tls, r.stmt
	switch sqlite3.Xsqlite3_column_type(tls, s, i) {
	case sqlite3.SQLITE_INTEGER:
		return sqlite3.Xsqlite3_column_int64(tls, s, i)
	case sqlite3.SQLITE_FLOAT:
		return sqlite3.Xsqlite3_column_double(tls, s, i)
	case sqlite3.SQLITE_TEXT:
		p := sqlite3.Xsqlite3_column_text(tls, s, i)
		return string(memory(p, sqlite3.Xsqlite3_column_bytes(tls, s, i)))
	case sqlite3.SQLITE_BLOB:
		p := sqlite3.Xsqlite3_column_blob(tls, s, i)
		return append([]byte{}, memory(p, sqlite3.Xsqlite3_column_bytes(tls, s, i))...)
	default:
		return nil
	}
}

// memory is what the library has at an address.
func memory(p uintptr, n int32) []byte {
	if p == 0 {
		return nil
	}
	return unsafe.Slice(at[byte](p), n)
}

// Close implements [driver.Rows].
func (r *nativeRows) Close() error {
	r.reset()
	return nil
}
