package config

import (
	_ "embed"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"durward"
	"durward/internal/secret"
)

// Config is a whole configuration: every default is filled in, every rule
// between keys holds. It is shared and must not be changed. However it is
// printed, it shows no value that a reference was replaced with.
type Config struct {
	Listen         string // host:port; port 0 picks a free one
	Loopback       bool   // Listen can be reached from this machine only
	Auth           Auth
	Principals     []Principal       // sorted by name
	SealKeys       []durward.SealKey // the first seals, all open; none: those of the key file
	Insecure       bool
	TLS            TLS
	TrustedProxies []netip.Prefix
	AllowedOrigins []string
	AllowedHosts   []string
	API            API
	Builtin        bool
	NoPrefix       bool // prefix: "" was written
	Limits         Limits
	Servers        []durward.Server  // sorted by name, defaults applied, references replaced
	Toolsets       []durward.Toolset // sorted by name
	LazyTools      bool              // list on /mcp only what finds the other tools, and PinnedTools
	PinnedTools    []string          // globs over offered names
	Policy         Policy
	Ledger         Ledger
	Approvals      ApprovalLimits
	PolicyLimits   PolicyLimits
	Telemetry      Telemetry
	Log            Log

	secrets  *secret.Matcher
	known    []secret.Value // what secrets knows
	settings []Setting
	source   *document // the user's file; nil without one
}

// Auth is how callers prove who they are.
type Auth string

// The choices.
const (
	AuthToken Auth = "token"
	AuthNone  Auth = "none"
)

// Principal is a caller with a bearer token of its own.
type Principal struct {
	Name  string
	Token secret.Value
}

// TLS names the certificate and key files; both are empty without TLS.
type TLS struct{ Cert, Key string }

// API says where the service API is served besides the unix socket: at a loopback
// address, host:port; empty: nowhere.
type API struct{ Listen string }

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json, auto
}

// Default returns the configuration of a file that says nothing but its version.
func Default() *Config {
	c, err := parse([]document{{layer: LayerDefault, name: "default", dir: ".", data: []byte("version: 1")}}, Options{})
	if err != nil { // a defect: a test reads it
		panic(err)
	}
	return c
}

//go:embed demo.yaml
var demo []byte

// String says what matters in one line.
func (c *Config) String() string {
	return fmt.Sprintf("configuration (listen %s, %d servers, %d toolsets)", c.Listen, len(c.Servers), len(c.Toolsets))
}

// Format prints [Config.String], whatever the verb: no verb may show more.
func (c *Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) } // fmt reports what goes wrong

// HasUserFile reports whether there is a user's file, rather than defaults only.
func (c *Config) HasUserFile() bool { return c.source != nil }

// Secrets returns a matcher of all values that references were replaced with,
// and of literal values in places that hold credentials.
func (c *Config) Secrets() *secret.Matcher { return c.secrets }

// SecretsAnd is [Config.Secrets] with more values, such as tokens that were generated.
func (c *Config) SecretsAnd(more ...secret.Value) *secret.Matcher {
	return secret.NewMatcher(append(slices.Clip(c.known), more...)...)
}

// Retired returns the values that [Config.Secrets] knows and that of another
// configuration does not.
func (c *Config) Retired(next *Config) (values []secret.Value) {
	for _, v := range c.known {
		if !slices.ContainsFunc(next.known, func(n secret.Value) bool { return n.Equal(v.Reveal()) }) {
			values = append(values, v)
		}
	}
	return values
}

// Redact replaces what [Config.Secrets] knows, so that text from a server or an
// error can be shown.
func (c *Config) Redact(text string) string { return c.secrets.Text(text) }
