package hold_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/hold"
)

func TestErrLost(t *testing.T) {
	if durward.KindOf(hold.ErrLost) != durward.NotFound || !strings.Contains(hold.ErrLost.Error(), "limits.hold_life") {
		t.Error(hold.ErrLost)
	}
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(askAfter(0))
		r.lost(owner(), "", 1)
		r.lost(owner(), "unknown", 1)
		r.lost(hold.Owner{Principal: "other", Server: "s"}, turn.ID, 1)
		r.lost(hold.Owner{Principal: "p", Server: "other"}, turn.ID, 1)
		r.lost(owner(), turn.ID, 0)
		r.lost(owner(), turn.ID, 2)
		again := r.resume(turn, answers{})
		r.lost(owner(), turn.ID, 1) // somebody sent an old state again
		done := r.resume(again, answers{"q1": `{}`})
		if string(done.Reply.Result) != `{}` {
			t.Errorf("%+v", done)
		}
		r.lost(owner(), again.ID, again.Round)
	})
}

// TestB9_OneRetryOfATurnCounts: of two at once the second finds the turn taken.
func TestB9_OneRetryOfATurnCounts(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
			got := elicit(ctx, out, "a")
			time.Sleep(time.Second)
			return text(got)
		})
		errs := make(chan error, 2)
		for _, answer := range []string{`{"n":1}`, `{"n":2}`} {
			go func() {
				_, err := r.table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), answers{"q1": answer}.of, nil)
				errs <- err
			}()
		}
		if a, b := <-errs, <-errs; !errors.Is(a, hold.ErrLost) || b != nil { // the one that lost is told at once
			t.Error(a, b)
		}
	})
}

// TestATurnIsTakenOnceTheAnswersAreThere: until then another retry may come first.
func TestATurnIsTakenOnceTheAnswersAreThere(t *testing.T) {
	in(t, hold.Options{}, func(t *testing.T, r *rig) {
		turn := r.begin(askAfter(0))
		var first hold.Turn
		_, err := r.table.Resume(t.Context(), owner(), turn.ID, 1, []byte(all), func(string) []byte {
			first = r.resume(turn, answers{}) // asked again: round 2
			return []byte(`{"n":1}`)
		}, nil)
		if !errors.Is(err, hold.ErrLost) || first.Round != 2 {
			t.Error(err, asked(first))
		}
		if done := r.resume(first, answers{"q1": `{"n":2}`}); string(done.Reply.Result) != `{"n":2}` {
			t.Errorf("%+v", done)
		}
	})
}
