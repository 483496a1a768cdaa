package upstream

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// Opener opens connections. It launches or dials and hands the ends to a worker.
type Opener interface {
	// Open starts a connection. ctx bounds the opening only: the connection
	// outlives it. Messages may reach sink before Open returns. Opened or Closed
	// follows at the sink, unless Open returns an error, whose kind says why:
	// Unauthenticated is not tried again by itself, everything else is.
	Open(ctx context.Context, server durward.Server, spec exchange.LinkSpec, sink exchange.Sink) (Connection, error)
}

// Connection is an open connection with whatever stands behind it.
type Connection interface {
	exchange.Link
	// Diagnose returns what the server left behind that explains a failure: its
	// exit status and the end of its stderr; "" if there is nothing.
	Diagnose() string
	// Confined says how the server's processes are held together; "" if it has none.
	Confined() string
	// Stop ends the connection and returns when the whole process tree is gone.
	// It is gentle until ctx ends; then what is left is killed at once.
	Stop(ctx context.Context) error
}

// Observer is told what happens to a server. Calls come from any goroutine and
// must not block. Catalog and State calls of one server come one after the
// other, in the order in which things happened.
type Observer interface {
	// Catalog hands over what the server lists now, always whole.
	Catalog(server string, l *Listing)
	// State is called after each change of the state or its reason.
	State(server string, st durward.ServerStatus)
	// Notification passes on what belongs to no call: resource updates, and
	// whatever this version does not know.
	Notification(server string, n exchange.Notification)
}

// Session is a session at a server of a legacy era that ended: what there was between
// the handshake and the end of the connection.
type Session struct {
	Server    string
	Transport durward.Transport
	Revision  string // of the protocol, that was agreed on
	Lasted    time.Duration
	Failed    bool // the server or the connection ended it, not we
}

// Limits bound what one server can make us keep, and how often it is tried
// again. Zero fields mean the defaults.
type Limits struct {
	Items         int // of one kind in a catalog; default 10,000 (limits.items)
	Pages         int // of one list; default 1,000 (limits.pages)
	ListBytes     int // of the pages of one list; default 64 MiB (limits.list)
	Instances     int // connections besides the shared one; default 128 (limits.instances)
	Subscriptions int // resources; default 10,000 (limits.subscriptions)
	Asks          int // requests of the server waiting for an answer, per connection; default 16 (limits.server_asks)

	// Reconnecting waits from BackoffFirst (default 0.5 s, limits.backoff_first),
	// doubled with each failure, up to BackoffMost (default 60 s, limits.backoff_most).
	BackoffFirst, BackoffMost time.Duration
}

// Options configure a [Server].
type Options struct {
	Spec     durward.Server // how it is reached and bounded; zero fields mean the defaults given there
	Opener   Opener         // required
	Observer Observer       // default: nobody
	Log      *slog.Logger   // default: discard
	// SessionEnded is told of sessions that ended. It must not block. Default: nobody is.
	SessionEnded func(Session)

	ClientInfo []byte // raw Implementation object: what we call ourselves
	// Capabilities is the raw ClientCapabilities object a legacy server is told at
	// initialize: what the gateway can pass on. Default: elicitation (form, url),
	// roots and sampling.
	Capabilities []byte
	OnDemand     bool // Start does not connect; the first call does
	Limits       Limits
	Jitter       func() float64 // in [0,1); default math/rand/v2.Float64
}

// Times that are not configurable.
const (
	backoffJitter  = 0.2                    // of a delay, up or down (names-and-limits)
	probePause     = 250 * time.Millisecond // between two probes
	stableAfter    = 60 * time.Second       // a connection that held so long makes earlier failures forgotten
	earlyAfter     = time.Second            // a demand may bring an attempt forward, once per this time
	earlyAuthAfter = 60 * time.Second       // the same after the server refused our credentials
	deathGrace     = 300 * time.Millisecond
	settleFor      = 250 * time.Millisecond // for a connection that may be dying
	closedFor      = 10 * time.Second       // for one that is dead, and has not said so yet
	stopGrace      = 10 * time.Second
	probeEach      = 10 * time.Second
	coalesceFor    = 75 * time.Millisecond // list changes and subscriptions
	partialAfter   = 100 * time.Millisecond
	relistFirst    = 5 * time.Second // a list that could not be read is tried again
	relistMost     = 5 * time.Minute
	silentFor      = 10 // health intervals without any sign of life before a tool call is given up
	ghostFor       = 60 * time.Second
	reasonMost     = 4 << 10 // bytes of a server's last words in a reason
)

const bridgeable = `{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}}`

// defaulted checks opt and fills in what is not set.
func (opt Options) defaulted() (Options, error) {
	op := "upstream " + opt.Spec.Name
	if opt.Opener == nil {
		return opt, durward.Errorf(durward.Invalid, op, "no Opener was given")
	}
	if opt.Spec.Transport != durward.TransportBuiltin {
		if err := durward.CheckServerName(opt.Spec.Name); err != nil {
			return opt, err
		}
	}
	switch opt.Spec.Era {
	case "", "auto", "legacy", "modern":
	default:
		return opt, durward.Errorf(durward.Invalid, op, "servers.%s.era is %q; it must be auto, legacy or modern", opt.Spec.Name, opt.Spec.Era)
	}
	switch opt.Spec.Instances {
	case "":
		opt.Spec.Instances = durward.InstancesShared
	case durward.InstancesShared, durward.InstancesPrincipal, durward.InstancesSession:
	default:
		return opt, durward.Errorf(durward.Invalid, op, "servers.%s.instances is %q; it must be shared, principal or session", opt.Spec.Name, opt.Spec.Instances)
	}
	opt.Spec = defaultedSpec(opt.Spec)
	opt.Limits = defaultedLimits(opt.Limits)
	if opt.Observer == nil {
		opt.Observer = nobody{}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Capabilities == nil {
		opt.Capabilities = []byte(bridgeable)
	}
	if opt.SessionEnded == nil {
		opt.SessionEnded = func(Session) {}
	}
	if opt.Jitter == nil {
		opt.Jitter = rand.Float64
	}
	return opt, nil
}

func defaultedSpec(spec durward.Server) durward.Server {
	if spec.Transport == "" {
		spec.Transport = durward.TransportStdio
		if spec.URL != "" {
			spec.Transport = durward.TransportHTTP
		}
	}
	positive(&spec.StartTimeout, 30*time.Second)
	positive(&spec.Timeout, 60*time.Second)
	positive(&spec.HealthEvery, 30*time.Second)
	positive(&spec.Concurrency, 128)
	if spec.IdleStop == 0 {
		spec.IdleStop = 10 * time.Minute
	}
	return spec
}

func defaultedLimits(l Limits) Limits {
	positive(&l.Items, 10_000)
	positive(&l.Pages, 1_000)
	positive(&l.ListBytes, 64<<20)
	positive(&l.Instances, 128)
	positive(&l.Subscriptions, 10_000)
	positive(&l.Asks, 16)
	positive(&l.BackoffFirst, 500*time.Millisecond)
	positive(&l.BackoffMost, 60*time.Second)
	return l
}

func positive[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

func pinned(era string) wire.Era {
	switch era {
	case "legacy":
		return wire.Legacy
	case "modern":
		return wire.Modern
	default:
		return wire.EraUnknown
	}
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Catalog(string, *Listing)                   {}
func (nobody) State(string, durward.ServerStatus)         {}
func (nobody) Notification(string, exchange.Notification) {}
