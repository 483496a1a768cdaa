package daemon

import (
	"os"
	"slices"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/control"
	"durward/internal/paths"
)

var _ control.Service = (*Service)(nil)

// Status is what the service says of itself.
func (s *Service) Status() client.Status {
	g := s.gateway.Status()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := client.Status{
		Version: s.opt.Version, PID: os.Getpid(), Address: s.address, APIAddress: s.apiAt, Started: s.started,
		Policy: g.Policy, Sessions: g.Sessions, Servers: g.Servers,
		Config: client.ConfigStatus{File: s.file(), Loaded: s.loaded},
	}
	st.Ledger, st.LedgerProblem = s.recording()
	if s.problem != nil {
		st.Config.Problem = s.problem.Error()
	}
	for i := range st.Servers {
		st.Servers[i].Reason = s.config.Redact(st.Servers[i].Reason)
	}
	return st
}

// file names the configuration for people.
func (s *Service) file() string {
	switch {
	case s.opt.Demo:
		return "built in (demo)"
	case s.opt.ConfigFile != "":
		return s.opt.ConfigFile
	default:
		return paths.Config()
	}
}

// Ready reports whether calls can be recorded, and every server has come up or
// failed for the first time.
func (s *Service) Ready() error {
	if err := s.ledger.ready(); err != nil {
		return err
	}
	for _, server := range s.gateway.Status().Servers {
		if server.State == durward.StateConnecting && server.Restarts == 0 && server.Reason == "" { // a later attempt says why the last one failed
			return durward.Errorf(durward.Unavailable, "", "a server is still connecting for the first time") // which one is nobody's business
		}
	}
	return nil
}

// fixed refuses changes that need a restart, so that nobody believes them to be in force.
func fixed(old, next *config.Config) error {
	for _, key := range []struct {
		name    string
		changed bool
	}{
		{"listen", old.Listen != next.Listen},
		{"auth", old.Auth != next.Auth},
		{"principals", !slices.EqualFunc(old.Principals, next.Principals, samePrincipal)},
		{"api", old.API != next.API},
		{"tls", old.TLS != next.TLS},
		{"prefix", old.NoPrefix != next.NoPrefix},
		{"allowed_hosts", !slices.Equal(old.AllowedHosts, next.AllowedHosts)},
		{"allowed_origins", !slices.Equal(old.AllowedOrigins, next.AllowedOrigins)},
		{"trusted_proxies", !slices.Equal(old.TrustedProxies, next.TrustedProxies)},
		{"limits", old.Limits != next.Limits || old.Approvals != next.Approvals || old.PolicyLimits != next.PolicyLimits},
		{"ledger", old.Ledger != next.Ledger}, // its keys in limits, too
		{"telemetry", !old.Telemetry.Equal(next.Telemetry)},
		{"log", old.Log != next.Log},
	} {
		if key.changed {
			return durward.Errorf(durward.Conflict, "reload", "a change of %s needs a restart of the service; nothing was changed", key.name)
		}
	}
	return nil
}

func samePrincipal(a, b config.Principal) bool {
	return a.Name == b.Name && a.Token.Equal(b.Token.Reveal())
}
