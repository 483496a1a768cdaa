package gateway

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"durward"
	"durward/internal/egress"
	"durward/internal/federation"
	"durward/internal/hold"
	"durward/internal/seal"
	"durward/internal/wire"
)

// Options configure a Gateway. The zero value is a gateway without servers that
// lets nobody in by HTTP.
type Options struct {
	Servers  []durward.Server
	Toolsets []durward.Toolset
	Builtin  bool // offer Durward's own tools as server "local"
	NoPrefix bool // offer the names of the only server as they are; Invalid with more than one

	// LazyTools lists on the aggregate only the tools that find and call the
	// others, and those that PinnedTools, globs over offered names, match. All can
	// still be called. A toolset says the same of itself.
	LazyTools   bool
	PinnedTools []string

	Version string // what we call our version towards clients and servers; default "dev"

	Access Access // who may come in by HTTP
	Limits Limits

	// SealKeys seal what clients carry for the gateway (see [durward.SealKey]): the
	// first seals, all open. Default: a random one, so that what was sealed is
	// void after Close.
	SealKeys []durward.SealKey

	Decider  Decider      // default: everything is allowed, and Status says so
	Recorder Recorder     // default: nothing is recorded, and Status says so
	Approver Approver     // default: nobody can be asked, so what needs an approval is refused
	Refusals Refusal      // default: RefusalError
	Pins     Pins         // default: nothing that servers offer is held
	Observer Observer     // default: nobody is told
	Log      *slog.Logger // default: discard

	// Redact takes known secrets out of what is told of servers: errors, and the
	// reasons in lists. It is called by many goroutines and must not change its
	// argument. Default: nothing is known.
	Redact func([]byte) []byte
}

// Gateway is a running gateway. It is safe for concurrent use.
type Gateway struct {
	set      *federation.Set
	launcher closer
	edges    *edges
	decider  Decider
	recorder Recorder
	approver Approver    // nil: nobody
	refusals atomic.Bool // as results
	rounds   rounds
	log      *slog.Logger
	redact   func([]byte) []byte
	info     []byte // our own raw Implementation object
	finder   finder
	ring     *seal.Ring
	holds    *hold.Table
	limits   Limits
	observer Observer // nil: nobody
	traces   bool     // requests without a trace begin one
	underWay atomic.Int64
	dials    egress.Counts

	sessions sync.Map      // durward.SessionID -> *attached: legacy sessions
	tasks    taskTable     // legacy tasks of sessions
	watchers sync.Map      // *Watcher -> Watcher
	stopping chan struct{} // closed when Close begins; ends subscriptions
	stopOnce sync.Once

	levelMu sync.Mutex // guards level
	level   int        // rank of the most verbose log level wanted; -1 when nobody said

	subscriptions int // resources one session or listen request may subscribe to

	reloadMu sync.Mutex // serialises Reload
	noPrefix bool
}

type closer interface{ Close() error }

// New starts a gateway. Servers connect in the background: New does not wait
// for them, and a server that fails does not make it fail.
func New(opt Options) (*Gateway, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	opt.setDefaults()
	ring, err := seal.NewRing(opt.SealKeys...)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		ring: ring, limits: opt.Limits, holds: hold.New(opt.Limits.hold()),
		decider: opt.Decider, recorder: opt.Recorder, approver: opt.Approver, log: opt.Log, redact: opt.Redact, stopping: make(chan struct{}), level: -1,
		noPrefix: opt.NoPrefix, info: implementation(opt.Version), subscriptions: opt.Limits.SessionSubscriptions,
	}
	g.refusals.Store(opt.Refusals == RefusalResult)
	if g.observer = opt.Observer; g.observer != nil {
		g.traces = g.observer.Traces()
	}
	reach := opt.Limits.opener()
	reach.Dials = &g.dials
	opener, launcher := federation.NewOpener(reach)
	g.launcher = launcher
	offer := opt.Limits.catalog()
	offer.Pins = opt.Pins
	g.set = federation.New(federation.Options{
		Redact: opt.Redact,
		Opener: opener, ClientInfo: g.info, NoPrefix: opt.NoPrefix, StartParallel: opt.Limits.StartParallel,
		Upstream: opt.Limits.upstream(), Catalog: offer, Log: opt.Log, State: g.stateChanged,
		TaskStatus: g.taskStatus, SessionEnded: g.serverSessionEnded,
	})
	edges, err := newEdges((*core)(g), opt)
	if err != nil {
		return nil, errors.Join(err, g.launcher.Close())
	}
	g.edges = edges
	g.finder.apply(opt.lazyRoutes())
	if err := g.set.Apply(opt.servers(), opt.toolsets()); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Reload makes servers, toolsets and the form of refusals those of opt; servers that
// did not change keep their connections, and clients theirs. Other options need a new
// Gateway.
func (g *Gateway) Reload(opt Options) error {
	g.reloadMu.Lock()
	defer g.reloadMu.Unlock()
	if err := opt.check(); err != nil {
		return err
	}
	if opt.NoPrefix != g.noPrefix {
		return durward.Errorf(durward.Conflict, "reload", "a change of prefix renames every tool and needs a restart")
	}
	g.refusals.Store(opt.Refusals == RefusalResult)
	changed := g.finder.apply(opt.lazyRoutes())
	err := g.set.Apply(opt.servers(), opt.toolsets())
	for _, route := range changed {
		g.set.ToolsChanged(route)
	}
	return err
}

// Close ends all subscriptions and sessions, stops all servers and returns when
// their processes are gone. It may be called more than once.
func (g *Gateway) Close() error {
	var err error
	g.stopOnce.Do(func() {
		close(g.stopping)
		err = errors.Join(g.edges.Close(), g.holds.Close(), g.set.Close(), g.launcher.Close())
	})
	return err
}

func (o *Options) check() error {
	seen := map[string]bool{}
	enabled := 0
	for _, s := range o.Servers {
		if err := durward.CheckServerName(s.Name); err != nil {
			return err
		}
		if seen[s.Name] {
			return durward.Errorf(durward.Invalid, "server "+s.Name, "the name is used twice")
		}
		seen[s.Name] = true
		if !s.Disabled {
			enabled++
		}
	}
	if o.Builtin || len(o.lazyRoutes()) > 0 {
		enabled++
	}
	if o.NoPrefix && enabled != 1 {
		return durward.Errorf(durward.Invalid, "prefix", "offering names without prefix needs exactly one enabled server, there are %d (the built-in tools count, and so do those of lazy routes: builtin: false)", enabled)
	}
	return o.checkPins()
}

func (o *Options) setDefaults() {
	o.Limits.setDefaults()
	if o.Version == "" {
		o.Version = "dev"
	}
	if len(o.SealKeys) == 0 {
		o.SealKeys = []durward.SealKey{durward.NewSealKey()}
	}
	if o.Decider == nil {
		o.Decider = allowAll{}
	}
	if o.Recorder == nil {
		o.Recorder = recordNothing{}
	}
	if o.Redact == nil {
		o.Redact = func(text []byte) []byte { return text }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// servers returns the configured servers, and the built-in one if it is wanted.
func (o *Options) servers() []durward.Server {
	if !o.Builtin && len(o.lazyRoutes()) == 0 {
		return o.Servers
	}
	return append([]durward.Server{o.local()}, o.Servers...)
}

func implementation(version string) []byte {
	return []byte(`{"name":"durward","title":"Durward","version":` + wire.Quote(version) + `}`)
}
