package guard

import (
	"context"

	"durward/internal/pin"
)

var _ pin.Store = (*DB)(nil)

// LoadPins implements pin.Store.
func (d *DB) LoadPins(ctx context.Context, yield func(pin.Row) error) error {
	rows, err := d.db.QueryContext(ctx, "SELECT server, kind, name, hash, state, seen, decided, by FROM pins")
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	for rows.Next() {
		var r pin.Row
		var seen, decided int64
		if err := rows.Scan(&r.Server, &r.Kind, &r.Name, &r.Hash, &r.State, &seen, &decided, &r.By); err != nil {
			return d.explain(err)
		}
		r.Seen, r.Decided = timeOf(seen), timeOf(decided)
		if err := yield(r); err != nil {
			return err
		}
	}
	return d.explain(rows.Err())
}

// PinDefinitions implements pin.Store.
func (d *DB) PinDefinitions(ctx context.Context, server, kind, name string) ([]pin.Row, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT hash, state, raw, seen, decided, by FROM pins
		WHERE server = ? AND kind = ? AND name = ? ORDER BY seen, hash`, server, kind, name)
	if err != nil {
		return nil, d.explain(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	var all []pin.Row
	for rows.Next() {
		r := pin.Row{Key: pin.Key{Server: server, Kind: kind, Name: name}}
		var seen, decided int64
		if err := rows.Scan(&r.Hash, &r.State, &r.Raw, &seen, &decided, &r.By); err != nil {
			return nil, d.explain(err)
		}
		r.Seen, r.Decided = timeOf(seen), timeOf(decided)
		all = append(all, r)
	}
	return all, d.explain(rows.Err())
}

// SavePins implements pin.Store.
func (d *DB) SavePins(ctx context.Context, put []pin.Row, drop []pin.Key) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for _, key := range drop {
		if _, err := tx.ExecContext(ctx, "DELETE FROM pins WHERE server = ? AND kind = ? AND name = ? AND hash = ?", key.Server, key.Kind, key.Name, key.Hash); err != nil {
			return d.explain(err)
		}
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO pins (server, kind, name, hash, state, raw, seen, decided, by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET state = excluded.state, raw = coalesce(excluded.raw, raw), seen = excluded.seen, decided = excluded.decided, by = excluded.by`)
	if err != nil {
		return d.explain(err)
	}
	defer func() { _ = insert.Close() }() // with the transaction
	for i := range put {
		r := &put[i]
		if _, err := insert.ExecContext(ctx, r.Server, r.Kind, r.Name, r.Hash, r.State, r.Raw, micros(r.Seen), micros(r.Decided), r.By); err != nil {
			return d.explain(err)
		}
	}
	return d.explain(tx.Commit())
}
