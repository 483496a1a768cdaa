package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"durward/internal/exchange/outbox"
	"durward/internal/testkit/leftover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

func take(t testing.TB, r *outbox.Reader) (out []string, state outbox.State) {
	t.Helper()
	events, state := r.Next(nil)
	for _, e := range events {
		out = append(out, fmt.Sprintf("%d:%s", e.Seq, e.Data))
	}
	return out, state
}

func TestMessagesComeOutInOrderOnce(t *testing.T) {
	b := outbox.New(outbox.Options{})
	if b.Put([]byte("nobody"), outbox.Plain) {
		t.Error("taken without a reader")
	}
	r, ok := b.Read(0)
	if !ok {
		t.Fatal("no reader")
	}
	for i := range 3 {
		if !b.Put(fmt.Append(nil, i), outbox.Plain) {
			t.Error(i)
		}
	}
	<-r.Wake()
	if got, state := take(t, r); !slices.Equal(got, []string{"1:0", "2:1", "3:2"}) || state != outbox.Open {
		t.Error(got, state)
	}
	if got, _ := take(t, r); got != nil {
		t.Error(got)
	}
	b.Finish([]byte("end"), nil)
	if b.Put([]byte("late"), outbox.Plain) {
		t.Error("taken after the end")
	}
	b.Finish([]byte("twice"), nil)
	if got, state := take(t, r); !slices.Equal(got, []string{"4:end"}) || state != outbox.Done {
		t.Error(got, state)
	}
}

func TestProgressGoesFirst(t *testing.T) {
	b := outbox.New(outbox.Options{Pending: outbox.Limits{Events: 4, Bytes: 100}})
	r, _ := b.Read(0)
	for i := range 10 {
		b.Put(fmt.Append(nil, "p", i), outbox.Progress)
	}
	b.Put([]byte("a"), outbox.Plain)
	b.Put([]byte("b"), outbox.Plain)
	if got, state := take(t, r); state != outbox.Open || !slices.Contains(got, "10:p9") || got[len(got)-1] != "12:b" || len(got) > 4 {
		t.Error(got, state)
	}
	for range 4 {
		b.Put([]byte("x"), outbox.Plain)
	}
	if b.Put([]byte("y"), outbox.Plain) {
		t.Error("a fifth was taken")
	}
	if got, state := take(t, r); state != outbox.Lost || got != nil {
		t.Error(got, state)
	}
}

func TestOneLongMessageAlwaysFits(t *testing.T) {
	b := outbox.New(outbox.Options{Pending: outbox.Limits{Events: 4, Bytes: 10}})
	_, _ = b.Read(0)
	long := strings.Repeat("x", 1000)
	if !b.Put([]byte(long), outbox.Plain) || b.Put([]byte("more"), outbox.Plain) {
		t.Error("bounds")
	}
	b = outbox.New(outbox.Options{Pending: outbox.Limits{Events: 4, Bytes: 10}})
	r, _ := b.Read(0)
	b.Put([]byte("0123456789"), outbox.Plain)
	b.Finish([]byte(long), nil) // the answer passes whatever waits
	if got, state := take(t, r); len(got) != 2 || state != outbox.Done {
		t.Error(len(got), state)
	}
}

func TestEqualChangesThatWaitAreOne(t *testing.T) {
	b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: 10, Bytes: 100}})
	for range 5 {
		b.Put([]byte("tools"), outbox.Change)
		b.Put([]byte("prompts"), outbox.Change)
	}
	r := b.ReadNew()
	if got, _ := take(t, r); !slices.Equal(got, []string{"1:tools", "2:prompts"}) {
		t.Error(got)
	}
	b.Put([]byte("tools"), outbox.Change)
	if got, _ := take(t, r); !slices.Equal(got, []string{"3:tools"}) {
		t.Error(got)
	}
}

func TestComingBack(t *testing.T) {
	b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: 4, Bytes: 100}})
	r, _ := b.Read(0)
	for i := range 3 {
		b.Put(fmt.Append(nil, i), outbox.Plain)
	}
	take(t, r)
	r.Close()
	b.Put([]byte("3"), outbox.Plain)
	r, ok := b.Read(1)
	if got, _ := take(t, r); !ok || !slices.Equal(got, []string{"2:1", "3:2", "4:3"}) {
		t.Error(got)
	}
	r.Close()
	b.Put([]byte("4"), outbox.Plain) // the first is dropped: four are kept
	if _, ok := b.Read(0); ok {
		t.Error("resumed over a gap")
	}
	if _, ok := b.Read(6); ok {
		t.Error("resumed from the future")
	}
	b.Finish([]byte(strings.Repeat("x", 101)), []byte("too long"))
	r, ok = b.Read(5)
	if got, state := take(t, r); !ok || !slices.Equal(got, []string{"6:too long"}) || state != outbox.Done {
		t.Error(got, state)
	}
}

