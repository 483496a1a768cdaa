package ledger_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/ledger"
)

// tamper is one way to change a store behind its back.
type tamper struct {
	name string
	do   func(*shelf)
	link uint64 // the first that is concerned; 0: none can be named
	// whole says that the chain is whole afterwards: only a checkpoint contradicts.
	whole bool
}

// tampers are all ways to change one record, link or body.
func tampers(s *shelf) []tamper {
	var all []tamper
	add := func(link uint64, do func(*shelf), name string, args ...any) {
		all = append(all, tamper{name: fmt.Sprintf(name, args...), do: do, link: link})
	}
	for i, r := range s.rows {
		link := r.link
		for n, change := range changes(r.record) {
			add(link, func(s *shelf) { s.rows[i].record = change }, "row %d changed (%d)", i, n)
		}
		add(link, func(s *shelf) { s.rows = slices.Delete(s.rows, i, i+1) }, "row %d removed", i)
		add(link, func(s *shelf) { s.rows = slices.Insert(s.rows, i, r) }, "row %d twice", i)
		add(link, func(s *shelf) { s.rows[i].record = &ledger.Damaged{Of: r.record.Kind(), Reason: "x"} }, "row %d unreadable", i)
		add(link, func(s *shelf) { s.rows[i].link = 1000 }, "row %d of no link", i)
		if i > 0 && ledger.DigestOf(s.rows[i-1].record) != ledger.DigestOf(r.record) {
			add(s.rows[i-1].link, func(s *shelf) {
				s.rows[i].record, s.rows[i-1].record = s.rows[i-1].record, s.rows[i].record
			}, "row %d before its neighbour", i)
		}
		if i > 0 && s.rows[i-1].link != link {
			add(s.rows[i-1].link, func(s *shelf) { s.rows[i].link = s.rows[i-1].link }, "row %d in the link before", i)
		}
	}
	whole := func(link uint64, do func(*shelf), name string, args ...any) {
		all = append(all, tamper{name: fmt.Sprintf(name, args...), do: do, link: link, whole: true})
	}
	for i, l := range s.links {
		for n, change := range []func(*ledger.Link){
			func(l *ledger.Link) { l.At = l.At.Add(time.Microsecond) }, func(l *ledger.Link) { l.Records++ },
			func(l *ledger.Link) { l.Digest[3] ^= 1 }, func(l *ledger.Link) { l.Hash[31] ^= 0x80 }, func(l *ledger.Link) { l.Seq += 2000 },
		} {
			add(l.Seq, func(s *shelf) { change(&s.links[i]) }, "link %d changed (%d)", l.Seq, n)
		}
		add(l.Seq, func(s *shelf) { s.links = slices.Delete(s.links, i, i+1) }, "link %d removed, its rows left", l.Seq)
		if i+1 < len(s.links) {
			add(l.Seq, func(s *shelf) { s.drop(i, i+1) }, "link %d removed", l.Seq)
		}
		add(l.Seq, func(s *shelf) { s.links = slices.Insert(s.links, i, l) }, "link %d twice", l.Seq)
		whole(l.Seq, func(s *shelf) { s.drop(i, i+1); s.relink(i) }, "link %d removed, the others computed anew", l.Seq)
		whole(l.Seq, func(s *shelf) { s.drop(i, len(s.links)) }, "everything from link %d on removed", l.Seq)
		add(1, func(s *shelf) { s.drop(0, i+1) }, "everything up to link %d removed", l.Seq)
		whole(l.Seq, func(s *shelf) { s.links[i].At = s.links[i].At.Add(time.Second); s.relink(i) }, "link %d changed, the others computed anew", l.Seq)
	}
	for i := range s.bodies {
		for n, change := range []func(*ledger.Body){
			func(b *ledger.Body) { b.Data = b.Data[:len(b.Data)-5] }, func(b *ledger.Body) { b.Original++ },
			func(b *ledger.Body) { b.Truncated = true }, func(b *ledger.Body) { b.Digest[0] ^= 1 },
			func(b *ledger.Body) { b.Data = s.bodies[(i+1)%len(s.bodies)].Data },
		} {
			add(0, func(s *shelf) { change(&s.bodies[i]) }, "body %d changed (%d)", i, n)
		}
		add(0, func(s *shelf) { s.bodies = slices.Delete(s.bodies, i, i+1) }, "body %d removed", i)
	}
	return all
}

// drop removes links with their rows.
func (s *shelf) drop(from, to int) {
	gone := map[uint64]bool{}
	for _, l := range s.links[from:to] {
		gone[l.Seq] = true
	}
	s.links = slices.Delete(s.links, from, to)
	s.rows = slices.DeleteFunc(s.rows, func(r shelfRow) bool { return gone[r.link] })
}

