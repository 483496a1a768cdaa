package policy

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"durward"
)

// maxHost is how long a name may be (RFC 1035, 2.3.4), without a dot at the end.
const maxHost = 253

// NormalizeHost gives a host its one spelling, so that rules about it cannot be gone
// around by writing it in another way: lower case, no dot at the end, international names in
// their ASCII form (UTS #46, non-transitional), IPv6 without brackets in the form of RFC 5952,
// IPv4 as four decimal numbers whatever inet_aton made of it before, IPv4 mapped into IPv6 as IPv4.
// What could be read in two ways is refused with an error of kind Invalid.
func NormalizeHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		if !strings.HasSuffix(host, "]") {
			return "", badHost(host)
		}
		return normalizeIPv6(host[1 : len(host)-1])
	}
	if strings.Contains(host, ":") {
		return normalizeIPv6(host)
	}
	name, ok := asciiName(host)
	if !ok {
		return "", badHost(host)
	}
	if !plausibleName(name) {
		return "", badHost(host)
	}
	if !endsInNumber(name) {
		return name, nil
	}
	ip, ok := legacyIPv4(name)
	if !ok {
		return "", badHost(host)
	}
	return ip.String(), nil
}

// asciiName decodes a name and maps it to ASCII, without the dot at its end. What would be mapped to
// something else a second time is refused: it is not what it says.
func asciiName(host string) (string, bool) {
	name, err := url.PathUnescape(host)
	if err != nil || !utf8.ValidString(name) {
		return "", false
	}
	trimmed := false
	for range 2 {
		bare, dot := strings.CutSuffix(strings.ToLower(name), ".")
		if dot && trimmed {
			return "", false
		}
		name, trimmed = bare, trimmed || dot
		if !strings.Contains(name, "xn--") && !strings.ContainsFunc(name, func(r rune) bool { return !nameByte(r) && r != '.' }) {
			return name, true
		}
		if name, err = hostProfile().ToASCII(name); err != nil {
			return "", false
		}
	}
	again, err := hostProfile().ToASCII(name)
	return name, err == nil && again == name
}

// hostProfile maps as browsers do, and lets pass the underscores and hyphens that
// are not allowed in names of hosts and yet found there; plausibleName checks the rest.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))
}

func badHost(host string) error {
	return durward.Errorf(durward.Invalid, "host", "%q is no host that can be read in one way only", shorten(host))
}

func normalizeIPv6(s string) (string, error) {
	s = strings.Replace(s, "%25", "%", 1) // RFC 6874 writes the sign before a zone so
	ip, err := netip.ParseAddr(s)
	if err != nil || !ip.Is6() {
		return "", badHost(s)
	}
	if ip.Zone() != "" && strings.ContainsFunc(ip.Zone(), func(r rune) bool { return !nameByte(r) && r != '.' }) || strings.HasSuffix(ip.Zone(), ".") {
		return "", badHost(s)
	}
	return ip.Unmap().String(), nil
}

func nameByte(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}

func plausibleName(name string) bool {
	if len(name) > maxHost {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return !nameByte(r) }) {
			return false
		}
	}
	return true
}

// endsInNumber tells what every resolver takes for an IPv4 address, or for a broken
// one (WHATWG URL, "ends in a number").
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, ok := ipv4Part(last); ok {
		return true
	}
	return strings.Trim(last, "0123456789") == ""
}

// legacyIPv4 reads what inet_aton reads: one to four numbers, decimal, octal or
// hexadecimal, of which the last fills all bytes that are left.
func legacyIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		n, ok := ipv4Part(part)
		if !ok {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 0xff {
				return netip.Addr{}, false
			}
			sum |= n << (24 - 8*i)
			continue
		}
		if n >= 1<<(8*(4-i)) {
			return netip.Addr{}, false
		}
		sum |= n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

func ipv4Part(s string) (uint64, bool) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
		if s == "" {
			return 0, true // as WHATWG URL has it
		}
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	if s == "" || strings.ContainsAny(s, "_+-") {
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}

// hostOf finds the host in a URL, in host:port, or in a host, and normalises it.
func hostOf(text string) (string, error) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return "", badHost(text)
	}
	authority := text
	if i := strings.Index(text, "//"); i >= 0 && (i == 0 || isScheme(text[:i])) {
		authority = text[i+2:]
		if i := strings.IndexAny(authority, "/?#"); i >= 0 {
			authority = authority[:i]
		}
		authority = authority[strings.LastIndexByte(authority, '@')+1:]
	}
	host := authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && (strings.HasPrefix(authority, "[") && i > strings.IndexByte(authority, ']') || strings.Count(authority, ":") == 1) {
		if port := authority[i+1:]; port != "" {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return "", badHost(text)
			}
		}
		host = authority[:i]
	}
	if host == "" {
		return "", badHost(text)
	}
	return NormalizeHost(host)
}

// isScheme tells "https:" from what is none.
func isScheme(s string) bool {
	name, ok := strings.CutSuffix(s, ":")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !nameByte(r) && r != '+' && r != '.' })
}

// publicHost reports whether a normalised host is an address of the public internet.
func publicHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && PublicIP(ip)
}

// PublicIP reports whether an address belongs to the public internet, by the
// registries of special addresses (RFC 6890 and what came after it). An IPv6 address that
// carries an IPv4 address (mapped, NAT64, 6to4) is what that one is. What is in no table is not public.
func PublicIP(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if !ip.IsValid() {
		return false
	}
	if carried, ok := carriedIPv4(ip); ok {
		return PublicIP(carried)
	}
	if ip.Is6() && !within(ip, "2000::/3") {
		return false
	}
	return !within(ip, specialNetworks()...)
}

// carriedIPv4 returns the IPv4 address that a gateway takes out of an IPv6 address.
func carriedIPv4(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() {
		return ip, false
	}
	b := ip.As16()
	switch {
	case within(ip, "64:ff9b::/96"): // NAT64, RFC 6052
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case within(ip, "2002::/16"): // 6to4, RFC 3056
		return netip.AddrFrom4([4]byte(b[2:6])), true
	default:
		return ip, false
	}
}

func within(ip netip.Addr, networks ...string) bool {
	for _, n := range networks {
		if netip.MustParsePrefix(n).Contains(ip) {
			return true
		}
	}
	return false
}

// specialNetworks are those that are not public, of IPv6 below 2000::/3.
func specialNetworks() []string {
	return []string{
		"0.0.0.0/8",       // this network
		"10.0.0.0/8",      // private
		"100.64.0.0/10",   // shared by customers of a carrier
		"127.0.0.0/8",     // loopback
		"169.254.0.0/16",  // link-local, metadata of clouds
		"172.16.0.0/12",   // private
		"192.0.0.0/24",    // protocol assignments
		"192.0.2.0/24",    // documentation
		"192.88.99.0/24",  // 6to4 relays
		"192.168.0.0/16",  // private
		"198.18.0.0/15",   // benchmarks
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"224.0.0.0/4",     // multicast
		"240.0.0.0/4",     // reserved, broadcast
		"2001::/23",       // protocol assignments, Teredo
		"2001:db8::/32",   // documentation
		"3fff::/20",       // documentation
	}
}