func TestTheNewestReaderGetsThem(t *testing.T) {
	b := outbox.New(outbox.Options{Kept: outbox.Limits{Events: 10, Bytes: 100}})
	first, second := b.ReadNew(), b.ReadNew()
	b.Put([]byte("a"), outbox.Plain)
	if got, _ := take(t, first); got != nil {
		t.Error(got)
	}
	if got, _ := take(t, second); !slices.Equal(got, []string{"1:a"}) {
		t.Error(got)
	}
	b.Put([]byte("b"), outbox.Plain)
	second.Close()
	if got, _ := take(t, first); !slices.Equal(got, []string{"2:b"}) {
		t.Error(got) // and not a again
	}
	if b.Readers() != 1 {
		t.Error(b.Readers())
	}
	b.Drop()
	if _, state := take(t, first); state != outbox.Lost {
		t.Error(state)
	}
	if n, size := b.Size(); n+size != 0 {
		t.Error(n, size)
	}
}

func TestPutWaitWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := outbox.New(outbox.Options{Pending: outbox.Limits{Events: 2, Bytes: 10}})
		if b.PutWait(context.Background(), []byte("x")) {
			t.Error("taken without a reader")
		}
		r, _ := b.Read(0)
		done := make(chan bool, 3)
		for range 3 {
			go func() { done <- b.PutWait(context.Background(), []byte("12345678")) }()
			synctest.Wait()
		}
		if len(done) != 1 {
			t.Fatalf("%d of 3 had room", len(done))
		}
		take(t, r)
		synctest.Wait()
		if len(done) != 2 {
			t.Fatalf("%d of 3 had room", len(done))
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if b.PutWait(ctx, []byte("12345678")) {
			t.Error("taken after its time")
		}
		r.Close()
		synctest.Wait()
		if a, b, c := <-done, <-done, <-done; !a || !b || c {
			t.Error(a, b, c)
		}
	})
}

// TestAgainstAModel compares a box that keeps with a slow one that keeps everything.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := outbox.Limits{Events: rapid.IntRange(1, 8).Draw(t, "events"), Bytes: rapid.IntRange(1, 60).Draw(t, "bytes")}
		b := outbox.New(outbox.Options{Pending: outbox.Limits{Events: 6, Bytes: 40}, Kept: kept})
		var all []string // all[i] has Seq i+1
		var reader *outbox.Reader
		at := uint64(0)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "put", "progress", "read", "close", "next"}).Draw(t, "step") {
			case "put":
				m := strings.Repeat("m", rapid.IntRange(1, 12).Draw(t, "size"))
				if b.Put([]byte(m), outbox.Plain) {
					all = append(all, m)
				}
			case "progress":
				if b.Put([]byte("p"), outbox.Progress) {
					all = append(all, "p")
				}
			case "read":
				if reader == nil {
					var ok bool
					if reader, ok = b.Read(at); !ok {
						reader = b.ReadNew() // a gap that was said
						at = 0
					}
				}
			case "close":
				if reader != nil {
					reader.Close()
					reader = nil
				}
			case "next":
				if reader == nil {
					continue
				}
				events, state := reader.Next(nil)
				for _, e := range events {
					if e.Seq <= at || int(e.Seq) > len(all) || all[e.Seq-1] != string(e.Data) {
						t.Fatalf("after %d came %d %s", at, e.Seq, e.Data)
					}
					for skipped := at + 1; at > 0 && skipped < e.Seq; skipped++ {
						if all[skipped-1] != "p" {
							t.Fatalf("%d was lost without a word", skipped)
						}
					}
					at = e.Seq
				}
				if state == outbox.Lost {
					reader.Close()
					reader = nil
				}
			}
			if n, size := b.Size(); reader == nil && (n > kept.Events || size > kept.Bytes) {
				t.Fatalf("%d events, %d bytes kept of %+v", n, size, kept)
			}
		}
	})
}
