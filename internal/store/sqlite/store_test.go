package sqlite_test

import (
	"path/filepath"
	"testing"

	"durward/internal/store/sqlite"
	"durward/internal/store/storetest"
)

func open(t testing.TB, dir string) storetest.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestStore(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	storetest.Run(t, open)
}
