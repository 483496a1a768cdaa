package sqlite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durward"
	"durward/ledger"
)

func TestWhatMatchedInThePastIsReadWithItsCalls(t *testing.T) {
	b := newBook(t)
	n := 0
	b.calls(500, func(i *ledger.Intent, o *ledger.Outcome) []ledger.Record {
		n++
		i.Principal, i.Session, i.Entrance, i.Server, i.Tool, i.BytesIn, i.Action = "ann", "s", durward.EntranceHTTP, "github", "push", n, durward.Ask
		i.At = start.Add(time.Duration(n) * time.Minute)
		o.Status, o.Attempts, o.BytesOut = durward.StatusDenied, 0, 7
		return []ledger.Record{
			&ledger.Decision{Call: i.ID, At: i.At, Rule: "budget", Layer: "user", Stage: "request", Action: "ask", Effective: "below limit"},
			&ledger.Decision{Call: i.ID, At: i.At, Rule: fmt.Sprint("other", n)},
		}
	})
	r := b.reader()
	for since, want := range map[time.Duration]int{0: 500, 400 * time.Minute: 101, 500 * time.Minute: 1, 1000 * time.Minute: 0, -time.Hour: 500} {
		got := 0
		damaged, err := r.Past(t.Context(), start.Add(since), []string{"budget", "nobody"}, func(p *ledger.Past) error {
			got++
			if p.Rule != "budget" || p.BytesIn == 0 || !p.Received.Equal(start.Add(time.Duration(p.BytesIn)*time.Minute)) || p.Made() {
				t.Errorf("%+v", p)
			}
			if p.BytesIn == 500 {
				p.Call, p.At, p.Received = "", time.Time{}, time.Time{}
				want := &ledger.Past{
					Decision: ledger.Decision{Rule: "budget", Layer: "user", Stage: "request", Action: "ask", Effective: "below limit"},
					Session:  "s", Principal: "ann", Entrance: durward.EntranceHTTP, Server: "github", Tool: "push", Action: durward.Ask, BytesIn: 500, BytesOut: 7, Status: durward.StatusDenied,
				}
				if diff := cmp.Diff(want, p); diff != "" {
					t.Error(diff)
				}
			}
			return nil
		})
		if err != nil || damaged != 0 || got != want {
			t.Errorf("since %s: %d, want %d; %d damaged, %v", since, got, want, damaged, err)
		}
	}
	enough := errors.New("enough")
	if _, err := r.Past(t.Context(), start, []string{"budget"}, func(*ledger.Past) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	if _, err := r.Past(t.Context(), start, nil, func(*ledger.Past) error { return enough }); err != nil {
		t.Error(err)
	}
}

// A clock that goes back makes nobody forget what was done before: a budget that is
// counted anew would be had twice.
func TestAClockThatGoesBackMakesNothingBeForgotten(t *testing.T) {
	b := newBook(t)
	n := 0
	b.calls(400, func(i *ledger.Intent, _ *ledger.Outcome) []ledger.Record {
		n++
		i.At = start.Add(time.Duration(n) * time.Minute)
		if n > 100 { // two hours back, and on from there
			i.At = start.Add(-2*time.Hour + time.Duration(n)*time.Second)
		}
		return []ledger.Record{&ledger.Decision{Call: i.ID, At: i.At, Rule: "budget"}}
	})
	for since, want := range map[time.Duration]int{50 * time.Minute: 51, 100 * time.Minute: 1, 101 * time.Minute: 0, -3 * time.Hour: 400, -2*time.Hour + 399*time.Second: 102} {
		got := 0
		_, err := b.reader().Past(t.Context(), start.Add(since), []string{"budget"}, func(*ledger.Past) error { got++; return nil })
		if err != nil || got != want {
			t.Errorf("since %s: %d, want %d: %v", since, got, want, err)
		}
	}
}

func TestWhatWasMadeIsTold(t *testing.T) {
	for _, tt := range []struct {
		status   durward.Status
		attempts int
		made     bool
	}{
		{durward.StatusOK, 1, true}, {"", 0, true}, {durward.StatusUnknown, 0, true}, {durward.StatusRefused, 0, false}, {durward.StatusDenied, 0, false},
		{durward.StatusCancelled, 0, false}, {durward.StatusCancelled, 1, true}, {durward.StatusError, 0, false}, {durward.StatusError, 1, true},
	} {
		if p := (&ledger.Past{Status: tt.status, Attempts: tt.attempts}); p.Made() != tt.made {
			t.Errorf("%+v", tt)
		}
	}
}

func TestChangesOfAKindAreRead(t *testing.T) {
	b := newBook(t)
	for i, what := range []string{"a", "b", "a", "a"} {
		b.write(nil, &ledger.Change{At: start.Add(time.Duration(i) * time.Hour), What: what, Target: fmt.Sprint(i)})
	}
	var got []string
	if err := b.reader().Changes(t.Context(), start.Add(time.Hour), "a", func(at time.Time, target string) { got = append(got, at.Sub(start).String()+" "+target) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2h0m0s 2", "3h0m0s 3"}, got); diff != "" {
		t.Error(diff)
	}
}
