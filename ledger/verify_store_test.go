package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"durward"
	"durward/ledger"
)

// shelf is a store in memory that can be tampered with. Its rows are never changed
// in place.
type shelf struct {
	mu     sync.Mutex // guards all below
	links  []ledger.Link
	rows   []shelfRow
	bodies []ledger.Body
	fail   error            // of each Write
	step   func() error     // called before each small transaction of a removal
	grow   map[uint64]int64 // bytes by link
	past   []shelf          // what was there before each transaction since the last sync; links, rows and bodies only
	syncs  bool             // past is kept
}

type shelfRow struct {
	link   uint64
	record ledger.Record
}

func (s *shelf) Head(context.Context) (ledger.Link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) == 0 {
		return ledger.Link{}, nil
	}
	return s.links[len(s.links)-1], nil
}

func (s *shelf) Write(_ context.Context, b *ledger.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.remember()
	s.links = append(s.links, b.Link)
	for _, r := range b.Records {
		s.rows = append(s.rows, shelfRow{b.Link.Seq, r})
	}
	for _, body := range b.Bodies {
		if !slices.ContainsFunc(s.bodies, func(o ledger.Body) bool { return o.Digest == body.Digest }) {
			s.bodies = append(s.bodies, body)
		}
	}
	return nil
}

func (*shelf) Unanswered(context.Context, int) ([]*ledger.Approval, error) { return nil, nil }

func (s *shelf) Open(_ context.Context, limit int) ([]durward.CallID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := map[durward.CallID]bool{}
	for _, r := range s.rows {
		if o, ok := r.record.(*ledger.Outcome); ok {
			ended[o.Call] = true
		}
	}
	var open []durward.CallID
	for _, r := range s.rows {
		if i, ok := r.record.(*ledger.Intent); ok && !ended[i.ID] && len(open) < limit {
			open = append(open, i.ID)
		}
	}
	return open, nil
}

func (s *shelf) Close() error { return nil }

func (s *shelf) Links(ctx context.Context, from uint64, f func(ledger.Link, []ledger.Record) error) error {
	s.mu.Lock()
	links, rows := slices.Clone(s.links), slices.Clone(s.rows)
	s.mu.Unlock()
	there := map[uint64]bool{}
	for _, l := range links {
		there[l.Seq] = true
	}
	for _, r := range rows {
		if !there[r.link] {
			there[r.link] = true
			links = append(links, ledger.Link{Seq: r.link})
		}
	}
	slices.SortStableFunc(links, func(a, b ledger.Link) int { return int(a.Seq) - int(b.Seq) })
	for _, l := range links {
		if l.Seq < from {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		var records []ledger.Record
		for _, r := range rows {
			if r.link == l.Seq {
				records = append(records, r.record)
			}
		}
		if err := f(l, records); err != nil {
			return err
		}
	}
	return nil
}

func (s *shelf) Bodies(ctx context.Context, f func(ledger.BodyInfo, io.Reader) error) error {
	s.mu.Lock()
	bodies := slices.Clone(s.bodies)
	s.mu.Unlock()
	for _, b := range bodies {
		if err := ctx.Err(); err != nil {
			return err
		}
		content, err := zstd.NewReader(bytes.NewReader(b.Data), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return err
		}
		err = f(ledger.BodyInfo{Digest: b.Digest, Encoding: b.Encoding, Original: b.Original, Stored: len(b.Data), Truncated: b.Truncated}, content)
		content.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// small is one small transaction of a removal.
func (s *shelf) small(ctx context.Context, f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.step != nil {
		if err := s.step(); err != nil {
			return err
		}
	}
	s.remember()
	f()
	return nil
}

func (s *shelf) Prune(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	for {
		more := false
		err := s.small(ctx, func() {
			if len(s.links) > 1 && s.links[0].Seq <= seq {
				more = true
				first := s.links[0].Seq
				s.links = slices.Clone(s.links[1:])
				s.rows = slices.DeleteFunc(slices.Clone(s.rows), func(r shelfRow) bool { return r.link == first })
				delete(s.grow, first)
			}
		})
		if err != nil || !more {
			return s.sweep(ctx, 0, err)
		}
		progress(1, 1)
	}
}

func (s *shelf) PruneBodies(ctx context.Context, seq uint64, progress func(done, of int64)) error {
	progress(1, 1)
	return s.sweep(ctx, seq, nil)
}

// sweep removes the bodies that nothing after a link names, one at a time.
func (s *shelf) sweep(ctx context.Context, after uint64, err error) error {
	for more := true; more && err == nil; {
		more = false
		err = s.small(ctx, func() {
			named := map[ledger.Digest]bool{}
			for _, r := range s.rows {
				if r.link > after {
					named[bodyOf(r.record)] = true
				}
			}
			for i, b := range s.bodies {
				if !named[b.Digest] {
					s.bodies = slices.Delete(slices.Clone(s.bodies), i, i+1)
					more = true
					return
				}
			}
		})
	}
	return err
}

func (s *shelf) Backup(context.Context, string, func(done, of int64)) error { return nil }

func (s *shelf) Size(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(0)
	for _, l := range s.links {
		size += s.grow[l.Seq]
	}
	return size, nil
}

func bodyOf(r ledger.Record) ledger.Digest {
	switch r := r.(type) {
	case *ledger.Intent:
		return r.Body
	case *ledger.Outcome:
		return r.Body
	default:
		return ledger.Digest{}
	}
}

func unzip(data []byte) ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(data, nil)
}

// remember notes what is there before a transaction. mu is held.
func (s *shelf) remember() {
	if s.syncs {
		s.past = append(s.past, shelf{links: slices.Clone(s.links), rows: slices.Clone(s.rows), bodies: slices.Clone(s.bodies)})
	}
}

// sync makes everything outlast a loss of power.
func (s *shelf) sync(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = nil
	return nil
}

// undo loses some transactions, the last ones.
func (s *shelf) undo(lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lost > 0 {
		before := &s.past[len(s.past)-lost]
		s.links, s.rows, s.bodies = before.links, before.rows, before.bodies
	}
	s.past = nil // what was found when it was opened is synced
}

// copied is a copy of a shelf: what is done to it, the other one does not see.
func (s *shelf) copied() *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &shelf{links: slices.Clone(s.links), rows: slices.Clone(s.rows), bodies: slices.Clone(s.bodies), grow: s.grow}
}

// office is a ledger with all that proves it, in a directory of its own.
type office struct {
	t     testing.TB
	dir   string
	store *shelf
	chain ledger.Link // where the writer is: links are made with a clock of the test
	now   time.Time
	check *ledger.Checkpoints
	synth int // to make identifiers
}

func newOffice(t testing.TB) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), store: &shelf{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o.open()
	t.Cleanup(func() { _ = o.check.Close() })
	return o
}

