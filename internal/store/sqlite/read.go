package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"durward"
	"durward/ledger"
)

// Reader answers questions about a ledger file. It is safe for concurrent use, in any
// process, whether a service writes to the file or not. It holds no state of the file
// for longer than one question takes. Whoever opens one calls Close.
type Reader struct {
	path  string
	conns chan *conn // as many as may be open; nil stands for one that is not open yet

	mu  sync.Mutex // guards now, and giving connections back
	now int        // generation; connections of earlier ones are closed when they are given back

	closing sync.Once
	closed  chan struct{} // closed by Close
}

// Bounds of a Reader.
const (
	readBusy  = 5 * time.Second
	readLife  = time.Minute // of a connection: the next one sees a file that was replaced
	stmtsMost = 64          // statements that each connection keeps prepared
)

// OpenReader opens a ledger file to read it: that of a running service, that of one
// which does not run, or a backup. The file is never changed. An error is of kind
// NotFound when there is no file, Conflict when a newer version of Durward made it,
// Invalid when it is no ledger, Unavailable when it cannot be read.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	shareLocks()
	r := &Reader{path: path, conns: make(chan *conn, readersMost), closed: make(chan struct{})}
	for range readersMost {
		r.conns <- nil
	}
	if err := r.view(ctx, func(*view) error { return nil }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// OpenReader opens a reader of the file. Whoever opens it closes it. Where something
// goes wrong with the file it gives up its connections as the writer does: SQLite has all
// of a process share what they know of the log, so that one that has seen a log which is
// gone keeps the next ones from a new one.
func (d *DB) OpenReader(ctx context.Context) (*Reader, error) {
	r, err := OpenReader(ctx, d.opt.Path)
	if err == nil {
		d.mu.Lock()
		d.readers = append(d.readers, r)
		d.mu.Unlock()
	}
	return r, err
}

// Close waits for the questions that are being answered and closes all connections.
func (r *Reader) Close() error {
	var all error
	r.closing.Do(func() {
		close(r.closed)
		for range readersMost {
			if c := <-r.conns; c != nil {
				all = errors.Join(all, c.close())
			}
		}
	})
	return all
}

// view calls f with one state of the file.
func (r *Reader) view(ctx context.Context, f func(*view) error) error {
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer func() { r.give(c) }()
	if c != nil && time.Now().After(c.until) {
		_ = c.close() // it only reads
		c = nil
	}
	if c == nil {
		now := r.generation()
		if c, err = dialReader(ctx, r.path); err != nil {
			return r.explain(ctx, err)
		}
		c.generation = now
	}
	if len(c.stmts) > stmtsMost {
		c.forget()
	}
	if _, err := c.exec("BEGIN"); err != nil {
		return r.explain(ctx, err)
	}
	err = f(&view{ctx, c})
	// There is nothing to lose: it only ends the state that was read.
	if _, ending := c.exec("ROLLBACK"); ending != nil && err == nil {
		err = ending
	}
	if err != nil && codeOf(err) >= 0 { // with what is wrong the next connection may do better
		_ = c.close()
		c = nil
	}
	return r.explain(ctx, err)
}

// take waits for a connection; nil is one that must be opened.
func (r *Reader) take(ctx context.Context) (*conn, error) {
	select {
	case <-r.closed: // first: both may be true
		return nil, errReaderClosed
	default:
	}
	select {
	case c := <-r.conns:
		return c, nil
	case <-r.closed:
		return nil, errReaderClosed
	case <-ctx.Done():
		return nil, r.explain(ctx, ctx.Err())
	}
}

// give gives a connection back.
func (r *Reader) give(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c != nil && c.generation != r.now {
		_ = c.close() // it only reads
		c = nil
	}
	r.conns <- c
}

func (r *Reader) generation() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// renew closes all connections: those that nobody uses at once, the others when they are
// given back.
func (r *Reader) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now++
	idle := 0
	for more := true; more; {
		select {
		case c := <-r.conns:
			idle++
			if c != nil {
				_ = c.close() // it only reads
			}
		default:
			more = false
		}
	}
	for range idle {
		r.conns <- nil
	}
}

