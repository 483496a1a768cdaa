package sqlite

import (
	"context"
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite/lib"

	"durward"
	"durward/ledger"
)

// Head returns the last link. It is what the file says, also after a write that
// failed without saying whether it was done.
func (d *DB) Head(context.Context) (ledger.Link, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return ledger.Link{}, err
	}
	return d.head, nil
}

// Open returns the calls that have no outcome, oldest first.
func (d *DB) Open(_ context.Context, limit int) ([]durward.CallID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return nil, err
	}
	return d.index.open(limit), nil
}

// Write commits a batch. Beside kind Unavailable, its errors are of kind Conflict when
// the link does not follow the last one, a call has an outcome already, or there is no
// intent for one: all are defects of who calls.
func (d *DB) Write(ctx context.Context, b *ledger.Batch) error {
	return d.WriteAll(ctx, []*ledger.Batch{b})
}

// WriteAll is Write for batches that follow each other: all of them are committed in
// one transaction, or none.
func (d *DB) WriteAll(ctx context.Context, batches []*ledger.Batch) error {
	if err := ctx.Err(); err != nil {
		return durward.Errorf(durward.Unavailable, "ledger", "nothing was written: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil || len(batches) == 0 {
		return err
	}
	records, before := 0, &d.head
	for _, b := range batches {
		if !b.Link.Follows(before) || b.Link.Records != len(b.Records) {
			return durward.Errorf(durward.Conflict, "ledger", "link %d does not follow link %d, the last one in %s", b.Link.Seq, before.Seq, d.opt.Path)
		}
		records, before = records+len(b.Records), &b.Link
	}
	if err := d.transact(func() error { return d.insert(batches, records) }); err != nil {
		return err
	}
	d.head = *before
	d.next += int64(records)
	d.index.keep()
	d.used.keep()
	if d.wal == nil {
		d.remember()
	}
	if err := d.index.seal(d.conn); err != nil { // what was written is committed all the same
		d.opt.Log.Warn("the index of the ledger could not be written yet", "error", d.fail(err))
	}
	return nil
}

// transact runs f in a transaction. When it fails nothing was written, as far as can
// be known: what the writer knows of the file is then read from it anew.
func (d *DB) transact(f func() error) error {
	_, err := d.conn.exec("BEGIN IMMEDIATE")
	if err == nil {
		if err = f(); err == nil {
			_, err = d.conn.exec("COMMIT")
		}
	}
	if err != nil {
		return d.fail(err)
	}
	if d.pages += d.conn.written(); d.pages >= copyPages {
		d.pages = 0
		d.copier.copy()
	}
	return nil
}

// fail ends a transaction that went wrong, and says why it did.
func (d *DB) fail(err error) error {
	_, _ = d.conn.exec("ROLLBACK") // it fails if SQLite has rolled back by itself
	d.state = state{}
	switch codeOf(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CONSTRAINT, -1:
		// The connection is all right; to open one may need space on the disk.
	default:
		d.hangUp()
	}
	return d.explain(err)
}

// hangUp closes the connection; the next one to need it opens it anew. Readers go first:
// the last of all connections copies the log into the file, as far as that is possible.
func (d *DB) hangUp() {
	for _, r := range d.readers {
		r.renew()
	}
	_ = errors.Join(d.copier.stop(), d.conn.close()) // what could be wrong with them is why they are closed
	d.conn, d.copier, d.state, d.wal, d.shm = nil, nil, state{}, nil, nil
}

// ready sees to it that there is a connection to the right file, and that the writer
// knows what is in it.
func (d *DB) ready() error {
	if d.closed {
		return durward.Errorf(durward.Unavailable, "ledger", "the ledger is closed")
	}
	if err := d.watch(); err != nil {
		return err
	}
	if d.conn == nil {
		c, err := dial(d.opt.Path, d.opt.Sync, d.opt.Busy, d.opt.cache)
		if err != nil {
			return d.explain(err)
		}
		d.conn = c
		if d.copier, err = startCopier(d.opt.Path, d.opt.Busy); err != nil {
			d.hangUp()
			return d.explain(err)
		}
		d.remember()
	}
	if d.index == nil {
		if err := d.load(); err != nil {
			return d.fail(err)
		}
	}
	return nil
}

// load reads what the writer has to know.
func (d *DB) load() error {
	s := state{next: 1, names: newNames(), intents: newIntents(), outcomes: newOutcomes(), links: newLinks()}
	err := d.conn.each("SELECT seq, at, records, digest, hash, first FROM chain ORDER BY seq DESC LIMIT 1", func(row []value) error {
		link, first, err := scanLink(row)
		s.head, s.next = link, first+int64(link.Records)
		return err
	})
	if err != nil {
		return err
	}
	if s.used, err = loadUsed(d.conn); err != nil {
		return err
	}
	if s.index, err = loadIndex(d.conn, d.opt.sizes); err != nil {
		return err
	}
	// Calls that go on while their intents were pruned.
	err = d.conn.each("SELECT p.seq, p.id FROM pruned_calls p WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.call = p.seq)", func(row []value) error {
		f := fields{row: row}
		seq, id := f.number(), f.id()
		if f.bad > 0 {
			return errDamaged
		}
		s.index.calls[durward.CallID(id)] = seq
		return nil
	})
	if err != nil {
		return err
	}
	d.state = s
	return nil
}

// insert writes batches of so many records; it runs in a transaction.
func (d *DB) insert(batches []*ledger.Batch, records int) error {
	w := inserter{d.conn, &d.state, d.next}
	last := d.next - 1
	for _, b := range batches {
		last += int64(len(b.Records)) // of its link: with that Prune may remove the bodies
		for i := range b.Bodies {
			if err := w.body(&b.Bodies[i], last); err != nil {
				return err
			}
		}
	}
	all := batches[0].Records
	if len(batches) > 1 {
		all = make([]ledger.Record, 0, records)
		for _, b := range batches {
			all = append(all, b.Records...)
		}
	}
	if err := w.records(all); err != nil {
		return err
	}
	if err := d.link(batches); err != nil {
		return err
	}
	return d.used.flush(d.conn, last)
}

// link writes the links of batches.
func (d *DB) link(batches []*ledger.Batch) error {
	r, first := d.links, d.next
	r.begin(d.conn, len(batches))
	for _, b := range batches {
		l := &b.Link
		r.take()
		r.number(int64(l.Seq))
		r.number(l.At.UnixMicro())
		r.number(first)
		r.number(int64(l.Records))
		r.blob(l.Digest[:])
		r.blob(l.Hash[:])
		if err := r.end(); err != nil {
			return err
		}
		first += int64(l.Records)
	}
	return nil
}

// errNoIntent is an outcome that belongs to nothing.
func errNoIntent(id durward.CallID) error {
	return durward.Errorf(durward.Conflict, "ledger", "there is no intent of call %.64q, so its outcome cannot be recorded", string(id))
}

// scanLink reads a row of chain: seq, at, records, digest, hash, first.
func scanLink(row []value) (l ledger.Link, first int64, err error) {
	seq, ok1 := row[0].(int64)
	at, ok2 := microTime(row[1])
	records, ok3 := row[2].(int64)
	digest, ok4 := row[3].([]byte)
	hash, ok5 := row[4].([]byte)
	first, ok6 := row[5].(int64)
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || len(digest) != len(l.Digest) || len(hash) != len(l.Hash) || seq < 1 || records < 0 {
		return l, 0, fmt.Errorf("link %v of the chain is no link: %w", row[0], errDamaged)
	}
	return ledger.Link{Seq: uint64(seq), At: at, Records: int(records), Digest: [32]byte(digest), Hash: [32]byte(hash)}, first, nil
}

// errDamaged is what is in the file and cannot have been written by us.
var errDamaged = errors.New("the ledger is damaged")