// relink computes links anew, as somebody does who knows how.
func (s *shelf) relink(from int) {
	prev := ledger.Link{}
	for i := range s.links {
		l := &s.links[i]
		var records []ledger.Record
		for n := range s.rows {
			if s.rows[n].link == l.Seq {
				records = append(records, s.rows[n].record)
				if i >= from {
					s.rows[n].link = prev.Seq + 1
				}
			}
		}
		if i >= from {
			*l = prev.Next(l.At, records)
		}
		prev = *l
	}
}

// changes are copies of a record, each with one field changed.
func changes(r ledger.Record) (all []ledger.Record) {
	switch r := r.(type) {
	case *ledger.Intent:
		for _, change := range []func(*ledger.Intent){
			func(i *ledger.Intent) { i.ID += "x" }, func(i *ledger.Intent) { i.At = i.At.Add(time.Microsecond) },
			func(i *ledger.Intent) { i.Tool, i.FullName = i.FullName, i.Tool }, func(i *ledger.Intent) { i.Body[0] ^= 1 },
			func(i *ledger.Intent) { i.Preview += " " }, func(i *ledger.Intent) { i.TraceID[15] = 1 }, func(i *ledger.Intent) { i.Action++ },
		} {
			c := *r
			change(&c)
			all = append(all, &c)
		}
	case *ledger.Outcome:
		for _, change := range []func(*ledger.Outcome){
			func(o *ledger.Outcome) { o.Call += "x" }, func(o *ledger.Outcome) { o.Status = durward.StatusTimeout },
			func(o *ledger.Outcome) { o.Duration += time.Microsecond }, func(o *ledger.Outcome) { o.Dispatched = o.At }, func(o *ledger.Outcome) { o.Error = "e" },
		} {
			c := *r
			change(&c)
			all = append(all, &c)
		}
	case *ledger.SessionStart:
		all = append(all, &ledger.SessionStart{ID: r.ID, At: r.At, Policy: "p"})
	case *ledger.SessionEnd:
		all = append(all, &ledger.SessionEnd{ID: r.ID, At: r.At, Reason: "p"})
	case *ledger.Decision:
		all = append(all, &ledger.Decision{Call: r.Call, At: r.At, Layer: r.Rule})
	case *ledger.Approval:
		all = append(all, &ledger.Approval{ID: r.ID, Call: r.Call, At: r.At, Status: "approved"})
	case *ledger.Change:
		all = append(all, &ledger.Change{At: r.At, Who: r.What})
	case *ledger.Flow:
		all = append(all, &ledger.Flow{At: r.At, Host: r.Host, Port: 1})
	case *ledger.Event:
		all = append(all, &ledger.Event{At: r.At, Layer: r.Layer, Sandbox: "s"})
	case *ledger.Note:
		all = append(all, &ledger.Note{At: r.At, What: r.What, Detail: r.Detail + "."})
	}
	return all
}

// Every change, removal, insertion and reordering is found; where it is covered by
// a checkpoint even when the chain is computed anew, and what is not covered is said
// to be not proved.
func TestVerifyFindsEveryTamper(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := everything(t)
	o.want(o.verify(), ledger.VerdictOK)
	anchored := o.verify().Anchored.Seq
	tried, found := 0, 0
	for _, tt := range tampers(o.store) {
		s := o.store.copied()
		tt.do(s)
		r := o.verifyStore(s)
		tried++
		if tt.link > anchored && tt.whole { // a chain like any other, and no checkpoint yet: it is said to be not proved
			found++
			if r.Anchored.Seq != anchored || r.Verdict == ledger.VerdictUnclear {
				t.Errorf("%s: %s %+v", tt.name, r.Verdict, r.Findings)
			}
			continue
		}
		if r.Verdict != ledger.VerdictDamaged || durward.KindOf(r.Err()) != durward.Conflict {
			t.Errorf("%s: %s", tt.name, r.Verdict)
			continue
		}
		found++
		if !names(r, tt.link) {
			t.Errorf("%s: link %d is not named in %+v", tt.name, tt.link, r.Findings)
		}
	}
	t.Logf("tampers tried=%d found=%d missed=%d", tried, found, tried-found)
	if tried < 700 || found != tried {
		t.Errorf("tried %d, found %d", tried, found)
	}
}

