package daemon

import (
	"errors"
	"net"
	"net/netip"

	"durward"
	"durward/internal/config"
	"durward/internal/control"
	"durward/internal/identity"
	"durward/internal/paths"
)

// listenAPI listens where the service API is served by TCP; nil if it is not.
func listenAPI(c *config.Config) (net.Listener, error) {
	if c.API.Listen == "" {
		return nil, nil //nolint:nilnil // there is nothing to listen on, and that is no error
	}
	l, err := net.Listen("tcp", c.API.Listen)
	if err != nil {
		return nil, durward.Errorf(durward.Unavailable, "api", "%w; is another service running? (api.listen: chooses another address)", err)
	}
	// localhost is what the resolver says, which need not be this machine.
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		err := durward.Errorf(durward.Invalid, "api", "api.listen: %s is %s here, which other machines could reach; write 127.0.0.1 or [::1]", c.API.Listen, l.Addr())
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// apiGate admits the tokens of the service API, each as a principal that is
// called as its scope. Host and Origin are judged as at the HTTP entrance.
func apiGate(c *config.Config, tokens []identity.Token) (*identity.Gate, error) {
	return identity.New(identity.Options{
		Tokens: tokens, Listen: []string{c.API.Listen}, AllowedHosts: c.AllowedHosts,
		AllowedOrigins: c.AllowedOrigins, TrustedProxies: c.TrustedProxies,
	})
}

// tokenFile is where the token of a scope is.
func tokenFile(scope control.Scope) string {
	switch scope {
	case control.Operate:
		return paths.APIToken()
	case control.Approve:
		return paths.ApproverToken()
	default:
		return paths.APIReadToken()
	}
}

// apiTokens loads the tokens of the service API, those of some scopes. One that opens something else as
// well is refused: the token of the HTTP entrance is in the hands of agents, and
// who may only look must not be able to do more.
func apiTokens(c *config.Config, scopes ...control.Scope) ([]identity.Token, error) {
	type file struct {
		path  string
		scope control.Scope // empty: not of the API
	}
	var files []file
	for _, scope := range scopes {
		files = append(files, file{tokenFile(scope), scope})
	}
	if c.Auth == config.AuthToken {
		files = append(files, file{paths.Token(), ""})
	}
	var tokens []identity.Token
	seen := map[string]string{} // who has it, by secret
	for _, p := range c.Principals {
		seen[p.Token.Reveal()] = "principals." + p.Name + ".token"
	}
	for _, f := range files {
		secret, err := identity.LoadToken(f.path)
		if err != nil {
			return nil, err
		}
		if other, twice := seen[secret]; twice {
			return nil, durward.Errorf(durward.Conflict, "api", "%s and %s hold the same token; remove a file to have another made", other, f.path)
		}
		seen[secret] = f.path
		if f.scope != "" {
			tokens = append(tokens, identity.Token{Principal: string(f.scope), Secret: secret})
		}
	}
	return tokens, nil
}

// startAPI serves the service API by TCP, if the configuration says so.
func (s *Service) startAPI() error {
	l, err := listenAPI(s.config)
	if l == nil {
		return err
	}
	s.later(l.Close)
	tokens, err := apiTokens(s.config, control.Operate, control.Read, control.Approve)
	if err != nil {
		return err
	}
	s.conceal(tokens)
	gate, err := apiGate(s.config, tokens)
	if err != nil {
		return err
	}
	s.apiAt = l.Addr().String()
	s.serve(l, s.apiHandler(gate))
	return nil
}
