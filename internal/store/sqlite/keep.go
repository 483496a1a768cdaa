package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"

	"durward"
	"durward/ledger"
)

// How much is removed, or looked at, in one transaction. Who writes waits meanwhile:
// some 20 ms.
const (
	pruneRecords = 1000
	pruneBodies  = 64
	vacuumPages  = 256
)

// Size returns how many bytes the ledger takes on disk, without free pages. Of a log that
// is longer than it stays when nobody reads what is older, only that much counts: nothing
// need be removed for the rest.
func (d *DB) Size(ctx context.Context) (int64, error) {
	pages, free := int64(0), int64(0)
	err := d.small(ctx, func() (err error) {
		if pages, _, err = d.conn.number("PRAGMA page_count"); err != nil {
			return err
		}
		free, _, err = d.conn.number("PRAGMA freelist_count")
		return err
	})
	if err != nil {
		return 0, err
	}
	size := (pages - free) * pageSize
	for _, suffix := range [...]string{walSuffix, shmSuffix} {
		switch info, err := os.Lstat(d.opt.Path + suffix); {
		case err == nil:
			size += min(info.Size(), walLimit)
		case !errors.Is(err, fs.ErrNotExist):
			return 0, durward.Errorf(durward.Unavailable, "ledger", "the size of the ledger cannot be told: %w", err)
		}
	}
	return size, nil
}

// Prune removes whole links up to seq, but never the last, with their records, and the
// bodies and names that nothing names any more. It works in small transactions between
// those of who writes, each of which leaves whole links; when it is interrupted, calling
// it again goes on. progress counts records, then names and bodies that were looked at,
// and pages of the file, each from the beginning. An outcome in a later link than that of
// its intent stays, and still says which call it is of.
func (d *DB) Prune(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	seq, first, last, err := d.pruneRange(ctx, seq)
	if err != nil {
		return err
	}
	of := last - first + 1
	for link, more := int64(0), first <= last; more; {
		before := link
		var upto int64
		if link, upto, err = d.pruneSome(ctx, seq); err != nil {
			return err
		}
		if more = 0 < link && uint64(link) < seq; more && link <= before { // it would not end
			return d.explain(errDamaged)
		}
		progress(min(max(upto-first+1, 0), of), of)
	}
	left, err := d.firstSeq(ctx)
	if err != nil {
		return err
	}
	if err := d.pruneNames(ctx, left, progress); err != nil {
		return err
	}
	if err := d.dropBodies(ctx, left, progress); err != nil {
		return err
	}
	return d.shrink(ctx, progress)
}

// pruneRange returns up to which link may be pruned, and the records up to there.
func (d *DB) pruneRange(ctx context.Context, seq uint64) (upto uint64, first, last int64, err error) {
	last = -1
	err = d.small(ctx, func() (err error) {
		if upto = min(seq, max(d.head.Seq, 1)-1); upto == 0 {
			return nil
		}
		if first, _, err = d.conn.number("SELECT first FROM chain ORDER BY seq LIMIT 1"); err != nil {
			return err
		}
		last, _, err = d.conn.number("SELECT first + records - 1 FROM chain WHERE seq <= ? ORDER BY seq DESC LIMIT 1", int64(upto))
		return err
	})
	return upto, first, last, err
}

// small runs f in a transaction between those of who writes.
func (d *DB) small(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return err
	}
	if err := d.transact(f); err != nil {
		return err
	}
	d.used.keep()
	return nil
}

// pruneSome removes some links, the oldest first, and returns the last link and record
// that are gone.
func (d *DB) pruneSome(ctx context.Context, seq uint64) (link, last int64, err error) {
	err = d.small(ctx, func() error {
		var err error
		if link, last, err = d.pruneStep(int64(seq)); err != nil || link == 0 {
			return err
		}
		for _, query := range [...]string{
			// Outcomes that stay, or will come, need the id of their call.
			"INSERT INTO pruned_calls (seq, id) SELECT seq, id FROM intents i WHERE seq <= ?1 AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.call = i.seq AND o.seq <= ?1)",
			"DELETE FROM pruned_calls WHERE seq IN (SELECT call FROM outcomes WHERE seq <= ?)",
			"DELETE FROM intents WHERE seq <= ?", "DELETE FROM outcomes WHERE seq <= ?", "DELETE FROM session_starts WHERE seq <= ?",
			"DELETE FROM session_ends WHERE seq <= ?", "DELETE FROM decisions WHERE seq <= ?", "DELETE FROM approvals WHERE seq <= ?",
			"DELETE FROM http_requests WHERE seq <= ?", "DELETE FROM events WHERE seq <= ?", "DELETE FROM changes WHERE seq <= ?", "DELETE FROM notes WHERE seq <= ?",
		} {
			if _, err := d.conn.exec(query, last); err != nil {
				return err
			}
		}
		if _, err := d.conn.exec("DELETE FROM chain WHERE seq <= ?", link); err != nil {
			return err
		}
		return pruneIndex(d.conn, last)
	})
	return link, last, err
}

// pruneStep returns up to which link the next transaction removes, and the last record
// of that; link 0 when there is nothing left to remove.
func (d *DB) pruneStep(seq int64) (link, last int64, err error) {
	first := int64(-1)
	enough := errors.New("enough")
	err = d.conn.each("SELECT seq, first, records FROM chain WHERE seq <= ? ORDER BY seq", func(row []value) error {
		f := fields{row: row}
		n, begin, records := f.number(), f.number(), f.number()
		if f.bad > 0 {
			return errDamaged
		}
		if first < 0 {
			first = begin
		}
		link, last = n, begin+records-1
		if last-first+1 >= pruneRecords {
			return enough
		}
		return nil
	}, seq)
	if errors.Is(err, enough) {
		err = nil
	}
	return link, last, err
}

