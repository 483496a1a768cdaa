package daemon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/launch"
	"durward/internal/paths"
	"durward/internal/testkit/hostile"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/sharedlog"
)

func TestMain(m *testing.M) {
	launch.MaybeInit()
	if hostile.Asked() {
		hostile.Main()
	}
	os.Exit(m.Run())
}

// home gives the test a home of its own; socket paths are short, so it is not t.TempDir.
func home(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "dw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, dir)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "") // no desktop where somebody could answer
}

// noServers is the configuration of a service with Durward's own tools. On a busy machine,
// too, it has the time to write each call down: by default one is refused that this takes
// five seconds for.
const noServers = "version: 1\nlisten: 127.0.0.1:0\nlimits: {ledger_wait: 1m}\n"

func configured(t *testing.T, text string) daemon.Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "durward.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return daemon.Options{ConfigFile: file, Version: "test", LogTo: io.Discard}
}

func started(t *testing.T, opt daemon.Options) *daemon.Service {
	t.Helper()
	s, err := daemon.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	return s
}

func token(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(paths.Token())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(paths.Token())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token file: %v %v", info.Mode(), err)
	}
	return strings.TrimSpace(string(data))
}

func TestABearerTokenIsNeededByDefault(t *testing.T) {
	home(t)
	s := started(t, configured(t, noServers))
	c := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true}
	for _, wrong := range []string{"", "wrong", token(t) + "x", strings.ToUpper(token(t))} {
		c.Token = wrong
		a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`)
		if err != nil || a.Status != http.StatusUnauthorized || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("token %q: %v %v", wrong, a, err)
		}
	}
	c.Token = token(t)
	if a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`); err != nil || a.Text() != "x" {
		t.Errorf("%v %v", a, err)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/api/v1/status": 401, "/": 401} {
		resp, err := http.Get("http://" + s.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s without a token: %d, wanted %d", path, resp.StatusCode, want)
		}
	}
}

