package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"durward"
	"durward/ledger"
)

// world is a ledger to which things happen, and the truth about it.
type world struct {
	*office
	rt    *rapid.T
	truth map[uint64]written // what was written, by link
	open  []*ledger.Intent
	cut   uint64 // up to where records are gone
	gone  uint64 // up to where bodies are gone
	safe  uint64 // up to where links are signed
}

type written struct {
	link    ledger.Link
	records []ledger.Record
}

// note takes over what was written since it was called last.
func (w *world) note() {
	byLink := map[uint64][]ledger.Record{}
	for _, r := range w.store.rows {
		byLink[r.link] = append(byLink[r.link], r.record)
	}
	cut, gone := w.check.Truncated()
	for _, l := range w.store.links {
		if old, ok := w.truth[l.Seq]; ok && old.link != l && l.Seq <= max(w.safe, cut) {
			w.rt.Fatalf("link %d was written anew, although links up to %d are removed and up to %d signed", l.Seq, cut, w.safe)
		}
		w.truth[l.Seq] = written{l, byLink[l.Seq]}
	}
	w.cut, w.gone, w.safe = cut, gone, w.check.Newest().Seq
}

// verdict is what a slow check of a store against the truth comes to: it compares
// everything with everything.
func (w *world) verdict(s *shelf) (v ledger.Verdict, links, unanchored, open int64) {
	v = ledger.VerdictOK
	anchored := w.check.Newest().Seq
	next, last, ended := w.cut+1, ledger.Link{Seq: w.cut, Hash: w.truth[w.cut].link.Hash}, map[durward.CallID]int{}
	for _, l := range s.links {
		if l.Seq <= w.cut {
			continue
		}
		var records []ledger.Record
		for _, r := range s.rows {
			if r.link == l.Seq {
				records = append(records, r.record)
			}
		}
		links++
		if l.Seq > anchored {
			unanchored++
		}
		if l.Seq != next || l != last.Next(l.At, records) || l.Seq <= anchored && l != w.truth[l.Seq].link {
			v = ledger.VerdictDamaged
		}
		next, last = l.Seq+1, l
		if !w.complete(s, l.Seq, records, ended) {
			v = ledger.VerdictDamaged
		}
	}
	for _, r := range s.rows {
		if r.link > w.cut && !slices.ContainsFunc(s.links, func(l ledger.Link) bool { return l.Seq == r.link }) {
			v = ledger.VerdictDamaged
		}
	}
	for _, b := range s.bodies {
		if !whole(b) {
			v = ledger.VerdictDamaged
		}
	}
	if next <= anchored {
		v = ledger.VerdictDamaged
	}
	for _, n := range ended {
		open += int64(1 - n)
	}
	return v, links, unanchored, open
}

// complete says whether the bodies that records name are there, and no outcome is too many.
func (w *world) complete(s *shelf, seq uint64, records []ledger.Record, ended map[durward.CallID]int) bool {
	good := true
	for _, r := range records {
		d := bodyOf(r)
		if d != (ledger.Digest{}) && seq > w.gone && !slices.ContainsFunc(s.bodies, func(b ledger.Body) bool { return b.Digest == d }) {
			good = false
		}
		switch r := r.(type) {
		case *ledger.Intent:
			_, twice := ended[r.ID]
			good = good && !twice
			ended[r.ID] = 0
		case *ledger.Outcome:
			n, ok := ended[r.Call]
			good = good && (ok && n == 0 || !ok && w.pruned(r.Call))
			if ok {
				ended[r.Call] = 1
			}
		}
	}
	return good
}

// pruned says whether the intent of a call was pruned.
func (w *world) pruned(id durward.CallID) bool {
	for seq := uint64(1); seq <= w.cut; seq++ {
		for _, r := range w.truth[seq].records {
			if i, ok := r.(*ledger.Intent); ok && i.ID == id {
				return true
			}
		}
	}
	return false
}

func whole(b ledger.Body) bool {
	content, err := unzip(b.Data)
	return err == nil && sum(string(content)) == b.Digest && !b.Truncated && b.Original == len(content)
}

// compare verifies a store, and holds the report against the slow check.
func (w *world) compare(s *shelf, what string) {
	r := w.verifyStore(s)
	v, links, unanchored, open := w.verdict(s)
	var b bytes.Buffer
	_ = r.WriteText(&b)
	if r.Verdict != v {
		w.rt.Fatalf("%s: the verdict is %s, and should be %s:\n%s", what, r.Verdict, v, b.String())
	}
	if v != ledger.VerdictOK {
		return
	}
	got := int64(0)
	if r.Unanchored != nil {
		got = r.Unanchored.Links
	}
	if r.Links != links || got != unanchored || r.Open != open || r.From != w.cut+1 {
		w.rt.Fatalf("%s: %d links, %d not proved, %d open, from %d; there are %d, %d, %d, from %d:\n%s", what, r.Links, got, r.Open, r.From, links, unanchored, open, w.cut+1, b.String())
	}
	if anchored := w.check.Newest().Seq; anchored > 0 && (r.Anchored == nil || r.Anchored.Seq != anchored) && anchored > w.cut {
		w.rt.Fatalf("%s: proved up to %+v, and should be to %d:\n%s", what, r.Anchored, anchored, b.String())
	}
}

