package approval

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"durward"
)

// Options configure a [Desk].
type Options struct {
	// Store keeps grants. Default: none are kept, and no answer has the scope grant.
	Store Store
	// Record writes a step down and returns when it is committed. Required.
	Record func(ctx context.Context, s Step) error
	// Most is how many calls of one principal may be parked at a time:
	// limits.approvals; default 64.
	Most int
	// Life is the longest that a call is parked, and what a question without a time
	// of its own gets: limits.approval_life; default 5 min.
	Life time.Duration
	// Grants is how many grants of one principal are kept, and how many answers for a
	// session: limits.grants; default 1000.
	Grants int
	// Present reports whether somebody could answer besides those who watch: because
	// notices reach people, or the operator says so. Default: nobody.
	Present func() bool
	// Notify is told of each call that was parked. It must not block.
	Notify func(Asked)
	// Redact takes secrets out of what people are shown.
	Redact func([]byte) []byte
	Log    *slog.Logger     // default: discard
	Now    func() time.Time // for tests
}

func (o *Options) check() error {
	if o.Record == nil {
		return durward.Errorf(durward.Internal, "approvals", "Options.Record is missing: nothing is approved that is not on record")
	}
	if o.Most <= 0 {
		o.Most = 64
	}
	if o.Life <= 0 {
		o.Life = 5 * time.Minute
	}
	if o.Grants <= 0 {
		o.Grants = 1000
	}
	if o.Present == nil {
		o.Present = func() bool { return false }
	}
	if o.Notify == nil {
		o.Notify = func(Asked) {}
	}
	if o.Redact == nil {
		o.Redact = func(b []byte) []byte { return b }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// recordWait bounds how long the record of an answer is waited for whose caller may
// be gone.
const recordWait = 30 * time.Second

// answeredMost is how many questions are remembered after they were answered, for
// who answers late.
const answeredMost = 256

// Desk has the calls that are parked, and the grants. It is safe for concurrent use.
// Whoever makes one calls Close.
type Desk struct {
	opt     Options
	closing chan struct{}  // closed when Close begins
	parked  sync.WaitGroup // of all in Ask

	mu       sync.Mutex // guards all below
	closed   bool
	calls    map[string]*parked
	counts   map[string]int // calls that are parked, by principal
	answered []Step         // the last ones
	watchers map[*func(Event)]struct{}
	grants   grants
}

// New returns a desk with the grants of its store.
func New(ctx context.Context, opt Options) (*Desk, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	d := &Desk{
		opt: opt, closing: make(chan struct{}), calls: map[string]*parked{}, counts: map[string]int{}, watchers: map[*func(Event)]struct{}{},
	}
	if opt.Store == nil {
		return d, nil
	}
	kept, err := opt.Store.Grants(ctx)
	if err != nil {
		return nil, err
	}
	now := opt.Now()
	for i := range kept {
		if now.Before(kept[i].Expires) {
			d.grants.add(&kept[i])
		} else if err := opt.Store.RemoveGrant(ctx, kept[i].ID); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Close denies what is parked, with a record that says why, and returns when that
// is written. What is asked from then on is refused.
func (d *Desk) Close() error {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.closing)
	}
	d.mu.Unlock()
	d.parked.Wait()
	return nil
}

// Granted looks for an earlier answer that covers a call.
func (d *Desk) Granted(call *durward.Call, dec *durward.Decision) (durward.Answer, bool) {
	q := d.question(dec)
	if q.Remember == durward.ScopeCall {
		return durward.Answer{}, false
	}
	d.mu.Lock()
	some := d.grants.byKey[key{call.Caller.Principal, call.Method, call.Server, call.Name}] // immutable
	d.mu.Unlock()
	if len(some) == 0 {
		return durward.Answer{}, false
	}
	arguments := argumentsOf(call.Method, sent(call, dec))
	sum := sync.OnceValue(func() string { return digest(arguments) })
	now := d.opt.Now()
	for _, g := range some {
		if g.covers(call, &q.Question, arguments, sum, now) {
			return durward.Answer{Approved: true, Approval: g.ID, By: g.By, Reason: g.Reason, Scope: g.Scope}, true
		}
	}
	return durward.Answer{}, false
}

// Grants returns the grants in force, oldest first.
func (d *Desk) Grants() []Grant {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.opt.Now()
	out := []Grant{}
	for _, g := range d.grants.all() {
		if g.Scope == durward.ScopeSession || now.Before(g.Expires) {
			out = append(out, *g)
		}
	}
	return out
}

// Revoke ends a grant. id may be a prefix of at least 4 letters that only one has.
// Calls that it let through go on.
func (d *Desk) Revoke(ctx context.Context, id string) (Grant, error) {
	g, err := d.grant(id)
	if err != nil {
		return Grant{}, err
	}
	d.mu.Lock()
	d.grants.remove(func(other *Grant) bool { return other.ID == g.ID }) // at once, whatever the store says
	d.mu.Unlock()
	if g.Scope == durward.ScopeGrant && d.opt.Store != nil {
		if err := d.opt.Store.RemoveGrant(ctx, g.ID); err != nil {
			return g, durward.Errorf(durward.Unavailable, "grant "+g.ID, "it is revoked until the service ends, and could not be removed from the store: %w; revoke it again", err)
		}
	}
	return g, nil
}

func (d *Desk) grant(id string) (Grant, error) {
	all := d.Grants()
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	at, err := choose(ids, id, "grant")
	if err != nil {
		return Grant{}, err
	}
	return all[at], nil
}

// SessionEnded forgets the answers that held for a session.
func (d *Desk) SessionEnded(id durward.SessionID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grants.remove(func(g *Grant) bool { return g.Scope == durward.ScopeSession && g.Session == id })
}

// List returns the calls that are parked, oldest first.
func (d *Desk) List() []Asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.list()
}

// list is List with mu held.
func (d *Desk) list() []Asked {
	out := []Asked{}
	for _, p := range d.calls {
		if p.shown {
			out = append(out, p.asked())
		}
	}
	slices.SortFunc(out, func(a, b Asked) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return compareIDs(a.ID, b.ID)
	})
	return out
}

// Watch has f called with each call that is parked, those that are first, and each
// that is answered, until stop is called. f must not block, nor use the desk. Who
// watches can answer: while somebody does, calls are parked.
func (d *Desk) Watch(f func(Event)) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.list() {
		f(Event{Asked: &a})
	}
	d.watchers[&f] = struct{}{}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, &f)
	}
}

// tell tells watchers; mu is held.
func (d *Desk) tell(e Event) {
	for f := range d.watchers {
		(*f)(e)
	}
}
