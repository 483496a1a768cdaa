package daemon

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/builtin"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/internal/pin"
	"durward/internal/plugin"
	"durward/internal/store/guard"
	"durward/ledger"
	"durward/policy"
)

// judge is what decides calls in a running service: the rules, the plugins they run,
// and what was accepted of servers.
type judge struct {
	store   *guard.DB
	pins    *pin.Book
	engine  *policy.Engine
	modules *plugin.Cache                   // compiled, so that a reload compiles nothing anew
	retired []*plugin.Set                   // of earlier rules: a call may still run them; closed at the end; Service.changes is held
	trusted atomic.Pointer[map[string]bool] // servers whose hints are believed; never changed
	keeping running                         // writes what servers were seen to offer
}

// openJudge opens what decides calls. A plugin that cannot be loaded stops the start.
func (s *Service) openJudge(ctx context.Context) error {
	rules := s.config.Policy.Rules
	j := &judge{modules: plugin.NewCache()}
	j.believe(s.config)
	s.judge = j
	s.later(j.modules.Close)
	plugins, err := s.pluginsOf(rules)
	if err != nil {
		return err
	}
	s.plugins.Store(plugins)
	s.later(func() error {
		all := s.plugins.Load().Close()
		for _, one := range j.retired {
			all = errors.Join(all, one.Close())
		}
		return all
	})
	if j.store, err = guard.Open(ctx, guard.Options{Path: paths.Guard()}); err != nil {
		return err
	}
	s.later(j.store.Close)
	j.pins, err = pin.Open(ctx, pin.Options{
		Store: j.store, Own: []string{builtin.ServerName}, HoldFirst: rules.FirstUse() == "hold", MaxItems: s.config.Limits.Items, Log: s.log,
		Held: s.pinsHeld,
	})
	if err != nil {
		return err
	}
	j.keeping.begin(j.pins.Run)
	s.later(j.keeping.end)
	j.engine, err = policy.New(policy.Options{
		Set: rules, Plugins: plugins, Pins: j.pins, TrustHints: j.trusts, Counters: s.config.PolicyLimits.Counters, Sessions: s.config.PolicyLimits.Sessions,
	})
	if err != nil {
		return err
	}
	s.lint(s.config)
	if s.ledger == nil {
		return nil
	}
	s.ledger.policy = j.engine.Digest
	return s.recall(ctx)
}

// recall tells who decides what came before the start: a budget for a day is one, and a
// session keeps its labels, whenever the service was started. The ledger has it all; without
// one both begin anew.
func (s *Service) recall(ctx context.Context) error {
	damaged := 0
	for _, m := range s.judge.engine.Remembers() {
		n, err := s.recallRules(ctx, m)
		if err != nil {
			return &LedgerError{Path: s.ledger.path, Err: err}
		}
		damaged += n
	}
	if damaged > 0 {
		s.log.Warn("some of what counts towards limits cannot be read in the ledger; see: durward ledger verify", "records", damaged)
	}
	return nil
}

// pluginsOf loads the plugins that a set of rules runs.
func (s *Service) pluginsOf(rules *policy.Set) (*plugin.Set, error) {
	opt := plugin.Options{Plugins: map[string]plugin.Config{}, Cache: s.judge.modules, Log: s.log}
	for name, p := range rules.Plugins() {
		opt.Plugins[name] = plugin.Config{
			Mode: p.Mode, WASM: p.WASM, SHA256: p.SHA256, Detect: p.Detect, Max: int64(p.Max), Threshold: p.Threshold, Labels: p.Labels, Timeout: p.Timeout,
		}
	}
	return plugin.New(opt)
}

// trusts reports whether the operator believes what a server says of its tools.
func (j *judge) trusts(server string) bool { return (*j.trusted.Load())[server] }

// believe takes from a configuration which servers are believed.
func (j *judge) believe(c *config.Config) {
	trusted := map[string]bool{}
	for i := range c.Servers {
		if c.Servers[i].TrustHints {
			trusted[c.Servers[i].Name] = true
		}
	}
	j.trusted.Store(&trusted)
}

// decideBy takes another set of rules into use and returns the plugins of the one
// before. When it returns every call is decided by it, and clients were told that
// lists may have changed.
func (s *Service) decideBy(rules *policy.Set, plugins *plugin.Set) (before *plugin.Set) {
	same := rules.Digest() == s.judge.engine.Set().Digest()
	s.judge.pins.HoldFirst(rules.FirstUse() == "hold")
	s.judge.engine.Swap(rules, plugins)
	before = s.plugins.Swap(plugins)
	if !same {
		s.gateway.PolicyChanged()
		s.gateway.PinsChanged("") // whether first sight is held may be another
	}
	return before
}

// recallRules tells of some rules. It returns how many records cannot be read.
func (s *Service) recallRules(ctx context.Context, m policy.Memory) (damaged int, err error) {
	cleared := map[string]time.Time{} // when somebody last took the labels from a session
	if err := s.ledger.reader.Changes(ctx, m.Since, changeUnmark, func(at time.Time, id string) { cleared[id] = at }); err != nil {
		return 0, err
	}
	return s.ledger.reader.Past(ctx, m.Since, m.Rules, func(p *ledger.Past) error {
		if !m.Wants(p.Layer, p.Rule) {
			return nil
		}
		caller := durward.Caller{Principal: p.Principal, Session: p.Session, Entrance: p.Entrance}
		if at, ok := cleared[policy.SessionID(&caller)]; ok && p.Rule == policy.RuleLabels && !p.At.After(at) {
			return nil
		}
		s.judge.engine.Recall(&policy.Past{
			At: p.Received, Layer: p.Layer, Rule: p.Rule, Effective: p.Effective, Detail: p.Detail, Action: p.Action, Made: p.Made(),
			Caller: caller, Server: p.Server, Tool: p.Tool, Bytes: int64(p.BytesIn) + int64(p.BytesOut),
		})
		return nil
	})
}

// lint writes into the log what of the rules can have no effect, as durward rule lint
// says it; of tools that are seen for the first time later, only that command.
func (s *Service) lint(c *config.Config) {
	offered := offeredNames{names: []string{builtin.ServerName}, pins: s.judge.pins}
	for i := range c.Servers {
		offered.names = append(offered.names, c.Servers[i].Name)
	}
	for _, f := range c.Policy.Rules.Lint(&offered, time.Now()) {
		s.log.Warn("a rule can have no effect: "+f.Message, "rule", f.Layer.String()+"/"+f.Rule, "finding", f.Code, "file", f.Pos.File, "line", f.Pos.Line)
	}
}

// offeredNames are the servers of a configuration, and the tools that were seen of
// them.
type offeredNames struct {
	names []string
	pins  *pin.Book
}

// Servers implements policy.Catalog.
func (o *offeredNames) Servers() []string { return o.names }

// Tools implements policy.Catalog.
func (o *offeredNames) Tools(server string) (names []string, connected bool) {
	for _, th := range o.pins.List(server) {
		if th.Kind == "tool" {
			names = append(names, th.Name)
		}
	}
	return names, len(names) > 0
}

// retire keeps plugins that a call may still run until the end, if they hold anything.
func (j *judge) retire(plugins *plugin.Set) {
	if plugins.Foreign() {
		j.retired = append(j.retired, plugins)
	}
}

// refusals is the form in which agents learn that a call was refused.
func refusals(c *config.Config) gateway.Refusal { return gateway.Refusal(c.Policy.Rules.Refusal()) }
