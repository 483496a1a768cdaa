package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"durward"
	"durward/internal/store/journal"
	"durward/internal/store/sqlite"
	"durward/internal/testkit/keeper"
	"durward/ledger"
	"durward/test/kill/rig"
)

// When the first byte of a call reaches its server, another process finds the call in
// the files of the ledger: under way, with what was decided. Here the other process is
// the server itself, which looks before it answers.
func TestACallIsOnRecordWhenItsServerHearsOfIt(t *testing.T) {
	t.Parallel()
	var s *stage
	var looked atomic.Int64
	server := &keeper.Server{Modern: true}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			looked.Add(1)
			s.begun()
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s = newStage(t, nil, func(config map[string]any) {
		config["servers"].(map[string]any)["watch"] = map[string]any{"url": web.URL}
	})
	s.up()
	const calls = 20 // one after the other, so that nobody else's transaction helps
	for n := range calls {
		id := fmt.Sprintf("watch-%d", n)
		a := s.modern.Do(t.Context(), rig.Request{ID: id, Method: "tools/call", Name: "watch__tool", Params: fmt.Sprintf(`"name":"watch__tool","arguments":{"id":%q}`, id)})
		if !a.OK() {
			t.Fatalf("%s: %s", id, &a)
		}
	}
	if looked.Load() != calls {
		t.Errorf("the server heard of %d calls", looked.Load())
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	s.finds(ledger.Filter{Server: "watch", Status: "ok"}, calls)
}

// begun looks whether one call to the server is on record without an outcome: in the
// journal, or in the database, which takes from there.
func (s *stage) begun() {
	batches, err := journal.Read(s.Ledger())
	if err != nil {
		s.t.Error(err)
		return
	}
	open := map[durward.CallID]bool{}
	for _, b := range batches {
		for _, r := range b.Records {
			switch r := r.(type) {
			case *ledger.Intent:
				if r.Server == "watch" && r.Action == durward.Allow {
					open[r.ID] = true
				}
			case *ledger.Outcome:
				delete(open, r.Call)
			}
		}
	}
	if len(open) != 1 {
		s.finds(ledger.Filter{Server: "watch", Status: "dispatched", Action: "allow"}, 1)
	}
}

// finds looks into the file of the ledger.
func (s *stage) finds(f ledger.Filter, want int) {
	db, err := sqlite.OpenReader(s.t.Context(), s.Ledger())
	if err != nil {
		s.t.Error(err)
		return
	}
	page, err := db.Calls(s.t.Context(), f)
	if closing := db.Close(); err == nil {
		err = closing
	}
	if err != nil || len(page.Rows) != want {
		s.t.Errorf("%d calls are on record that fit %+v, wanted %d; %v", len(page.Rows), f, want, err)
	}
}