// write appends a few records in one link.
func (w *world) write(rt *rapid.T) {
	var records []ledger.Record
	for n := rapid.IntRange(1, 4).Draw(rt, "records"); n > 0; n-- {
		switch rapid.IntRange(0, 4).Draw(rt, "kind") {
		case 0:
			records = append(records, &ledger.Decision{At: w.now, Rule: fmt.Sprint(n)})
		case 1:
			if len(w.open) > 0 {
				records = append(records, &ledger.Outcome{Call: w.open[0].ID, At: w.now, Status: durward.StatusOK})
				w.open = w.open[1:]
				continue
			}
			fallthrough
		default:
			i, out := w.call()
			if rapid.Bool().Draw(rt, "body") {
				i.Body = w.body(strings.Repeat("body", 500) + fmt.Sprint(w.synth%7))
			}
			records = append(records, i)
			if rapid.Bool().Draw(rt, "at once") {
				records = append(records, out)
			} else {
				w.open = append(w.open, i)
			}
		}
	}
	w.must(w.append(records...))
}

// crash kills the service: what is not on disk is lost, an entry is half written, and
// it starts again.
func (w *world) crash(rt *rapid.T) {
	w.must(w.check.Close())
	if rapid.Bool().Draw(rt, "power") {
		w.power(rt)
	}
	if rapid.Bool().Draw(rt, "torn") {
		file := read(w.t, w.path())
		last := ledger.ParseSheet(file).Raw
		torn := last[len(last)-1]
		write(w.t, w.path(), append(file, torn[:rapid.IntRange(1, len(torn)-1).Draw(rt, "bytes")]...))
	}
	if rapid.IntRange(0, 9).Draw(rt, "key lost") == 0 {
		w.must(os.Remove(w.key()))
	}
	w.office.open()
}

// power is a loss of power. What was signed is on disk, see CheckpointsOptions.Sync.
func (w *world) power(rt *rapid.T) {
	if rapid.Bool().Draw(rt, "in order") { // as a write-ahead log loses its end: removals are undone, too
		w.store.undo(rapid.IntRange(0, len(w.store.past)).Draw(rt, "undone"))
	} else if from := slices.IndexFunc(w.store.links, func(l ledger.Link) bool { return l.Seq > w.check.Newest().Seq }); from >= 0 {
		from += rapid.IntRange(0, len(w.store.links)-from).Draw(rt, "lost")
		w.store.drop(from, len(w.store.links))
		w.store.undo(0)
	}
	w.open = slices.DeleteFunc(w.open, func(i *ledger.Intent) bool {
		return !slices.ContainsFunc(w.store.rows, func(r shelfRow) bool { return r.record == ledger.Record(i) })
	})
}

// keepSome prunes, and may be interrupted.
func (w *world) keepSome(rt *rapid.T) {
	broken := errors.New("broken off")
	steps := rapid.IntRange(0, 60).Draw(rt, "steps")
	w.store.step = func() error {
		if steps--; steps < 0 {
			return broken
		}
		return nil
	}
	hours := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(1, 6).Draw(rt, name)) * time.Hour
	}
	_, err := ledger.Keep(context.Background(), w.keeping(ledger.Retention{Rows: hours("rows"), Bodies: hours("bodies")}))
	w.store.step = nil
	if err != nil && !errors.Is(err, broken) {
		rt.Fatal(err)
	}
}

// Whatever happens to a ledger, a check of it agrees with one that compares
// everything with what was written; and so it does when somebody tampers.
func TestVerifyAgreesWithASlowCheck(t *testing.T) {
	tampered, damaged := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{office: newOffice(t), rt: rt, truth: map[uint64]written{}}
		w.store.syncs = true
		do := func(f func(*rapid.T)) func(*rapid.T) {
			return func(rt *rapid.T) {
				w.note()
				f(rt)
				w.note()
			}
		}
		later := func(rt *rapid.T) {
			w.now = w.now.Add(time.Duration(rapid.IntRange(1, 100).Draw(rt, "minutes")) * time.Minute)
		}
		sign := func(*rapid.T) { w.must(w.check.Add(t.Context())) }
		rt.Repeat(map[string]func(*rapid.T){
			"write": do(w.write), "write more": do(w.write), "sign": do(sign), "crash": do(w.crash), "keep": do(w.keepSome),
			// Records are signed within a minute, but for a crash.
			"later":  do(func(rt *rapid.T) { sign(rt); later(rt) }),
			"rotate": do(func(rt *rapid.T) { _, err := w.check.RotateKey(t.Context()); w.must(err) }),
			"tamper": do(func(rt *rapid.T) {
				all := tampers(w.store)
				if len(all) == 0 { // a crash has lost everything
					return
				}
				tt := all[rapid.IntRange(0, len(all)-1).Draw(rt, "which")]
				s := w.store.copied()
				tt.do(s)
				w.compare(s, tt.name)
				tampered++
				if v, _, _, _ := w.verdict(s); v == ledger.VerdictDamaged {
					damaged++
				}
			}),
			"verify": do(func(*rapid.T) { w.compare(w.store, "as it is") }),
		})
		w.compare(w.store, "in the end")
		w.must(w.check.Close())
	})
	t.Logf("%d tampers, %d of them damage what is proved or the chain", tampered, damaged)
}
