package egress_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/internal/egress"
)

// site is a remote server with a certificate that no system trusts.
func site(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(s.Close)
	return s
}

// get asks for url as a server's connection would.
func get(t *testing.T, s durward.Server) (*http.Response, error) {
	t.Helper()
	rt, err := egress.Dialer{}.RoundTripper(s)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

func TestCertificatesAreVerified(t *testing.T) {
	s := site(t)
	if _, err := get(t, durward.Server{Name: "a", URL: s.URL, Proxy: "none"}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	resp, err := get(t, durward.Server{Name: "a", URL: s.URL, Proxy: "none", CAFile: file})
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("with ca_file: %v", err)
	}
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	if _, err := get(t, durward.Server{Name: "a", URL: elsewhere, Proxy: "none", CAFile: file}); err == nil {
		t.Error("a certificate for another name was taken")
	}
}

func TestAProxyIsUsedForWhatItIsMeant(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(proxy.Close)
	resp, err := get(t, durward.Server{Name: "a", URL: "http://nowhere.invalid/mcp", Proxy: proxy.URL})
	if err != nil || resp.StatusCode != http.StatusTeapot || len(asked) != 1 || asked[0] != "http://nowhere.invalid/mcp" {
		t.Errorf("%v, the proxy was asked for %q", err, asked)
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]durward.Server{
		"proxy":       {Name: "a", Proxy: "nonsense"},
		"no ca_file":  {Name: "a", CAFile: filepath.Join(t.TempDir(), "absent.pem")},
		"bad ca_file": {Name: "a", CAFile: empty},
	} {
		if _, err := (egress.Dialer{}).RoundTripper(s); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
