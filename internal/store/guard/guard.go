package guard

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"durward"
	"durward/internal/private"
)

// applicationID marks a file as ours ("DRWG", PRAGMA application_id).
const applicationID = 0x44525747

// schemaVersion is the newest schema that this version knows.
const schemaVersion = 1

//go:embed migrations/*.sql
var migrations embed.FS

// Options configure a [DB].
type Options struct {
	// Path of the database file. It is made if there is none, with its directory.
	Path string
	// Busy bounds how long another process is waited for that has locked the file;
	// default 2 s.
	Busy time.Duration
}

// DB is the file. It is safe for concurrent use. Whoever opens it calls Close.
type DB struct {
	path string
	db   *sql.DB // of one connection
}

// Open opens the file, makes it if there is none, and brings it to the newest
// schema. Errors: Denied for a file that others may read or that is not ours,
// Invalid for one that is something else or of a newer version, else Unavailable.
func Open(ctx context.Context, opt Options) (*DB, error) {
	if opt.Path == "" {
		return nil, durward.Errorf(durward.Internal, "guard", "no path was given")
	}
	if opt.Busy <= 0 {
		opt.Busy = 2 * time.Second
	}
	if err := create(opt.Path); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(dsn(opt))
	if err != nil {
		return nil, durward.Errorf(durward.Internal, "guard", "%w", err)
	}
	d := &DB{path: opt.Path, db: sql.OpenDB(connector)}
	d.db.SetMaxOpenConns(1)
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(d.explain(err), d.db.Close())
	}
	return d, nil
}

// dsn are the settings of the connection. With the rollback journal there is one
// file at rest, and extra has every commit on the disk before it returns: with full the
// removal of that journal may not be there yet, and a loss of power undoes the commit.
func dsn(opt Options) string {
	settings := url.Values{
		"mode": {"rw"}, "_defensive": {"1"}, "_error_rc": {"1"}, "_dqs": {"0"}, "_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(opt.Busy.Milliseconds(), 10) + ")",
			"synchronous(extra)", "cell_size_check(1)", "trusted_schema(0)", "secure_delete(1)",
		},
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: opt.Path, RawQuery: settings.Encode()}).String()
}

// create makes an empty file that only its owner may read, or checks that the one
// that is there is such a file.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, "guard", "the directory of %s cannot be made: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // follows no link
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return durward.Errorf(durward.Unavailable, "guard", "%s cannot be made: %w", path, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return durward.Errorf(durward.Unavailable, "guard", "%s cannot be looked at: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return durward.Errorf(durward.Denied, "guard", "%s is no regular file", path)
	}
	return private.CheckOwner(path, info)
}

// migrate makes sure that the file is ours, and brings it to the newest schema.
func (d *DB) migrate(ctx context.Context) error {
	version, err := d.claim(ctx)
	if err != nil || version == schemaVersion {
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, d.db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// claim returns the version of the schema, and marks a file that is empty as ours.
func (d *DB) claim(ctx context.Context) (version int64, err error) {
	var id, tables int64
	if err := d.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return 0, err
	}
	if err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	switch {
	case tables == 0:
		_, err := d.db.ExecContext(ctx, "PRAGMA application_id = "+strconv.Itoa(applicationID))
		return 0, err
	case id != applicationID:
		return 0, durward.Errorf(durward.Invalid, "guard", "%s is a database, but not one of grants and pins; move it away to begin with none", d.path)
	}
	err = d.db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&version)
	if err == nil && version > schemaVersion {
		err = durward.Errorf(durward.Invalid, "guard",
			"%s was written by a newer Durward (schema %d, this one knows %d); install that version again, or move the file away to begin with no grants and no pins", d.path, version, schemaVersion)
	}
	return version, err
}

// write runs a statement in a transaction: after an error, that of an end of ctx too,
// nothing was written.
func (d *DB) write(ctx context.Context, query string, args ...any) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return d.explain(err)
	}
	return d.explain(tx.Commit())
}

// Close closes the file.
func (d *DB) Close() error {
	if err := d.db.Close(); err != nil {
		return d.explain(err)
	}
	return nil
}

// Path returns where the file is.
func (d *DB) Path() string { return d.path }

// explain makes an error of SQLite one that says what happened and what to do.
func (d *DB) explain(err error) error {
	var own *durward.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return durward.Errorf(durward.Unavailable, "guard",
		"grants and pins (%s) cannot be read or written: %w; look at the file, its directory and its disk; move it away to begin with none", d.path, err)
}

// micros is a time as it is kept; 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// timeOf is the time that micros made a number of.
func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