// names says whether the first damage that a report names begins where it should,
// and covers no more than up to the next checkpoint.
func names(r *ledger.Report, link uint64) bool {
	for _, f := range r.Findings {
		if f.Verdict == ledger.VerdictDamaged && (link == 0 || f.From <= link && link <= f.To || f.From == link+1 && f.To == link+1) {
			return true
		}
	}
	return false
}

// The checkpoint file itself is changed in every way.
func TestVerifyFindsWhatWasDoneToTheCheckpoints(t *testing.T) {
	t.Parallel() // most of it waits for the disk
	o := newOffice(t)
	o.fill(4)
	o.must(o.check.Close())
	whole := read(t, o.path())
	entries := ledger.ParseSheet(whole).Raw
	join := func(e ...[]byte) []byte { return bytes.Join(e, nil) }
	tried := 0
	verify := func(name string, file []byte, want ...ledger.Verdict) *ledger.Report {
		t.Helper()
		tried++
		write(t, o.path(), file)
		r := o.verify()
		if !slices.Contains(want, r.Verdict) {
			t.Errorf("%s: %s, want %v: %+v", name, r.Verdict, want, r.Findings)
		}
		return r
	}
	r := verify("empty", nil, ledger.VerdictUnclear)
	if r.Anchored != nil || r.Unanchored.Links != 5 || durward.KindOf(r.Err()) != durward.Unknown {
		t.Error(r)
	}
	for n := range entries {
		verify("the first removed", join(entries[n:]...), map[bool]ledger.Verdict{true: ledger.VerdictOK, false: ledger.VerdictUnclear}[n == 0])
		if n > 0 {
			r := verify("the last removed", join(entries[:n]...), ledger.VerdictOK, ledger.VerdictUnclear)
			if r.Unanchored == nil || n > 1 && r.Anchored.Seq != uint64(n) || (r.Verdict == ledger.VerdictUnclear) != (n < 1) {
				t.Errorf("%d: %s %+v %+v", n, r.Verdict, r.Anchored, r.Unanchored)
			}
			verify("moved", join(append(append(slices.Clone(entries[:n-1]), entries[n], entries[n-1]), entries[n+1:]...)...), ledger.VerdictDamaged, ledger.VerdictUnclear)
		}
		verify("copied", join(append(slices.Clone(entries[:n+1]), entries[n:]...)...), ledger.VerdictDamaged)
	}
	missed := 0
	for at := range whole {
		for _, to := range []byte{whole[at] ^ 1, '\n'}[at%2:][:1] {
			if to == whole[at] {
				continue
			}
			edited := bytes.Clone(whole)
			edited[at] = to
			tried++
			write(t, o.path(), edited)
			r := o.verify()
			// An end without its empty line is what a crash leaves, and a first entry
			// of an unknown key what a lost key leaves: both are said.
			crash := at >= len(whole)-2 && len(r.Findings) > 0
			lost := at < len(entries[0]) && r.Verdict == ledger.VerdictUnclear
			if r.Verdict != ledger.VerdictDamaged && !crash && !lost {
				missed++
				t.Errorf("byte %d of %d is %q: %s %+v", at, len(whole), to, r.Verdict, r.Findings)
			}
		}
		if at%7 == 0 {
			write(t, o.path(), append(bytes.Clone(whole[:at]), whole[at+1:]...))
			tried++
			if r := o.verify(); r.Verdict != ledger.VerdictDamaged && len(r.Findings) == 0 {
				t.Errorf("byte %d is gone: %s", at, r.Verdict)
			}
		}
	}
	t.Logf("tampers of the checkpoint file tried=%d missed=%d", tried, missed)
	o.must(os.Remove(o.path()))
	r = o.verify()
	o.want(r, ledger.VerdictUnclear)
	if !strings.Contains(r.Findings[0].Message, "no checkpoint file") {
		t.Error(r.Findings)
	}
	// The service starts without its checkpoints: that stays on record.
	o.open()
	o.must(o.check.Add(t.Context()))
	r = o.verify()
	o.want(r, ledger.VerdictUnclear)
	if f := r.Findings[len(r.Findings)-1]; f.From != 1 || f.To != 5 || !strings.Contains(o.store.notes(), "there was a ledger, but no checkpoint file") {
		t.Errorf("%+v; %s", r.Findings, o.store.notes())
	}
	// A copy that was kept elsewhere proves what it covers, and more is not asked for.
	elsewhere := o.path() + ".copy"
	write(t, elsewhere, whole)
	r, err := ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{Checkpoints: o.path(), Copies: []string{elsewhere}, Verifiers: o.verifiers()})
	o.must(err)
	if r.Anchored.Seq != o.chain.Seq {
		t.Error(r.Anchored)
	}
}
