package config

import (
	_ "embed"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"durward"
	"durward/internal/yamlx"
)

// Config is a whole configuration: every default is filled in, every rule
// between keys holds. It is shared and must not be changed.
type Config struct {
	Listen         string // host:port; port 0 picks a free one
	Loopback       bool   // Listen can be reached from this machine only
	Auth           Auth
	Insecure       bool
	TLS            TLS
	TrustedProxies []netip.Prefix
	AllowedOrigins []string
	AllowedHosts   []string
	Builtin        bool
	NoPrefix       bool // prefix: "" was written
	Limits         Limits
	Servers        []durward.Server  // sorted by name, defaults applied, references replaced
	Toolsets       []durward.Toolset // sorted by name
	Log            Log

	secrets []string // what references were replaced with
}

// Auth is how callers prove who they are.
type Auth string

// The choices.
const (
	AuthToken Auth = "token"
	AuthNone  Auth = "none"
)

// TLS names the certificate and key files; both are empty without TLS.
type TLS struct{ Cert, Key string }

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn, error
	Format string // text, json, auto
}

// Env looks a variable of the service's environment up; os.LookupEnv is one.
type Env func(name string) (string, bool)

// maxFile bounds the configuration file (yamlx refuses what is larger).
const maxFile = 1 << 20

// Load reads the configuration file at path. Relative paths in it are relative
// to its directory. An absent file is durward.NotFound; everything that is
// wrong with its content comes back as one yamlx.Problems (durward.Invalid).
func Load(path string, lookup Env) (*Config, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, durward.Errorf(durward.NotFound, "config "+path, "there is no such file; write one, or name another with --config")
	}
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "config "+path, "cannot be opened: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "config "+path, "cannot be read: %w", err)
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "config "+path, "its directory cannot be found: %w", err)
	}
	return parse(path, filepath.Dir(full), data, lookup)
}

// Parse is Load for a text that has been read already; name is the path it
// came from, for messages and relative paths.
func Parse(name string, data []byte, lookup Env) (*Config, error) {
	return parse(name, filepath.Dir(name), data, lookup)
}

func parse(name, dir string, data []byte, lookup Env) (*Config, error) {
	raw := defaultFile()
	src := yamlx.Parse(name, data, yamlx.Limits{Bytes: maxFile})
	src.Decode(&raw)
	b := builder{src: src, raw: &raw, refs: newReferences(dir, lookup)}
	c := b.build()
	if err := src.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// Default returns the configuration of a file that says nothing but its version.
func Default() *Config {
	raw := defaultFile()
	raw.Version = 1
	b := builder{src: yamlx.Parse("default", []byte("version: 1"), yamlx.Limits{}), raw: &raw, refs: newReferences(".", nil)}
	return b.build()
}

//go:embed demo.yaml
var demo []byte

// Demo returns the embedded configuration: Durward's own tools on a loopback
// address, no other server.
func Demo() (*Config, error) {
	return Parse("demo.yaml", demo, func(string) (string, bool) { return "", false })
}

// Redact replaces what references (${env:…}, ${file:…}) were replaced with by
// their mark, so that text from a server or an error can be shown. Values
// shorter than four bytes stay: they are no secrets and would damage the text.
func (c *Config) Redact(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return text
}

const (
	redacted  = "«redacted»"
	minSecret = 4
)
