package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"durward/internal/store/sqlite"
	"durward/ledger"
)

// counted counts how often somebody asked whether to go on: before each transaction.
type counted struct {
	context.Context //nolint:containedctx // it is one
	asked           int
}

func (c *counted) Err() error {
	c.asked++
	return c.Context.Err()
}

// Where there is much, it is not even looked through in one transaction: who writes would
// wait for it.
func TestPruningLooksAtALittleAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(3)
	must(t, h.db.Close())
	const rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	script(t, path, rows+"INSERT INTO bodies (digest, encoding, original, stored, truncated, last) SELECT randomblob(32), '', 0, 0, 0, 1000 FROM n; "+
		rows+"INSERT INTO callers (session, principal, entrance, process, client, client_version, route, era, last) SELECT i, '', '', '', '', '', '', '', 1000 FROM n; "+
		rows+"INSERT INTO targets (server, method, tool, full_name, origin, transport, risk, last) SELECT i, '', '', '', '', '', 0, 1000 FROM n; "+
		rows+"INSERT INTO verdicts (action, rule, layer, reason, last) SELECT 0, i, '', '', 1000 FROM n")
	var err error
	h.db, err = sqlite.Open(t.Context(), sqlite.Options{Path: path})
	must(t, err)
	h.to = h.db
	ctx := &counted{Context: t.Context()}
	must(t, h.db.Prune(ctx, 1, func(int64, int64) {}))
	if ctx.asked < 4*20 {
		t.Errorf("%d transactions for 80,000 rows", ctx.asked)
	}
	ctx.asked = 0
	must(t, h.db.PruneBodies(ctx, 1, func(int64, int64) {}))
	if ctx.asked < 20 {
		t.Errorf("%d transactions for 20,000 bodies", ctx.asked)
	}
}

// Records are not removed for a log that is long only because somebody reads what is old.
func TestSizeOfALogThatIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	h := newHand(t, path)
	h.fill(10)
	end := h.snapshot()
	log := int64(0)
	for log < 100<<20 {
		h.fill(500)
		info, err := os.Stat(path + "-wal")
		must(t, err)
		log = info.Size()
	}
	held, err := h.db.Size(t.Context())
	must(t, err)
	end()
	must(t, h.db.Prune(t.Context(), 0, func(int64, int64) {})) // it cuts off the log
	free, err := h.db.Size(t.Context())
	must(t, err)
	if grown := held - free; grown > 65<<20 {
		t.Errorf("%d bytes, and %d when nobody reads: a log of %d bytes counts", held, free, log)
	}
}

// Whoever reads through all of a ledger and takes long over it, as who looks at an export
// page by page, does not keep the log from being cut off.
func TestWhoReadsLongHoldsNoLog(t *testing.T) {
	h := newHand(t, filepath.Join(t.TempDir(), "ledger.db"))
	h.fill(20)
	seen := 0
	must(t, h.db.Links(t.Context(), 0, func(ledger.Link, []ledger.Record) error {
		if seen++; seen > 1 {
			return nil
		}
		h.fill(20)
		must(t, h.db.Prune(t.Context(), 0, func(int64, int64) {})) // it cuts off the log if it can
		if info, err := os.Stat(h.db.Path() + "-wal"); err != nil || info.Size() > 0 {
			t.Errorf("%v, %v", info.Size(), err)
		}
		return nil
	}))
	if seen != 40 {
		t.Errorf("%d links were read", seen)
	}
}
