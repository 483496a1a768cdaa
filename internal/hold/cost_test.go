//go:build !race

// The race detector allocates too.

package hold_test

import (
	"context"
	"testing"

	"durward/internal/exchange"
	"durward/internal/hold"
)

// TestCostOfACallThatIsNeverAsked: nearly all calls are like that.
func TestCostOfACallThatIsNeverAsked(t *testing.T) {
	table := hold.New(hold.Options{})
	defer table.Close()
	ctx, capabilities, reply := t.Context(), []byte(all), exchange.Reply{Result: []byte(`{}`)}
	do := func(context.Context, exchange.Stream) exchange.Reply { return reply }
	n := testing.AllocsPerRun(200, func() {
		if turn, err := table.Begin(ctx, owner(), capabilities, nil, do); err != nil || turn.Reply.Result == nil {
			t.Fatal(turn, err)
		}
	})
	if n > 6 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBegin(b *testing.B) {
	table := hold.New(hold.Options{})
	defer table.Close()
	ctx, capabilities := b.Context(), []byte(all)
	reply := exchange.Reply{Result: []byte(`{}`)}
	do := func(context.Context, exchange.Stream) exchange.Reply { return reply }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.Begin(ctx, owner(), capabilities, nil, do); err != nil {
			b.Fatal(err)
		}
	}
}
