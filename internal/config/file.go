package config

import (
	"net/netip"
	"time"

	"durward"
	"durward/internal/yamlx"
	"durward/policy"
)

// file is the shape of a configuration file. The comment of each field is its
// reference text: what it is, unit, bounds, default.
type file struct {
	// Version of the format. Required; this Durward reads 1.
	Version int `yaml:"version,required"`
	// Listen is the TCP address of the HTTP entrance, host:port. Port 0 picks a
	// free one. An address that other machines can reach needs auth: token and
	// either tls or insecure: true. Default 127.0.0.1:8484.
	Listen string `yaml:"listen"`
	// Auth is how callers prove who they are. token: a bearer token that is
	// generated into the state directory (0600) and makes its bearer "local", or
	// that of one of the principals. none: everybody on this machine; only with a
	// loopback address. Default token.
	Auth string `yaml:"auth" enum:"token|none"`
	// Principals are callers with bearer tokens of their own, by name: a lower-case
	// letter, then up to 63 lower-case letters, digits, dots, hyphens and
	// underscores. local is reserved. Only with auth: token. Default none.
	Principals map[string]principalFile `yaml:"principals" sensitive:"true"`
	// SealKeys seal what clients carry for the service: tokens of requests that wait
	// for input, ids of tasks and sessions, cursors. The first seals, all open.
	// Replicas that stand for each other have the same ones. 1 to 8 keys as durward
	// keys new prints them. References are replaced; a key that is written out can be
	// read by who reads this file. Default: keys that are generated into the state
	// directory (0600), and rotated with durward keys rotate.
	SealKeys []yamlx.Text `yaml:"seal_keys" references:"true" sensitive:"true"`
	// Insecure permits an address that other machines can reach without TLS:
	// tokens then cross the network in the clear. Default false.
	Insecure bool `yaml:"insecure"`
	// TLS serves HTTPS. Default: HTTP.
	TLS tlsFile `yaml:"tls"`
	// TrustedProxies are the addresses or networks of the reverse proxies whose
	// X-Forwarded-Host and X-Forwarded-Proto are believed. Default none.
	TrustedProxies []network `yaml:"trusted_proxies"`
	// AllowedOrigins are the web origins (scheme://host[:port]) whose pages may
	// call. A request with any other Origin is refused with 403. Default none.
	AllowedOrigins []string `yaml:"allowed_origins"`
	// AllowedHosts may stand in the Host header besides loopback names and the
	// listen address: a name or address, with or without a port. Default none.
	AllowedHosts []string `yaml:"allowed_hosts"`
	// API serves the service API by TCP too, to programs of this machine that hold
	// one of its own bearer tokens. They are generated into the state directory
	// (0600): api-token changes and calls, api-token-read only looks. The token of the
	// HTTP entrance does not open it. Default: the unix socket alone.
	API apiFile `yaml:"api"`
	// Builtin offers Durward's own tools as server "local". Default true.
	Builtin bool `yaml:"builtin"`
	// Prefix may only be written as "": tools are then offered under their own
	// names instead of SERVER__TOOL. Only with exactly one enabled server and
	// builtin: false.
	Prefix *string `yaml:"prefix"`
	// Limits bound what callers and servers can use up.
	Limits limitsFile `yaml:"limits"`
	// Defaults apply to every server that does not say otherwise.
	Defaults sharedFile `yaml:"defaults"`
	// Servers are the MCP servers, by name: a lower-case letter, then up to 31
	// lower-case letters, digits and hyphens. local, builtin, durward and host
	// are reserved.
	Servers map[string]serverFile `yaml:"servers"`
	// Toolsets are named subsets of the tools, each with its own route
	// /toolsets/NAME/mcp. Names as for servers.
	Toolsets map[string]toolsetFile `yaml:"toolsets"`
	// LazyTools lists on /mcp only local__search_tools, local__describe_tool and
	// local__call_tool, with which a model finds and calls the other tools, and what
	// pinned_tools names. Default false.
	LazyTools bool `yaml:"lazy_tools"`
	// PinnedTools are names as offered on /mcp, or patterns over them, that are
	// listed there in spite of lazy_tools. Default none.
	PinnedTools []string `yaml:"pinned_tools"`
	// Policy decides every call: rules, defaults, plugins, and how people are asked.
	Policy policy.Spec `yaml:"policy"`
	// Ledger is where every call is written down before it acts.
	Ledger ledgerFile `yaml:"ledger"`
	// Telemetry is where the service tells what it does, besides its log and /metrics.
	Telemetry telemetryFile `yaml:"telemetry"`
	// Log says what is logged and how.
	Log logFile `yaml:"log"`
	// Locked names keys that the user's file must not have, with everything below
	// them: limits.sessions, servers, servers.*.env. Only in the corp layer. Default
	// none.
	Locked []string `yaml:"locked"`
}

// principalFile is one caller.
type principalFile struct {
	// Token is the bearer token: 16 to 4096 printable ASCII characters without
	// spaces, which no other principal has. References are replaced; a token that
	// is written out can be read by who reads this file.
	Token yamlx.Text `yaml:"token,required" references:"true" sensitive:"true"`
}