func (o *office) path() string { return filepath.Join(o.dir, "proof", "checkpoints") }
func (o *office) key() string  { return filepath.Join(o.dir, "ledger.key") }

func (o *office) options() ledger.CheckpointsOptions {
	return ledger.CheckpointsOptions{
		Path: o.path(), Key: o.key(), Links: o.store, Now: func() time.Time { return o.now },
		Head: func() ledger.Link { return o.chain },
		Note: func(_ context.Context, r ledger.Record) error { return o.append(r) }, Sync: o.store.sync,
	}
}

// open is a start of the service.
func (o *office) open() {
	o.t.Helper()
	head, err := o.store.Head(context.Background())
	if err != nil {
		o.t.Fatal(err)
	}
	o.chain = head
	if o.check, err = ledger.OpenCheckpoints(context.Background(), o.options()); err != nil {
		o.t.Fatal(err)
	}
}

// restart ends the service and starts it again.
func (o *office) restart() {
	o.t.Helper()
	if err := o.check.Close(); err != nil {
		o.t.Fatal(err)
	}
	o.open()
}

// append commits one link.
func (o *office) append(records ...ledger.Record) error {
	link := o.chain.Next(o.now, records)
	if err := o.store.Write(context.Background(), &ledger.Batch{Records: records, Link: link}); err != nil {
		return err
	}
	o.chain = link
	return nil
}

func (o *office) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// call is the records of a call that ended.
func (o *office) call() (*ledger.Intent, *ledger.Outcome) {
	id := o.id()
	return &ledger.Intent{ID: id, At: o.now, Server: "files", Method: "tools/call", Tool: "read", Preview: fmt.Sprintf(`{"n":%d}`, o.synth)},
		&ledger.Outcome{Call: id, At: o.now, Status: durward.StatusOK, Attempts: 1, Duration: time.Millisecond}
}

// id makes an identifier as of the clock of the test.
func (o *office) id() durward.CallID {
	o.synth++
	ms := o.now.UnixMilli()
	return durward.CallID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, o.synth))
}

// body stores a body and names it in a record.
func (o *office) body(content string) ledger.Digest {
	zip, err := zstd.NewWriter(nil)
	o.must(err)
	d := sum(content)
	o.store.mu.Lock()
	defer o.store.mu.Unlock()
	if !slices.ContainsFunc(o.store.bodies, func(b ledger.Body) bool { return b.Digest == d }) {
		o.store.bodies = append(o.store.bodies, ledger.Body{Digest: d, Encoding: "zstd", Original: len(content), Data: zip.EncodeAll([]byte(content), nil)})
	}
	return d
}

// fill makes links with calls, a minute and a checkpoint each.
func (o *office) fill(links int) {
	o.t.Helper()
	for range links {
		i, out := o.call()
		o.must(o.append(i, out))
		o.now = o.now.Add(time.Minute)
		o.must(o.check.Add(context.Background()))
	}
}

func (o *office) verifiers() []string {
	o.t.Helper()
	keys, err := ledger.Verifiers(o.key())
	o.must(err)
	return keys
}

func (o *office) verify() *ledger.Report {
	o.t.Helper()
	return o.verifyStore(o.store)
}

func (o *office) verifyStore(a ledger.Auditor) *ledger.Report {
	o.t.Helper()
	r, err := ledger.Verify(context.Background(), a, ledger.VerifyOptions{Checkpoints: o.path(), Verifiers: o.verifiers()})
	o.must(err)
	return r
}

// want checks a verdict.
func (o *office) want(r *ledger.Report, v ledger.Verdict) {
	o.t.Helper()
	if r.Verdict != v {
		var b bytes.Buffer
		_ = r.WriteText(&b)
		o.t.Errorf("%s, want %s:\n%s", r.Verdict, v, b.String())
	}
}
