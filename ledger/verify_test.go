package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/ledger"
)

// everything makes a ledger with records of every kind and bodies, of which the last
// links have no checkpoint.
func everything(t testing.TB) *office { return everythingAfter(t, 0) }

// everythingAfter is everything, made so much later.
func everythingAfter(t testing.TB, later time.Duration) *office {
	o := newOffice(t)
	o.now = o.now.Add(later)
	at := o.now
	for n := range 12 {
		i, out := o.call()
		j, _ := o.call()
		i.Body = o.body(fmt.Sprintf("request %d %s", n%5, strings.Repeat("x", 2000)))
		out.Body = o.body("always the same" + strings.Repeat("y", 2000))
		o.must(o.append(i))
		o.must(o.append(j, out, &ledger.Decision{Call: i.ID, At: at, Rule: "r"}, &ledger.Approval{ID: "a", Call: i.ID, At: at, Status: "pending"}))
		o.must(o.append(
			&ledger.SessionStart{ID: "s", At: at}, &ledger.SessionEnd{ID: "s", At: at}, &ledger.Change{At: at, What: "reload"},
			&ledger.Flow{At: at, Host: "h"}, &ledger.Event{At: at, Layer: "exec"}, &ledger.Note{At: at, What: "n"},
			&ledger.Outcome{Call: j.ID, At: at, Status: durward.StatusRefused},
		))
		if n < 10 {
			o.now = o.now.Add(time.Minute)
			o.must(o.check.Add(t.Context()))
		}
	}
	return o
}

