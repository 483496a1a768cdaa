package config

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/internal/secret"
	"durward/internal/yamlx"
)

// builder makes a Config of a decoded file and reports what is wrong between its keys.
type builder struct {
	layers layers
	raw    *file
	refs   *references
	others []*yamlx.Source // documents besides those of the layers
}

func (b *builder) build() *Config {
	c := &Config{
		Listen: b.raw.Listen, Auth: Auth(b.raw.Auth), Insecure: b.raw.Insecure,
		TLS:            TLS{Cert: b.layers.path(yamlx.Path{"tls", "cert"}, b.raw.TLS.Cert), Key: b.layers.path(yamlx.Path{"tls", "key"}, b.raw.TLS.Key)},
		AllowedOrigins: b.raw.AllowedOrigins, AllowedHosts: b.raw.AllowedHosts,
		API:     API(b.raw.API),
		Builtin: b.raw.Builtin, NoPrefix: b.raw.Prefix != nil,
		LazyTools: b.raw.LazyTools, PinnedTools: b.raw.PinnedTools,
		Limits: b.raw.Limits.limits(),
		Ledger: b.ledger(), Approvals: b.raw.Limits.approvals(), PolicyLimits: b.raw.Limits.policy(),
		Log: Log(b.raw.Log),
	}
	for _, n := range b.raw.TrustedProxies {
		c.TrustedProxies = append(c.TrustedProxies, netip.Prefix(n))
	}
	for _, name := range slices.Sorted(maps.Keys(b.raw.Servers)) {
		c.Servers = append(c.Servers, b.server(name, b.raw.Servers[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(b.raw.Toolsets)) {
		c.Toolsets = append(c.Toolsets, b.toolset(name, b.raw.Toolsets[name]))
	}
	c.Principals, c.SealKeys = b.principals(), b.sealKeys()
	c.Telemetry = b.telemetry()
	c.Policy = b.policy()
	b.checkPatterns(yamlx.Path{"pinned_tools"}, b.raw.PinnedTools)
	b.checkService(c)
	b.checkPrefix(c)
	b.checkLocked()
	c.known = b.refs.values
	c.secrets = secret.NewMatcher(c.known...)
	return c
}

func (b *builder) server(name string, raw serverFile) durward.Server {
	at := yamlx.Path{"servers", name}
	if err := durward.CheckServerName(name); err != nil {
		b.layers.reportKey(yamlx.CodeValue, at, "%s", message(err))
	}
	b.checkKind(at, raw)
	b.checkTools(at.In("tools"), name, raw.Tools)
	s := durward.Server{
		Name: name, Disabled: raw.Disabled, Transport: transportOf(raw),
		Command: b.command(at, raw), Dir: b.layers.path(at, raw.Dir),
		TrustHints: raw.TrustHints, URL: b.url(at, raw.URL), Proxy: b.proxy(at, raw.Proxy), CAFile: b.layers.path(at, raw.CAFile),
		Tools: raw.Tools.rules(),
	}
	s.Args = b.args(at, raw.Args)
	s.Env = b.env(at, raw.Env)
	s.Headers = b.headers(at, raw.Headers)
	bound(&s, raw.Shared, b.raw.Defaults)
	return s
}

func transportOf(raw serverFile) durward.Transport {
	switch {
	case raw.Transport != "":
		return durward.Transport(raw.Transport)
	case raw.URL != "":
		return durward.TransportHTTP
	default:
		return durward.TransportStdio
	}
}

// command makes a relative path absolute, unless the launcher will take it
// relative to the working directory.
func (b *builder) command(at yamlx.Path, raw serverFile) string {
	if raw.Dir == "" && strings.ContainsAny(raw.Command, `/`+string(filepath.Separator)) {
		return b.layers.path(at, raw.Command)
	}
	return raw.Command
}

// bound fills the shared keys: what the server says, else what defaults say.
func bound(s *durward.Server, own, defaults sharedFile) {
	s.Era = cmp.Or(own.Era, defaults.Era)
	s.Retry = durward.Retry(cmp.Or(own.Retry, defaults.Retry))
	s.Instances = durward.Instances(cmp.Or(own.Instances, defaults.Instances))
	s.Risk = durward.Risk(cmp.Or(own.Risk, defaults.Risk))
	s.StartTimeout = cmp.Or(own.StartTimeout, defaults.StartTimeout)
	s.CallTimeout = max(0, time.Duration(cmp.Or(own.CallTimeout, defaults.CallTimeout)))
	s.Timeout = cmp.Or(own.Timeout, defaults.Timeout)
	s.Concurrency = cmp.Or(own.Concurrency, defaults.Concurrency)
	s.IdleStop = time.Duration(cmp.Or(own.IdleStop, defaults.IdleStop))
	s.HealthEvery = cmp.Or(own.HealthEvery, defaults.HealthEvery)
}

func (b *builder) toolset(name string, raw toolsetFile) durward.Toolset {
	at := yamlx.Path{"toolsets", name}
	if !toolsetName.MatchString(name) {
		b.layers.reportKey(yamlx.CodeValue, at, "the name %q must match %s", clip(name), toolsetName)
	}
	if len(raw.Tools) == 0 && b.layers.has(at.In("tools")) {
		b.layers.report(yamlx.CodeValue, at.In("tools"), "names no tool; write at least one name or pattern")
	}
	b.checkPatterns(at.In("tools"), raw.Tools)
	b.checkPatterns(at.In("pinned"), raw.Pinned)
	return durward.Toolset{Name: name, Tools: raw.Tools, Lazy: raw.Lazy, Pinned: raw.Pinned}
}

// message is what an error says, without the place: the problem has its own.
func message(err error) string {
	var e *durward.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func (t *toolsFile) rules() durward.ToolRules {
	out := durward.ToolRules{Allow: t.Allow, Deny: t.Deny, Rename: t.Rename, Describe: t.Describe, Idempotent: t.Idempotent}
	for name, r := range t.Risk {
		if out.Risk == nil {
			out.Risk = map[string]durward.Risk{}
		}
		out.Risk[name] = durward.Risk(r)
	}
	return out
}
