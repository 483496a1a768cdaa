package control

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"durward/client"
)

func (a *api) ledger(w http.ResponseWriter, r *request) error {
	info, err := a.opt.Custody.Info(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, info)
}

func (a *api) rotateLedgerKey(w http.ResponseWriter, r *request) error {
	info, err := a.opt.Keys.RotateLedger(r.Context(), r.caller)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, info)
}

func (a *api) verifyLedger(w http.ResponseWriter, r *request) error {
	return a.work(w, r, func(ctx context.Context, progress func(client.Work)) (any, error) {
		return a.opt.Custody.Verify(ctx, progress)
	})
}

func (a *api) pruneLedger(w http.ResponseWriter, r *request) error {
	var in client.PruneRequest
	if err := r.body(&in); err != nil {
		return err
	}
	return a.work(w, r, func(ctx context.Context, progress func(client.Work)) (any, error) {
		return a.opt.Custody.Prune(ctx, r.caller, in, progress)
	})
}

func (a *api) backupLedger(w http.ResponseWriter, r *request) error {
	var in client.BackupRequest
	if err := r.body(&in); err != nil {
		return err
	}
	return a.work(w, r, func(ctx context.Context, progress func(client.Work)) (any, error) {
		return a.opt.Custody.Backup(ctx, r.caller, in, progress)
	})
}

// progressEvery bounds how often it is told how far a long task is.
const progressEvery = 100 * time.Millisecond

// work does something long. It ends when its caller goes away, or the service.
func (a *api) work(w http.ResponseWriter, r *request, do func(context.Context, func(client.Work)) (any, error)) error {
	ctx, release := a.whileServing(r.Context())
	defer release()
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		done, err := do(ctx, func(client.Work) {})
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, done)
	}
	s := newStream(w, r, a.opt)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		var last time.Time
		done, err := do(ctx, func(work client.Work) {
			if now := time.Now(); now.Sub(last) >= progressEvery {
				last = now
				s.put("progress", work)
			}
		})
		if err != nil {
			s.last("error", failure(err))
			return
		}
		s.last("result", done)
	}()
	s.run(nil)
	release() // nobody waits for the answer any more, or it is sent
	<-answered
	return nil
}

// whileServing returns a context that ends with ctx and with the service.
func (a *api) whileServing(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-a.opt.Done: // nil without a service that could end
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		watching.Wait()
	}
}

// follow sends calls as they end. Unlike other streams nothing is dropped: a
// reader that is too slow is told where to go on, and cut off.
func (a *api) follow(w http.ResponseWriter, r *request, f client.CallFilter, after string) error {
	ctx, release := a.whileServing(r.Context())
	defer release()
	follower, err := a.opt.Custody.Follow(ctx, f, after)
	if err != nil {
		return err
	}
	defer follower.Close()
	s := newStream(w, r, a.opt)
	s.begin()
	for s.write(":\n\n") { // so that the reader knows that it is heard
		for {
			some, err := a.await(ctx, follower)
			if errors.Is(err, context.DeadlineExceeded) {
				break // it was silent for long
			}
			if err != nil && ctx.Err() == nil { // the reader is there, and so is the service
				s.send(event{"error", failure(err)})
			}
			if err != nil || !s.followed(some) {
				return nil // the stream is all that can be said
			}
		}
	}
	return nil
}

// await waits for calls for as long as a stream may be silent.
func (a *api) await(ctx context.Context, follower Follower) ([]client.Followed, error) {
	ctx, cancel := context.WithTimeout(ctx, a.opt.KeepAlive)
	defer cancel()
	return follower.Next(ctx)
}

// followed sends calls with one flush; false when the stream is over.
func (s *stream) followed(all []client.Followed) bool {
	var text strings.Builder
	over := false
	for i := range all {
		name := "call"
		if all[i].Call == nil {
			name, over = "behind", true
		}
		text.WriteString(eventText(event{name, all[i]}))
	}
	return s.write(text.String()) && !over
}
