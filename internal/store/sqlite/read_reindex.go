package sqlite

import "context"

// Reindex makes the segments anew from the records. Nobody can write meanwhile. When it
// is interrupted, what is missing is made by whoever opens the ledger next. progress
// counts records.
func (d *DB) Reindex(ctx context.Context, progress func(done, of int64)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return err
	}
	of := d.next - 1
	err := d.transact(func() error {
		_, err := d.conn.exec("DELETE FROM segments")
		return err
	})
	if err != nil {
		return err
	}
	err = newIndex(d.opt.sizes).load(d.conn, func(seq int64) error {
		progress(min(seq, of), of)
		return ctx.Err()
	})
	d.state = state{} // it is read anew
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return d.fail(err)
	}
	progress(of, of)
	return nil
}
