package gateway

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/testkit/interviewer"
	"durward/internal/wire"
)

// A name that was not there because its server was not, is not called unknown where the
// server came up between the look for the name and that for the server.
func TestWhatWasNotThereAMomentAgoIsNotUnknown(t *testing.T) {
	var up atomic.Bool
	server := &interviewer.Server{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		server.ServeHTTP(w, r)
	}))
	defer web.Close()
	g, err := New(Options{Servers: []durward.Server{{Name: "late", URL: web.URL}}, Access: Access{NoAuth: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	g.AwaitServer(t.Context(), "late", time.Minute)
	p := &passage{in: &exchange.Inbound{Request: exchange.Request{Client: exchange.Client{Era: wire.Modern}}}}
	before, err := g.view(p)
	if err != nil || !before.Missing("late") {
		t.Fatal("the server is not missing: ", err)
	}
	up.Store(true)
	if err := g.RefreshServer(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	for g.Status().Servers[0].State != durward.StateReady {
		time.Sleep(time.Millisecond) // it is said a moment after the lists are there
	}
	if err := g.unknown(p, before, "tool", "late__interview"); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("looked for before it was there: %v", err)
	}
	if err := g.find(t.Context(), p, "late__interview", "tool", toolToCall); err != nil {
		t.Error(err)
	}
	if err := g.find(t.Context(), p, "late__other", "tool", toolToCall); durward.KindOf(err) == durward.Unavailable || err == nil {
		t.Errorf("a name that nobody has: %v", err)
	}
}
