package identity

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"durward"
)

// PrincipalLocal is the owner of the service.
const PrincipalLocal = "local"

// Options configure a Gate.
type Options struct {
	// Tokens are the bearer tokens that are accepted. Required unless NoAuth.
	Tokens []Token
	// NoAuth lets everybody in as PrincipalLocal who connects from this machine
	// (auth: none). From elsewhere it lets nobody in.
	NoAuth bool
	// Listen are the addresses the service listens on ("127.0.0.1:8484"); their
	// hosts may stand in Host.
	Listen []string
	// AllowedHosts may stand in Host besides loopback names: a name or address; with
	// a port only with that port, else with any.
	AllowedHosts []string
	// AllowedOrigins may stand in Origin: scheme://host[:port], exactly.
	AllowedOrigins []string
	// TrustedProxies are the peers whose X-Forwarded-Host and X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
}

// Token is a bearer token and whose it is.
type Token struct {
	Principal string
	Secret    string // at least 16 bytes
}

// Gate judges HTTP requests. It is immutable and may be used from any goroutine.
type Gate struct {
	tokens  []digest
	noAuth  bool
	hosts   []hostRule
	origins []string
	proxies []netip.Prefix
}

// New checks the options. Without tokens and without NoAuth the gate lets nobody in
// by HTTP. Errors are of kind Invalid.
func New(opts Options) (*Gate, error) {
	g := &Gate{noAuth: opts.NoAuth, proxies: slices.Clone(opts.TrustedProxies)}
	for _, t := range opts.Tokens {
		d, err := newDigest(t)
		if err != nil {
			return nil, err
		}
		g.tokens = append(g.tokens, d)
	}
	for _, address := range opts.Listen {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, durward.Errorf(durward.Invalid, "identity", "listen address %q: %w", address, err)
		}
		if ip, err := netip.ParseAddr(host); host != "" && (err != nil || !ip.IsUnspecified()) {
			g.hosts = append(g.hosts, hostRule{name: host})
		}
	}
	for _, host := range opts.AllowedHosts {
		rule := hostRule{name: strings.Trim(host, "[]")}
		if name, port, err := net.SplitHostPort(host); err == nil {
			rule = hostRule{name, port}
		}
		if rule.name == "" || strings.ContainsAny(host, "/*@ ") {
			return nil, durward.Errorf(durward.Invalid, "identity", "allowed host %q: give a name or address without scheme, path or wildcard", host)
		}
		g.hosts = append(g.hosts, rule)
	}
	for _, origin := range opts.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return nil, durward.Errorf(durward.Invalid, "identity", "allowed origin %q: give scheme://host[:port] and nothing else", origin)
		}
		g.origins = append(g.origins, strings.ToLower(origin))
	}
	return g, nil
}

// Admit says who speaks. The error is of kind Denied for a foreign Host or
// Origin (HTTP 403), which is judged first, and for another user on the unix
// socket; of kind Unauthenticated (HTTP 401) without a valid token. The caller
// it returns has Principal, Entrance and Process set.
func (g *Gate) Admit(r *http.Request) (durward.Caller, error) {
	if peer, ok := r.Context().Value(peerKey{}).(peer); ok {
		return admitPeer(r, peer)
	}
	if err := g.judgeSource(r); err != nil {
		return durward.Caller{}, err
	}
	if g.noAuth {
		if !fromLoopback(r.RemoteAddr) {
			return durward.Caller{}, durward.Errorf(durward.Denied, "identity", "auth: none lets in connections from this machine only; configure a token")
		}
		return durward.Caller{Principal: PrincipalLocal, Entrance: durward.EntranceHTTP}, nil
	}
	principal, err := g.principal(r.Header["Authorization"])
	if err != nil {
		return durward.Caller{}, err
	}
	return durward.Caller{Principal: principal, Entrance: durward.EntranceHTTP}, nil
}

// AllowsOrigin reports whether a web page of that origin may read our answers:
// it was allowed by name. Our own origin needs no such permission.
func (g *Gate) AllowsOrigin(origin string) bool {
	for _, allowed := range g.origins {
		if strings.EqualFold(allowed, origin) {
			return true
		}
	}
	return false
}

func fromLoopback(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	return err == nil && at.Addr().Unmap().IsLoopback()
}
