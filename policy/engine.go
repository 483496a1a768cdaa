package policy

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/wire"
)

// Options configure an [Engine]. It copies them.
type Options struct {
	Set     *Set   // required
	Plugins Runner // nil: no plugin runs; then a rule that runs one blocks
	Pins    Pins   // nil: nothing is held, and nothing counts as accepted
	// TrustHints says that the operator believes what a server says of its tools; nil: of none.
	TrustHints func(server string) bool
	Now        func() time.Time // default time.Now

	// Counters bounds the counters of limits, all rules together: whoever gets none is
	// over the limit. Default 65,536.
	Counters int
	// Sessions bounds the sessions whose labels and calls are known. Where one has no
	// room, rules that look at sessions block. Default 16,384.
	Sessions int
}

// Engine decides by the set it was given last. It may be used by many goroutines;
// what decides takes no lock but for counting.
type Engine struct {
	opt      Options
	room     room
	sessions *sessions
	state    atomic.Pointer[state]
	swaps    sync.Mutex // guards the making of states
}

// state is what decides: all of it is changed at once.
type state struct {
	set      *Set
	plugins  Runner
	limiters []*limiter      // by the order of the rule; nil without limit
	hits     []*atomic.Int64 // by the order of the rule
}

// New returns an engine.
func New(opt Options) (*Engine, error) {
	if opt.Set == nil {
		return nil, durward.Errorf(durward.Invalid, "policy", "an engine needs a set of rules")
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Counters, opt.Sessions = cmp.Or(opt.Counters, 1<<16), cmp.Or(opt.Sessions, 1<<14)
	e := &Engine{opt: opt, sessions: newSessions(opt.Sessions)}
	e.room.left.Store(int64(opt.Counters))
	e.Swap(opt.Set, opt.Plugins)
	return e, nil
}

// Set returns the set by which calls are decided now.
func (e *Engine) Set() *Set { return e.state.Load().set }

// Swap decides every call from now on by another set and other plugins: when it
// returns, no call begins under the old ones. Labels stay. Hits and counts of limits stay
// for rules with the same layer and id, counts if they are of the same things: calls,
// bytes or approvals, per the same time, by the same keys. How many are permitted may be another number.
func (e *Engine) Swap(set *Set, plugins Runner) {
	e.swaps.Lock()
	defer e.swaps.Unlock()
	old := e.state.Load()
	next := &state{set: set, plugins: plugins, limiters: make([]*limiter, len(set.rules)), hits: make([]*atomic.Int64, len(set.rules))}
	known := make(map[string]int)
	if old != nil {
		for i, r := range old.set.rules {
			known[r.name()] = i
		}
	}
	kept := make(map[*counts]bool)
	for i, r := range set.rules {
		next.hits[i] = new(atomic.Int64)
		before, ok := known[r.name()]
		if ok {
			next.hits[i] = old.hits[before]
		}
		if r.limit == nil {
			continue
		}
		if l := limiterOf(old, before, ok); l != nil && r.limit.same(&l.limit) {
			next.limiters[i] = &limiter{limit: *r.limit, counts: l.counts}
			kept[l.counts] = true
			continue
		}
		next.limiters[i] = newLimiter(*r.limit, &e.room)
	}
	e.state.Store(next)
	if old == nil {
		return
	}
	for _, l := range old.limiters {
		if l != nil && !kept[l.counts] {
			l.close()
		}
	}
}

func limiterOf(s *state, i int, ok bool) *limiter {
	if !ok {
		return nil
	}
	return s.limiters[i]
}

// Forget drops what is known of a session that ended: its labels and its calls.
func (e *Engine) Forget(session durward.SessionID) {
	if session != "" {
		e.sessions.forget(string(session))
	}
}

// Mark adds labels to the session of a caller, as a plugin does.
func (e *Engine) Mark(caller *durward.Caller, labels ...string) error {
	return e.mark(caller, labels, e.opt.Now())
}

// Labels returns the labels of the session of a caller; they must not be changed.
func (e *Engine) Labels(caller *durward.Caller) []string {
	if c := e.sessions.find(sessionKey(caller), e.opt.Now()); c != nil {
		return c.marked()
	}
	return nil
}

func (e *Engine) mark(caller *durward.Caller, labels []string, now time.Time) error {
	if len(labels) == 0 {
		return nil
	}
	_, err := e.marked(caller, labels, now)
	return err
}

// Labelled is a session that has labels.
type Labelled struct {
	ID     string // of the session; PRINCIPAL/ENTRANCE for the calls of a principal that belong to none
	Labels []string
	Calls  int64     // that were allowed, since the session began or the service started
	Used   time.Time // when something was heard of it last
}

// Marked lists the sessions that have labels, in the order of their ids.
func (e *Engine) Marked() []Labelled { return e.sessions.labelled(e.opt.Now()) }

// Unmark takes all labels from a session. It reports whether there was one of this id
// that had any.
func (e *Engine) Unmark(id string) bool {
	c := e.sessions.find(id, e.opt.Now())
	return c != nil && c.labels.Swap(nil) != nil
}

// marked adds labels to the session of a caller. It returns what the record is to say
// of that: all labels that the session has now; empty if that was said not long ago.
func (e *Engine) marked(caller *durward.Caller, labels []string, now time.Time) (tell string, err error) {
	c := e.sessions.get(sessionKey(caller), now)
	if c == nil {
		return "", durward.Errorf(durward.Unavailable, "policy", "the session cannot be marked, because %d sessions are known already and were marked not long ago (limits.policy_sessions)", e.opt.Sessions)
	}
	c.used.Store(now.UnixNano())
	added, err := c.mark(labels)
	if err != nil {
		return "", err
	}
	return c.tell(added, now), nil
}

// pinOf returns the state of the definition that a call uses; empty where there is none.
func (e *Engine) pinOf(call *durward.Call) PinState {
	if e.opt.Pins == nil || call.Server == "" || call.Transport == durward.TransportBuiltin {
		return ""
	}
	hash := ""
	if call.Tool != nil {
		hash = call.Tool.Hash
	}
	switch call.Method {
	case wire.MethodToolsCall:
		return e.opt.Pins.Pin(call.Server, "tool", call.Name, hash)
	case wire.MethodPromptsGet:
		return e.opt.Pins.Pin(call.Server, "prompt", call.Name, hash)
	default:
		return ""
	}
}

// correct makes the risk of a call what it is with all that is known.
func (e *Engine) correct(call *durward.Call, pin PinState) {
	if call.Tool != nil && hasTool(call.Method) {
		call.Risk = riskOf(call.Tool, pin == PinAccepted || e.opt.TrustHints != nil && e.opt.TrustHints(call.Server))
	}
}

// eventOf completes the event of a call by what only the engine knows.
func (e *Engine) eventOf(st *state, call *durward.Call, result []byte, pin PinState, now time.Time) *Event {
	ev := EventOf(call, result)
	ev.Now = now
	ev.Caller.Groups = st.set.groups[call.Caller.Principal]
	ev.Tool.Pinned, ev.Tool.Drifted = pin == PinAccepted, pin == PinChanged
	if c := e.sessions.find(sessionKey(&call.Caller), now); c != nil {
		ev.Session.Labels, ev.Session.Calls, ev.Session.Started = c.marked(), int(c.calls.Load()), c.started
	}
	return &ev
}

// Count counts a call that a person let pass towards the limits of the rules that
// matched it. A call that is allowed at once was counted by [Engine.Decide].
func (e *Engine) Count(call *durward.Call, d *durward.Decision) {
	if d.Action != durward.Ask {
		return
	}
	st, now := e.state.Load(), e.opt.Now()
	by := countedOf(call)
	for i := range d.Matches {
		r := st.set.find(d.Matches[i].Layer, d.Matches[i].Rule)
		if r != nil && r.limit != nil && r.limit.unit != unitApprovals {
			st.limiters[r.order].count(r.limit.key(by), r.limit.amount(by), now)
		}
	}
	e.called(call, now)
}

func (e *Engine) called(call *durward.Call, now time.Time) *conversation {
	c := e.sessions.get(sessionKey(&call.Caller), now)
	if c != nil {
		c.called(now)
	}
	return c
}

func countedOf(call *durward.Call) *counted {
	return &counted{
		principal: call.Caller.Principal, session: sessionKey(&call.Caller), server: call.Server, tool: call.Name, bytes: int64(len(call.Params)),
	}
}

// This is what the gateway asks of one that decides.
var _ interface {
	Decide(ctx context.Context, call *durward.Call) (durward.Decision, error)
	DecideResult(ctx context.Context, call *durward.Call, result []byte) (durward.Decision, error)
	Visible(caller *durward.Caller, call *durward.Call) bool
} = (*Engine)(nil)
