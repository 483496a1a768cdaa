package guard_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"durward"
	"durward/internal/approval"
	"durward/internal/store/guard"
	"durward/internal/testkit/leftover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

func opened(t *testing.T, path string) *guard.DB {
	t.Helper()
	db, err := guard.Open(t.Context(), guard.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func grant(id string) approval.Grant {
	at := time.Date(2026, 11, 30, 4, 0, 0, 123000, time.UTC)
	return approval.Grant{
		ID: id, Scope: durward.ScopeGrant,
		Binding: approval.Binding{
			Principal: "p", Rules: []string{"corp/a", "user/\"b\""}, Method: "tools/call", Server: "s", Tool: "t\x00\u202e", Pin: "aa", Arguments: "bb",
		},
		Patterns: []approval.Pattern{{Pointer: "/a~1b", Glob: "src/**"}},
		Created:  at, Expires: at.Add(time.Hour), By: "somebody", Reason: "so", Preview: `{"a":1}`,
	}
}

func TestGrantsOutlastTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "guard.db")
	first, err := guard.Open(t.Context(), guard.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	a, b := grant("a"), grant("b")
	b.Patterns, b.Rules, b.Created = nil, nil, a.Created.Add(time.Second)
	for _, g := range []approval.Grant{b, a} {
		if err := first.AddGrant(t.Context(), &g); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.AddGrant(t.Context(), &a); err == nil {
		t.Error("an id twice")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	again := opened(t, path)
	if all, err := again.Grants(t.Context()); err != nil || !reflect.DeepEqual(all, []approval.Grant{a, b}) {
		t.Errorf("%+v %v", all, err)
	}
	for range 2 { // what is not there is no error
		if err := again.RemoveGrant(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := again.Grants(t.Context()); err != nil || !reflect.DeepEqual(all, []approval.Grant{b}) {
		t.Errorf("%+v %v", all, err)
	}
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNotOursIsRefused(t *testing.T) {
	dir := t.TempDir()
	foreign, newer, text, damaged := filepath.Join(dir, "foreign"), filepath.Join(dir, "newer"), filepath.Join(dir, "text"), filepath.Join(dir, "damaged")
	for _, path := range []string{newer, damaged} {
		if err := opened(t, path).AddGrant(t.Context(), new(grant("a"))); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
	execute(t, damaged, "UPDATE grants SET patterns = '[['")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	execute(t, foreign, "CREATE TABLE mine (a)")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	link, open := filepath.Join(dir, "link"), filepath.Join(dir, "open")
	if err := os.Symlink(newer, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]durward.Kind{
		foreign: durward.Invalid, newer: durward.Invalid, text: durward.Unavailable, link: durward.Denied, open: durward.Denied, "": durward.Internal,
		filepath.Join(text, "below"): durward.Unavailable,
	} {
		before, _ := os.ReadFile(path)
		db, err := guard.Open(t.Context(), guard.Options{Path: path})
		if durward.KindOf(err) != kind || err == nil {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			_ = db.Close()
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s was changed", path)
		}
	}
	if all, err := opened(t, damaged).Grants(t.Context()); durward.KindOf(err) != durward.Unavailable || err == nil {
		t.Errorf("%v %v", all, err)
	}
}

// What a power cut may undo was never said to be written.
func TestCommitsOutlastALossOfPower(t *testing.T) {
	if n := opened(t, filepath.Join(t.TempDir(), "guard.db")).Synchronous(t); n != 3 { // EXTRA: the removal of the journal is on the disk, too
		t.Errorf("synchronous is %d", n)
	}
}

// A grant of which was said that it could not be kept is not there after the next start.
func TestAGrantIsKeptOrRefused(t *testing.T) {
	db := opened(t, filepath.Join(t.TempDir(), "guard.db"))
	kept := map[string]bool{}
	for n := range 400 {
		g := grant(strconv.Itoa(n))
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(n%40)*50*time.Microsecond, cancel)
		if err := db.AddGrant(ctx, &g); err == nil {
			kept[g.ID] = true
		}
		timer.Stop()
		cancel()
	}
	all, err := db.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if !kept[g.ID] {
			t.Errorf("grant %s was refused, and is there", g.ID)
		}
	}
	if len(all) < len(kept) {
		t.Errorf("%d grants of %d are there", len(all), len(kept))
	}
}
