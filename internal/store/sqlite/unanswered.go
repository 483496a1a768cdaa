package sqlite

import (
	"context"

	"durward/ledger"
)

// Unanswered returns the questions to people that have no answer, oldest first.
func (d *DB) Unanswered(_ context.Context, limit int) ([]*ledger.Approval, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.ready(); err != nil {
		return nil, err
	}
	var out []*ledger.Approval
	// SCAN a, and for each: SEARCH b USING INDEX approvals_id (id=?). It runs once, when
	// the ledger is opened, and there are as many approvals as people can answer.
	err := d.conn.each("SELECT * FROM approvals a WHERE status = 'pending' AND NOT EXISTS (SELECT 1 FROM approvals b WHERE b.id = a.id AND b.status <> 'pending') ORDER BY seq LIMIT ?",
		func(row []value) error {
			f := fields{row: row}
			f.number() // seq
			a, _ := restoreApproval(&f, nil).(*ledger.Approval)
			if f.bad > 0 {
				return errDamaged
			}
			out = append(out, a)
			return nil
		}, int64(limit))
	if err != nil {
		return nil, d.fail(err)
	}
	return out, nil
}
