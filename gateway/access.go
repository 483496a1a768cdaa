package gateway

import (
	"net/netip"

	"durward/internal/identity"
)

// Access says who may come in by HTTP. Connections over the service's unix
// socket are known by the credentials the kernel gives for them.
type Access struct {
	Tokens         []Token        // bearer tokens that are accepted
	NoAuth         bool           // let everybody on this machine in as "local"
	Listen         []string       // addresses the gateway is reached at; their hosts may stand in Host
	AllowedHosts   []string       // may stand in Host besides loopback names and Listen
	AllowedOrigins []string       // web origins that may call: scheme://host[:port]
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-Host and X-Forwarded-Proto are believed
}

// Token is a bearer token and whose it is.
type Token struct {
	Principal string
	Secret    string // at least 16 bytes
}

func (a *Access) identity() identity.Options {
	opt := identity.Options{
		NoAuth: a.NoAuth, Listen: a.Listen, AllowedHosts: a.AllowedHosts,
		AllowedOrigins: a.AllowedOrigins, TrustedProxies: a.TrustedProxies,
	}
	for _, t := range a.Tokens {
		opt.Tokens = append(opt.Tokens, identity.Token{Principal: t.Principal, Secret: t.Secret})
	}
	return opt
}
