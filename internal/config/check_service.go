package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"durward"
	"durward/internal/yamlx"
)

// checkService checks who can reach the service and how.
func (b *builder) checkService(c *Config) {
	if b.raw.Version != version && b.layers.has(yamlx.Path{"version"}) {
		b.layers.report(yamlx.CodeValue, yamlx.Path{"version"}, "must be %d, the only version this Durward reads", version)
	}
	host, err := splitListen(c.Listen)
	if err != nil {
		b.layers.report(yamlx.CodeValue, yamlx.Path{"listen"}, "%v", err)
	}
	c.Loopback = isLoopback(host)
	if err == nil && !c.Loopback {
		b.checkExposed(c)
	}
	for _, key := range []string{"cert", "key"} {
		if at := (yamlx.Path{"tls", key}); b.layers.has(at) && (key == "cert" && c.TLS.Cert == "" || key == "key" && c.TLS.Key == "") {
			b.layers.report(yamlx.CodeValue, at, "is empty; name a file")
		}
	}
	b.checkAPI(c)
	for i, origin := range c.AllowedOrigins {
		if !isOrigin(origin) {
			b.layers.report(yamlx.CodeValue, yamlx.Path{"allowed_origins", strconv.Itoa(i)}, "must be an origin in lower case, scheme://host or scheme://host:port, without a path and without *")
		}
	}
	for i, host := range c.AllowedHosts {
		if !isHost(host) {
			b.layers.report(yamlx.CodeValue, yamlx.Path{"allowed_hosts", strconv.Itoa(i)}, "must be a host name or an address, with or without a port, without a scheme and without *")
		}
	}
}

// checkExposed is for an address that other machines can reach.
func (b *builder) checkExposed(c *Config) {
	if c.Auth == AuthNone {
		b.layers.report(codeConflict, yamlx.Path{"auth"}, "none lets everybody in, and other machines can reach listen: %s; use auth: token or a loopback address such as 127.0.0.1:8484", c.Listen)
	}
	if c.TLS.Cert == "" && !c.Insecure {
		b.layers.report(codeConflict, yamlx.Path{"listen"}, "other machines can reach %s: give tls: {cert, key}, or accept that tokens cross the network in the clear with insecure: true, or use a loopback address such as 127.0.0.1:8484", c.Listen)
	}
}

// checkAPI: who holds the token of the service API can run any program, and it
// crosses the connection in the clear. So it stays on this machine, whatever
// else is permitted.
func (b *builder) checkAPI(c *Config) {
	at := yamlx.Path{"api", "listen"}
	if !b.layers.has(at) {
		return
	}
	host, err := splitListen(c.API.Listen)
	switch {
	case err != nil:
		b.layers.report(yamlx.CodeValue, at, "must be host:port with a loopback address and a port from 0 to 65535, such as 127.0.0.1:8485 or [::1]:8485")
	case !isLoopback(host):
		b.layers.report(codeForbidden, at, "other machines could reach %s, and the service API is for this one only: who uses it can start any program; write a loopback address such as 127.0.0.1:8485, and reach it from elsewhere through a tunnel (ssh -L)", clip(c.API.Listen))
	case c.API.Listen == c.Listen && !strings.HasSuffix(c.Listen, ":0"):
		b.layers.report(codeConflict, at, "is the address of the HTTP entrance (listen); give the service API a port of its own, such as 127.0.0.1:8485")
	}
}

func splitListen(listen string) (host string, err error) {
	host, port, err := net.SplitHostPort(listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host != "" && !isHostName(host) {
		return "", errors.New("must be host:port with a port from 0 to 65535, such as 127.0.0.1:8484 or [::1]:8484")
	}
	return host, nil
}

// isLoopback holds only for what certainly is: a name other than localhost may
// resolve to anything.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && text == strings.ToLower(text) && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Scheme+"://"+u.Host == text && isHost(u.Host)
}

// isHost takes name, name:port, address, [address]:port.
func isHost(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return isHostName(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && isHostName(host)
}

func isHostName(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return len(text) <= 253
}

// checkPrefix: names without a prefix are unambiguous only with a single server.
func (b *builder) checkPrefix(c *Config) {
	if b.raw.Prefix == nil {
		return
	}
	at := yamlx.Path{"prefix"}
	if *b.raw.Prefix != "" {
		b.layers.report(yamlx.CodeValue, at, "may only be written as \"\" (offer the tools of the only server under their own names); remove it to have names like SERVER__TOOL")
		return
	}
	enabled := 0
	for _, s := range c.Servers {
		if !s.Disabled {
			enabled++
		}
	}
	if enabled != 1 || c.Builtin {
		b.layers.report(codeConflict, at, "\"\" needs exactly one enabled server and builtin: false; here %d servers are enabled and builtin is %t", enabled, c.Builtin)
	}
	if c.LazyTools || slices.ContainsFunc(c.Toolsets, func(t durward.Toolset) bool { return t.Lazy }) {
		b.layers.report(codeConflict, at, "\"\" does not go with lazy_tools or a lazy toolset: the tools that find the others have names like SERVER__TOOL")
	}
}