// firstSeq returns the seq of the first record that is left.
func (d *DB) firstSeq(ctx context.Context) (first int64, err error) {
	err = d.small(ctx, func() (err error) {
		first, _, err = d.conn.number("SELECT first FROM chain ORDER BY seq LIMIT 1")
		return err
	})
	return first, err
}

// pruneNames removes the names that only records before first have.
func (d *DB) pruneNames(ctx context.Context, first int64, progress func(done, of int64)) error {
	tables := [...]string{"callers", "targets", "verdicts"}
	var ends [len(tables)]int64
	done, of := int64(0), int64(0)
	err := d.small(ctx, func() (err error) {
		for i, table := range tables {
			if ends[i], _, err = d.conn.number("SELECT max(id) FROM " + table); err != nil {
				return err
			}
			of += ends[i]
		}
		return nil
	})
	for i, table := range tables {
		for at := int64(0); err == nil && at < ends[i]; {
			if at, err = d.pruneSomeNames(ctx, table, at, ends[i], first); err == nil {
				progress(done+at, of)
			}
		}
		done += ends[i]
	}
	return err
}

// pruneSomeNames removes those rows that only records before first name, of some behind
// at in a table, and returns up to where it looked: at most up to the row of.
func (d *DB) pruneSomeNames(ctx context.Context, table string, at, of, first int64) (upto int64, err error) {
	err = d.small(ctx, func() error {
		if err := d.used.write(d.conn, d.next-1); err != nil {
			return err
		}
		var more bool
		if upto, more, err = d.conn.number("SELECT id FROM "+table+" WHERE id > ? AND id < ? ORDER BY id LIMIT 1 OFFSET ?", at, of, int64(pruneRecords-1)); err != nil {
			return err
		}
		if !more {
			upto = of
		}
		if upto <= at { // it would not end
			return errDamaged
		}
		r, err := d.conn.exec("DELETE FROM "+table+" WHERE id > ? AND id <= ? AND last < ?", at, upto, first)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return err
		}
		d.names = newNames() // some are gone
		return nil
	})
	return upto, err
}

// PruneBodies removes the bodies that no record of a link after seq names. The records
// stay, and still say what the digest was. progress counts bodies that were looked at,
// and then pages.
func (d *DB) PruneBodies(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	first := int64(0)
	err := d.small(ctx, func() (err error) {
		last, _, err := d.conn.number("SELECT first + records - 1 FROM chain WHERE seq <= ? ORDER BY seq DESC LIMIT 1", int64(min(seq, math.MaxInt64)))
		first = last + 1
		return err
	})
	if err != nil {
		return err
	}
	if err := d.dropBodies(ctx, first, progress); err != nil {
		return err
	}
	return d.shrink(ctx, progress)
}

// dropBodies removes the bodies that only records before first name.
func (d *DB) dropBodies(ctx context.Context, first int64, progress func(done, of int64)) error {
	of := int64(0)
	err := d.small(ctx, func() (err error) {
		of, _, err = d.conn.number("SELECT max(id) FROM bodies")
		return err
	})
	for at := int64(0); err == nil && at < of; {
		if err = d.small(ctx, func() (err error) { at, err = d.dropSome(at, of, first); return err }); err == nil {
			progress(at, of)
		}
	}
	return err
}

// dropSome removes bodies that only records before first name, of some behind at, and
// returns up to where it looked: at most up to the body of.
func (d *DB) dropSome(at, of, first int64) (upto int64, err error) {
	if err := d.used.write(d.conn, d.next-1); err != nil { // others may name them again between two steps
		return 0, err
	}
	var ids []int64
	looked, enough := 0, errors.New("enough")
	err = d.conn.each("SELECT id, last FROM bodies WHERE id > ? AND id <= ? ORDER BY id LIMIT ?", func(row []value) error {
		f := fields{row: row}
		id, last := f.number(), f.number()
		if f.bad > 0 || id <= at {
			return errDamaged
		}
		if last < first {
			ids = append(ids, id)
		}
		if upto, looked = id, looked+1; len(ids) == pruneBodies {
			return enough
		}
		return nil
	}, at, of, int64(pruneRecords))
	if err != nil && !errors.Is(err, enough) {
		return 0, err
	}
	if err == nil && looked < pruneRecords {
		upto = of
	}
	for _, id := range ids {
		for _, query := range [...]string{"DELETE FROM bodies WHERE id = ?", "DELETE FROM body_data WHERE id = ?"} {
			if _, err := d.conn.exec(query, id); err != nil {
				return 0, err
			}
		}
	}
	return upto, nil
}

// shrink gives the pages that are free back to the file system.
func (d *DB) shrink(ctx context.Context, progress func(done, of int64)) error {
	of := int64(0)
	for before, free := int64(math.MaxInt64), int64(0); ; before = free {
		err := d.small(ctx, func() (err error) {
			if free, _, err = d.conn.number("PRAGMA freelist_count"); err != nil || free == 0 {
				return err
			}
			return d.conn.each("PRAGMA incremental_vacuum("+strconv.Itoa(vacuumPages)+")", func([]value) error { return nil })
		})
		if err != nil {
			return err
		}
		if of == 0 {
			of = free
		}
		if of > 0 {
			progress(of-min(free, before), of)
		}
		if free == 0 || free >= before {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return err
	}
	// Who reads may keep it from being complete; what is left is done by those who write.
	if _, err := d.empty(); err != nil {
		return d.fail(err)
	}
	return nil
}

var _ ledger.Keeper = (*DB)(nil)
