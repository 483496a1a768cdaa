package sqlite

import (
	"context"
	"errors"
)

// Reindex makes the segments anew from the records, also those that are so damaged that
// the ledger cannot be written. Nobody can write meanwhile. When it
// is interrupted, what is missing is made by whoever opens the ledger next. progress
// counts records.
func (d *DB) Reindex(ctx context.Context, progress func(done, of int64)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil && !errors.Is(err, errIndex) {
		return err
	}
	of := int64(0)
	err := d.transact(func() (err error) {
		if of, _, err = d.conn.number("SELECT first + records - 1 FROM chain ORDER BY seq DESC LIMIT 1"); err == nil {
			_, err = d.conn.exec("DELETE FROM segments")
		}
		return err
	})
	if err != nil {
		return err
	}
	done := int64(0)
	err = newIndex(d.opt.sizes).load(d.conn, func(seq int64) error { // one table after the other
		done = max(done, min(seq, of))
		progress(done, of)
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
