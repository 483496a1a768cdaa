package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"

	"durward"
	"durward/ledger"
)

// How much is removed in one transaction. Who writes waits meanwhile: some 20 ms.
const (
	pruneRecords = 1000
	pruneBodies  = 64
	vacuumPages  = 256
)

// Size returns how many bytes the ledger takes on disk, without free pages.
func (d *DB) Size(ctx context.Context) (int64, error) {
	free := int64(0)
	err := d.small(ctx, func() (err error) {
		free, _, err = d.conn.number("PRAGMA freelist_count")
		return err
	})
	if err != nil {
		return 0, err
	}
	size := -free * pageSize
	for _, suffix := range [...]string{"", walSuffix, shmSuffix} {
		switch info, err := os.Lstat(d.opt.Path + suffix); {
		case err == nil:
			size += info.Size()
		case suffix == "" || !errors.Is(err, fs.ErrNotExist):
			return 0, durward.Errorf(durward.Unavailable, "ledger", "the size of the ledger cannot be told: %w", err)
		}
	}
	return size, nil
}

// Prune removes whole links up to seq, but never the last, with their records, and the
// bodies and names that nothing names any more. It works in small transactions between
// those of who writes, each of which leaves whole links; when it is interrupted, calling
// it again goes on. progress counts records, then names, bodies, and pages of the file,
// each from the beginning. An outcome in a later link than that of its intent stays, and
// still says which call it is of.
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
	done, of := int64(0), int64(0)
	err := d.small(ctx, func() error {
		if err := d.used.write(d.conn, d.next-1); err != nil {
			return err
		}
		for _, table := range tables {
			n, _, err := d.conn.number("SELECT count(*) FROM "+table+" WHERE last < ?", first)
			if of += n; err != nil {
				return err
			}
		}
		return nil
	})
	for _, table := range tables {
		for n := int64(pruneRecords); n == pruneRecords && err == nil; {
			if n, err = d.pruneSomeNames(ctx, table, first); err == nil && n > 0 {
				done += n
				progress(min(done, of), of)
			}
		}
	}
	if err == nil && done < of { // some have been used again
		progress(of, of)
	}
	return err
}

// pruneSomeNames removes some rows of a table that only records before first name, and
// returns how many.
func (d *DB) pruneSomeNames(ctx context.Context, table string, first int64) (n int64, err error) {
	err = d.small(ctx, func() error {
		if err := d.used.write(d.conn, d.next-1); err != nil {
			return err
		}
		r, err := d.conn.exec("DELETE FROM "+table+" WHERE id IN (SELECT id FROM "+table+" WHERE last < ? LIMIT ?)", first, int64(pruneRecords))
		if err != nil {
			return err
		}
		d.names = newNames() // some are gone
		n, err = r.RowsAffected()
		return err
	})
	return n, err
}

// PruneBodies removes the bodies that no record of a link after seq names. The records
// stay, and still say what the digest was. progress counts bodies, and then pages.
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
	var ids []int64
	err := d.small(ctx, func() error {
		if err := d.used.write(d.conn, d.next-1); err != nil {
			return err
		}
		return d.conn.each("SELECT id FROM bodies WHERE last < ?", func(row []value) error {
			id, _ := row[0].(int64)
			ids = append(ids, id)
			return nil
		}, first)
	})
	if err != nil {
		return err
	}
	done := int64(0)
	for some := range slices.Chunk(ids, pruneBodies) {
		if err := d.small(ctx, func() error { return d.dropUnused(some, first) }); err != nil {
			return err
		}
		done += int64(len(some))
		progress(done, int64(len(ids)))
	}
	return nil
}

// dropUnused removes those bodies that still only records before first name: others may
// have been named again since they were looked for.
func (d *DB) dropUnused(ids []int64, first int64) error {
	if err := d.used.write(d.conn, d.next-1); err != nil {
		return err
	}
	for _, id := range ids {
		r, err := d.conn.exec("DELETE FROM bodies WHERE id = ? AND last < ?", id, first)
		if err != nil {
			return err
		}
		if n, err := r.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			continue
		}
		if _, err := d.conn.exec("DELETE FROM body_data WHERE id = ?", id); err != nil {
			return err
		}
	}
	return nil
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
