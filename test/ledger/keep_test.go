package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/store/sqlite"
	"durward/ledger"
)

func (s *service) keep(r ledger.Retention) (*ledger.Kept, error) {
	return ledger.Keep(s.t.Context(), ledger.KeepOptions{Retention: r, Store: s.db, Checkpoints: s.check})
}

// verify checks the ledger while the service runs.
func (s *service) verify() *ledger.Report {
	s.t.Helper()
	return verify(s.t, s.place.db, s.place.proof, verifiers(s.t, s.place))
}

// bodies counts the bodies in a file.
func (s *service) bodies() int64 { s.t.Helper(); return s.verify().Bodies }

// Records and bodies go when they are old, and the ledger verifies all the same.
func TestRetentionInAFile(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		s := start(t, p)
		for range 6 {
			s.fill(40)
			s.sign()
			time.Sleep(time.Hour)
		}
		before := s.bodies()
		k, err := s.keep(ledger.Retention{Rows: 200 * time.Minute, Bodies: 100 * time.Minute})
		s.must(err)
		if k.Rows == 0 || k.Bodies <= k.Rows {
			t.Errorf("%+v", k)
		}
		r := s.verify()
		want(t, r, ledger.VerdictOK)
		if r.From != k.Rows+1 || r.Truncated.Seq != k.Rows || r.BodiesGone.Seq != k.Bodies || len(r.Findings) > 0 {
			t.Error(text(r))
		}
		// Nothing was written for hours that is not in later calls, too: what they name stays.
		if r.Bodies == 0 || r.Bodies > before {
			t.Error(r.Bodies, "of", before)
		}
		time.Sleep(5 * time.Hour)
		s.fill(2)
		s.sign()
		_, err = s.keep(ledger.Retention{Bodies: time.Hour})
		s.must(err)
		if n := s.bodies(); n >= before {
			t.Error(n, "of", before)
		}
		want(t, s.verify(), ledger.VerdictOK)
		s.stop()
		s = start(t, p)
		s.fill(20)
		s.sign()
		want(t, s.verify(), ledger.VerdictOK)
		s.stop()
	})
}

// A removal is interrupted at any step, and then the process is killed; whatever the
// moment, the ledger verifies, and the next service goes on.
func TestRetentionInAFileIsInterrupted(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		s := start(t, p)
		for range 3 {
			s.fill(600) // a removal takes several transactions
			s.sign()
			time.Sleep(time.Hour)
		}
		s.stop()
	})
	files := map[string][]byte{p.db: read(t, p.db), p.proof: read(t, p.proof)}
	interrupted := 0
	for at := 1; ; at++ {
		for path, data := range files {
			write(t, path, data)
		}
		ended := false
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(3 * time.Hour)
			s := start(t, p)
			s.sign()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			steps := &stepper{DB: s.db, at: at, cancel: cancel}
			_, err := ledger.Keep(ctx, ledger.KeepOptions{Retention: ledger.Retention{Rows: 100 * time.Minute, Bodies: 70 * time.Minute}, Store: steps, Checkpoints: s.check})
			ended = err == nil
			r := s.verify()
			want(t, r, ledger.VerdictOK)
			s.stop()
			s = start(t, p)
			s.sign()
			left := slices.ContainsFunc(r.Findings, func(f ledger.Finding) bool { return strings.Contains(f.Message, "pruning was interrupted") })
			if left {
				interrupted++
			}
			k, err := s.keep(ledger.Retention{Rows: 100 * time.Minute, Bodies: 70 * time.Minute})
			s.must(err)
			if left != (k.Resumed > 0) {
				t.Errorf("%d: %+v after %s", at, k, text(r))
			}
			r = s.verify()
			want(t, r, ledger.VerdictOK)
			if len(r.Findings) > 0 {
				t.Errorf("%d: %s", at, text(r))
			}
			s.stop()
		})
		if ended {
			break
		}
	}
	if interrupted < 2 {
		t.Error("only interrupted", interrupted)
	}
}

// stepper ends a removal when it has made so many steps.
type stepper struct {
	*sqlite.DB
	at     int
	cancel func()
}

func (s *stepper) count(f func(done, of int64)) func(done, of int64) {
	return func(done, of int64) {
		f(done, of)
		if s.at--; s.at == 0 {
			s.cancel()
		}
	}
}

func (s *stepper) Prune(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	return s.DB.Prune(ctx, seq, s.count(progress))
}

func (s *stepper) PruneBodies(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	return s.DB.PruneBodies(ctx, seq, s.count(progress))
}

