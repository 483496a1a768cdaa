//go:build unix

package identity_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"durward"
	"durward/internal/identity"
)

const secret = "0123456789abcdef"

func gate(t testing.TB, opts identity.Options) *identity.Gate {
	t.Helper()
	g, err := identity.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func request(host string, headers ...string) *http.Request {
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Host, r.RemoteAddr = host, "127.0.0.1:50000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestTokensNamePrincipals(t *testing.T) {
	g := gate(t, identity.Options{Tokens: []identity.Token{{Principal: "a", Secret: secret}, {Principal: "b", Secret: secret + secret}}})
	for _, tt := range []struct {
		headers   []string
		principal string
	}{
		{nil, ""},
		{[]string{"Authorization", "Bearer " + secret}, "a"},
		{[]string{"Authorization", "bearer  " + secret + " "}, "a"},
		{[]string{"Authorization", "Bearer " + secret + secret}, "b"},
		{[]string{"Authorization", "Bearer " + secret[:15]}, ""},
		{[]string{"Authorization", "Bearer " + secret + "0"}, ""},
		{[]string{"Authorization", secret}, ""},
		{[]string{"Authorization", "Bearer"}, ""},
		{[]string{"Authorization", "Bearer "}, ""},
		{[]string{"Authorization", "Bearer " + strings.Repeat("x", 10_000)}, ""},
		{[]string{"Authorization", "Bearer " + secret, "Authorization", "Bearer " + secret}, ""},
	} {
		caller, err := g.Admit(request("localhost", tt.headers...))
		if caller.Principal != tt.principal || (err == nil) != (tt.principal != "") || err != nil && durward.KindOf(err) != durward.Unauthenticated {
			t.Errorf("%q: %+v %v", tt.headers, caller, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells the token: %v", err)
		}
	}
}

// A gate without tokens is closed.
func TestNobodyComesInWithoutTokens(t *testing.T) {
	g, err := identity.New(identity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, headers := range [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer " + secret}} {
		if c, err := g.Admit(request("localhost", headers...)); durward.KindOf(err) != durward.Unauthenticated || err == nil {
			t.Errorf("%q: %+v %v", headers, c, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	ok := []identity.Token{{Principal: "a", Secret: secret}}
	for _, opts := range []identity.Options{
		{Tokens: []identity.Token{{Secret: secret}}},
		{Tokens: []identity.Token{{Principal: "a", Secret: "short"}}},
		{Tokens: []identity.Token{{Principal: "a", Secret: secret + "\n"}}},
		{Tokens: ok, Listen: []string{"no port"}},
		{Tokens: ok, AllowedHosts: []string{"*"}},
		{Tokens: ok, AllowedHosts: []string{"http://x"}},
		{Tokens: ok, AllowedHosts: []string{""}},
		{Tokens: ok, AllowedOrigins: []string{"x.example"}},
		{Tokens: ok, AllowedOrigins: []string{"https://x.example/"}},
		{Tokens: ok, AllowedOrigins: []string{"*"}},
	} {
		if _, err := identity.New(opts); durward.KindOf(err) != durward.Invalid || err == nil {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func TestNoAuthIsForThisMachineOnly(t *testing.T) {
	g := gate(t, identity.Options{NoAuth: true, AllowedHosts: []string{"gate.example"}})
	if caller, err := g.Admit(request("localhost:1")); err != nil || caller.Principal != identity.PrincipalLocal {
		t.Error(caller, err)
	}
	for _, remote := range []string{"10.0.0.1:5", "[2001:db8::1]:5", "nonsense", ""} {
		r := request("gate.example")
		r.RemoteAddr = remote
		if _, err := g.Admit(r); durward.KindOf(err) != durward.Denied {
			t.Errorf("%s: %v", remote, err)
		}
	}
	r := request("localhost")
	r.RemoteAddr = "[::ffff:127.0.0.1]:5"
	if _, err := g.Admit(r); err != nil {
		t.Error(err)
	}
}

func TestB24_HostAndOrigin(t *testing.T) {
	g := gate(t, identity.Options{NoAuth: true, Listen: []string{"192.0.2.7:8484", "0.0.0.0:1", "[::]:1", ":1"}, AllowedHosts: []string{"Gate.example", "[2001:db8::5]", "port.example:8443", "tls.example:80"}, AllowedOrigins: []string{"https://ok.example"}})
	for _, tt := range []struct {
		host, origin string
		ok           bool
	}{
		{"localhost", "", true}, {"LOCALHOST:1", "", true}, {"127.9.9.9:1", "", true}, {"[::1]:1", "", true}, {"[::1]", "", true},
		{"[::ffff:127.0.0.1]:1", "", true}, {"192.0.2.7:8484", "", true}, {"192.0.2.7", "", true}, {"gate.example:9", "", true}, {"[2001:db8::5]:9", "", true},
		{"port.example:8443", "", true}, {"PORT.example:8443", "", true}, {"port.example", "", false}, {"port.example:8444", "", false}, {"tls.example", "", true},
		{"198.51.100.3:8484", "", true}, // the address the connection came to
		{"192.0.2.8:8484", "", false}, {"0.0.0.0:1", "", false}, {"[::]:1", "", false}, {"", "", false}, {"localhost.", "", false}, {"x.localhost", "", false},
		{"evil.example", "", false}, {"gate.example.evil", "", false}, {"::1", "", false}, {"2130706433", "", false}, {"127.1", "", false}, {"0x7f.0.0.1", "", false}, {"127.0.0.1:x@evil", "", false},
		{"localhost:8484", "http://localhost:8484", true}, {"localhost:8484", "HTTP://LOCALHOST:8484", true}, {"localhost:8484", "http://127.0.0.1:8484", true},
		{"localhost", "http://localhost", true}, {"localhost", "http://localhost:80", true}, {"gate.example", "http://gate.example", true},
		{"gate.example", "https://gate.example", false}, {"localhost:8484", "http://localhost", false}, {"localhost:8484", "http://localhost:8485", false},
		{"gate.example", "http://localhost", false}, {"localhost:8484", "http://gate.example:8484", false}, {"localhost:8484", "null", false}, {"localhost:8484", "", true},
		{"localhost:8484", "file://", false}, {"localhost:8484", "http://localhost:8484/x", false}, {"localhost:8484", "http://x@localhost:8484", false},
		{"localhost:8484", "https://ok.example", true}, {"localhost:8484", "https://OK.example", true}, {"localhost:8484", "http://ok.example", false}, {"evil.example", "https://ok.example", false},
	} {
		r := request(tt.host)
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(198, 51, 100, 3), Port: 8484}))
		_, err := g.Admit(r)
		if (err == nil) != tt.ok || err != nil && durward.KindOf(err) != durward.Denied {
			t.Errorf("Host %q Origin %q: %v", tt.host, tt.origin, err)
		}
	}
	r := request("localhost:1", "Origin", "http://localhost:1", "Origin", "http://localhost:1")
	if err := g.JudgeSource(r); durward.KindOf(err) != durward.Denied {
		t.Errorf("two origins: %v", err)
	}
}

func TestForwardedHeadersOfTrustedProxiesOnly(t *testing.T) {
	g := gate(t, identity.Options{Tokens: []identity.Token{{Principal: "a", Secret: secret}}, AllowedHosts: []string{"gate.example"}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for _, tt := range []struct {
		remote, host string
		headers      []string
		ok           bool
	}{
		{"10.1.2.3:5", "gate.example", nil, true},
		{"10.1.2.3:5", "inner", []string{"X-Forwarded-Host", "gate.example"}, true},
		{"10.1.2.3:5", "gate.example", []string{"X-Forwarded-Host", "evil.example"}, false},
		{"11.1.2.3:5", "inner", []string{"X-Forwarded-Host", "gate.example"}, false},
		{"11.1.2.3:5", "gate.example", []string{"X-Forwarded-Host", "evil.example"}, true},
		{"10.1.2.3:5", "inner", []string{"X-Forwarded-Host", "gate.example, gate.example"}, false},
		{"10.1.2.3:5", "gate.example", []string{"X-Forwarded-Proto", "https", "Origin", "https://gate.example"}, true},
		{"10.1.2.3:5", "gate.example", []string{"Origin", "https://gate.example"}, false},
		{"11.1.2.3:5", "gate.example", []string{"X-Forwarded-Proto", "https", "Origin", "https://gate.example"}, false},
	} {
		r := request(tt.host, append([]string{"Authorization", "Bearer " + secret}, tt.headers...)...)
		r.RemoteAddr = tt.remote
		if _, err := g.Admit(r); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestTheOwnerIsKnownOnTheUnixSocket(t *testing.T) {
	g := gate(t, identity.Options{Tokens: []identity.Token{{Principal: "a", Secret: secret}}})
	callers := make(chan durward.Caller, 1)
	errs := make(chan error, 1)
	server := &http.Server{ConnContext: identity.ConnContext, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		caller, err := g.Admit(r)
		callers <- caller
		errs <- err
	})}
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() { server.Close(); <-served }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	for _, origin := range []string{"", "http://localhost"} {
		req, _ := http.NewRequest("GET", "http://any.name/", nil)
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		caller, err := <-callers, <-errs
		if origin != "" {
			if durward.KindOf(err) != durward.Denied {
				t.Error(err)
			}
		} else if err != nil || caller.Principal != identity.PrincipalLocal || !strings.HasPrefix(caller.Process, "pid ") {
			t.Errorf("%+v %v", caller, err)
		}
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "token")
	tokens := make([]string, 8)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			var err error
			if tokens[i], err = identity.LoadToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token != tokens[0] || len(token) != 43 {
			t.Fatal(tokens)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatal(info, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Error("drafts are left", left)
	}
	other, err := identity.LoadToken(filepath.Join(t.TempDir(), "token"))
	if err != nil || other == tokens[0] {
		t.Error(other, err)
	}
}

func TestTokenFilesThatAreNotPrivateAreRefused(t *testing.T) {
	dir := t.TempDir()
	good, err := identity.LoadToken(filepath.Join(dir, "good"))
	if err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(path string) error{
		"readable by others": func(p string) error { return os.WriteFile(p, []byte(good), 0o644) },
		"readable by group":  func(p string) error { return os.WriteFile(p, []byte(good), 0o640) },
		"a link":             func(p string) error { return os.Symlink(filepath.Join(dir, "good"), p) },
		"a directory":        func(p string) error { return os.Mkdir(p, 0o700) },
		"a pipe":             func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"empty":              func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"too short":          func(p string) error { return os.WriteFile(p, []byte("short\n"), 0o600) },
		"too long":           func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("x", 5000)), 0o600) },
	} {
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if mode := map[string]os.FileMode{"readable by others": 0o644, "readable by group": 0o640}[name]; mode != 0 {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if token, err := identity.LoadToken(path); err == nil {
			t.Errorf("%s: %q", name, token)
		}
	}
}

func FuzzSource(f *testing.F) {
	f.Add("127.0.0.1:1", "http://localhost:1")
	f.Add("[::1]:1", "http://[::1]:1")
	f.Add("evil", "null")
	g := gate(f, identity.Options{NoAuth: true})
	f.Fuzz(func(t *testing.T, host, origin string) {
		r := request(host)
		r.Header["Origin"] = []string{origin}
		if _, err := g.Admit(r); err != nil {
			return
		}
		// Whoever is let in said both with a name that only this machine answers to.
		for _, s := range []string{host, origin} {
			if lower := strings.ToLower(s); !strings.Contains(lower, "localhost") && !strings.Contains(lower, "127.") && !strings.Contains(lower, "::1") && !strings.Contains(lower, ":7f") && !strings.Contains(lower, "0:1") && !strings.Contains(lower, "0001") {
				t.Errorf("let in Host %q Origin %q", host, origin)
			}
		}
	})
}
