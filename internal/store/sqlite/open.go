package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"durward"
	"durward/internal/private"
	"durward/internal/store/dirwatch"
	"durward/ledger"
)

// applicationID marks a file as a ledger ("DRWD", PRAGMA application_id).
const applicationID = 0x44525744

//go:embed migrations/*.sql
var migrations embed.FS

// Options configure a [DB].
type Options struct {
	// Path of the database file. It is made if there is none, with its directory.
	Path string
	// Sync is "normal" (default: what is committed outlasts a killed process) or
	// "full" (it outlasts a loss of power, for a sync of the disk per batch).
	Sync string
	// Busy bounds how long a write waits for another process that has locked the
	// file; default 2 s, which is less than limits.ledger_wait.
	Busy time.Duration
	Log  *slog.Logger // default: discard

	sizes segmentSizes // smaller ones in tests; default: the usual ones
	cache int          // of the writer, in KiB; smaller in tests
}

func (o *Options) check() error {
	if o.Path == "" {
		return durward.Errorf(durward.Invalid, "ledger", "no path was given")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return durward.Errorf(durward.Invalid, "ledger", "%s: %w", o.Path, err)
	}
	o.Path = path
	if o.Sync == "" {
		o.Sync = "normal"
	}
	if o.Sync != "normal" && o.Sync != "full" {
		return durward.Errorf(durward.Invalid, "ledger", "sync is normal or full, not %q", o.Sync)
	}
	if o.Busy <= 0 {
		o.Busy = 2 * time.Second
	}
	if o.cache <= 0 {
		o.cache = cacheKiB
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// DB is the ledger in one SQLite file. It is safe for concurrent use; of all
// processes one has it open. Whoever opens it calls Close.
type DB struct {
	opt    Options
	unlock func() error
	dir    *dirwatch.Dir // that the file is in

	mu      sync.Mutex // guards all below: one writes at a time
	closed  bool
	file    fs.FileInfo // the file that was opened: no other will be written to
	wal     fs.FileInfo // its write-ahead log, and the index of that; nil until they are there
	shm     fs.FileInfo
	conn    *conn // nil: it has to be opened anew, because something went wrong
	copier  *copier
	readers []*Reader // that have to go with conn
	pages   int       // written to the log since the copier began last
	state             // what conn's file holds; read anew with conn
}

// state is what the writer knows of the file.
type state struct {
	head  ledger.Link
	next  int64 // seq of the next record
	names *names
	used  *used
	index *index

	intents, outcomes, links *rows // buffers; empty between batches
}

// Open opens the ledger in a file, makes it if there is none, and brings it to the
// newest schema. Errors: Denied for a file that others may read or that is not ours,
// Invalid for one that is no ledger or of a newer version, Conflict when another
// process has it open, else Unavailable; that, too, when only its log is left.
func Open(ctx context.Context, opt Options) (*DB, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	shareLocks()
	if err := os.MkdirAll(filepath.Dir(opt.Path), 0o700); err != nil {
		return nil, durward.Errorf(durward.Unavailable, "ledger", "the directory of the ledger cannot be made: %w", err)
	}
	unlock, err := private.Lock(opt.Path+".lock", opt.Busy)
	if err != nil {
		return nil, durward.Errorf(durward.KindOf(err), "ledger", "the ledger is in use by another process, or cannot be locked: %w", err)
	}
	d := &DB{opt: opt, unlock: unlock, dir: dirwatch.Open(filepath.Dir(opt.Path))}
	if err := d.begin(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// shareLocks has SQLite use locks that belong to an open file. Those that it uses
// otherwise belong to the process and vanish when anybody in it closes the file, a
// copying test or a scanner too. Both calls are for the whole process and do nothing
// where the system has no such thing, or when it is too late.
func shareLocks() {
	_, _ = sqlite.OFDLocking(true)
	_, _ = sqlite.Fdatasync(true) // as safe as fsync, without writing the time of the change
}

// begin makes and checks the file and opens the connections.
func (d *DB) begin(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := checkLog(d.opt.Path); err != nil {
		return err
	}
	if err := create(d.opt.Path); err != nil {
		return err
	}
	var err error
	if d.file, err = look(d.opt.Path); err != nil {
		return err
	}
	if err := d.migrate(ctx); err != nil {
		return err
	}
	if err := d.ready(); !errors.Is(err, errIndex) {
		return err
	}
	return nil // Reindex mends it; until then nothing is written
}

// readersMost bounds the connections that read.
const readersMost = 4

// readOnly are the settings of connections that read.
func readOnly(busy time.Duration) url.Values {
	return url.Values{
		"mode": {"ro"}, "_defensive": {"1"}, "_error_rc": {"1"}, "_dqs": {"0"},
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")", "query_only(1)",
			"cell_size_check(1)", "trusted_schema(0)", "cache_size(" + strconv.Itoa(-cacheKiB) + ")",
		},
	}
}

// create makes an empty file that only its owner may read, unless there is one.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return durward.Errorf(durward.Unavailable, "ledger", "the ledger cannot be made: %w", err)
	}
	return nil
}

// look returns what is at a path if it may be our file.
func look(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "ledger", "the ledger cannot be looked at: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, durward.Errorf(durward.Denied, "ledger", "%s is no regular file", path)
	}
	return info, checkOwner(path, info)
}

