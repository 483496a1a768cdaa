package session_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/seal"
	"durward/internal/session"
	"durward/internal/wire"
)

// sealer is what the gateway gives a store.
type sealer struct {
	*seal.Ring
	opened atomic.Int64
	hold   func() // called when one is opened; may be nil
}

func (s *sealer) Seal(bound string, state []byte) string {
	return s.Ring.Seal(seal.Session, bound, state)
}

func (s *sealer) Open(bound, token string) ([]byte, error) {
	s.opened.Add(1)
	if s.hold != nil {
		s.hold()
	}
	return s.Ring.Open(seal.Session, bound, token)
}

func newSealer(t testing.TB) *sealer {
	t.Helper()
	ring, err := seal.NewRing(durward.NewSealKey())
	if err != nil {
		t.Fatal(err)
	}
	return &sealer{Ring: ring}
}

var here = durward.Route{Kind: durward.RouteServer, Name: "x"}

func hello(info, capabilities string) exchange.Client {
	c := exchange.Client{Era: wire.Legacy, Revision: "2025-06-18"}
	if info != "" {
		c.Info = []byte(info)
	}
	if capabilities != "" {
		c.Capabilities = []byte(capabilities)
	}
	return c
}

// begin opens a session of principal a and returns it with the id its client has.
func begin(t testing.TB, s *session.Store) (*session.Session, string) {
	t.Helper()
	opened, err := s.Open(durward.Caller{Principal: "a", Session: durward.NewSessionID()}, here, hello(`{"name":"c","version":"1"}`, `{"roots":{},"x":1e400}`))
	if err != nil {
		t.Fatal(err)
	}
	return opened, opened.ID()
}

func isUnknown(t testing.TB, s *session.Store, id, principal string, route durward.Route) {
	t.Helper()
	if found, err := s.Find(id, as(principal), route); durward.KindOf(err) != durward.NotFound || found != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestASessionGoesOnInAnotherProcess(t *testing.T) {
	keys := newSealer(t)
	before := session.New(session.Options{Sealer: keys})
	first, id := begin(t, before)
	first.SetLevel("error")
	after := session.New(session.Options{Sealer: keys})
	found, err := after.Find(id, durward.Caller{Principal: "a", Entrance: durward.EntranceHTTP}, here)
	if err != nil {
		t.Fatal(err)
	}
	if found.Caller().Session != first.Caller().Session || found.ID() != id || found.Caller().Entrance != durward.EntranceHTTP ||
		found.Caller().Client != (durward.ClientInfo{Name: "c", Version: "1"}) {
		t.Errorf("%+v", found.Caller())
	}
	if c := found.Client(); c.Era != wire.Legacy || c.Revision != "2025-06-18" || string(c.Info) != `{"name":"c","version":"1"}` || string(c.Capabilities) != `{"roots":{},"x":1e400}` {
		t.Errorf("%+v", c)
	}
	if found.Level() != "" || after.Len() != 1 {
		t.Error(found.Level(), after.Len())
	}
	opened := keys.opened.Load()
	if again, err := after.Find(id, as("a"), here); err != nil || again != found || keys.opened.Load() != opened {
		t.Error("the second time it is not just looked up:", err)
	}
	// Both go on: they may be two replicas at the same time.
	if same, err := before.Find(id, as("a"), here); err != nil || same != first {
		t.Error(err)
	}
}

func TestIdsThatBringNothingBack(t *testing.T) {
	keys := newSealer(t)
	_, id := begin(t, session.New(session.Options{Sealer: keys}))
	after := session.New(session.Options{Sealer: keys})
	changed := []byte(id)
	changed[40] ^= 1
	for _, tt := range []struct {
		id, principal string
		route         durward.Route
	}{
		{id, "b", here}, {id, "", here}, {id, "a", durward.Route{}}, {id, "a", durward.Route{Kind: durward.RouteToolset, Name: "x"}},
		{string(changed), "a", here}, {id[:len(id)-1], "a", here}, {id + "A", "a", here}, {"", "a", here},
		{string(durward.NewSessionID()), "a", here}, {keys.Seal("1:a/servers/x/mcp", []byte{1}), "a", here},
	} {
		isUnknown(t, after, tt.id, tt.principal, tt.route)
	}
	isUnknown(t, session.New(session.Options{Sealer: newSealer(t)}), id, "a", here)
	isUnknown(t, session.New(session.Options{}), id, "a", here)
	opened := keys.opened.Load()
	isUnknown(t, after, strings.Repeat("A", 5<<10), "a", here)
	if after.Len() != 0 || keys.opened.Load() != opened {
		t.Error(after.Len(), keys.opened.Load()-opened)
	}
}

// The owner's name and the route cannot run into each other in what an id is bound to.
func TestWhatAnIDIsBoundToIsUnambiguous(t *testing.T) {
	keys := newSealer(t)
	opened, err := session.New(session.Options{Sealer: keys}).Open(durward.Caller{Principal: "a/servers/x", Session: durward.NewSessionID()}, durward.Route{}, hello("", ""))
	if err != nil {
		t.Fatal(err)
	}
	after := session.New(session.Options{Sealer: keys})
	isUnknown(t, after, opened.ID(), "a", here)
	if _, err := after.Find(opened.ID(), as("a/servers/x"), durward.Route{}); err != nil {
		t.Error(err)
	}
}

func TestTheEndOfASessionIsTheEnd(t *testing.T) {
	keys := newSealer(t)
	own := session.New(session.Options{Sealer: keys})
	first, id := begin(t, own)
	own.End(first)
	isUnknown(t, own, id, "a", here)

	other := session.New(session.Options{Sealer: keys})
	revived, err := other.Find(id, as("a"), here)
	if err != nil {
		t.Fatal("in another process nobody knows of its end:", err)
	}
	other.End(revived)
	isUnknown(t, other, id, "a", here)
}

func TestRevivedSessionsThatWereEvictedStayAway(t *testing.T) {
	keys := newSealer(t)
	before := session.New(session.Options{Sealer: keys})
	_, one := begin(t, before)
	_, two := begin(t, before)
	after := session.New(session.Options{Sealer: keys, Max: 1})
	if _, err := after.Find(one, as("a"), here); err != nil {
		t.Fatal(err)
	}
	kept, err := after.Find(two, as("a"), here)
	if err != nil || after.Len() != 1 {
		t.Fatal(err, after.Len())
	}
	isUnknown(t, after, one, "a", here)
	// One is busy and one has ended: there is no room to remember a third.
	if _, _, err := kept.Enter(context.Background(), []byte("1")); err != nil {
		t.Fatal(err)
	}
	_, three := begin(t, before)
	isUnknown(t, after, three, "a", here)
	kept.Leave([]byte("1"))
	begin(t, after) // a new session is always possible
	isUnknown(t, after, two, "a", here)
}

func TestRevivingIsBoundByLimitsSessions(t *testing.T) {
	keys := newSealer(t)
	_, id := begin(t, session.New(session.Options{Sealer: keys}))
	after := session.New(session.Options{Sealer: keys, Max: 1})
	busy, _ := begin(t, after)
	if _, _, err := busy.Enter(context.Background(), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := after.Find(id, as("a"), here); durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), "limits.sessions") {
		t.Error(err)
	}
	busy.Leave([]byte("1"))
	if _, err := after.Find(id, as("a"), here); err != nil {
		t.Error(err)
	}
}

func TestTheEndIsRememberedForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := newSealer(t)
		before := session.New(session.Options{Sealer: keys})
		_, deleted := begin(t, before)
		_, idle := begin(t, before)
		after := session.New(session.Options{Sealer: keys, Idle: time.Hour})
		ctx, cancel := context.WithCancel(context.Background())
		var ran sync.WaitGroup
		ran.Go(func() { _ = after.Run(ctx) })
		defer func() { cancel(); ran.Wait() }()
		found, err := after.Find(deleted, as("a"), here)
		if err != nil {
			t.Fatal(err)
		}
		after.End(found)
		if _, err := after.Find(idle, as("a"), here); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		if after.Len() != 0 {
			t.Fatal(after.Len())
		}
		isUnknown(t, after, idle, "a", here)
		time.Sleep(20*time.Hour + 30*time.Minute)
		isUnknown(t, after, deleted, "a", here)
		time.Sleep(time.Hour)
		if _, err := after.Find(deleted, as("a"), here); err != nil {
			t.Error("remembered for longer than a day:", err)
		}
		isUnknown(t, after, idle, "a", here) // it ended hours later
	})
}

func TestManyRequestsReviveOnce(t *testing.T) {
	keys := newSealer(t)
	_, id := begin(t, session.New(session.Options{Sealer: keys}))
	after := session.New(session.Options{Sealer: keys})
	var attached, seen atomic.Int64
	var all, opening sync.WaitGroup
	sessions := make(chan *session.Session, 50)
	opening.Add(cap(sessions))
	keys.hold = func() { opening.Done(); opening.Wait() } // none is there before all look for it
	for range cap(sessions) {
		all.Go(func() {
			found, err := after.Find(id, as("a"), here)
			if err != nil {
				t.Error(err)
				return
			}
			if !found.Attached() {
				found.Attach(func(revived bool) {
					if !revived {
						t.Error("it was revived")
					}
					attached.Add(1)
				})
			}
			seen.Add(attached.Load())
			sessions <- found
		})
	}
	all.Wait()
	close(sessions)
	first := <-sessions
	for s := range sessions {
		if s != first {
			t.Fatal("two sessions of one id")
		}
	}
	if attached.Load() != 1 || seen.Load() != 50 || after.Len() != 1 || !first.Attached() {
		t.Errorf("attached %d times, which %d saw; %d sessions", attached.Load(), seen.Load(), after.Len())
	}
}

func TestIDsAreShort(t *testing.T) {
	keys := newSealer(t)
	before := session.New(session.Options{Sealer: keys, MaxID: 1000})
	after := session.New(session.Options{Sealer: keys, MaxID: 1000})
	for n, revivable := range map[int]bool{10: true, 600: true, 710: false, 999: false, 1 << 20: false} {
		client := hello(`{"name":"`+strings.Repeat("n", n)+`"}`, `{}`)
		opened, err := before.Open(durward.Caller{Principal: "a", Session: durward.NewSessionID()}, here, client)
		if err != nil {
			t.Fatal(err)
		}
		id := opened.ID()
		if len(id) > 1000 || strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) {
			t.Errorf("%d: an id of %d bytes", n, len(id))
		}
		if found, err := before.Find(id, as("a"), here); err != nil || found != opened {
			t.Errorf("%d: %v", n, err)
		}
		if _, err := after.Find(id, as("a"), here); (err == nil) != revivable || err != nil && durward.KindOf(err) != durward.NotFound {
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, err := before.Open(durward.Caller{Session: "no uuid"}, here, hello("", "")); durward.KindOf(err) != durward.Internal {
		t.Error(err)
	}
}

func TestFindingIsCheap(t *testing.T) {
	store := session.New(session.Options{Sealer: newSealer(t)})
	_, id := begin(t, store)
	caller := as("a")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := store.Find(id, caller, here); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
