package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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
	for n := range 6 {
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
		if n < 4 {
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
	if r.Err() != nil || len(r.Findings) != 0 || r.From != 1 || r.To != 20 || r.Links != 20 || r.Records != 1+6*12+1 || r.Bodies != 6 || r.Open != 1 || r.Checkpoints != 5 {
		t.Errorf("%+v", r)
	}
	if r.Anchored.Seq != 13 || r.Unanchored.Links != 7 || r.Unanchored.Records != 25 || !r.Unanchored.Since.Equal(o.now) {
		t.Errorf("%+v, %+v", r.Anchored, r.Unanchored)
	}
	if len(steps) == 0 || steps[len(steps)-1] != 20+6 {
		t.Error(steps)
	}
	text, machine := &bytes.Buffer{}, &bytes.Buffer{}
	o.must(r.WriteText(text))
	for _, want := range []string{"ok\n", "proved up to link 13", "25 records in 7 links since 2026-03-01T12:04:00Z", o.check.Verifier()} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	o.must(json.NewEncoder(machine).Encode(r))
	var back ledger.Report
	if err := json.Unmarshal(machine.Bytes(), &back); err != nil || back.Anchored.Seq != 13 || !strings.Contains(machine.String(), `"findings":[]`) {
		t.Errorf("%v: %s", err, machine)
	}
}

func TestAnotherLedgerIsNotTheOneThatWasSigned(t *testing.T) {
	o, other := everything(t), everythingAfter(t, time.Second)
	r := o.verifyStore(other.store)
	o.want(r, ledger.VerdictDamaged)
	if f := r.Findings[0]; f.From != 1 || f.To < 13 || !strings.Contains(f.Message, "is another one") {
		t.Errorf("%+v", r.Findings)
	}
	o.want(o.verifyStore(&shelf{}), ledger.VerdictDamaged)
	r, err := ledger.Verify(t.Context(), other.store, ledger.VerifyOptions{Checkpoints: other.path(), Verifiers: o.verifiers()})
	o.must(err)
	o.want(r, ledger.VerdictUnclear) // another instance as a whole: its key is not ours
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
	t.Parallel() // most of it waits for the disk
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

// bomb is a store with a body that unpacks to far more than it is said to have.
type bomb struct {
	*shelf
	original int
	read     func() // called with each read
	took     int64
}

func (b *bomb) Bodies(_ context.Context, f func(ledger.BodyInfo, io.Reader) error) error {
	return f(ledger.BodyInfo{Original: b.original}, b)
}

func (b *bomb) Read(p []byte) (int, error) {
	if b.read(); b.took > 1<<24 {
		return 0, io.EOF // it would never end
	}
	b.took += int64(len(p))
	return len(p), nil
}

// A body that somebody made endless does not make the check endless.
func TestABodyThatIsTooLongIsNotReadToItsEnd(t *testing.T) {
	o := newOffice(t)
	b := &bomb{shelf: o.store, original: 1000, read: func() {}}
	if r := o.verifyStore(b); r.Verdict != ledger.VerdictDamaged || b.took > 4096 {
		t.Errorf("%s after %d bytes", r.Verdict, b.took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b = &bomb{shelf: o.store, original: math.MaxInt64 - 1000, read: cancel}
	if r, err := ledger.Verify(ctx, b, ledger.VerifyOptions{Verifiers: o.verifiers()}); r != nil || durward.KindOf(err) != durward.Unavailable || b.took > 1<<20 {
		t.Errorf("%v after %d bytes", err, b.took)
	}
}
