package gateway

import (
	"net/netip"
	"time"

	"durward/internal/identity"
	"durward/internal/session"
	"durward/internal/transport"
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

// Limits bound what clients and servers can make the gateway keep. Zero values
// mean the defaults.
type Limits struct {
	Message       int           // bytes of one JSON-RPC message; default 32 MiB
	Sessions      int           // legacy sessions; default 10,000
	SessionIdle   time.Duration // end of an unused session; default 1 h
	InFlight      int           // calls in flight of one session; default 64, then a queue of the same length
	KeepAlive     time.Duration // silence on a stream before a comment is sent; default 15 s
	StartParallel int           // servers that launch at the same time; default 16
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

func (l *Limits) session() session.Options {
	return session.Options{Max: l.Sessions, Idle: l.SessionIdle, InFlight: l.InFlight}
}

func (l *Limits) transport() transport.Limits { return transport.Limits{Message: l.Message} }
