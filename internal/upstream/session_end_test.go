package upstream_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// Sessions at legacy servers are told of when they end, with how long they were in use
// and whether that was our doing; those that never began, and modern servers, which
// have none, are not. Answers say which session they are of.
func TestSessionsThatEndAreToldOf(t *testing.T) {
	for name, tt := range map[string]struct {
		opened *exchange.Opened
		want   []upstream.Session
	}{
		"legacy": {legacyOpened(`{"tools":{}}`), []upstream.Session{
			{Server: "fake", Transport: durward.TransportStdio, Revision: wire.RevisionLegacy, Lasted: time.Minute, Failed: true},
			{Server: "fake", Transport: durward.TransportStdio, Revision: wire.RevisionLegacy, Lasted: time.Hour},
		}},
		"modern": {modernOpened(`{"tools":{}}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				var mu sync.Mutex // guards ended
				var ended []upstream.Session
				w := &world{script: func(n int, _ exchange.LinkSpec) act {
					if n == 0 {
						return act{closed: &exchange.Closed{Fault: exchange.Fault{Kind: uint8(durward.Unavailable), Message: "connection refused"}}}
					}
					return act{opened: tt.opened}
				}}
				r := start(t, stdio(), w, func(o *upstream.Options) {
					o.Spec.IdleStop = -1
					o.SessionEnded = func(s upstream.Session) {
						mu.Lock()
						defer mu.Unlock()
						ended = append(ended, s)
					}
				})
				wait(time.Second) // until it is tried again
				reply := r.Do(context.Background(), alice(), tool(), &stream{})
				if wantOK(t, reply); reply.Revision != tt.opened.Revision || reply.ID == 0 {
					t.Errorf("the answer is of %q, id %d", reply.Revision, reply.ID)
				}
				wait(time.Minute - time.Since(w.openings()[1].at))
				w.conn(1).die()
				wait(time.Hour)
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(ended, tt.want) {
					t.Errorf("%+v, want %+v", ended, tt.want)
				}
			})
		})
	}
}
