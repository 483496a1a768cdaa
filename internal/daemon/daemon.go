package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"durward"
	"durward/gateway"
	"durward/internal/approval"
	"durward/internal/config"
	"durward/internal/identity"
	"durward/internal/paths"
	"durward/internal/plugin"
	"durward/internal/private"
	"durward/internal/secret"
	"durward/internal/telemetry"
)

// Options configure a Service.
type Options struct {
	// ConfigFile is the configuration. Empty means the user's own file, or the
	// defaults if there is none.
	ConfigFile string
	// LastGood starts with the copy of the configuration that ran last, instead of
	// the file itself.
	LastGood bool
	// Demo runs the embedded configuration and reads no file.
	Demo    bool
	Version string
	// IdleExit ends the service after so long without any client; 0: never.
	IdleExit time.Duration
	LogTo    io.Writer // where the log goes, as the configuration says; required
	// TellWithin bounds how long Close tries to send the telemetry that waits; default 2 s.
	TellWithin time.Duration
}

// Service is a running service.
type Service struct {
	opt       Options
	log       *slog.Logger
	started   time.Time
	telemetry *telemetry.Telemetry
	ledger    *book // nil: nothing is recorded
	judge     *judge
	desk      *approval.Desk
	approver  [sha256.Size]byte          // hash of the approver credential
	plugins   atomic.Pointer[plugin.Set] // that the judge's rules run
	gateway   *gateway.Gateway
	activity  *activity
	address   string // of HTTP
	token     string // file of the bearer token; empty without one
	apiAt     string // address of the service API by TCP; empty without
	events    events
	stopping  chan struct{} // closed when Close begins
	stop      sync.Once

	changes sync.Mutex // serialises what changes the configuration, running or on disk

	secrets   atomic.Pointer[secret.Matcher] // see secretsOf
	generated []secret.Value                 // tokens and keys of the state directory; changes is held, or the service starts
	retired   []secret.Value                 // what references stood for in configurations that ran before, the newest last; changes is held
	sealing   atomic.Pointer[sealing]        // of config, or of the key file; set with changes held

	mu      sync.Mutex // guards all below
	config  *config.Config
	seen    fingerprint // of the files, as they were read last
	loaded  time.Time
	problem error // of the file as it is now, when it is not what runs

	undo []func() error // what Close does, last first
}

// Start starts a service. On error nothing is left running.
func Start(opt Options) (s *Service, err error) {
	begun := &Service{opt: opt, started: time.Now(), activity: newActivity(), stopping: make(chan struct{})}
	s = begun
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.Close()) // s is nil by then
		}
	}()
	paceGC()
	if s.config, err = s.load(); err != nil {
		return nil, err
	}
	s.secrets.Store(s.config.Secrets())
	s.seen, s.loaded = look(s.filesOf(s.config), s.config.Policy.Patterns), time.Now()
	if err := s.startTelemetry(); err != nil {
		return nil, err
	}
	if err := s.takeState(); err != nil {
		return nil, err
	}
	tcp, err := listenHTTP(s.config) // before the ledger: a start that fails here is not worth a record
	if err != nil {
		return nil, err
	}
	s.later(tcp.Close)
	s.address = tcp.Addr().String()
	if err := s.openLedger(context.Background()); err != nil {
		return nil, err
	}
	if err := s.openJudge(context.Background()); err != nil {
		return nil, err
	}
	if err := s.openDesk(context.Background()); err != nil {
		return nil, err
	}
	if err := s.startGateway(); err != nil {
		return nil, err
	}
	socket, err := listenSocket(paths.Socket())
	if err != nil {
		return nil, err
	}
	s.later(socket.Close)
	if err := s.startAPI(); err != nil {
		return nil, err
	}
	metrics, err := s.metricsHandler()
	if err != nil {
		return nil, err
	}
	s.serve(tcp, s.publicHandler(metrics))
	s.serve(socket, s.ownerHandler())
	if err := os.WriteFile(paths.Address(), []byte(s.address+"\n"), 0o600); err != nil {
		return nil, durward.Errorf(durward.Unavailable, "state", "%w", err)
	}
	s.later(func() error { return ignoreMissing(os.Remove(paths.Address())) })
	s.keepGood(s.config)
	s.watchFiles()
	return s, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// later notes what Close has to undo.
func (s *Service) later(undo func() error) { s.undo = append(s.undo, undo) }

// takeState makes the state directory ours.
func (s *Service) takeState() error {
	if err := os.MkdirAll(paths.State(), 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, "state", "%w", err)
	}
	// The system drops the lock with the process, however it ends.
	unlock, err := private.Lock(paths.Lock(), lockWait)
	switch {
	case durward.KindOf(err) == durward.Conflict && err != nil:
		return durward.Errorf(durward.Conflict, "state", "another service runs with this state directory (%s is locked); see: durward status", paths.Lock())
	case err != nil:
		return durward.Errorf(durward.KindOf(err), "state", "%w", err)
	}
	s.later(unlock)
	return nil
}

