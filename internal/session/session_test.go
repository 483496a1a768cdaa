package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"durward"
	"durward/internal/exchange"
	"durward/internal/exchange/outbox"
	"durward/internal/session"
	"durward/internal/testkit/leftover"
	"durward/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

func open(t testing.TB, s *session.Store, principal string) *session.Session {
	t.Helper()
	opened, err := s.Open(durward.Caller{Principal: principal, Session: durward.NewSessionID()}, durward.Route{}, exchange.Client{
		Era: wire.Legacy, Revision: "2025-11-25", Info: []byte(`{"name":"c","version":"1"}`), Capabilities: []byte(`{"roots":{}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func as(principal string) durward.Caller { return durward.Caller{Principal: principal} }

func TestSessionsAreFoundByTheirOwnOnly(t *testing.T) {
	s := session.New(session.Options{})
	mine := open(t, s, "a")
	if found, err := s.Find(mine.ID(), as("a"), durward.Route{}); err != nil || found != mine {
		t.Error(found, err)
	}
	for _, tt := range []struct {
		id, principal string
		route         durward.Route
	}{
		{"", "a", durward.Route{}}, {"x", "a", durward.Route{}}, {mine.ID(), "b", durward.Route{}},
		{mine.ID(), "a", durward.Route{Kind: durward.RouteServer, Name: "x"}},
	} {
		if _, err := s.Find(tt.id, as(tt.principal), tt.route); durward.KindOf(err) != durward.NotFound {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if c := mine.Caller(); c.Client != (durward.ClientInfo{Name: "c", Version: "1"}) || mine.Client().Revision != "2025-11-25" {
		t.Errorf("%+v", c)
	}
	s.End(mine)
	s.End(mine)
	if _, err := s.Find(mine.ID(), as("a"), durward.Route{}); err == nil || s.Len() != 0 {
		t.Error("found after its end")
	}
}

func TestWhatTheClientSaidIsCopied(t *testing.T) {
	s := session.New(session.Options{}).Loose(durward.Caller{}, durward.Route{})
	info := []byte(`{"name":"abc"}`)
	s.Greet(exchange.Client{Info: info})
	copy(info, "XXXXXXXXXXXXXXXXX")
	if string(s.Client().Info) != `{"name":"abc"}` || s.Caller().Client.Name != "abc" {
		t.Error("it was not")
	}
	s.Greet(exchange.Client{Info: []byte(`{"name":"` + strings.Repeat("n", 500) + `"}`)})
	if n := len(s.Caller().Client.Name); n != 128 {
		t.Error(n)
	}
}

func TestFullStoreEndsTheOldestIdle(t *testing.T) {
	s := session.New(session.Options{Max: 3})
	a1, b1, a2 := open(t, s, "a"), open(t, s, "b"), open(t, s, "a")
	if _, _, err := b1.Enter(context.Background(), []byte("1")); err != nil { // b1 is busy
		t.Fatal(err)
	}
	ended := map[string]bool{}
	a1.OnEnd(func() { ended["a1"] = true })
	a2.OnEnd(func() { ended["a2"] = true })
	b1.OnEnd(func() { ended["b1"] = true })
	if _, err := s.Find(a1.ID(), as("a"), durward.Route{}); err != nil { // a2 is the oldest now
		t.Fatal(err)
	}
	b2 := open(t, s, "b") // b has no idle one of its own: the oldest of anybody
	if !ended["a2"] || len(ended) != 1 {
		t.Fatal(ended)
	}
	open(t, s, "b") // now it has: b2
	if _, err := s.Find(b2.ID(), as("b"), durward.Route{}); err == nil || len(ended) != 1 {
		t.Fatal(ended)
	}
	b1.Leave([]byte("1"))
	for i, x := range []*session.Session{a1, b1} {
		if _, _, err := x.Enter(context.Background(), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	last := open(t, s, "c")
	if _, _, err := last.Enter(context.Background(), []byte("1")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Open(durward.Caller{Principal: "c", Session: "x"}, durward.Route{}, exchange.Client{})
	if durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.sessions") || s.Len() != 3 {
		t.Error(err)
	}
}

func TestRequestsTakeTurns(t *testing.T) {
	s := session.New(session.Options{InFlight: 2}).Loose(durward.Caller{}, durward.Route{})
	var turns []<-chan struct{}
	for i := range 4 {
		_, turn, err := s.Enter(context.Background(), fmt.Append(nil, i))
		if err != nil || (turn == nil) != (i < 2) {
			t.Fatal(i, err)
		}
		turns = append(turns, turn)
	}
	if _, _, err := s.Enter(context.Background(), []byte("9")); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.in_flight") {
		t.Error(err)
	}
	var coded *wire.CodeError
	if _, _, err := s.Enter(context.Background(), []byte("3")); !errors.As(err, &coded) || coded.Code != wire.CodeInvalidRequest {
		t.Error(err)
	}
	if !s.Cancel([]byte("2")) || !s.Leave([]byte("2")) { // it waited, was cancelled and went
		t.Error("not cancelled")
	}
	s.Leave([]byte("0"))
	<-turns[3]
	if running, waiting := s.InFlight(); running != 2 || waiting != 0 {
		t.Error(running, waiting)
	}
	for range 2 {
		if s.Leave([]byte("1")) {
			t.Error("it was not cancelled")
		}
	}
	if s.Cancel([]byte("1")) {
		t.Error("gone is gone")
	}
	s.Leave([]byte("3"))
	if running, waiting := s.InFlight(); running+waiting != 0 {
		t.Error(running, waiting)
	}
}

func TestCancelEndsTheContextOfThatRequestOnly(t *testing.T) {
	s := session.New(session.Options{}).Loose(durward.Caller{}, durward.Route{})
	one, _, _ := s.Enter(context.Background(), []byte(`1`))
	text, _, _ := s.Enter(context.Background(), []byte(`"1"`))
	if s.Cancel([]byte(`1.0`)) || !s.Cancel([]byte(`"1"`)) {
		t.Error("bytes decide")
	}
	if one.Err() != nil || text.Err() == nil {
		t.Error("the wrong one")
	}
	if s.Stop([]byte(`2`)) || !s.Stop([]byte(`1`)) || one.Err() == nil {
		t.Error("not stopped")
	}
	if s.Leave([]byte(`1`)) || !s.Leave([]byte(`"1"`)) {
		t.Error("who was cancelled")
	}
}

func TestQuestions(t *testing.T) {
	s := session.New(session.Options{Asks: 2}).Loose(durward.Caller{}, durward.Route{})
	first, answer, err := s.Expect()
	if err != nil {
		t.Fatal(err)
	}
	second, _, _ := s.Expect()
	if _, _, err := s.Expect(); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.asks") {
		t.Error(err)
	}
	for _, wrong := range []string{`"` + string(first) + `"`, string(first) + ".0", "0" + string(first), "+" + string(first), "", "99"} {
		if s.Answer([]byte(wrong), exchange.Reply{Result: []byte("{}")}) {
			t.Errorf("%q was taken for %s", wrong, first)
		}
	}
	if !s.Answer(first, exchange.Reply{Result: []byte("1")}) || s.Answer(first, exchange.Reply{Result: []byte("2")}) {
		t.Error("one answer each")
	}
	if got := <-answer; string(got.Result) != "1" {
		t.Error(got)
	}
	s.Forget(second)
	if s.Answer(second, exchange.Reply{}) {
		t.Error("forgotten")
	}
	_, last, _ := s.Expect()
	s.End()
	if got := <-last; got.Error == nil {
		t.Error(got)
	}
	if _, _, err := s.Expect(); err == nil {
		t.Error("asked after the end")
	}
}

func TestEndCancelsAndTells(t *testing.T) {
	s := session.New(session.Options{InFlight: 1}).Loose(durward.Caller{}, durward.Route{})
	ctx, _, _ := s.Enter(context.Background(), []byte("1"))
	waiting, turn, _ := s.Enter(context.Background(), []byte("2"))
	_, box := s.NewBox()
	reader, _ := box.Read(0)
	told := 0
	s.OnEnd(func() { told++ })
	s.End()
	s.End()
	s.OnEnd(func() { told += 10 })
	if ctx.Err() == nil || waiting.Err() == nil || told != 11 {
		t.Error(ctx.Err(), waiting.Err(), told)
	}
	if _, state := reader.Next(nil); state != outbox.Lost {
		t.Error(state)
	}
	s.Leave([]byte("1"))
	select {
	case <-turn:
		t.Error("it was given its turn")
	default:
	}
	s.Leave([]byte("2"))
	if _, _, err := s.Enter(context.Background(), []byte("3")); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
	if box := s.Box(0); box == nil || box.Put([]byte("x"), outbox.Plain) {
		t.Error("something can be sent after the end")
	}
}

func retire(s *session.Session, size int) uint64 {
	n, box := s.NewBox()
	box.Finish(make([]byte, size), nil)
	s.Retire(n)
	return n
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	store := session.New(session.Options{Kept: outbox.Limits{Events: 4, Bytes: 100}, KeptTotal: 150})
	a, b := open(t, store, "a"), open(t, store, "b")
	first, second, third := retire(a, 40), retire(a, 40), retire(a, 40)
	if a.Box(first) != nil || a.Box(second) == nil || a.Box(third) == nil {
		t.Error("bytes of a session")
	}
	if kept := retire(b, 60); b.Box(kept) == nil {
		t.Error("there was room")
	}
	if over := retire(b, 20); b.Box(over) != nil {
		t.Error("over the bound of the store")
	}
	store.End(a)
	var numbers []uint64
	for range 6 {
		numbers = append(numbers, retire(b, 1))
	}
	for i, n := range numbers {
		if kept := b.Box(n) != nil; kept != (i >= 2) {
			t.Errorf("%d of 6: %v", i, kept)
		}
	}
	if b.Box(99) != nil || b.Box(0) == nil {
		t.Error("numbers")
	}
	b.Retire(99)
	b.Retire(numbers[5]) // a second time
	store.End(b)
}

// What is kept of calls that are under way counts as well: their connections are
// broken, and their servers send on.
func TestCallsUnderWayAreKeptWithinTheBoundOfAll(t *testing.T) {
	store := session.New(session.Options{Kept: outbox.Limits{Events: 10, Bytes: 100}, KeptTotal: 150})
	kept := func(b *outbox.Box) int { _, size := b.Size(); return size }
	var boxes []*outbox.Box
	for _, principal := range []string{"a", "b", "b"} {
		_, box := open(t, store, principal).NewBox()
		box.Put(make([]byte, 90), outbox.Plain)
		boxes = append(boxes, box)
	}
	if kept(boxes[0]) != 90 || kept(boxes[1]) != 0 || kept(boxes[2]) != 0 {
		t.Error(kept(boxes[0]), kept(boxes[1]), kept(boxes[2]))
	}
	boxes[0].Drop()
	if boxes[1].Put(make([]byte, 90), outbox.Plain); kept(boxes[1]) != 90 {
		t.Error("there is room again")
	}
	// Changes that a client has not been told are never crowded out.
	if box := open(t, store, "c").Box(0); !box.Put(make([]byte, 90), outbox.Change) || kept(box) != 90 {
		t.Error("a change was lost")
	}
}

func TestRunForgetsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := session.New(session.Options{Idle: time.Hour, KeptFor: time.Minute})
		ctx, cancel := context.WithCancel(context.Background())
		var ran sync.WaitGroup
		ran.Go(func() { _ = store.Run(ctx) })
		idle, busy, streamed := open(t, store, "a"), open(t, store, "a"), open(t, store, "a")
		_, _, _ = busy.Enter(ctx, []byte("1"))
		reader := streamed.Box(0).ReadNew()
		kept := retire(streamed, 10)
		time.Sleep(30 * time.Second)
		if streamed.Box(kept) == nil {
			t.Error("forgotten too soon")
		}
		time.Sleep(2 * time.Minute)
		if streamed.Box(kept) != nil {
			t.Error("not forgotten")
		}
		time.Sleep(2 * time.Hour)
		if _, err := store.Find(idle.ID(), as("a"), durward.Route{}); err == nil || store.Len() != 2 {
			t.Error("idle: not ended", store.Len())
		}
		reader.Close()
		busy.Leave([]byte("1"))
		time.Sleep(30 * time.Minute)
		if store.Len() != 1 { // Leave was use
			t.Error(store.Len())
		}
		open(t, store, "b")
		cancel()
		ran.Wait()
		if store.Len() != 0 {
			t.Error(store.Len())
		}
	})
}

func TestIdleSessionsAreSmall(t *testing.T) {
	const n = 1000
	store := session.New(session.Options{Sealer: newSealer(t)})
	client := exchange.Client{Era: wire.Legacy, Revision: "2025-11-25", Info: []byte(`{"name":"a client of usual length","version":"1.2.3"}`),
		Capabilities: []byte(`{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		s, err := store.Open(durward.Caller{Principal: "local", Session: durward.NewSessionID()}, durward.Route{}, client)
		if err != nil {
			t.Fatal(err)
		}
		id := []byte("1")
		if _, _, err := s.Enter(context.Background(), id); err != nil { // it has been used
			t.Fatal(err)
		}
		s.Leave(id)
		s.Box(0).Put([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), outbox.Change)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
	t.Logf("%d bytes each", each)
	if each > 4<<10 {
		t.Errorf("an idle session costs %d bytes", each)
	}
	runtime.KeepAlive(store)
}

func TestConcurrentUse(t *testing.T) {
	store := session.New(session.Options{Max: 8, InFlight: 4})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 200 {
				s, err := store.Open(durward.Caller{Principal: fmt.Sprint(g % 3), Session: durward.NewSessionID()}, durward.Route{}, exchange.Client{})
				if err != nil {
					continue
				}
				call := fmt.Append(nil, i)
				if ctx, turn, err := s.Enter(context.Background(), call); err == nil {
					if turn != nil {
						select {
						case <-turn:
						case <-ctx.Done():
						}
					}
					ask, _, err := s.Expect()
					if err == nil {
						s.Answer(ask, exchange.Reply{})
						s.Forget(ask)
					}
					retire(s, 10)
					s.Leave(call)
				}
				if i%2 == 0 {
					store.End(s)
				}
			}
		})
	}
	all.Wait()
	if store.Len() > 8 {
		t.Error(store.Len())
	}
}
