package identity

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"durward"
)

// JudgeSource refuses a foreign Host or Origin with kind Denied. It is the part
// of [Gate.Admit] that needs no token, for entrances that authenticate otherwise.
func (g *Gate) JudgeSource(r *http.Request) error {
	if _, ok := r.Context().Value(peerKey{}).(peer); ok {
		return judgeSocketSource(r)
	}
	return g.judgeSource(r)
}

// judgeSource keeps web pages out: one whose name was made to resolve to us
// shows itself in Host, all others in Origin.
func (g *Gate) judgeSource(r *http.Request) error {
	host, proto, err := g.addressed(r)
	if err != nil {
		return err
	}
	if !g.knownHost(r, host, proto) {
		return durward.Errorf(durward.Denied, "identity",
			"the Host %q is not one of this service; add it to allowed_hosts if it should be", clip(host))
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	if len(origins) == 1 && (g.AllowsOrigin(origins[0]) || ownOrigin(origins[0], proto, host)) {
		return nil
	}
	return durward.Errorf(durward.Denied, "identity",
		"the Origin %q is foreign; add it to allowed_origins if its pages may call tools", clip(strings.Join(origins, ", ")))
}

// addressed returns the host the client meant and the scheme it used, "" if unknown.
func (g *Gate) addressed(r *http.Request) (host, proto string, err error) {
	if r.TLS != nil {
		proto = "https"
	} else {
		proto = "http"
	}
	if len(g.proxies) == 0 || !g.fromProxy(r.RemoteAddr) {
		return r.Host, proto, nil
	}
	host = r.Host
	for _, header := range []struct {
		name string
		at   *string
	}{{"X-Forwarded-Host", &host}, {"X-Forwarded-Proto", &proto}} {
		values := r.Header[header.name]
		if len(values) == 0 {
			continue
		}
		if len(values) > 1 || strings.Contains(values[0], ",") {
			return "", "", durward.Errorf(durward.Denied, "identity", "%s has more than one value; let the proxy set it instead of adding to it", header.name)
		}
		*header.at = values[0]
	}
	return host, strings.ToLower(proto), nil
}

func (g *Gate) fromProxy(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	for _, p := range g.proxies {
		if p.Contains(at.Addr().Unmap()) {
			return true
		}
	}
	return false
}

// hostRule is a host that may stand in Host; without a port, any will do.
type hostRule struct{ name, port string }

// knownHost reports whether host names this service: a loopback name, a host it
// listens on, a host that is allowed, or the very address the connection came to.
func (g *Gate) knownHost(r *http.Request, host, proto string) bool {
	name := hostOf(host)
	if name == "" {
		return false
	}
	if loopbackName(name) {
		return true
	}
	for _, known := range g.hosts {
		if strings.EqualFold(known.name, name) && (known.port == "" || known.port == portOf(host, proto)) {
			return true
		}
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap() == ip.Unmap()
}

// ownOrigin reports whether a page of that origin was served by this very
// service: same scheme, same port, and the same host or both of them loopback
// names. Another port on this machine is another program.
func ownOrigin(origin, proto, host string) bool {
	scheme, at, ok := strings.Cut(origin, "://")
	if !ok || !strings.EqualFold(scheme, proto) || strings.ContainsAny(at, "/?#@") {
		return false
	}
	if !strings.EqualFold(portOf(at, proto), portOf(host, proto)) {
		return false
	}
	a, b := hostOf(at), hostOf(host)
	return a != "" && (strings.EqualFold(a, b) || loopbackName(a) && loopbackName(b))
}

// hostOf cuts the port and the brackets off; "" if the port is no number.
func hostOf(hostport string) string {
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		for _, c := range hostport[i+1:] {
			if c < '0' || c > '9' {
				return ""
			}
		}
		hostport = hostport[:i]
	}
	if len(hostport) > 2 && hostport[0] == '[' && hostport[len(hostport)-1] == ']' {
		return hostport[1 : len(hostport)-1]
	}
	return hostport
}

func portOf(hostport, proto string) string {
	if i := strings.LastIndexByte(hostport, ':'); i >= 0 && !strings.HasSuffix(hostport, "]") {
		return hostport[i+1:]
	}
	if proto == "https" {
		return "443"
	}
	return "80"
}

// loopbackName reports whether a browser that was given name can have reached
// nothing but its own machine.
func loopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if name == "" || name[0] != ':' && (name[0] < '0' || name[0] > '9') {
		return false
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// clip bounds what is quoted back.
func clip(s string) string { return s[:min(len(s), 100)] }