type tlsFile struct {
	// Cert is the file with the certificate chain, PEM.
	Cert string `yaml:"cert,required"`
	// Key is the file with the private key, PEM.
	Key string `yaml:"key,required"`
}

type apiFile struct {
	// Listen is the TCP address, host:port with a loopback address, such as
	// 127.0.0.1:8485. Port 0 picks a free one.
	Listen string `yaml:"listen,required"`
}

// sharedFile are the keys that stand in defaults and in a server alike. Zero
// means that nobody said.
type sharedFile struct {
	// Era is the protocol revision that is spoken: legacy (2025-11-25 and older),
	// modern (2026-07-28), or auto: the one the client speaks, if the server does
	// too. Default auto.
	Era string `yaml:"era" enum:"auto|legacy|modern"`
	// Retry says when a call that got no answer is sent a second time: undelivered
	// (only what provably never reached the server), or idempotent (every tool of
	// the server may be called twice). Default undelivered.
	Retry string `yaml:"retry" enum:"undelivered|idempotent"`
	// Instances is how many connections there are: one that all share, one per
	// principal or one per session. A shared legacy stdio server that sends
	// requests of its own is switched to principal. Default shared.
	Instances string `yaml:"instances" enum:"shared|principal|session"`
	// Risk is the least risk its tools are treated with: low, medium, high or
	// critical. Default high.
	Risk risk `yaml:"risk" enum:"low|medium|high|critical"`
	// StartTimeout bounds launch and handshake. 100ms to 1h, default 30s.
	StartTimeout time.Duration `yaml:"start_timeout" min:"100ms" max:"1h"`
	// CallTimeout bounds a tool call: a duration of at least 100ms, or none.
	// Default none.
	CallTimeout callTimeout `yaml:"call_timeout"`
	// Timeout bounds every other request. 100ms to 1h, default 60s.
	Timeout time.Duration `yaml:"timeout" min:"100ms" max:"1h"`
	// Concurrency bounds the calls that run at the same time; as many again
	// wait, and then calls are refused. Default 128.
	Concurrency int `yaml:"concurrency" min:"1" max:"100000"`
	// IdleStop stops a stdio server that no live session has used for so long: a
	// duration of at least 1s, or never. The next call starts it. Default 10m.
	IdleStop idleStop `yaml:"idle_stop"`
	// HealthEvery is how long a connection with calls in flight may be silent
	// before it is probed. 100ms to 1h, default 30s.
	HealthEvery time.Duration `yaml:"health_every" min:"100ms" max:"1h"`
}

// serverFile is one MCP server: command or url, never both.
type serverFile struct {
	// Command starts a stdio server: a path (relative to dir, else to this
	// file), or a name that is looked up in the server's PATH. There is no shell.
	Command string `yaml:"command"`
	// Args of the command, passed exactly. References are replaced.
	Args []yamlx.Text `yaml:"args" references:"true" sensitive:"true"`
	// Env is the server's environment besides PATH, HOME, LANG, TMPDIR and USER
	// of the service, which an entry here replaces. References are replaced.
	Env map[string]yamlx.Text `yaml:"env" references:"true" sensitive:"true"`
	// Dir is the working directory, relative to this file. Default: the service's.
	Dir string `yaml:"dir"`
	// URL of a remote server, http or https. References are replaced.
	URL string `yaml:"url" references:"true" sensitive:"true"`
	// Transport is how the server is reached: stdio, http (streamable HTTP) or
	// sse (HTTP+SSE of revision 2024-11-05). Default: stdio with command, http with url.
	Transport string `yaml:"transport" enum:"stdio|http|sse"`
	// Headers are sent with every request to a remote server. References are
	// replaced. What the protocol itself sets (Host, Content-*, Mcp-*, …) is refused.
	Headers map[string]yamlx.Text `yaml:"headers" references:"true" sensitive:"true"`
	// Proxy is the URL of an HTTP proxy, or none. References are replaced. Default:
	// HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the service.
	Proxy string `yaml:"proxy" references:"true" sensitive:"true"`
	// CAFile is a PEM file with certificates that are trusted besides the
	// system's, relative to this file.
	CAFile string `yaml:"ca_file"`
	// Disabled keeps the server in the file without using it. Default false.
	Disabled bool `yaml:"disabled"`
	// TrustHints believes what the server says of its tools: one that calls itself
	// read-only has a low risk, also before somebody accepted it (durward pins). Default
	// false.
	TrustHints bool `yaml:"trust_hints"`
	// Tools choose and re-label what is offered.
	Tools toolsFile `yaml:"tools"`

	Shared sharedFile `yaml:",inline"`
}

