package outbox_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward/internal/exchange/outbox"
)

// TestBoxesShareABudget: whatever happens to them, what they keep is accounted
// for, never more than the budget, and given back.
func TestBoxesShareABudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 100).Draw(t, "most")
		budget := outbox.NewBudget(int64(most))
		boxes := make([]*outbox.Box, 3)
		readers := make([]*outbox.Reader, len(boxes))
		for i := range boxes {
			boxes[i] = outbox.New(outbox.Options{Pending: outbox.Limits{Events: 5, Bytes: 40}, Kept: outbox.Limits{Events: 4, Bytes: 50}, Budget: budget})
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(boxes)-1).Draw(t, "box")
			b, r := boxes[i], readers[i]
			m := []byte(strings.Repeat("m", rapid.IntRange(1, 30).Draw(t, "size")))
			switch rapid.SampledFrom([]string{"put", "put", "progress", "read", "next", "close", "finish", "forget", "drop"}).Draw(t, "step") {
			case "put":
				b.Put(m, outbox.Plain)
			case "progress":
				b.Put(m, outbox.Progress)
			case "read":
				if r == nil {
					readers[i] = b.ReadNew()
				}
			case "next":
				if r != nil {
					r.Next(nil)
				}
			case "close":
				if r != nil {
					r.Close()
					readers[i] = nil
				}
			case "finish":
				b.Finish(m, []byte("instead"))
			case "forget":
				b.Forget()
			case "drop":
				b.Drop()
			}
			if used := budget.Used(); used < 0 || used > int64(most) {
				t.Fatalf("%d bytes of %d are used", used, most)
			}
		}
		sum := 0
		for i, b := range boxes {
			if readers[i] != nil {
				readers[i].Close()
			}
			_, size := b.Size()
			sum += size
		}
		if budget.Used() != int64(sum) {
			t.Fatalf("%d bytes are kept, %d accounted for", sum, budget.Used())
		}
		for _, b := range boxes {
			b.Forget()
		}
		if budget.Used() != 0 {
			t.Fatalf("%d bytes were not given back", budget.Used())
		}
	})
}
