package outbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward/internal/exchange/outbox"
)

func put(b *outbox.Box, messages ...string) {
	for _, m := range messages {
		b.Put([]byte(m), outbox.Plain)
	}
}

func TestAStreamGoesOnWithItsOwnMessages(t *testing.T) {
	b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: 10, Bytes: 100}})
	put(b, "a")
	first := b.ReadNew()
	take(t, first)
	if first.At() != 1 || first.Over() {
		t.Error(first.At(), first.Over())
	}
	second := b.ReadNew()
	put(b, "b")
	take(t, second)
	second.Close()
	put(b, "c")
	take(t, first)
	first.Close()
	put(b, "d")
	for _, tt := range []struct {
		stream, after uint64
		want          []string
	}{
		{first.Stream(), 0, []string{"1:a", "3:c", "4:d"}}, // d is nobody's, so the first who comes gets it
		{first.Stream(), 1, []string{"3:c", "4:d"}},
		{second.Stream(), 0, []string{"2:b"}},
		{first.Stream(), 4, nil},
	} {
		r, whole := b.Resume(tt.stream, tt.after)
		if r == nil || !whole || r.At() != tt.after {
			t.Fatalf("%+v: %v %v", tt, r, whole)
		}
		if got, _ := take(t, r); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: %v", tt, got)
		}
		r.Close()
	}
	for _, wrong := range []struct{ stream, after uint64 }{{3, 0}, {1, 5}} {
		if r, _ := b.Resume(wrong.stream, wrong.after); r != nil {
			t.Errorf("%+v was never given out", wrong)
		}
	}
}

func TestWhatIsLeftAfterAGap(t *testing.T) {
	b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: 3, Bytes: 100}})
	put(b, "a", "b", "c", "d")
	r, whole := b.Resume(0, 0)
	if got, _ := take(t, r); whole || !slices.Equal(got, []string{"2:b", "3:c", "4:d"}) {
		t.Error(got, whole)
	}
	r.Close()
	b.Finish([]byte("end"), nil)
	r, whole = b.Resume(0, 1)
	if got, state := take(t, r); whole || state != outbox.Done || !slices.Equal(got, []string{"3:c", "4:d", "5:end"}) {
		t.Error(got, state, whole)
	}
	if !r.Over() {
		t.Error("there is more?")
	}
	r.Close()
}

func TestALastMessageThatIsGoneIsNotWaitedFor(t *testing.T) {
	b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: 3, Bytes: 10}})
	put(b, "a")
	r, _ := b.Read(0)
	b.Finish([]byte(strings.Repeat("x", 11)), []byte("too long"))
	if got, state := take(t, r); len(got) != 2 || state != outbox.Done { // and its connection breaks now
		t.Error(got, state)
	}
	r.Close()
	if r, _ := b.Resume(0, 1); r != nil {
		t.Error("connected to a stream that will never end")
	}
	if r, _ := b.Resume(0, 2); r == nil || !r.Over() {
		t.Error("it has seen all")
	}
}

// TestStreamsAgainstAModel: each message is handed over on one stream, and again
// only on that; none is lost without a word.
func TestStreamsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := rapid.IntRange(1, 8).Draw(t, "events")
		b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: kept, Bytes: 1 << 20}})
		var readers []*outbox.Reader
		owner := map[uint64]uint64{} // stream of each message that was taken
		seen := map[uint64]uint64{}  // what the client of a stream knows to have seen
		sent := uint64(0)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "put", "new", "resume", "close", "next", "next"}).Draw(t, "step") {
			case "put":
				sent++
				put(b, fmt.Sprint(sent))
			case "new":
				r := b.ReadNew()
				readers = append(readers, r)
				seen[r.Stream()] = r.At()
			case "resume":
				if len(seen) == 0 {
					continue
				}
				stream := uint64(rapid.IntRange(1, len(seen)).Draw(t, "stream"))
				r, whole := b.Resume(stream, seen[stream])
				if r == nil || !whole && sent-seen[stream] <= uint64(kept) {
					t.Fatalf("stream %d after %d of %d: %v %v", stream, seen[stream], sent, r, whole)
				}
				var want []uint64
				for seq := seen[stream] + 1; seq <= sent; seq++ {
					if by, taken := owner[seq]; !taken || by == stream {
						want = append(want, seq)
					}
				}
				readers = append(readers, r)
				for _, e := range hand(t, r, owner) {
					if len(want) > 0 && whole && want[0] != e.Seq {
						t.Fatalf("%d came before %v", e.Seq, want)
					}
					want = want[min(1, len(want)):]
				}
				if whole && len(want) > 0 {
					t.Fatalf("%v did not come", want)
				}
			case "close", "next":
				if len(readers) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(readers)-1).Draw(t, "reader")
				r := readers[i]
				events := hand(t, r, owner)
				if n := len(events); n > 0 && rapid.Bool().Draw(t, "arrives") {
					seen[r.Stream()] = max(seen[r.Stream()], events[n-1].Seq)
				}
				r.Close()
				readers = append(readers[:i:i], readers[i+1:]...)
			}
		}
	})
}

// hand takes what there is for a reader and notes on which stream it came.
func hand(t *rapid.T, r *outbox.Reader, owner map[uint64]uint64) []outbox.Event {
	events, _ := r.Next(nil)
	for _, e := range events {
		if string(e.Data) != fmt.Sprint(e.Seq) {
			t.Fatalf("%d is %s", e.Seq, e.Data)
		}
		if by, taken := owner[e.Seq]; taken && by != r.Stream() {
			t.Fatalf("%d came on stream %d and on %d", e.Seq, by, r.Stream())
		}
		owner[e.Seq] = r.Stream()
	}
	return events
}