func TestVerifyTellsWhatIsProved(t *testing.T) {
	o := everything(t)
	i, _ := o.call()
	o.must(o.append(i))
	var steps []int64
	r, err := ledger.Verify(t.Context(), o.store, ledger.VerifyOptions{
		Checkpoints: o.path(), Verifiers: o.verifiers(),
		Progress: func(done, of int64) {
			if done > of || len(steps) > 0 && done < steps[len(steps)-1] {
				t.Error(done, of)
			}
			steps = append(steps, done)
		},
	})
	o.must(err)
	o.want(r, ledger.VerdictOK)
	if r.Err() != nil || len(r.Findings) != 0 || r.From != 1 || r.To != 38 || r.Links != 38 || r.Records != 1+12*12+1 || r.Bodies != 6 || r.Open != 1 || r.Checkpoints != 11 {
		t.Errorf("%+v", r)
	}
	if r.Anchored.Seq != 31 || r.Unanchored.Links != 7 || r.Unanchored.Records != 25 || !r.Unanchored.Since.Equal(o.now) {
		t.Errorf("%+v, %+v", r.Anchored, r.Unanchored)
	}
	if len(steps) == 0 || steps[len(steps)-1] != 38+6 {
		t.Error(steps)
	}
	text, machine := &bytes.Buffer{}, &bytes.Buffer{}
	o.must(r.WriteText(text))
	for _, want := range []string{"ok\n", "proved up to link 31", "25 records in 7 links since 2026-03-01T12:10:00Z", o.check.Verifier()} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	o.must(json.NewEncoder(machine).Encode(r))
	var back ledger.Report
	if err := json.Unmarshal(machine.Bytes(), &back); err != nil || back.Anchored.Seq != 31 || !strings.Contains(machine.String(), `"findings":[]`) {
		t.Errorf("%v: %s", err, machine)
	}
}

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
	if tried < 1000 || found != tried {
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

func TestAnotherLedgerIsNotTheOneThatWasSigned(t *testing.T) {
	o, other := everything(t), everythingAfter(t, time.Second)
	r := o.verifyStore(other.store)
	o.want(r, ledger.VerdictDamaged)
	if f := r.Findings[0]; f.From != 1 || f.To < 31 || !strings.Contains(f.Message, "is another one") {
		t.Errorf("%+v", r.Findings)
	}
	o.want(o.verifyStore(&shelf{}), ledger.VerdictDamaged)
	r, err := ledger.Verify(t.Context(), other.store, ledger.VerifyOptions{Checkpoints: other.path(), Verifiers: o.verifiers()})
	o.must(err)
	o.want(r, ledger.VerdictUnclear) // another instance as a whole: its key is not ours
}

// The checkpoint file itself is changed in every way.
func TestVerifyFindsWhatWasDoneToTheCheckpoints(t *testing.T) {
	o := newOffice(t)
	o.fill(6)
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
	if r.Anchored != nil || r.Unanchored.Links != 7 || durward.KindOf(r.Err()) != durward.Unknown {
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
		for _, to := range []byte{whole[at] ^ 1, '\n'} {
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
	if f := r.Findings[len(r.Findings)-1]; f.From != 1 || f.To != 7 || !strings.Contains(o.store.notes(), "there was a ledger, but no checkpoint file") {
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

// Somebody rolls store and checkpoints back together: only a copy tells.
func TestACopyTellsOfARollback(t *testing.T) {
	o := newOffice(t)
	o.fill(5)
	store, file := o.store.copied(), read(t, o.path())
	o.fill(5)
	elsewhere := o.path() + ".copy"
	write(t, elsewhere, read(t, o.path()))
	write(t, o.path(), file)
	o.want(o.verifyStore(store), ledger.VerdictOK)
	r, err := ledger.Verify(t.Context(), store, ledger.VerifyOptions{Checkpoints: o.path(), Copies: []string{elsewhere}, Verifiers: o.verifiers()})
	o.must(err)
	o.want(r, ledger.VerdictDamaged)
	if f := r.Findings[0]; f.From != 7 || f.To != 11 {
		t.Errorf("%+v", f)
	}
}

// What was done while the service was stopped stays on record, although it signs
// what it finds.
func TestAStartDoesNotLaunderWhatWasDoneBefore(t *testing.T) {
	for name, do := range map[string]func(*office){
		"the end removed":     func(o *office) { n := len(o.store.links); o.store.drop(n-2, n) },
		"the end replaced":    func(o *office) { n := len(o.store.links); o.store.drop(n-2, n); o.store.relink(0); more(o, 4) },
		"everything replaced": func(o *office) { o.store.links[0].At = o.store.links[0].At.Add(time.Microsecond); o.store.relink(0) },
		"everything removed":  func(o *office) { o.store.links, o.store.rows = nil, nil },
	} {
		o := newOffice(t)
		o.fill(6)
		o.must(o.check.Close())
		do(o)
		o.open()
		o.fill(500) // enough for the file to be thinned out
		o.now = o.now.Add(300 * 24 * time.Hour)
		o.fill(400)
		o.restart()
		r := o.verify()
		o.want(r, ledger.VerdictDamaged)
		found := false
		for _, f := range r.Findings {
			found = found || strings.Contains(f.Message, "found at the start")
		}
		if !found || r.Anchored == nil || r.Anchored.Seq != o.chain.Seq || !strings.Contains(o.store.notes(), "ledger") {
			t.Errorf("%s: %+v, %+v", name, r.Anchored, r.Findings)
		}
		// The entry that says so cannot be taken out.
		entries := ledger.ParseSheet(read(t, o.path())).Raw
		entries = slices.DeleteFunc(entries, func(e []byte) bool { return bytes.Contains(e, []byte("\nbroken ")) })
		write(t, o.path(), bytes.Join(entries, nil))
		o.want(o.verify(), ledger.VerdictDamaged)
	}
}

// more writes links behind the end of the store, as somebody would who knows how.
func more(o *office, n int) {
	head, _ := o.store.Head(context.Background())
	o.chain = head
	for range n {
		i, out := o.call()
		o.must(o.append(i, out))
	}
}

func TestRecordsWithoutCheckpointsAreStrangeAfterAWhile(t *testing.T) {
	o := newOffice(t)
	o.fill(3)
	for range 9 {
		i, out := o.call()
		o.must(o.append(i, out))
		o.now = o.now.Add(time.Minute)
	}
	o.want(o.verify(), ledger.VerdictOK)
	for range 3 {
		i, out := o.call()
		o.must(o.append(i, out))
		o.now = o.now.Add(time.Minute)
	}
	r := o.verify()
	o.want(r, ledger.VerdictUnclear)
	if !strings.Contains(r.Findings[0].Message, "from 2026-03-01T12:03:00Z to 2026-03-01T12:14:00Z without a checkpoint") {
		t.Error(r.Findings)
	}
	o.must(o.check.Add(t.Context()))
	r = o.verify()
	o.want(r, ledger.VerdictOK)
	if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Message, "were signed only at") {
		t.Error(r.Findings)
	}
}

func TestOutcomesBelongToIntents(t *testing.T) {
	i := &ledger.Intent{ID: "i"}
	out := &ledger.Outcome{Call: "i"}
	for name, records := range map[string][]ledger.Record{
		"outcome without intent": {out}, "two outcomes": {i, out, out}, "two intents": {i, i, out}, "outcome before intent": {out, i},
	} {
		o := newOffice(t)
		o.must(o.append(records...))
		o.must(o.check.Add(t.Context()))
		r := o.verify()
		o.want(r, ledger.VerdictDamaged)
		if f := r.Findings[0]; f.From != 2 || !strings.Contains(f.Where, "call i") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestBodiesThatWereCutAreProvedToo(t *testing.T) {
	o := newOffice(t)
	whole := []byte(strings.Repeat("0123456789", 1000))
	kept, digest := ledger.CutBody(whole, 4000)
	if len(kept) > 4000 || !bytes.HasPrefix(kept, whole[:3800]) || !strings.Contains(string(kept), fmt.Sprintf("10000 bytes in all, SHA-256 %x", sum(string(whole)))) {
		t.Fatalf("%d: %q", len(kept), kept[3800:])
	}
	if got := o.body(string(kept)); got != digest {
		t.Fatal(got)
	}
	b := &o.store.bodies[0]
	b.Truncated, b.Original = true, len(whole)
	i, out := o.call()
	i.Body = digest
	o.must(o.append(i, out))
	o.must(o.check.Add(t.Context()))
	r := o.verify()
	o.want(r, ledger.VerdictOK)
	for name, change := range map[string]func(){
		"not cut":       func() { b.Truncated = false },
		"cut from less": func() { b.Original = 9999 },
		"all of it":     func() { b.Truncated, b.Original = false, len(kept)+1 },
	} {
		before := *b
		change()
		o.want(o.verify(), ledger.VerdictDamaged)
		t.Log(name)
		*b = before
	}
}

// failing is a store that cannot be read.
type failing struct {
	*shelf
	err error
}

func (f *failing) Bodies(context.Context, func(ledger.BodyInfo, io.Reader) error) error { return f.err }

func (f *failing) Links(ctx context.Context, from uint64, g func(ledger.Link, []ledger.Record) error) error {
	n := 0
	err := f.shelf.Links(ctx, from, func(l ledger.Link, r []ledger.Record) error {
		if n++; n > 5 {
			return f.err
		}
		return g(l, r)
	})
	return err
}

func TestAStoreThatCannotBeRead(t *testing.T) {
	o := everything(t)
	r := o.verifyStore(&failing{o.store, durward.Errorf(durward.Unavailable, "", "locked")})
	o.want(r, ledger.VerdictUnclear)
	if durward.KindOf(r.Err()) != durward.Unknown || r.Findings[0].From != 6 {
		t.Errorf("%v, %+v", r.Err(), r.Findings)
	}
	o.want(o.verifyStore(&failing{o.store, durward.Errorf(durward.Unavailable, "", "the database disk image is malformed: %w", ledger.ErrDamaged)}), ledger.VerdictDamaged)
}

func TestVerifyIsInterrupted(t *testing.T) {
	o := everything(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	opt := ledger.VerifyOptions{Checkpoints: o.path(), Verifiers: o.verifiers()}
	if r, err := ledger.Verify(ctx, o.store, opt); r != nil || durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "enough") {
		t.Error(r, err)
	}
	opt.Verifiers = []string{"nonsense"}
	if _, err := ledger.Verify(t.Context(), o.store, opt); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	opt = ledger.VerifyOptions{Checkpoints: o.path(), Copies: []string{o.path() + ".no"}}
	if _, err := ledger.Verify(t.Context(), o.store, opt); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
}

// A report stays short, and damage is never left out for notes.
func TestAReportIsBounded(t *testing.T) {
	o := newOffice(t)
	o.fill(300)
	for i := range o.store.rows {
		if n, ok := o.store.rows[i].record.(*ledger.Intent); ok {
			c := *n
			c.Tool = "other"
			o.store.rows[i].record = &c
		}
	}
	r := o.verify()
	o.want(r, ledger.VerdictDamaged)
	if len(r.Findings) != 100 || r.More != 200 {
		t.Error(len(r.Findings), r.More)
	}
	var b bytes.Buffer
	o.must(r.WriteText(&b))
	if !strings.Contains(b.String(), "and 200 more") {
		t.Error(b.String())
	}
}
