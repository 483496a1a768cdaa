package stdiobridge

import (
	"context"
	"errors"
	"io"
	"time"

	"durward"
)

// Bounds of an outage.
const (
	// backoffFirst is how long is waited before the first attempt to dial again; it
	// is doubled with each attempt, up to backoffMost.
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 5 * time.Second
	// patience is how long a service may be away before the bridge gives up.
	patience = 2 * time.Minute
	// steady is how long a connection must have stood for its end to be a new
	// outage, if it was of no use to the client. One that breaks sooner goes on with
	// the outage before, so that a service which ends again and again is not dialled
	// for ever.
	steady = 10 * time.Second
)

// Dialer opens a connection to the service; see [Options].
type Dialer func(ctx context.Context, down time.Duration) (io.ReadWriteCloser, error)

// outage is a time without service, the present one or the last.
type outage struct {
	began    time.Time // zero: there was none
	attempts int
	opened   time.Time // when a connection stood; zero: none did since the last one broke
	useful   bool      // it brought the client an answer
	last     error     // why there is none
}

// broke notes that a connection broke, and reports whether it had stood.
func (o *outage) broke() (stood bool) {
	now := time.Now()
	stood = !o.opened.IsZero()
	if o.began.IsZero() || stood && (o.useful || now.Sub(o.opened) >= steady) {
		o.began, o.attempts, o.last = now, 0, nil
	}
	o.opened, o.useful = time.Time{}, false
	return stood
}

// pause is how long to wait before the next attempt.
func (o *outage) pause() time.Duration {
	wait := backoffFirst << min(o.attempts, 10)
	o.attempts++
	return min(wait, backoffMost)
}

// redial opens a new connection after one broke. Nil and no error: none is needed any more.
func (b *Bridge) redial(ctx context.Context) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !b.mayLeave(cancel) {
		return nil, nil
	}
	defer b.mayLeave(nil)
	if first := b.outage.began.IsZero(); b.outage.broke() || first {
		b.opt.Say("the service ended; waiting for it to come back")
	}
	ctx, stop := context.WithDeadline(ctx, b.outage.began.Add(patience))
	defer stop()
	for {
		timer := time.NewTimer(b.outage.pause())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, b.gaveUp(ctx)
		}
		conn, err := b.opt.Dial(ctx, time.Since(b.outage.began))
		if err == nil {
			return conn, nil
		}
		if ctx.Err() == nil || b.outage.last == nil {
			b.outage.last = err
		}
	}
}

// mayLeave has the end of In end an outage. False: nothing is left to be done on
// a connection.
func (b *Bridge) mayLeave(leave func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave = leave
	return !b.ended || len(b.queue) > 0
}

// gaveUp ends an outage without a connection. It answers what was never handed over.
func (b *Bridge) gaveUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // by who runs us, or because the client went away and waits for nothing
	}
	b.refuseQueue()
	switch {
	case b.out.failure() != nil:
		return b.out.failure()
	case b.outage.last == nil:
		return durward.Errorf(durward.Unavailable, "", "the service ended again and again for %s, as soon as it was reached", patience)
	default:
		return durward.Errorf(durward.Unavailable, "", "the service could not be reached again within %s: %w", patience, b.outage.last)
	}
}

// isOpen notes that a connection stands.
func (b *Bridge) isOpen(note string) {
	o := &b.outage
	o.opened = time.Now()
	if !o.began.IsZero() {
		b.opt.Say("reconnected to the service after " + o.opened.Sub(o.began).Round(100*time.Millisecond).String() + note)
	}
}
