package federation

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/internal/catalog"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// Options configure a Set.
type Options struct {
	Opener        upstream.Opener // opens connections; required
	ClientInfo    []byte          // raw Implementation object: what we call ourselves towards servers
	NoPrefix      bool            // offer the names of the only server as they are
	StartParallel int             // servers that launch at the same time (limits.start_parallel); default 16
	Upstream      upstream.Limits // of one server; zero fields mean the defaults
	Catalog       catalog.Options // bounds of what is offered; Prefix and Info are set by the Set
	Log           *slog.Logger    // default: discard
	// State is told of each change of a server's state. It must not block. Default: nobody is.
	State func(durward.ServerStatus)
	// TaskStatus is told what legacy servers say of their tasks in
	// notifications/tasks/status. It must not block. Default: nobody is.
	TaskStatus func(server string, params []byte)
	// SessionEnded is told of sessions at servers that ended. It must not block.
	// Default: nobody is.
	SessionEnded func(upstream.Session)
	// Redact takes known secrets out of the reasons that lists give for missing
	// servers. Default: nothing is known.
	Redact func([]byte) []byte
}

// Set is a set of upstream servers. It is safe for concurrent use.
type Set struct {
	opt    Options
	offer  *offer
	gate   *startGate
	settle *settling
	subs   subscriptions

	servers atomic.Pointer[map[string]*upstream.Server] // copied on write

	mu     sync.Mutex // guards specs, order, level and closed, and serialises changes of servers
	specs  map[string]durward.Server
	order  []string
	level  string
	closed bool
}

// New makes an empty set.
func New(opt Options) *Set {
	if opt.StartParallel <= 0 {
		opt.StartParallel = 16
	}
	if opt.Redact == nil {
		opt.Redact = func(text []byte) []byte { return text }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Catalog.Prefix, opt.Catalog.Info = catalog.PrefixServer, opt.ClientInfo
	if opt.NoPrefix {
		opt.Catalog.Prefix = catalog.PrefixNone
	}
	s := &Set{
		opt: opt, offer: newOffer(opt.Catalog), gate: newStartGate(opt.Opener, opt.StartParallel),
		settle: newSettling(), specs: map[string]durward.Server{},
	}
	s.servers.Store(&map[string]*upstream.Server{})
	return s
}

// Server returns the server called name.
func (s *Set) Server(name string) (*upstream.Server, bool) {
	server, ok := (*s.servers.Load())[name]
	return server, ok
}

// View returns what a route offers to clients of an era; false if there is no
// such server or toolset.
func (s *Set) View(route durward.Route, era wire.Era) (*catalog.View, bool) {
	return s.offer.view(route, era)
}

// Add adds a server and starts connecting to it. It is a Conflict when the name is taken.
func (s *Set) Add(spec durward.Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return durward.Errorf(durward.Unavailable, "federation", "it is closed")
	}
	if _, taken := s.specs[spec.Name]; taken {
		return durward.Errorf(durward.Conflict, "server "+spec.Name, "the name is taken; remove the other one first")
	}
	server, err := upstream.New(upstream.Options{
		Spec: spec, Opener: s.gate, Observer: (*observer)(s), SessionEnded: s.opt.SessionEnded, ClientInfo: s.opt.ClientInfo, Limits: s.opt.Upstream, Log: s.opt.Log,
	})
	if err != nil {
		return err
	}
	s.specs[spec.Name] = spec
	s.order = append(s.order, spec.Name)
	if err := s.declare(); err != nil {
		delete(s.specs, spec.Name)
		s.order = s.order[:len(s.order)-1]
		return errors.Join(err, s.declare(), server.Close())
	}
	if !spec.Disabled { // before anybody finds it, who would take it for one that is there
		p := ofServers
		if spec.Transport == durward.TransportBuiltin {
			p = ofOurs
		}
		s.settle.expect(spec.Name, p)
		s.offer.missing(spec.Name, string(durward.StateConnecting), "it was just added")
	}
	next := maps.Clone(*s.servers.Load())
	next[spec.Name] = server
	s.servers.Store(&next)
	if s.level != "" {
		server.SetLevel(s.level)
	}
	server.Start()
	return nil
}

// declare tells the catalog which servers there are. The caller holds mu.
func (s *Set) declare() error {
	specs := make([]durward.Server, 0, len(s.order))
	for _, name := range s.order {
		specs = append(specs, s.specs[name])
	}
	return s.offer.declare(specs)
}

