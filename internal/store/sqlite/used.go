package sqlite

import "durward/ledger"

// used keeps for what records name (callers, targets, verdicts, bodies) which record
// named it last, so that Prune finds what nothing names any more without looking
// through all records. It is written down now and then, in a transaction that is made
// anyway; the mark in the file says up to which record it was, and what came after
// that is read again when the file is opened.
type used struct {
	mark   int64                   // what was used up to this record is in the file
	named  [3]map[int64]int64      // callers, targets, verdicts: by number, the last record
	bodies map[ledger.Digest]int64 // the last record
	full   bool                    // written down in the transaction that is under way
}

// The tables of used.named.
const (
	usedCallers = iota
	usedTargets
	usedVerdicts
)

// When it is written down: after so many records, or when so many rows would change,
// which takes about a millisecond.
const (
	usedRecords = 4096
	usedRows    = 256
)

func newUsed(mark int64) *used {
	return &used{mark: mark, named: [3]map[int64]int64{{}, {}, {}}, bodies: map[ledger.Digest]int64{}}
}

func (u *used) call(seq, caller, target, verdict int64) {
	u.named[usedCallers][caller] = seq
	u.named[usedTargets][target] = seq
	u.named[usedVerdicts][verdict] = seq
}

func (u *used) body(d ledger.Digest, seq int64) {
	if d != (ledger.Digest{}) {
		u.bodies[d] = max(u.bodies[d], seq) // who brings a body says so before
	}
}

// flush writes down what was used up to the record seq, if there is enough of it. It
// runs in a transaction; keep is called after its commit.
func (u *used) flush(c *conn, seq int64) error {
	rows := len(u.bodies)
	for _, m := range u.named {
		rows += len(m)
	}
	if rows < usedRows && seq-u.mark < usedRecords {
		return nil
	}
	return u.write(c, seq)
}

func (u *used) write(c *conn, seq int64) error {
	for table, query := range [3]string{
		"UPDATE callers SET last = ? WHERE id = ?", "UPDATE targets SET last = ? WHERE id = ?", "UPDATE verdicts SET last = ? WHERE id = ?",
	} {
		for id, last := range u.named[table] {
			if _, err := c.exec(query, last, id); err != nil {
				return err
			}
		}
	}
	for digest, last := range u.bodies {
		if _, err := c.exec("UPDATE bodies SET last = max(last, ?) WHERE digest = ?", last, digest[:]); err != nil {
			return err
		}
	}
	if _, err := c.exec("INSERT INTO marks (name, seq) VALUES ('used', ?) ON CONFLICT (name) DO UPDATE SET seq = excluded.seq", seq); err != nil {
		return err
	}
	u.full, u.mark = true, seq
	return nil
}

// keep is called when a transaction was committed. After one that was not, used is
// read anew.
func (u *used) keep() {
	if u.full {
		*u = *newUsed(u.mark)
	}
}

// loadUsed reads what was used since the mark.
func loadUsed(c *conn) (*used, error) {
	mark, _, err := c.number("SELECT seq FROM marks WHERE name = 'used'")
	if err != nil {
		return nil, err
	}
	u := newUsed(mark)
	err = c.each("SELECT seq, caller, target, verdict, body FROM intents WHERE seq > ?", func(row []value) error {
		seq, _ := row[0].(int64)
		for table := range u.named {
			if id, ok := row[1+table].(int64); ok {
				u.named[table][id] = seq
			}
		}
		u.loadBody(row[4], seq)
		return nil
	}, mark)
	if err != nil {
		return nil, err
	}
	return u, c.each("SELECT seq, body FROM outcomes WHERE seq > ? AND body IS NOT NULL", func(row []value) error {
		seq, _ := row[0].(int64)
		u.loadBody(row[1], seq)
		return nil
	}, mark)
}

func (u *used) loadBody(v value, seq int64) {
	if b, ok := v.([]byte); ok && len(b) == len(ledger.Digest{}) {
		u.body(ledger.Digest(b), seq)
	}
}
