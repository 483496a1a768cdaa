package plugin

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"durward"
)

// Options are what a Set is made of.
type Options struct {
	// Plugins are those that are configured, by name. Built-in ones that are not can
	// be named by rules all the same.
	Plugins map[string]Config
	// Cache of compiled modules, to be shared by the sets that follow one another.
	// Default: none.
	Cache *Cache
	// Start bounds the start of an instance of WebAssembly; default 5 s.
	Start time.Duration
	// Log hears of plugins that failed. Default: nobody.
	Log *slog.Logger
}

// Set is the plugins of one policy. It is used by many goroutines.
type Set struct {
	tables *tables
	all    []*one // in the order in which they come into play
	byName map[string]*one
	always []*one
	log    *slog.Logger
	host   *host // of WebAssembly; nil if there is no such plugin

	scratch sync.Pool // of *inspection
}

// New makes the plugins ready: files are read and compiled. It returns all that
// is wrong at once; then nothing of it may be used.
func New(opt Options) (*Set, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if opt.Start <= 0 {
		opt.Start = startTime
	}
	s := &Set{tables: newTables(), byName: map[string]*one{}, log: opt.Log}
	configs := maps.Clone(opt.Plugins)
	if configs == nil {
		configs = map[string]Config{}
	}
	for _, name := range Builtin() {
		if _, ok := configs[name]; !ok {
			configs[name] = Config{}
		}
	}
	own := slices.DeleteFunc(slices.Sorted(maps.Keys(configs)), func(name string) bool { return slices.Contains(Builtin(), name) })
	var problems []error
	for _, name := range append(Builtin(), own...) {
		o, bad := check(name, configs[name])
		if len(bad) == 0 && configs[name].WASM != "" {
			if err := s.load(o, configs[name], &opt); err != nil {
				bad = append(bad, err)
			}
		}
		problems = append(problems, bad...)
		s.all = append(s.all, o)
		s.byName[name] = o
		if o.always {
			s.always = append(s.always, o)
		}
	}
	if err := joined(problems); err != nil {
		_ = s.Close()
		return nil, err
	}
	for _, o := range inModes(s.byName, configs) {
		s.all = append(s.all, o)
		s.byName[o.name] = o
	}
	return s, nil
}

// Runs reports whether some plugin runs on every event.
func (s *Set) Runs() bool { return len(s.always) > 0 }

// Foreign reports whether the set has plugins in WebAssembly: only then does Close
// free anything.
func (s *Set) Foreign() bool { return s.host != nil }

// Close frees what WebAssembly plugins hold. No call may run any more.
func (s *Set) Close() error {
	if s.host == nil {
		return nil
	}
	return s.host.close()
}

// Names lists what rules may name: the built-in plugins, and those configured.
func (s *Set) Names() []string {
	names := make([]string, 0, len(s.all))
	for _, o := range s.all {
		names = append(names, o.name)
	}
	return names
}

// pick returns the plugins to run, in their order.
func (s *Set) pick(names []string) ([]*one, error) {
	if names == nil {
		return s.always, nil
	}
	for _, name := range names {
		if s.byName[name] == nil {
			return nil, durward.Errorf(durward.Internal, "plugin", "no plugin is called %q", name)
		}
	}
	var list []*one
	for _, o := range s.all {
		if slices.Contains(names, o.name) {
			list = append(list, o)
		}
	}
	return list, nil
}

// The stages, as matches name them.
const (
	stagePre  = "preprocess"
	stagePost = "postprocess"
)

// Preprocess lets plugins look at a call before rules do. With nil names those run
// that have a mode; else exactly those named. The decision has Action, Reason,
// Cause, Changed and Recorded (whole params), and Matches. An error is for what
// could not be looked at, and must block the call.
func (s *Set) Preprocess(ctx context.Context, call *durward.Call, names []string) (durward.Decision, []string, error) {
	list, err := s.pick(names)
	if err != nil || len(list) == 0 || call.Params == nil {
		return durward.Decision{}, nil, err
	}
	r := run{set: s, ctx: ctx, call: call, stage: stagePre, list: list, now: call.Params, record: call.Params}
	err = r.all()
	return r.decision(), r.labels, err
}

// Postprocess lets plugins look at a result before rules of the response do. It is
// as [Set.Preprocess], with the whole result; the score is that of injection, -1
// if that did not run.
func (s *Set) Postprocess(ctx context.Context, call *durward.Call, result []byte, names []string) (durward.Decision, []string, float64, error) {
	list, err := s.pick(names)
	if err != nil || len(list) == 0 || result == nil {
		return durward.Decision{}, nil, -1, err
	}
	r := run{set: s, ctx: ctx, call: call, stage: stagePost, list: list, now: result, record: result}
	err = r.all()
	return r.decision(), r.labels, r.score(), err
}