var errReaderClosed = durward.Errorf(durward.Unavailable, "ledger", "the service is stopping, so the ledger cannot be read")

// forget closes the prepared statements.
func (c *conn) forget() {
	for text, s := range c.stmts {
		_ = s.Close() // none is being used
		delete(c.stmts, text)
	}
}

// dialReader opens a connection that cannot write.
func dialReader(ctx context.Context, path string) (*conn, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, durward.Errorf(durward.NotFound, "ledger", "there is no ledger to read: %w", err)
	case err != nil:
		return nil, durward.Errorf(durward.Unavailable, "ledger", "the ledger cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return nil, durward.Errorf(durward.Invalid, "ledger", "%s is no file, so no ledger", path)
	case info.Size() < pageSize: // SQLite may take it for empty, and remove the log beside it
		return nil, durward.Errorf(durward.Invalid, "ledger", "%s is no ledger of Durward", path)
	}
	c, err := connectReader(ctx, path, false)
	if err != nil && unwritable(path) {
		// A copy in a place where nothing can be written: the files that readers share
		// with a writer cannot be made, and there is no writer.
		c, err = connectReader(ctx, path, true)
	}
	return c, err
}

// unwritable reports whether a file stands alone in a place where this process can
// make no file beside it.
func unwritable(path string) bool {
	if info, err := os.Stat(path + walSuffix); err == nil && info.Size() > 0 {
		return false
	}
	return !mayWrite(path + shmSuffix)
}

func connectReader(ctx context.Context, path string, immutable bool) (*conn, error) {
	query := readOnly(readBusy)
	if immutable {
		query.Set("immutable", "1")
	}
	connector, err := sqlite.NewConnector(dsn(path, query))
	if err != nil {
		return nil, err
	}
	d, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &conn{driver: d, stmts: map[string]driver.Stmt{}, until: time.Now().Add(readLife)}
	// The file is only looked at when something is read.
	if err := checkReadable(c, path); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// checkReadable refuses what is no ledger, and one that we do not know how to read.
func checkReadable(c *conn, path string) error {
	id, _, err := c.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	if id != applicationID {
		return durward.Errorf(durward.Invalid, "ledger", "%s is no ledger of Durward", path)
	}
	have, ok, err := c.number("SELECT max(version_id) FROM goose_db_version WHERE is_applied")
	if err == nil && !ok {
		err = errors.New("it does not say which schema it has")
	}
	if err != nil {
		return durward.Errorf(durward.Invalid, "ledger", "%s is a ledger that was not finished: %w; start the service on it first", path, err)
	}
	if have > schemaVersion {
		return durward.Errorf(durward.Invalid, "ledger",
			"%s was written by a newer Durward (schema %d, this one knows %d); read it with that version", path, have, schemaVersion)
	}
	if have < schemaLeast {
		return durward.Errorf(durward.Invalid, "ledger",
			"%s was written by an older Durward (schema %d, this one reads %d and later); start the service on it, or on a copy, to bring it up to date", path, have, schemaLeast)
	}
	return nil
}

var (
	_ ledger.Reader      = (*Reader)(nil)
	_ ledger.StoryReader = (*Reader)(nil)
)

const (
	// schemaVersion is the number of the newest migration.
	schemaVersion = 2
	// schemaLeast is the oldest schema that is read as it is, so that a backup need not
	// be changed to be looked at: what came after it are views, which only people use.
	schemaLeast = 1
)

// explain makes errors of the driver errors of the ledger.
func (r *Reader) explain(ctx context.Context, err error) error {
	var known *durward.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if ctx.Err() != nil {
		kind := durward.Unavailable
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			kind = durward.Timeout
		}
		return durward.Errorf(kind, "ledger", "the search was given up: %w", ctx.Err())
	}
	if codeOf(err) == sqlite3.SQLITE_NOTADB {
		return durward.Errorf(durward.Invalid, "ledger", "%s is no ledger of Durward: %w", r.path, err)
	}
	return explain(r.path, err)
}