// A file that is too big loses its oldest records until it fits.
func TestTheSizeOfAFile(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		s := start(t, p)
		for n := range 6 {
			for i := range 60 {
				c, o := s.call(n)
				o.Error, o.Result = nil, noise(100*n+i, 15000)
				s.log.Outcome(t.Context(), c, o)
			}
			s.fill(2)
			s.sign()
			time.Sleep(time.Hour)
		}
		s.must(s.db.Prune(t.Context(), 0, func(int64, int64) {})) // gives back what is free
		size, err := s.db.Size(t.Context())
		s.must(err)
		if size < 2<<20 {
			t.Fatal("too small for the test:", size)
		}
		k, err := s.keep(ledger.Retention{MaxSize: size / 2})
		s.must(err)
		if k.Over || k.Size > size/2 || k.Size < size/4 || k.Rows == 0 {
			t.Errorf("%+v of %d", k, size)
		}
		info, err := os.Stat(p.db)
		s.must(err)
		if info.Size() > size {
			t.Error("the file has still", info.Size())
		}
		want(t, s.verify(), ledger.VerdictOK)
		s.stop()
	})
}

// noise is a text that can hardly be packed.
func noise(n, size int) []byte {
	var b bytes.Buffer
	for i := uint64(n); b.Len() < size; i = i*6364136223846793005 + 1442695040888963407 { //nolint:gosec // not negative
		fmt.Fprintf(&b, "%016x", i)
	}
	return b.Bytes()
}

// The ledger is checked again and again while calls are recorded, checkpoints are
// made and old records are removed.
func TestVerifyWhileEverythingGoesOn(t *testing.T) {
	p := newPlace(t)
	s := start(t, p)
	s.fill(100)
	s.sign()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	written := 0
	begin := make(chan struct{}) // a check begins
	fifty := make(chan struct{}) // so many calls more were recorded, which name each body that any call names
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if n%50 == 0 {
				select {
				case fifty <- struct{}{}:
				default:
				}
			}
			c, o := s.call(n)
			s.log.Outcome(t.Context(), c, o)
			written++
		}
	})
	all.Go(func() {
		// As if it were much later: everything that is signed is old. That is not so of the
		// bodies that were named in the last minute: records that come may name them
		// without bringing them along. So none is removed that was signed just now.
		keep := func(r ledger.Retention) error {
			_, err := ledger.Keep(t.Context(), ledger.KeepOptions{
				Retention: r, Store: s.db, Checkpoints: s.check, Now: func() time.Time { return time.Now().Add(3 * time.Hour) },
			})
			return err
		}
		for range begin {
			for range 2 {
				select {
				case <-fifty:
				case <-ctx.Done():
				}
			}
			if err := errors.Join(keep(ledger.Retention{Bodies: time.Hour}), keep(ledger.Retention{Rows: 2 * time.Hour}), s.check.Add(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	checked, pruned := 0, uint64(0)
	for checked < 3 || pruned < 100 {
		begin <- struct{}{}
		r, err := sqlite.OpenReader(t.Context(), p.db)
		s.must(err)
		report, err := ledger.Verify(t.Context(), r, ledger.VerifyOptions{Checkpoints: p.proof, Verifiers: verifiers(t, p)})
		if err == nil {
			want(t, report, ledger.VerdictOK)
			checked++
			if report.Truncated != nil {
				pruned = report.Truncated.Seq
			}
		} else if !strings.Contains(err.Error(), "pruned each time") {
			t.Fatal(err)
		}
		s.must(r.Close())
		if t.Failed() {
			break
		}
	}
	cancel()
	close(begin)
	all.Wait()
	s.stop()
	want(t, verify(t, p.db, p.proof, verifiers(t, p)), ledger.VerdictOK)
	t.Logf("%d checks while %d calls were recorded and %d links removed", checked, written, pruned)
}

// Everything is exported from a file, newest first, with bodies.
func TestExportOfAFile(t *testing.T) {
	p := newPlace(t)
	s := start(t, p)
	s.fill(1200)
	s.stop()
	r, err := sqlite.OpenReader(t.Context(), p.db)
	s.must(err)
	defer r.Close()
	var lines, table bytes.Buffer
	s.must(ledger.ExportNDJSON(t.Context(), &lines, r, ledger.ExportOptions{Bodies: true, Filter: ledger.Filter{Server: "server1"}}))
	s.must(ledger.ExportCSV(t.Context(), &table, r, ledger.ExportOptions{Filter: ledger.Filter{Server: "server1"}}))
	n, last, bodies, cut := 0, "", 0, 0
	for line := range bytes.Lines(lines.Bytes()) {
		var e ledger.Exported
		s.must(json.Unmarshal(line, &e))
		if e.Server != "server1" || n > 0 && e.At > last {
			t.Fatalf("%s after %s: %+v", e.At, last, e)
		}
		n, last = n+1, e.At
		if e.Bodies != nil && e.Bodies.Response != nil {
			bodies++
			if e.Bodies.Response.Truncated {
				cut++
				if !strings.Contains(e.Bodies.Response.Text, "[cut by durward: 40000 bytes in all, SHA-256 ") {
					t.Error(e.Bodies.Response.Text[16000:])
				}
			}
		}
	}
	if n != 400 || bodies == 0 || cut == 0 || bytes.Count(table.Bytes(), []byte("\r\n")) != 401 {
		t.Error(n, bodies, cut, bytes.Count(table.Bytes(), []byte("\r\n")))
	}
}
