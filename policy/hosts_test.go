package policy

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHostsHaveOneSpelling(t *testing.T) {
	tests := map[string]string{
		"example.com": "example.com", "EXAMPLE.Com": "example.com", "example.com.": "example.com",
		"EXAMPLE。com": "example.com", "ｅｘａｍｐｌｅ.com": "example.com", "exam\u00adple.com": "example.com",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"faß.de": "xn--fa-hia.de", "my_service": "my_service", "my-service-": "my-service-", "a--b.example": "a--b.example",
		"example%2ecom": "example.com", "%65xample.com": "example.com",
		"1a.2b": "1a.2b", "0xg.example": "0xg.example", "1.2.3.example": "1.2.3.example",
		"[::1]": "::1", "::1": "::1", "0:0:0:0:0:0:0:1": "::1", "[2001:DB8::0:1]": "2001:db8::1",
		"[fe80::1%25eth0]": "fe80::1%eth0", "[fe80::1%eth0]": "fe80::1%eth0",
		"8.8.8.8": "8.8.8.8", "8.8.8.8.": "8.8.8.8", "134744072": "8.8.8.8", "169.254.43518": "169.254.169.254",
		"0": "0.0.0.0", "0x": "0.0.0.0", "00": "0.0.0.0",
	}
	for _, loopback := range []string{
		"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0X7F.0.0.1", "0x7f.0x0.0x0.0x1",
		"017700000001", "0177.0.0.1", "0177.1", "0000177.0.0.01", "127.0.0.0x1", "127.0x000001", "0x7f.0.1", "127.00.0000.1",
		"１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1",
		"[::ffff:127.0.0.1]", "::ffff:127.0.0.1", "::ffff:7f00:1", "[0:0:0:0:0:ffff:7f00:0001]", "[::FFFF:7F00:1]",
	} {
		tests[loopback] = "127.0.0.1"
	}
	for in, want := range tests {
		got, err := NormalizeHost(in)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
		if again, err := NormalizeHost(got); err != nil || again != got {
			t.Errorf("%q: the spelling %q is not the last: %q, %v", in, got, again, err)
		}
	}
}

func TestWhatIsNoHostIsRefused(t *testing.T) {
	for _, in := range []string{
		"", ".", "..", "a..", "ü..", "ü。.", "fe80::1%eth0.", "a..b", ".a", "a b", "a/b", "a@b", "a:b:c", "[::1", "::1]", "[1.2.3.4]", "[::1%25e th]", "a\x00b", "a\tb", "a\\b", "a?b", "a#b", "a%", "a%2fb", "a%00b",
		"1.2.3.4.5", "1.2.3.256", "256.1.1.1", "1.2.65536", "1.16777216", "4294967296", "0x100000000", "08.0.0.1", "1.2.3.09", "1..2", "1.2.3.0x", "0x7g.1.1.0xg1.9", "1.2.3.4e1.1x.0x1g.7",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "example", "xn--a\u0301.example", "xn--\u00fc.example",
	} {
		if got, err := NormalizeHost(in); err == nil && in != "1.2.3.0x" {
			t.Errorf("%q: %q, want an error", in, got)
		}
	}
}

func TestHostFindsTheHost(t *testing.T) {
	for in, want := range map[string]string{
		"https://Example.com/x?y#z": "example.com", "https://user:pass@example.com:8080/": "example.com", "https://good.example@evil.example/": "evil.example",
		"https://a@b@c.example": "c.example", "//example.com/x": "example.com", "example.com:443": "example.com", "example.com": "example.com",
		"http://[::1]:80/": "::1", "[::1]:80": "::1", "::1": "::1", "http://0x7f.1/": "127.0.0.1", "http://2130706433": "127.0.0.1", "git+ssh://git@Example.com/x": "example.com",
		"http://example.com?x=//evil": "example.com", "http://example.com#@evil": "example.com", "http://example.com:": "example.com",
	} {
		if got, err := hostOf(in); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "http://", "http:///x", "http:/evil", "http:evil.example", " http://x", "http://a\\@b", "http://a\tb", "example.com:99999", "example.com:x", "/etc/passwd", "a/b", "http://[::1", "mailto:a@b"} {
		if got, err := hostOf(in); err == nil {
			t.Errorf("%q: %q, want an error", in, got)
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	for in, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.32.0.1": true, "2606:4700::1111": true, "64:ff9b::808:808": true, "2002:808:808::1": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "169.254.169.254": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1": false, "192.0.0.8": false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::7f00:1": false, "::ffff:10.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"64:ff9b::a00:1": false, "64:ff9b:1::1": false, "2002:a00:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false, "3fff::1": false, "4000::1": false,
	} {
		if got := PublicIP(netip.MustParseAddr(in)); got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
	if PublicIP(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func FuzzNormalizeHost(f *testing.F) {
	for _, seed := range []string{"example.com.", "0x7f.1", "[::ffff:1.2.3.4]", "bücher", "127。1", "%31.1", "fe80::1%eth0", "xn--a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := NormalizeHost(in)
		if err != nil {
			return
		}
		again, err := NormalizeHost(got)
		if err != nil || again != got {
			t.Errorf("%q: %q, then %q, %v", in, got, again, err)
		}
		if strings.ContainsAny(got, " /\\@?#[]") || strings.HasSuffix(got, ".") || got == "" {
			t.Errorf("%q: %q", in, got)
		}
	})
}
