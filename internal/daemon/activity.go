package daemon

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// activity knows when the service was last used.
type activity struct {
	busy atomic.Int64 // requests and connections that are open
	last atomic.Int64 // when one ended, in Unix nanoseconds
}

func newActivity() *activity {
	a := &activity{}
	a.last.Store(time.Now().UnixNano())
	return a
}

// watch counts what h serves as use.
func (a *activity) watch(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.busy.Add(1)
		defer func() {
			a.last.Store(time.Now().UnixNano())
			a.busy.Add(-1)
		}()
		h.ServeHTTP(w, r)
	})
}

// idle returns a channel that is closed once nobody used the service for d; with
// d <= 0 never.
func (a *activity) idle(ctx context.Context, d time.Duration) <-chan struct{} {
	over := make(chan struct{})
	if d <= 0 {
		return over
	}
	go func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			left := time.Until(time.Unix(0, a.last.Load()).Add(d))
			if a.busy.Load() == 0 && left <= 0 {
				close(over)
				return
			}
			timer.Reset(max(left, d/100))
		}
	}()
	return over
}