// migrate makes sure that the file is a ledger, and brings it to the newest schema. A
// file that is refused stays as it is.
func (d *DB) migrate(ctx context.Context) error {
	c, err := connect(d.opt.Path, plain(d.opt.Busy))
	if err != nil {
		return d.explain(err)
	}
	version, err := claim(c, d.opt.Path)
	if closing := c.close(); err == nil {
		err = closing
	}
	if err == nil && version < 0 {
		version, err = 0, found(d.opt.Path, d.opt.Busy)
	}
	if err == nil && version < schemaVersion {
		err = d.upgrade(ctx)
	}
	if err != nil {
		return d.explain(err)
	}
	return nil
}

// plain are the settings of connections that leave the file as it is until they are
// told otherwise.
func plain(busy time.Duration) url.Values {
	return url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_pragma": {"busy_timeout(" + strconv.FormatInt(busy.Milliseconds(), 10) + ")"}}
}

// claim returns the version of the schema: -1 for an empty file, 0 for a ledger that
// was not finished. It refuses what is somebody else's, or too new.
func claim(c *conn, path string) (version int64, err error) {
	id, _, err := c.number("PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	tables, _, err := c.number("SELECT count(*) FROM sqlite_schema")
	switch {
	case err != nil:
		return 0, err
	case id == applicationID && tables == 0:
		return 0, nil
	case tables == 0:
		return -1, nil
	case id != applicationID:
		return 0, durward.Errorf(durward.Invalid, "ledger", "%s is a database, but no ledger of Durward; move it away or configure another path (ledger.path)", path)
	}
	versions, _, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name = 'goose_db_version'")
	if err != nil || versions == 0 {
		return 0, err
	}
	if version, _, err = c.number("SELECT max(version_id) FROM goose_db_version WHERE is_applied"); err != nil {
		return 0, err
	}
	if version > schemaVersion {
		return 0, durward.Errorf(durward.Invalid, "ledger",
			"%s was written by a newer Durward (schema %d, this one knows %d); install that version again, or configure another path (ledger.path)", path, version, schemaVersion)
	}
	return version, nil
}

// found makes an empty file a ledger without tables.
func found(path string, busy time.Duration) error {
	c, err := begun(path, busy)
	if err != nil {
		return err
	}
	return c.close()
}

// begun is found that leaves the file open. What is set here has an effect only as long
// as a file is empty.
func begun(path string, busy time.Duration) (*conn, error) {
	settings := plain(busy)
	settings["_pragma"] = append(settings["_pragma"], "page_size("+strconv.Itoa(pageSize)+")", "auto_vacuum(incremental)", "journal_mode(wal)")
	c, err := connect(path, settings)
	if err != nil {
		return nil, err
	}
	if _, err := c.exec("PRAGMA application_id = " + strconv.Itoa(applicationID)); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// upgrade runs the migrations that the file has not seen.
func (d *DB) upgrade(ctx context.Context) error {
	connector, err := sqlite.NewConnector(dsn(d.opt.Path, plain(d.opt.Busy)))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }() // what it did is committed
	db.SetMaxOpenConns(1)
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// Close closes the ledger. What was written stays.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var all error
	if d.conn != nil { // the last connection copies the write-ahead log into the file
		all = errors.Join(all, d.copier.stop(), d.conn.close())
		d.conn, d.copier = nil, nil
	}
	all = errors.Join(all, d.dir.Close(), d.unlock())
	if all != nil {
		return d.explain(all)
	}
	return nil
}

// value is what statements are given.
type value = driver.Value

// Path returns where the database file is.
func (d *DB) Path() string { return d.opt.Path }
