package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durward"
	"durward/ledger"
)

// An export reads stories by the page. They are what is told of each call by itself,
// whatever belongs to them, however they lie in the chain and follow each other in time.
func TestStoriesOfAPageAreThoseOfEachCall(t *testing.T) {
	b := newBook(t)
	dice := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // to be repeated
	for n := range 700 {
		i, o := b.call()
		i.At = i.At.Add(time.Duration(dice.IntN(40)) * time.Second) // not in the order in which they are written
		if n%50 == 7 {
			i.ID, i.Server = durward.CallID(fmt.Sprint("no uuid ", n)), "rare"
			o.Call = i.ID
		}
		records := []ledger.Record{i}
		for range dice.IntN(4) {
			records = append(records, &ledger.Decision{Call: i.ID, At: i.At, Rule: fmt.Sprint(dice.IntN(100))})
		}
		if dice.IntN(3) == 0 {
			records = append(records, &ledger.Approval{ID: "q", Call: i.ID, At: i.At, Status: "pending"}, &ledger.Approval{ID: "q", Call: i.ID, At: o.At, Status: "approved"})
		}
		if dice.IntN(3) == 0 {
			records = append(records, &ledger.Flow{Call: i.ID, At: i.At, Host: fmt.Sprint(n), BytesIn: 3}, &ledger.Flow{At: i.At, Host: "of no call"})
		}
		if b.write(nil, records...); dice.IntN(5) > 0 {
			b.write(nil, o)
		}
		for range dice.IntN(2) * dice.IntN(2) * 40 { // links between them
			b.write(nil, &ledger.Note{At: i.At, What: "x"})
		}
	}
	r := b.reader()
	for _, f := range []ledger.Filter{{Limit: 500}, {Limit: 7}, {Server: "rare"}, {Status: "dispatched", Limit: 100}, {Server: "none"}} {
		told := 0
		alone := f
		for {
			page, err := r.Stories(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := r.Calls(t.Context(), alone)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows.Rows) != len(page.Stories) || rows.Next != page.Next {
				t.Fatalf("%+v: %d stories of %d calls, then %q and %q", f, len(page.Stories), len(rows.Rows), page.Next, rows.Next)
			}
			for n, s := range page.Stories {
				one, err := r.Call(t.Context(), string(rows.Rows[n].ID))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(one, s); diff != "" {
					t.Fatal(diff)
				}
				if s.Link.Seq == 0 {
					t.Fatalf("%s is in no link", s.ID)
				}
			}
			told += len(page.Stories)
			if f.Cursor, alone.Cursor = page.Next, rows.Next; f.Cursor == "" {
				break
			}
		}
		if f == (ledger.Filter{Limit: 500}) && told != 700 {
			t.Errorf("%d stories", told)
		}
	}
	if _, err := r.Stories(t.Context(), ledger.Filter{Limit: 1001}); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
}

// What belongs to calls is bounded, of each call and of a page, and no call is left out.
func TestStoriesOfAPageAreBounded(t *testing.T) {
	b := newBook(t)
	for n := range 60 {
		i, _ := b.call()
		records := []ledger.Record{i}
		for d := range 900 + n%3*100 { // 900, 1000 or 1100, of which 1000 are told
			records = append(records, &ledger.Decision{Call: i.ID, At: i.At, Rule: fmt.Sprint(d)})
		}
		b.write(nil, records...)
	}
	r := b.reader()
	seen, pages := 0, 0
	for f := (ledger.Filter{Limit: 500}); ; pages++ {
		page, err := r.Stories(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Stories {
			n := 59 - seen
			want := min(900+n%3*100, 1000)
			if len(s.Decisions) != want || s.Decisions[want-1].Rule != fmt.Sprint(want-1) || s.Intent.At != start.Add(time.Duration(n+1)*time.Second) {
				t.Fatalf("call %d: %d decisions", n, len(s.Decisions))
			}
			seen++
		}
		if len(page.Stories) > 16 {
			t.Errorf("%d stories in a page", len(page.Stories))
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
	}
	if seen != 60 || pages != 3 {
		t.Errorf("%d stories in %d pages", seen, pages+1)
	}
}
