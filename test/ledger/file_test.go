// Package ledger_test proves the ledger on real files: everything that somebody can do
// to one is done, and has to be found.
package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // for tampering

	"durward"
	"durward/internal/store/sqlite"
	"durward/ledger"
)

// place is where a ledger and its proof are.
type place struct {
	db    string
	proof string // checkpoint file
	key   string
}

func newPlace(t testing.TB) place {
	dir := t.TempDir()
	return place{db: filepath.Join(dir, "data", "ledger.db"), proof: filepath.Join(dir, "proof", "checkpoints"), key: filepath.Join(dir, "ledger.key")}
}

// service is what writes to a ledger.
type service struct {
	t     testing.TB
	place place
	db    *sqlite.DB
	log   *ledger.Ledger
	check *ledger.Checkpoints
}

// start opens everything as the service does.
func start(t testing.TB, p place) *service {
	t.Helper()
	s := &service{t: t, place: p}
	var err error
	s.db, err = sqlite.Open(t.Context(), sqlite.Options{Path: p.db})
	s.must(err)
	s.log, err = ledger.Open(t.Context(), ledger.Options{Store: s.db, Bodies: true, BodyMost: 16 << 10, Wait: 5 * time.Minute})
	s.must(err)
	t.Cleanup(func() { _ = s.log.Close() }) // of a test that ended early
	s.check, err = ledger.OpenCheckpoints(t.Context(), ledger.CheckpointsOptions{
		Path: p.proof, Key: p.key, Head: s.log.Head, Links: s.db, Note: s.log.Append, Sync: s.db.Sync,
	})
	s.must(err)
	t.Cleanup(func() { _ = s.check.Close() })
	return s
}

func (s *service) stop() {
	s.t.Helper()
	s.must(s.log.Close())
	s.must(s.check.Close())
}

func (s *service) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *service) sign() { s.t.Helper(); s.must(s.check.Add(s.t.Context())) }

// call makes a call and returns how it ends.
func (s *service) call(n int) (*durward.Call, durward.Outcome) {
	s.t.Helper()
	now := time.Now()
	c := &durward.Call{
		ID: durward.NewCallID(), Received: now, Method: "tools/call", Server: fmt.Sprintf("server%d", n%3), Name: "read", FullName: "files__read",
		RequestID: []byte(`"a"`), Params: fmt.Appendf(nil, `{"n":%d,"pad":%q}`, n%7, strings.Repeat("p", 300*(n%7))), Risk: durward.RiskMedium,
		Caller: durward.Caller{Principal: "p", Entrance: durward.EntranceHTTP, Session: durward.NewSessionID(), Process: "node", Client: durward.ClientInfo{Name: "c", Version: "1"}},
		Era:    "modern", Transport: durward.TransportStdio, Parent: durward.NewCallID(),
		Trace: durward.Trace{TraceID: [16]byte{1, byte(n)}, SpanID: [8]byte{2, byte(n)}},
	}
	s.must(s.log.Intent(s.t.Context(), c, durward.Decision{Action: durward.Ask, Rule: fmt.Sprintf("rule%d", n%2), Layer: "user", Reason: "because"}))
	o := durward.Outcome{Status: durward.StatusOK, Result: fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("result ", 100*(n%5))), Attempts: 1, Dispatched: now, Finished: time.Now()}
	if n%6 == 5 {
		o.Status, o.Result, o.Error = durward.StatusError, nil, []byte(`{"code":-1}`)
	}
	if n%11 == 10 {
		o.Result = []byte(strings.Repeat("0123456789", 4000)) // longer than what is kept
	}
	return c, o
}