func (s *Service) startGateway() error {
	opt := s.gatewayOptions(s.config)
	keys, err := sealingOf(s.config)
	if err != nil {
		return err
	}
	s.sealing.Store(keys)
	opt.SealKeys = keys.secrets()
	if s.config.Auth == config.AuthToken {
		local, err := identity.LoadToken(paths.Token())
		if err != nil {
			return err
		}
		s.token = paths.Token()
		if opt.Access.Tokens, err = tokens(local, s.config.Principals); err != nil {
			return err
		}
		s.generated = append(s.generated, secret.New(local))
	}
	s.secrets.Store(s.secretsOf(s.config, keys))
	g, err := gateway.New(opt)
	if err != nil {
		return err
	}
	s.gateway = g
	s.later(g.Close)
	s.telemetry.WatchGateway(g)
	stop := g.Watch((*watcher)(s))
	s.later(func() error { stop(); return nil })
	return nil
}

// tokens are the bearer tokens of the HTTP entrance: the owner's, which is
// generated, and those of the configuration.
func tokens(local string, principals []config.Principal) ([]gateway.Token, error) {
	all := []gateway.Token{{Principal: identity.PrincipalLocal, Secret: local}}
	for _, p := range principals {
		if p.Token.Equal(local) {
			return nil, durward.Errorf(durward.Conflict, "principals", "%s has the token of the owner (%s); give it one of its own", p.Name, paths.Token())
		}
		all = append(all, gateway.Token{Principal: p.Name, Secret: p.Token.Reveal()})
	}
	return all, nil
}

func (s *Service) gatewayOptions(c *config.Config) gateway.Options {
	return gateway.Options{
		Servers: c.Servers, Toolsets: c.Toolsets, Builtin: c.Builtin, NoPrefix: c.NoPrefix,
		LazyTools: c.LazyTools, PinnedTools: c.PinnedTools, Version: s.opt.Version, Log: s.log, Redact: s.withoutSecrets,
		Decider: s.judge.engine, Pins: s.judge.pins, Approver: s.desk, Refusals: refusals(c), Recorder: s.recorder(), Observer: s.telemetry,
		Access: gateway.Access{
			NoAuth: c.Auth == config.AuthNone, Listen: []string{c.Listen}, AllowedHosts: c.AllowedHosts,
			AllowedOrigins: c.AllowedOrigins, TrustedProxies: c.TrustedProxies,
		},
		Limits: gateway.Limits(c.Limits),
	}
}

// secretsOf finds what nobody is to see: the values that references brought into a
// configuration, or into one before it, and the tokens and keys that were generated,
// which a tool that reads files may come across.
func (s *Service) secretsOf(c *config.Config, keys *sealing) *secret.Matcher {
	known := slices.Concat(s.generated, s.retired)
	for _, k := range keys.secrets() {
		known = append(known, secret.New(k.Reveal()))
	}
	return c.SecretsAnd(known...)
}

// retiredMost bounds the values of earlier configurations that nobody is to see.
const retiredMost = 1000

// retire keeps what a configuration that runs no more knew: calls that it began go on,
// and what was a secret may still be one. changes is held.
func (s *Service) retire(old, next *config.Config) {
	s.retired = append(s.retired, old.Retired(next)...)
	s.retired = s.retired[max(0, len(s.retired)-retiredMost):]
}

// withoutSecrets takes those values out of what is logged, told or recorded: they
// must be seen by the servers alone.
func (s *Service) withoutSecrets(text []byte) []byte { return s.secrets.Load().Bytes(text) }

// serve serves a listener until Close.
func (s *Service) serve(l net.Listener, h http.Handler) {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 2 * s.config.Limits.Headers,
		ConnContext: identity.ConnContext, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("a listener failed; the service goes on without it", "address", l.Addr(), "error", err)
		}
	}()
	s.later(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		<-done
		return err
	})
}

// Run waits until ctx ends, or until nobody used the service for IdleExit.
func (s *Service) Run(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.activity.idle(ctx, s.opt.IdleExit):
		s.log.Info("nobody uses the service any more; it ends", "after", s.opt.IdleExit)
	}
}

// Close ends the service: clients first, then servers, and when nothing is called
// any more, the ledger. It returns when all of their processes are gone.
func (s *Service) Close() error {
	s.stop.Do(func() { close(s.stopping) })
	var errs []error
	if s.desk != nil { // calls that wait for people are denied, not cancelled
		errs = append(errs, s.desk.Close())
	}
	if s.gateway != nil { // streams end before the listeners wait for them
		errs = append(errs, s.gateway.Close())
	}
	for len(s.undo) > 0 {
		last := s.undo[len(s.undo)-1]
		s.undo = s.undo[:len(s.undo)-1]
		if err := last(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Address is where HTTP is served, host:port.
func (s *Service) Address() string { return s.address }

// TokenFile is the file with the bearer token; empty when none is needed.
func (s *Service) TokenFile() string { return s.token }
