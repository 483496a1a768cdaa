package daemon

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"time"

	"durward"
	"durward/internal/config"
	"durward/internal/control"
	"durward/internal/identity"
	"durward/internal/secret"
	"durward/internal/telemetry"
)

// startTelemetry begins to log and to measure. It ends last: what ends before it may
// still be told.
func (s *Service) startTelemetry() error {
	t, err := telemetry.New(telemetry.Options{
		Version: s.opt.Version, Instance: strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(s.started.UnixMilli(), 36),
		LogTo: s.opt.LogTo, Level: s.config.Log.Level, Format: s.config.Log.Format, Redact: s.withoutSecrets,
		OTLP: telemetry.OTLP(s.config.Telemetry.OTLP), CloseWithin: s.opt.TellWithin,
	})
	if err != nil {
		return err
	}
	s.telemetry, s.log = t, t.Logger()
	s.later(t.Close)
	return nil
}

// sizeTime bounds how long a reading of the metrics waits for the size of the ledger.
const sizeTime = time.Second

// figures are what the metrics tell of the ledger.
func (b *book) figures() telemetry.LedgerState {
	ctx, cancel := context.WithTimeout(context.Background(), sizeTime)
	defer cancel()
	size, err := b.store.Size(ctx)
	if err != nil {
		size = 0 // unknown
	}
	_, failure := b.State()
	return telemetry.LedgerState{Queued: b.Queued(), Failing: failure != nil, Size: size, Checkpoint: b.checkpoints.Newest().Time}
}

// metricsHandler serves /metrics at the HTTP entrance. They are for who may look at
// the service, by the tokens of its API: those of the entrance are in the hands of
// agents. Where everybody of this machine may come in, everybody may look.
func (s *Service) metricsHandler() (http.Handler, error) {
	open := identity.Options{
		NoAuth: s.config.Auth == config.AuthNone, Listen: []string{s.config.Listen}, AllowedHosts: s.config.AllowedHosts,
		AllowedOrigins: s.config.AllowedOrigins, TrustedProxies: s.config.TrustedProxies,
	}
	if !open.NoAuth {
		scopes := []control.Scope{control.Read}
		if s.config.API.Listen != "" {
			scopes = append(scopes, control.Operate)
		}
		tokens, err := apiTokens(s.config, scopes...)
		if err != nil {
			return nil, err
		}
		open.Tokens = tokens
		s.conceal(tokens)
	}
	gate, err := identity.New(open)
	if err != nil {
		return nil, err
	}
	return s.api(func(r *http.Request) (durward.Caller, control.Scope, error) {
		caller, err := gate.Admit(r)
		return caller, control.Read, err
	}), nil
}

// conceal keeps tokens out of whatever is logged, told or recorded.
func (s *Service) conceal(tokens []identity.Token) {
	for _, t := range tokens {
		s.generated = append(s.generated, secret.New(t.Secret))
	}
	s.secrets.Store(s.secretsOf(s.config, s.sealing.Load()))
}
