package ledger_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward/internal/store/sqlite"
	"durward/ledger"
)

// makeSchema makes testdata anew: go test ./test/ledger -run Schema -make-schema=3, once
// for each schema, by the version of the program that brings it, and never again.
var makeSchema = flag.Int("make-schema", 0, "make the ledger of this schema in testdata")

// A ledger of every schema that there was can be read, is brought to the newest, and then
// holds what it held: it verifies against what was signed then, is found and shown, and goes on.
func TestALedgerOfEverySchemaIsGoneOnWith(t *testing.T) {
	if *makeSchema > 0 {
		makeLedgerOf(t, *makeSchema)
	}
	dirs, err := filepath.Glob("testdata/schema-*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p := newPlace(t)
			write(t, p.db, unzip(t, read(t, filepath.Join(dir, "ledger.db.gz"))))
			write(t, p.proof, read(t, filepath.Join(dir, "checkpoints")))
			write(t, ledger.VerifiersPath(p.key), read(t, filepath.Join(dir, "ledger.key.pub")))
			had := string(read(t, filepath.Join(dir, "holds.txt")))
			if got := fingerprint(t, p.db); got != had { // a backup, looked at as it is
				t.Errorf("before it is brought up to date it holds\n%s\nand held\n%s", got, had)
			}
			db, err := sqlite.Open(t.Context(), sqlite.Options{Path: p.db})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			want(t, verify(t, p.db, p.proof, verifiers(t, p)), ledger.VerdictOK)
			if got := fingerprint(t, p.db); got != had {
				t.Errorf("it holds\n%s\nand held\n%s", got, had)
			}
			s := start(t, p) // without the key of that time, which is nobody's business
			s.fill(4)
			s.sign()
			want(t, s.verify(), ledger.VerdictOK)
			s.stop()
		})
	}
}

// fingerprint says what a ledger holds: all its records, and what it answers.
func fingerprint(t *testing.T, path string) string {
	t.Helper()
	all, err := everythingOf(t, path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "records %x\n", sha256.Sum256([]byte(all)))
	err = ledger.Export(t.Context(), r, ledger.Filter{}, func(c *ledger.Story) error {
		fmt.Fprintf(&b, "%s link %d, %d decisions, %d approvals, %d flows, preview of %d, %s", c.ID, c.Link.Seq, len(c.Decisions), len(c.Approvals), len(c.Flows), len(c.Intent.Preview), c.Outcome.Status)
		for _, d := range []ledger.Digest{c.Intent.Body, c.Outcome.Body} {
			if d != (ledger.Digest{}) {
				fmt.Fprintf(&b, ", body of %d", length(t, r, d))
			}
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	moments, err := r.Timeline(t.Context(), ledger.TimelineFilter{Limit: 2000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range moments.Moments {
		fmt.Fprintf(&b, "%s %s %s\n", moments.Moments[i].At, moments.Moments[i].Layer, moments.Moments[i].Ref)
	}
	return b.String()
}

// length reads a body, which is checked against its digest then.
func length(t *testing.T, r *sqlite.Reader, d ledger.Digest) int64 {
	t.Helper()
	body, _, err := r.Body(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	n, err := io.Copy(io.Discard, body)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func makeLedgerOf(t *testing.T, schema int) {
	t.Helper()
	dir := fmt.Sprintf("testdata/schema-%d", schema)
	if _, err := os.Stat(dir); err == nil {
		t.Fatal(dir, "is there already")
	}
	p := newPlace(t)
	s := start(t, p)
	s.fill(12)
	s.sign()
	s.stop()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(read(t, p.db)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "ledger.db.gz"), zipped.Bytes())
	write(t, filepath.Join(dir, "checkpoints"), read(t, p.proof))
	write(t, filepath.Join(dir, "ledger.key.pub"), read(t, ledger.VerifiersPath(p.key)))
	write(t, filepath.Join(dir, "holds.txt"), []byte(fingerprint(t, p.db)))
}

func unzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