// Each principal comes in with its token and with no other; a change of them
// needs a restart, and a token that opens something else too is refused.
func TestPrincipalsHaveTokensOfTheirOwn(t *testing.T) {
	home(t)
	const first, second = "ann-0123456789-abcdef", "ci-0123456789-abcdefg"
	t.Setenv("DURWARD_TEST_CI", second)
	text := noServers + "api: {listen: 127.0.0.1:0}\nprincipals: {ann: {token: " + first + "}, ci: {token: \"${env:DURWARD_TEST_CI}\"}}\n"
	opt := configured(t, text)
	s := started(t, opt)
	c := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true}
	for bearer, want := range map[string]int{first: 200, second: 200, token(t): 200, "ann": 401, first + "x": 401, first + second: 401} {
		c.Token = bearer
		if a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`); err != nil || a.Status != want {
			t.Errorf("token %q: %v %v, wanted %d", bearer, a, err, want)
		}
	}
	t.Setenv("DURWARD_TEST_CI", second+"x")
	if err := s.Reload(); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "principals needs a restart") {
		t.Error(err)
	}
	for _, file := range []string{paths.Token(), paths.APIToken(), paths.APIReadToken()} {
		t.Setenv("DURWARD_TEST_CI", strings.TrimSpace(read(t, file)))
		again := configured(t, text)
		t.Run(filepath.Base(file), func(t *testing.T) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err := daemon.Start(again)
			if err == nil {
				_ = s.Close()
			}
			if durward.KindOf(err) != durward.Conflict || strings.Contains(fmt.Sprint(err), os.Getenv("DURWARD_TEST_CI")) {
				t.Error(err)
			}
		})
	}
}

func TestServesTLS(t *testing.T) {
	home(t)
	cert, key, pool := certificate(t)
	s := started(t, configured(t, fmt.Sprintf(noServers+"tls: {cert: %q, key: %q}\n", cert, key)))
	c := &rawclient.Client{URL: "https://" + s.Address() + "/mcp", Modern: true, Token: token(t)}
	c.HTTP.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	if a, err := c.CallTool(t.Context(), "local__echo", `{"message":"x"}`); err != nil || a.Text() != "x" {
		t.Errorf("%v %v", a, err)
	}
}

// certificate makes a self-signed one for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile, pool = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(certPEM)
	for file, data := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, pool
}

func TestStartIsATransaction(t *testing.T) {
	home(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opt := configured(t, "version: 1\nlisten: "+taken.Addr().String()+"\n")
	if _, err := daemon.Start(opt); durward.KindOf(err) != durward.Unavailable {
		t.Errorf("a taken address: %v", err)
	}
	for _, file := range []string{paths.Socket(), paths.Address()} {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was left behind: %v", file, err)
		}
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	// Nothing of the failed start is in the way. Not at its address: somebody else may
	// have that by now.
	free := configured(t, noServers)
	started(t, free)
	if _, err := daemon.Start(free); durward.KindOf(err) != durward.Conflict {
		t.Errorf("a second service: %v", err)
	}
}

func TestEndsWhenNobodyUsesIt(t *testing.T) {
	home(t)
	opt := configured(t, noServers)
	opt.IdleExit = 50 * time.Millisecond
	s := started(t, opt)
	s.Run(t.Context()) // returns by itself
	if t.Context().Err() != nil {
		t.Error("it was the test that ended")
	}
}

// A server that failed is not waited for again each time that it is tried.
func TestAServiceStaysReadyWhileAServerIsTriedAgain(t *testing.T) {
	home(t)
	tried := filepath.Join(t.TempDir(), "tried") // the second time it hangs
	s := started(t, configured(t, "version: 1\nlisten: 127.0.0.1:0\nlimits: {ledger_wait: 1m, backoff_first: 10ms}\nservers:\n  again: {command: sh, args: [-c, 'test -e \"$0\" && exec sleep 600; : >\"$0\"; exit 3', "+tried+"], era: legacy}\n"))
	for again := false; !again; time.Sleep(10 * time.Millisecond) { // nothing tells of it
		for _, server := range s.Status().Servers {
			again = again || server.State == durward.StateConnecting && server.Reason != ""
		}
	}
	if err := s.Ready(); err != nil {
		t.Error(err)
	}
}

// A server that prints the secret it was given, and dies, must not make us pass it on.
func TestASecretIsNotToldByAServersLastWords(t *testing.T) {
	home(t)
	const value = "hunter2-correct-horse"
	t.Setenv("DURWARD_TEST_TOKEN", value)
	var log sharedlog.Buffer
	opt := configured(t, `version: 1
listen: 127.0.0.1:0
auth: none
limits: {ledger_wait: 1m, backoff_first: 60s} # what is looked at is how the first attempt ended
servers:
  leak:
    command: sh
    args: [-c, "echo cannot log in with $TOKEN >&2; exit 1"]
    env: {TOKEN: "${env:DURWARD_TEST_TOKEN}"}
`)
	opt.LogTo = &log
	s := started(t, opt)
	for s.Ready() != nil { // until it has failed for the first time
		time.Sleep(time.Millisecond)
	}
	for range 5 { // what it said last is read for a second, which a busy machine can take from it
		if leak, err := client.New(paths.Socket()).Server(t.Context(), "leak"); err != nil || strings.Contains(leak.Status.Reason, "cannot log in with") {
			break
		}
		_, _ = client.New(paths.Socket()).RestartServer(t.Context(), "leak") // it ends again
	}
	c := &rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true}
	call, err := c.CallTool(t.Context(), "leak__x", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Do(t.Context(), "tools/list", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	status := ""
	for _, server := range s.Status().Servers {
		status += server.Reason
	}
	for where, text := range map[string]string{"the call's error": string(call.Body), "the list": string(list.Body), "status": status, "the log": log.String()} {
		if !strings.Contains(text, "cannot log in with") {
			t.Errorf("%s does not show the server's last words: %s", where, text)
		}
		if strings.Contains(text, value) {
			t.Errorf("%s shows the secret", where)
		}
	}
}
