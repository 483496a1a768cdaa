package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

// anyRecords writes random batches, of which some are refused, and opens the store
// again now and then; a list of what was written is the reference.
func anyRecords(t *testing.T, s *shop) {
	rapid.Check(t, func(r *rapid.T) {
		before := s.last
		var want []ledger.Record
		var open []durward.CallID
		for range rapid.IntRange(1, 8).Draw(r, "batches") {
			var batch []ledger.Record
			now := slices.Clone(open)
			for range rapid.IntRange(0, 12).Draw(r, "records") {
				switch kind := rapid.IntRange(0, 3).Draw(r, "what"); {
				case kind == 0:
					i := intent(durward.NewCallID())
					i.Tool, i.Preview, i.Principal = anyText(r, "tool"), anyText(r, "preview"), anyText(r, "principal")
					now, batch = append(now, i.ID), append(batch, i)
				case kind == 1 && len(now) > 0:
					n := rapid.IntRange(0, len(now)-1).Draw(r, "which")
					batch = append(batch, outcome(now[n]))
					now = slices.Delete(now, n, n+1)
				default:
					batch = append(batch, anyRecord(r, durward.NewCallID()))
				}
			}
			if rapid.IntRange(0, 4).Draw(r, "refused") == 0 {
				if err := s.try(append(slices.Clone(batch), outcome(durward.NewCallID()))); durward.KindOf(err) != durward.Conflict {
					r.Fatal("an outcome without an intent: ", err)
				}
			}
			s.must(s.try(batch))
			want, open = append(want, batch...), now
		}
		if rapid.IntRange(0, 9).Draw(r, "reopen") == 0 {
			s.reopen()
		}
		all := read(t, s, before.Seq+1)
		chained(t, all, before)
		var got []ledger.Record
		for _, l := range all {
			got = append(got, l.Records...)
		}
		same(t, want, got)
		left, err := s.Store.Open(t.Context(), 1000)
		if err != nil || !slices.Equal(left, open) {
			r.Fatalf("open %v, %v, want %v", left, err, open)
		}
		var end []ledger.Record
		for _, id := range open {
			end = append(end, outcome(id))
		}
		s.must(s.try(end))
	})
}

func bodies(t *testing.T, s *shop) {
	plain := plain("plain")
	empty := ledger.Body{Digest: sha256.Sum256(nil), Data: []byte{}}
	cut := body(strings.Repeat("x", 5000))
	cut.Original, cut.Truncated = 1<<40, true
	large := strings.Repeat("0123456789abcdef", 1<<20) // 16 MiB, and little when it is packed
	odd := ledger.Body{Digest: sha256.Sum256([]byte("odd")), Encoding: "rot13", Original: 3, Data: []byte("bqq")}
	s.must(s.try(nil, plain, empty, cut))
	again := plain
	again.Encoding, again.Data, again.Original = "zstd", packed("plain"), 99
	s.must(s.try(nil, again, body(large), body("another"), plain))
	for range 2 {
		got := bodiesOf(t, s)
		want := map[ledger.Digest]string{
			plain.Digest: "plain", empty.Digest: "", cut.Digest: strings.Repeat("x", 5000), body(large).Digest: large, body("another").Digest: "another",
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%d bodies, not the %d that were written", len(got), len(want))
		}
		s.reopen()
	}
	seen := map[ledger.Digest]ledger.BodyInfo{}
	s.must(s.try(nil, odd))
	s.must(s.Store.Bodies(t.Context(), func(info ledger.BodyInfo, content io.Reader) error {
		seen[info.Digest] = info
		_, err := io.Copy(io.Discard, content)
		if (err != nil) != (info.Digest == odd.Digest) {
			t.Errorf("reading %x: %v", info.Digest, err)
		}
		return nil
	}))
	for _, b := range []ledger.Body{plain, empty, cut, odd} {
		want := ledger.BodyInfo{Digest: b.Digest, Encoding: b.Encoding, Original: b.Original, Stored: len(b.Data), Truncated: b.Truncated}
		if seen[b.Digest] != want {
			t.Errorf("%+v, want %+v", seen[b.Digest], want)
		}
	}
	enough := errors.New("enough")
	calls := 0
	if err := s.Store.Bodies(t.Context(), func(ledger.BodyInfo, io.Reader) error { calls++; return enough }); !errors.Is(err, enough) || calls != 1 {
		t.Errorf("%v after %d bodies", err, calls)
	}
}

func linksFromAnywhere(t *testing.T, s *shop) {
	if all := read(t, s, 0); len(all) != 0 {
		t.Fatalf("an empty store has %d links", len(all))
	}
	const links = 30
	for n := range links {
		batch := make([]ledger.Record, n%4) // also none
		for k := range batch {
			batch[k] = &ledger.Note{What: fmt.Sprint(n, " ", k)}
		}
		s.write(batch...)
	}
	whole := read(t, s, 0)
	chained(t, whole, ledger.Link{})
	for _, from := range []uint64{0, 1, 2, 3, 15, links - 1, links, links + 1, 1 << 40, 1<<64 - 1} {
		got := read(t, s, from)
		want := whole[min(max(from, 1)-1, links):]
		if !slices.EqualFunc(got, want, func(a, b stored) bool { return a.Link == b.Link && len(a.Records) == len(b.Records) }) {
			t.Errorf("from %d: %d links, want %d", from, len(got), len(want))
		}
	}
	enough := errors.New("enough")
	calls := 0
	if err := s.Links(t.Context(), 5, func(l ledger.Link, _ []ledger.Record) error {
		if calls++; l.Seq == 7 {
			return enough
		}
		return nil
	}); err != enough || calls != 3 { //nolint:errorlint // it is to be returned as it is
		t.Errorf("%v after %d links", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Links(ctx, 0, func(ledger.Link, []ledger.Record) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after it was interrupted: %v", err)
	}
}

// readWhileWriting reads everything again and again while somebody writes.
func readWhileWriting(t *testing.T, s *shop) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	defer func() { // also when a write fails
		close(stop)
		all.Wait()
	}()
	for range 2 {
		all.Go(func() {
			seen := 0
			for more := true; more; {
				select {
				case <-stop:
					more = false
				default:
				}
				var last ledger.Link
				err := s.Links(context.Background(), 0, func(l ledger.Link, records []ledger.Record) error {
					if want := last.Next(l.At, records); want != l {
						return fmt.Errorf("link %d is not what its %d records say", l.Seq, len(records))
					}
					last = l
					return nil
				})
				if err != nil || int(last.Seq) < seen {
					t.Errorf("%d links after %d: %v", last.Seq, seen, err)
					return
				}
				seen = int(last.Seq)
				if _, err := s.Head(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 300 {
		a, b := intent(durward.NewCallID()), intent(durward.NewCallID())
		s.must(s.try([]ledger.Record{a, &ledger.Note{What: "n"}, b, outcome(b.ID)}))
		s.must(s.try([]ledger.Record{outcome(a.ID)}))
	}
}