// toolsFile chooses and re-labels what a server offers.
type toolsFile struct {
	// Allow offers only these tools: the server's own names, or patterns with *, ? and [a-z].
	// Default: all.
	Allow []string `yaml:"allow"`
	// Deny never offers these; it beats allow.
	Deny []string `yaml:"deny"`
	// Rename offers a tool (own name) under another name, before the prefix.
	Rename map[string]string `yaml:"rename"`
	// Describe offers a tool (own name) with another description.
	Describe map[string]string `yaml:"describe"`
	// Risk is how risky tools (own names or patterns) are: low, medium, high or critical,
	// whatever they say of themselves and whatever the server's risk is. Of several
	// patterns that fit the highest counts. Default: as the tools say, and no less than
	// the server's.
	Risk map[string]risk `yaml:"risk"`
	// Idempotent are tools (own names or patterns) that may be called a second
	// time when the first call got no answer.
	Idempotent []string `yaml:"idempotent"`
}

// toolsetFile is one toolset.
type toolsetFile struct {
	// Tools are names as offered on /mcp, or patterns over them ("github__*").
	Tools []string `yaml:"tools,required"`
	// Lazy lists on this route only the tools that find and call the others, as
	// lazy_tools does on /mcp. Default false.
	Lazy bool `yaml:"lazy"`
	// Pinned are names or patterns that are listed in spite of lazy. Default none.
	Pinned []string `yaml:"pinned"`
}

type logFile struct {
	// Level is the least severe level that is logged. Default info.
	Level string `yaml:"level" enum:"debug|info|warn|error"`
	// Format of the lines: text, json, or auto: text on a terminal, else json. Default auto.
	Format string `yaml:"format" enum:"text|json|auto"`
}

// defaultFile is where all defaults are.
func defaultFile() file {
	return file{
		Listen:  "127.0.0.1:8484",
		Auth:    string(AuthToken),
		Builtin: true,
		Limits:  defaultLimits(),
		Defaults: sharedFile{
			Era:          "auto",
			Retry:        string(durward.RetryUndelivered),
			Instances:    string(durward.InstancesShared),
			Risk:         risk(durward.RiskHigh),
			StartTimeout: 30 * time.Second,
			CallTimeout:  noCallTimeout,
			Timeout:      60 * time.Second,
			Concurrency:  128,
			IdleStop:     idleStop(10 * time.Minute),
			HealthEvery:  30 * time.Second,
		},
		Ledger: defaultLedger(), Telemetry: defaultTelemetry(),
		Log: logFile{Level: "info", Format: "auto"},
	}
}

// network is an address or a network in CIDR form.
type network netip.Prefix

// UnmarshalText reads "10.0.0.0/8" or "10.0.0.1".
func (n *network) UnmarshalText(text []byte) error {
	if addr, err := netip.ParseAddr(string(text)); err == nil {
		*n = network(netip.PrefixFrom(addr.WithZone(""), addr.BitLen()))
		return nil
	}
	prefix, err := netip.ParsePrefix(string(text))
	if err != nil || prefix != prefix.Masked() {
		return durward.Errorf(durward.Invalid, "", "must be an address or a network such as 10.0.0.0/8 whose host bits are zero, is %q", text)
	}
	*n = network(prefix)
	return nil
}

// String returns an address alone, or a network in CIDR form.
func (n network) String() string {
	if p := netip.Prefix(n); p.IsSingleIP() {
		return p.Addr().String()
	}
	return netip.Prefix(n).String()
}

// risk is a durward.Risk by its name.
type risk durward.Risk

// String returns the name.
func (r risk) String() string { return durward.Risk(r).String() }

// UnmarshalText reads low, medium, high or critical.
func (r *risk) UnmarshalText(text []byte) error {
	parsed, err := durward.ParseRisk(string(text))
	if err != nil || parsed == durward.RiskUnset {
		return durward.Errorf(durward.Invalid, "", "must be one of low, medium, high, critical, is %q", text)
	}
	*r = risk(parsed)
	return nil
}

// callTimeout is a duration; noCallTimeout is "none", zero that nobody said.
type callTimeout time.Duration

const noCallTimeout callTimeout = -1

// String returns a duration, or none.
func (c callTimeout) String() string {
	if c == noCallTimeout {
		return "none"
	}
	return writtenDuration(time.Duration(c))
}

// UnmarshalText reads a duration or none.
func (c *callTimeout) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*c = noCallTimeout
		return nil
	}
	d, ok := yamlx.ParseDuration(string(text))
	if !ok || d < 100*time.Millisecond {
		return durward.Errorf(durward.Invalid, "", "must be none or a duration of at least 100ms (90s, 5m), is %q", text)
	}
	*c = callTimeout(d)
	return nil
}

// idleStop is a duration; negative is "never", zero that nobody said.
type idleStop time.Duration

// String returns a duration, or never.
func (i idleStop) String() string {
	if i < 0 {
		return "never"
	}
	return writtenDuration(time.Duration(i))
}

// UnmarshalText reads a duration or never.
func (i *idleStop) UnmarshalText(text []byte) error {
	if string(text) == "never" {
		*i = -1
		return nil
	}
	d, ok := yamlx.ParseDuration(string(text))
	if !ok || d < time.Second {
		return durward.Errorf(durward.Invalid, "", "must be never or a duration of at least 1s (30s, 10m), is %q", text)
	}
	*i = idleStop(d)
	return nil
}
