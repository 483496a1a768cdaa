package guard

import "testing"

// Synchronous returns how much of a commit is on the disk when it returns.
func (d *DB) Synchronous(t *testing.T) (n int) {
	t.Helper()
	if err := d.db.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
