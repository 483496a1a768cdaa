package sqlite

import (
	"context"

	"durward"
	"durward/ledger"
)

// Session returns how a session began, the last time that it did: one that outlives
// the process begins again. Errors: NotFound.
func (r *Reader) Session(ctx context.Context, id durward.SessionID) (*ledger.SessionStart, error) {
	var out *ledger.SessionStart
	err := r.view(ctx, func(v *view) error {
		// SEARCH session_starts USING INDEX session_starts_id (id=?)
		return v.each("SELECT * FROM session_starts WHERE id = ? ORDER BY seq DESC LIMIT 1", func(row []value) error {
			f := fields{row: row}
			f.number() // seq
			record := restoreSessionStart(&f, nil)
			if f.bad > 0 {
				return errDamaged
			}
			out, _ = record.(*ledger.SessionStart)
			return nil
		}, idValue(string(id)))
	})
	if err == nil && out == nil {
		err = durward.Errorf(durward.NotFound, "ledger", "no session %.64q is on record; legacy clients have one, clients of 2026-07-28 do not", string(id))
	}
	return out, err
}