// Remove stops a server and takes back what it offered. Calls in flight are
// cancelled. It returns when the server's processes are gone.
func (s *Set) Remove(name string) error {
	s.mu.Lock()
	server, ok := s.Server(name)
	if !ok {
		s.mu.Unlock()
		return durward.Errorf(durward.NotFound, "server "+name, "no server is called so")
	}
	delete(s.specs, name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == name })
	next := maps.Clone(*s.servers.Load())
	delete(next, name)
	s.servers.Store(&next)
	s.offer.missing(name, "", "")
	err := s.declare() // the catalog forgets who is not declared
	s.mu.Unlock()

	s.settle.settled(name)
	return errors.Join(err, server.Close())
}

// Apply makes the set consist of these servers and toolsets: others are removed,
// missing ones added, changed ones replaced. Unchanged servers keep their
// connections. All problems are returned; what could be applied was.
func (s *Set) Apply(servers []durward.Server, toolsets []durward.Toolset) error {
	want := map[string]durward.Server{}
	for _, spec := range servers {
		want[spec.Name] = spec
	}
	var problems []error
	for _, old := range s.Specs() {
		if spec, keep := want[old.Name]; keep && reflect.DeepEqual(spec, old) {
			delete(want, old.Name)
		} else if err := s.Remove(old.Name); err != nil {
			problems = append(problems, err)
		}
	}
	for _, spec := range servers {
		if _, missing := want[spec.Name]; missing {
			problems = append(problems, s.Add(spec))
		}
	}
	return errors.Join(append(problems, s.offer.subsets(toolsets))...)
}

// Specs returns the servers' specs in the order in which they were added.
func (s *Set) Specs() []durward.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	specs := make([]durward.Server, 0, len(s.order))
	for _, name := range s.order {
		specs = append(specs, s.specs[name])
	}
	return specs
}

// Status returns what is to be said of each server, in order.
func (s *Set) Status() []durward.ServerStatus {
	var out []durward.ServerStatus
	for _, spec := range s.Specs() {
		server, ok := s.Server(spec.Name)
		if !ok {
			continue // removed meanwhile
		}
		st := server.Status()
		if view, ok := s.View(durward.Route{Kind: durward.RouteServer, Name: spec.Name}, wire.Modern); ok {
			offered := view.Counts() // what the rules leave, not what the server listed
			st.Tools, st.Prompts, st.Resources, st.Templates = offered.Tools, offered.Prompts, offered.Resources, offered.Templates
			st.Problems = append(st.Problems, view.Problems()...)
		}
		out = append(out, st)
	}
	return out
}

// Repin looks anew at what of a server is held, after somebody decided about it; of
// all servers without a name.
func (s *Set) Repin(server string) {
	if server != "" {
		s.offer.repin(server)
		return
	}
	for _, spec := range s.Specs() {
		s.offer.repin(spec.Name)
	}
}

// SetLevel asks the legacy servers for log messages from level upwards.
func (s *Set) SetLevel(level string) {
	s.mu.Lock()
	s.level = level
	s.mu.Unlock()
	for _, server := range *s.servers.Load() {
		server.SetLevel(level)
	}
}

// RootsChanged tells the servers that a client's roots changed.
func (s *Set) RootsChanged() {
	for _, server := range *s.servers.Load() {
		server.RootsChanged()
	}
}

// Await waits until the servers that start for the first time have come up or
// failed, or until it is not worth waiting any longer: see settling.
func (s *Set) Await(ctx context.Context) { s.settle.await(ctx) }

// AwaitServer waits until one server has come up or failed for the first time,
// at most for limit.
func (s *Set) AwaitServer(ctx context.Context, name string, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.settle.awaitOne(ctx, name)
}

// Close stops all servers at the same time and waits until their processes are gone.
func (s *Set) Close() error {
	s.mu.Lock()
	s.closed = true
	servers := *s.servers.Load()
	s.mu.Unlock()
	errs := make(chan error, len(servers))
	for _, server := range servers {
		go func() { errs <- server.Close() }()
	}
	var failed []error
	for range servers {
		failed = append(failed, <-errs)
	}
	s.offer.hub.close()
	return errors.Join(failed...)
}
