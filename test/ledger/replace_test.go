package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"durward/internal/store/sqlite"
	"durward/ledger"
)

// relink computes the chain anew from a link on, as somebody does who knows how.
func relink(t testing.TB, path string, from uint64) {
	t.Helper()
	r, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var last ledger.Link
	var anew []ledger.Link
	err = r.Links(context.Background(), 0, func(l ledger.Link, records []ledger.Record) error {
		if l.Seq >= from {
			l = last.Next(l.At, records)
			anew = append(anew, l)
		}
		last = l
		return nil
	})
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	defer db.Close()
	for _, l := range anew {
		if _, err := db.Exec("UPDATE chain SET digest = ?, hash = ?, records = ? WHERE seq = ?", l.Digest[:], l.Hash[:], l.Records, int64(l.Seq)); err != nil {
			t.Fatal(err)
		}
	}
}

// linksOfNotes returns the links that have notes.
func linksOfNotes(t testing.TB, path string) (links []int64) {
	t.Helper()
	db := open(t, path)
	defer db.Close()
	rows, err := db.Query("SELECT c.seq FROM notes n JOIN chain c ON n.seq >= c.first AND n.seq < c.first + c.records ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		if err := rows.Scan(&seq); err != nil {
			t.Fatal(err)
		}
		links = append(links, seq)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return links
}

// Somebody changes a record and computes the chain anew: a checkpoint contradicts,
// unless there is none yet, and then nothing is called proved.
func TestAChainThatIsComputedAnewIsFound(t *testing.T) {
	p, anchored := base(t)
	keys := verifiers(t, p)
	image := read(t, p.db)
	notes := linksOfNotes(t, p.db)
	path := filepath.Join(t.TempDir(), "tampered.db")
	proved := 0
	for _, seq := range notes {
		write(t, path, image)
		db := open(t, path)
		if _, err := db.Exec("UPDATE notes SET detail = 'nothing happened' WHERE seq >= (SELECT first FROM chain WHERE seq = ?1) AND seq < (SELECT first + records FROM chain WHERE seq = ?1)", seq); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		relink(t, path, uint64(seq))
		r := verify(t, path, p.proof, keys)
		if uint64(seq) > anchored {
			want(t, r, ledger.VerdictOK)
			if r.Anchored.Seq != anchored || r.Unanchored == nil || r.Unanchored.Links == 0 {
				t.Error(text(r))
			}
			continue
		}
		proved++
		want(t, r, ledger.VerdictDamaged)
		if f := r.Findings[0]; uint64(seq) < f.From || uint64(seq) > f.To {
			t.Errorf("link %d is not in links %d to %d", seq, f.From, f.To)
		}
	}
	if proved < 5 || proved == len(notes) {
		t.Error(proved, "of", len(notes))
	}
}

// Files are replaced, rolled back, cut and removed.
func TestFilesThatAreReplacedAreFound(t *testing.T) {
	p := newPlace(t)
	s := start(t, p)
	s.fill(10)
	s.sign()
	s.stop()
	early, earlyProof := read(t, p.db), read(t, p.proof)
	s = start(t, p)
	s.fill(10)
	s.sign()
	anchored := s.check.Newest().Seq
	s.fill(4)
	s.stop()
	late, lateProof := read(t, p.db), read(t, p.proof)
	keys := verifiers(t, p)
	other := newPlace(t)
	o := start(t, other)
	o.fill(20)
	o.sign()
	o.stop()

	check := func(name string, db, proof []byte, verdict ledger.Verdict) *ledger.Report {
		t.Helper()
		dir := t.TempDir()
		write(t, filepath.Join(dir, "db"), db)
		if proof != nil {
			write(t, filepath.Join(dir, "proof"), proof)
		}
		r := verify(t, filepath.Join(dir, "db"), filepath.Join(dir, "proof"), keys)
		if r.Verdict != verdict {
			t.Errorf("%s: %s, want %s:\n%s", name, r.Verdict, verdict, text(r))
		}
		return r
	}
	check("as it is", late, lateProof, ledger.VerdictOK)
	check("another ledger", read(t, other.db), lateProof, ledger.VerdictDamaged)
	check("another ledger with its checkpoints", read(t, other.db), read(t, other.proof), ledger.VerdictUnclear)
	check("rolled back", early, lateProof, ledger.VerdictDamaged)
	check("without checkpoints", late, nil, ledger.VerdictUnclear)
	check("with no checkpoint", late, []byte{}, ledger.VerdictUnclear)
	r := check("with old checkpoints", late, earlyProof, ledger.VerdictOK)
	if r.Unanchored == nil || r.Anchored.Seq >= anchored {
		t.Error(text(r))
	}
	check("with edited checkpoints", late, []byte(strings.Replace(string(lateProof), "\ncheckpoint ", "\nbegan ", 1)), ledger.VerdictDamaged)
	check("with torn checkpoints", late, lateProof[:len(lateProof)-50], ledger.VerdictOK)
	check("half of it", late[:len(late)/2], lateProof, ledger.VerdictDamaged)
	check("no database", []byte(strings.Repeat("x", 8192)), lateProof, ledger.VerdictDamaged)
	check("nothing", nil, lateProof, ledger.VerdictDamaged)
}

// What is no record, but shows them, is looked at, too.
func TestWhatShowsRecordsIsChecked(t *testing.T) {
	p, _ := base(t)
	keys := verifiers(t, p)
	image := read(t, p.db)
	path := filepath.Join(t.TempDir(), "tampered.db")
	for name, do := range map[string]string{
		"view calls":                "DROP VIEW sessions; DROP VIEW calls; CREATE VIEW calls AS SELECT 1 AS seq",
		"index intents_id":          "DROP INDEX intents_id",
		"trigger hide":              "CREATE TRIGGER hide BEFORE INSERT ON notes BEGIN SELECT RAISE(IGNORE); END",
		"table more":                "CREATE TABLE more (x)",
		"table body_data, row 9999": "INSERT INTO body_data (id, data) SELECT 9999, data FROM body_data LIMIT 1",
		"table intents":             "PRAGMA writable_schema = on; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'outcomes_call') WHERE name = 'intents_id'",
	} {
		write(t, path, image)
		db := open(t, path)
		_, err := db.Exec(do)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(name, err)
		}
		r := verify(t, path, p.proof, keys)
		want(t, r, ledger.VerdictDamaged)
		if !slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return f.Where == name }) {
			t.Errorf("%s is not named:\n%s", name, text(r))
		}
	}
}

// A bit of the file is flipped: that is found, or it is in nothing that says anything.
func TestFlippedBitsAreFound(t *testing.T) {
	p, _ := base(t)
	keys := verifiers(t, p)
	image := read(t, p.db)
	before, err := everythingOf(t, p.db)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "flipped.db")
	dice := rand.New(rand.NewPCG(1, 2))
	found, harmless := 0, 0
	for range 400 / share {
		at, bit := dice.IntN(len(image)), byte(1)<<dice.IntN(8)
		flipped := slices.Clone(image)
		flipped[at] ^= bit
		write(t, path, flipped)
		r := verify(t, path, p.proof, keys)
		if r.Verdict != ledger.VerdictOK {
			found++
			continue
		}
		harmless++
		if now, err := everythingOf(t, path); err != nil || now != before {
			t.Errorf("bit %d of byte %d: something else is read, but the verdict is %s (%v)", bit, at, r.Verdict, err)
		}
	}
	fmt.Printf("flip-test: flipped=%d found=%d in_unused_or_derived_parts=%d\n", found+harmless, found, harmless)
	if found < 30/share {
		t.Error("only found", found)
	}
}