// rest records everything that is no call.
func (s *service) rest(call durward.CallID) {
	s.t.Helper()
	at := time.Now().UTC().Truncate(time.Microsecond)
	session := durward.NewSessionID()
	for _, r := range []ledger.Record{
		&ledger.SessionStart{ID: session, At: at, Principal: "p", Entrance: durward.EntranceHTTP, Process: "node", Client: durward.ClientInfo{Name: "c", Version: "1"}, Route: "/mcp", Era: "legacy", Sandbox: "box", Policy: "digest"},
		&ledger.Decision{Call: call, At: at, Stage: "request", Layer: "user", Rule: "r", Action: "ask", Effective: "allow", Detection: "d", Detail: "{}"},
		&ledger.Approval{ID: "approval", Call: call, At: at, Status: "approved", By: "me", Reason: "fine", Scope: "call"},
		&ledger.Change{At: at, Who: "me", What: "server add", Target: "files", OldHash: "a", NewHash: "b", Detail: "d"},
		&ledger.Flow{Call: call, At: at, Server: "files", Method: "GET", Host: "example.org", IP: "192.0.2.1", Port: 443, Path: "/", Status: 200, BytesOut: 1, BytesIn: 2, Decision: "allow"},
		&ledger.Event{At: at, Layer: "exec", Sandbox: "box", Session: session, TraceID: [16]byte{9}, What: "exec", Detail: "{}"},
		&ledger.Note{At: at, What: "note", Detail: "d"},
		&ledger.SessionEnd{ID: session, At: at, Reason: "left"},
	} {
		s.must(s.log.Append(s.t.Context(), r))
	}
}

// fill records calls, some of them at the same time, and everything else.
func (s *service) fill(calls int) {
	s.t.Helper()
	for n := 0; n < calls; n += 2 {
		a, aEnd := s.call(n)
		b, bEnd := s.call(n + 1)
		s.log.Outcome(s.t.Context(), b, bEnd)
		s.log.Outcome(s.t.Context(), a, aEnd)
		if n%8 == 0 {
			s.rest(a.ID)
		}
		if n%20 == 0 {
			s.sign()
		}
	}
	s.rest("") // committed, so everything before is, too
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verify checks a file as the command line does: without the service.
func verify(t testing.TB, db, proof string, verifiers []string) *ledger.Report {
	t.Helper()
	return verifyAs(t, db, proof, verifiers, func(r *sqlite.Reader) ledger.Auditor { return r })
}

// verifyRecords is verify without a look at what is no record.
func verifyRecords(t testing.TB, db, proof string, verifiers []string) *ledger.Report {
	t.Helper()
	return verifyAs(t, db, proof, verifiers, func(r *sqlite.Reader) ledger.Auditor { return struct{ ledger.Auditor }{r} })
}

func verifyAs(t testing.TB, db, proof string, verifiers []string, as func(*sqlite.Reader) ledger.Auditor) *ledger.Report {
	t.Helper()
	r, err := sqlite.OpenReader(t.Context(), db)
	if err != nil {
		// A file that is no ledger any more cannot be verified; the command line says so.
		return &ledger.Report{Verdict: ledger.VerdictDamaged, Findings: []ledger.Finding{{Verdict: ledger.VerdictDamaged, Message: err.Error()}}}
	}
	defer r.Close()
	report, err := ledger.Verify(t.Context(), as(r), ledger.VerifyOptions{Checkpoints: proof, Verifiers: verifiers})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func verifiers(t testing.TB, p place) []string {
	t.Helper()
	keys, err := ledger.Verifiers(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func want(t testing.TB, r *ledger.Report, v ledger.Verdict) {
	t.Helper()
	if r.Verdict != v {
		t.Errorf("%s, want %s:\n%s", r.Verdict, v, text(r))
	}
}

func text(r *ledger.Report) string {
	var b bytes.Buffer
	_ = r.WriteText(&b) // a buffer takes everything
	return b.String()
}

// open opens a file for tampering: with means that the ledger itself never uses.
func open(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(0)&_pragma=journal_mode(off)&_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// everythingOf reads all that a file holds, as text: two files with the same text say the same.
func everythingOf(t testing.TB, path string) (string, error) {
	t.Helper()
	r, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	var b strings.Builder
	err = r.Links(context.Background(), 0, func(l ledger.Link, records []ledger.Record) error {
		fmt.Fprintf(&b, "%+v\n", l)
		for _, rec := range records {
			fmt.Fprintf(&b, "%x\n", ledger.DigestOf(rec))
		}
		return nil
	})
	return b.String(), err
}
