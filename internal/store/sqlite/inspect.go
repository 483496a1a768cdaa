package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"durward/ledger"
)

// inspectMost bounds what is found in one table.
const inspectMost = 20

var (
	_ ledger.Inspector = (*DB)(nil)
	_ ledger.Inspector = (*Reader)(nil)
)

// Inspect implements [ledger.Inspector], like [Reader.Inspect].
func (d *DB) Inspect(ctx context.Context, found func(where, what string), progress func(done, of int64)) error {
	c, err := connect(d.opt.Path, readOnly(d.opt.Busy))
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = c.close() }() // it only read
	return inspect(ctx, c, d.opt.Path, found, progress)
}

// Inspect looks for what the chain does not cover: tables, indexes and views that are
// not those that were made, indexes that do not agree with their table, data that
// belongs to no body. progress counts tables and segments.
func (r *Reader) Inspect(ctx context.Context, found func(where, what string), progress func(done, of int64)) error {
	return r.alone(ctx, func(c *conn) error { return inspect(ctx, c, r.path, found, progress) })
}

func inspect(ctx context.Context, c *conn, path string, found func(where, what string), progress func(done, of int64)) error {
	version, ok, err := c.number("SELECT max(version_id) FROM goose_db_version WHERE is_applied")
	if err != nil || !ok { // that it does not say is found below
		version = schemaVersion
	}
	want, err := freshSchema(ctx, version)
	if err != nil {
		return explain(path, err)
	}
	have, err := schemaOf(ctx, c.driver)
	if err != nil {
		return explain(path, err)
	}
	compareSchemas(have, want, found)
	segments, err := countSegments(c)
	if err != nil {
		return explain(path, err)
	}
	done, of := int64(0), int64(len(have))+segments
	step := func() {
		done++
		progress(min(done, of), of)
	}
	for name := range have {
		if err := inspectTable(ctx, c, name, found); err != nil {
			return explain(path, err)
		}
		step()
	}
	strays := fmt.Sprintf("SELECT id FROM body_data WHERE id NOT IN (SELECT id FROM bodies) LIMIT %d", inspectMost)
	err = eachRow(ctx, c.driver, strays, func(row []value) {
		found(fmt.Sprintf("table body_data, row %v", row[0]), "it belongs to no body")
	})
	if err == nil {
		err = inspectSegments(ctx, c, found, step)
	}
	return explainNot(path, err)
}

// explainNot is explain that leaves nil as it is.
func explainNot(path string, err error) error {
	if err == nil {
		return nil
	}
	return explain(path, err)
}

func compareSchemas(have, want map[string]object, found func(where, what string)) {
	for name, o := range want {
		switch other, ok := have[name]; {
		case !ok:
			found(o.kind+" "+name, "it is missing")
		case other != o:
			found(o.kind+" "+name, "it is not as it was made")
		}
	}
	for name, o := range have {
		if _, ok := want[name]; !ok {
			found(o.kind+" "+name, "it was not made by Durward")
		}
	}
}

// inspectTable has SQLite compare a table with its indexes.
func inspectTable(ctx context.Context, c *conn, name string, found func(where, what string)) error {
	name = strings.ReplaceAll(name, "'", "''") // whoever changed the file may have chosen it
	query := fmt.Sprintf("SELECT * FROM pragma_integrity_check('%s') LIMIT %d", name, inspectMost)
	kind := ""
	err := eachRow(ctx, c.driver, "SELECT type FROM sqlite_schema WHERE name = '"+name+"'", func(row []value) { kind, _ = row[0].(string) })
	if err != nil || kind != "table" {
		return err
	}
	return eachRow(ctx, c.driver, query, func(row []value) {
		if what, _ := row[0].(string); what != "ok" {
			found("table "+name, what)
		}
	})
}

// object is something that a schema holds.
type object struct{ kind, sql string }

// freshSchema is the schema of a new ledger of a version: an older one is read as it is.
func freshSchema(ctx context.Context, version int64) (map[string]object, error) {
	connector, err := sqlite.NewConnector(dsn(":memory:", url.Values{}))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }() // there is nothing to lose
	db.SetMaxOpenConns(1)             // each has a database of its own
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, err
	}
	if _, err := provider.UpTo(ctx, min(max(version, schemaLeast), schemaVersion)); err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var all map[string]object
	err = c.Raw(func(raw any) (err error) {
		all, err = schemaOf(ctx, raw.(driver.Conn))
		return err
	})
	return all, errors.Join(err, c.Close())
}

// schemaOf reads a schema, but for what SQLite makes by itself.
func schemaOf(ctx context.Context, c driver.Conn) (map[string]object, error) {
	all := map[string]object{}
	err := eachRow(ctx, c, "SELECT name, type, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'", func(row []value) {
		name, _ := row[0].(string)
		kind, _ := row[1].(string)
		text, _ := row[2].(string)
		all[name] = object{kind, text}
	})
	return all, err
}

// eachRow calls f for each row of a query that ctx may end: some take long.
func eachRow(ctx context.Context, c driver.Conn, query string, f func(row []value)) (err error) {
	stmt, err := c.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]value, len(rows.Columns()))
	for {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f(row)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
