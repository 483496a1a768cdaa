package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
	"durward/internal/testkit/hostile"
	"durward/internal/testkit/keeper"
	"durward/internal/wire"
)

// served is a running service, its configuration file, and a client of it.
func served(t *testing.T, text string) (*client.Client, daemon.Options) {
	t.Helper()
	home(t)
	opt := configured(t, text)
	started(t, opt)
	return client.New(paths.Socket()), opt
}

// A server of which one list takes long comes up all the same: the others are offered
// meanwhile, and that is not all there is to wait for.
func TestAServerIsTriedUntilAllItsListsAreThere(t *testing.T) {
	c, _ := served(t, base)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m wire.Message
		if err := wire.Parse(body, wire.FromClient, &m); err != nil || m.Kind != wire.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := map[string]string{
			wire.MethodDiscover:    `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"w","version":"1"}`,
			wire.MethodToolsList:   `"tools":[{"name":"a","inputSchema":{"type":"object"}}]`,
			wire.MethodPromptsList: `"prompts":[{"name":"p"}]`,
		}[m.Method]
		for m.Method == wire.MethodPromptsList { // its tools are offered first
			if s, err := c.Server(r.Context(), "w"); err != nil || s.Status.Tools == 1 {
				break
			}
			time.Sleep(10 * time.Millisecond) // nothing tells of it
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private",%s}}`, m.ID, result)
	}))
	defer server.Close()
	s, err := c.AddServer(t.Context(), client.NewServer{Name: "w", URL: server.URL})
	if err != nil || s.Status.State != durward.StateReady || s.Status.Tools != 1 || s.Status.Prompts != 1 {
		t.Fatalf("%+v %v", s, err)
	}
}

// Who asks for what one server offers waits for that one, also when it takes longer than
// a list of all waits behind the others.
func TestAServerThatIsAskedForIsWaitedFor(t *testing.T) {
	begin := filepath.Join(t.TempDir(), "go")
	command, args := hostile.Command("-bare") // of several lists the rest is not waited for as long
	late, err := json.Marshal(append([]string{"-c", `until test -e "$0"; do sleep 0.02; done; exec "$@"`, begin, command}, args...))
	if err != nil {
		t.Fatal(err)
	}
	early := httptest.NewServer(&keeper.Server{Modern: true})
	t.Cleanup(early.Close)
	c, _ := served(t, base+"servers:\n  early: {url: "+early.URL+"}\n  late: {command: sh, args: "+string(late)+"}\n")
	type answer struct {
		items []client.Item
		err   error
	}
	asked := make(chan answer, 1)
	go func() {
		items, err := c.Tools(t.Context(), client.Filter{Server: "late"})
		asked <- answer{items, err}
	}()
	if all, err := c.Tools(t.Context(), client.Filter{}); err != nil { // which is not held up
		t.Fatalf("%+v %v", all, err)
	}
	if err := os.WriteFile(begin, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a := <-asked; a.err != nil || len(a.items) == 0 {
		t.Errorf("%+v", a)
	}
}

func hostileServer(name string, flags ...string) client.NewServer {
	command, args := hostile.Command(flags...)
	return client.NewServer{Name: name, Command: command, Args: args}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// replace gives a file that is watched another content. There is no moment at which it
// has a part of that, which would be told of, too.
func replace(t *testing.T, file, text string) {
	t.Helper()
	draft := file + ".draft"
	if err := errors.Join(os.WriteFile(draft, []byte(text), 0o600), os.Rename(draft, file)); err != nil {
		t.Fatal(err)
	}
}

const base = "# mine\nversion: 1\nlisten: 127.0.0.1:0\nlimits: {ledger_wait: 1m}\nbuiltin: false # not wanted\n"

func TestServersComeAndGoByTheAPI(t *testing.T) {
	c, opt := served(t, base)
	ctx := t.Context()
	added, err := c.AddServer(ctx, hostileServer("a"))
	if err != nil || added.Status.State != durward.StateReady || len(added.Tools) == 0 || len(added.Settings) < 2 {
		t.Fatalf("%+v %v", added, err)
	}
	if text := read(t, opt.ConfigFile); !strings.HasPrefix(text, base+"servers:\n  a:\n    command: ") {
		t.Errorf("the file:\n%s", text)
	}
	if _, err := c.AddServer(ctx, hostileServer("a")); durward.KindOf(err) != durward.Conflict {
		t.Error("a name twice:", err)
	}
	result, err := c.Call(ctx, client.CallRequest{Name: "a__echo", Arguments: json.RawMessage(`{"text":"12345678901234567890"}`)}, nil)
	if err != nil || !strings.Contains(string(result.Result), "12345678901234567890") {
		t.Errorf("%+v %v", result, err)
	}
	if err := c.DisableServer(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Server(ctx, "a"); err != nil || s.Status.State != durward.StateDisabled || !strings.Contains(read(t, opt.ConfigFile), "disabled: true") {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := c.EnableServer(ctx, "a"); err != nil || s.Status.State != durward.StateReady {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := c.RestartServer(ctx, "a"); err != nil || s.Status.State != durward.StateReady {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := c.RefreshServer(ctx, "a"); err != nil || len(s.Tools) == 0 {
		t.Errorf("%+v %v", s, err)
	}
	if err := c.RemoveServer(ctx, "a"); err != nil || read(t, opt.ConfigFile) != base {
		t.Errorf("%v\n%s", err, read(t, opt.ConfigFile))
	}
	for _, err := range []error{c.RemoveServer(ctx, "a"), c.DisableServer(ctx, "a")} {
		if durward.KindOf(err) != durward.NotFound {
			t.Error(err)
		}
	}
}

// A server that does not come up is not left in the file, and the error has its stderr.
func TestB26_AServerThatFailsIsNotAddedAndSaysWhy(t *testing.T) {
	text := strings.Replace(base, "1m}", "1m, backoff_first: 1m}", 1) // it is not on its way again when it is looked at
	c, opt := served(t, text)
	var err error
	for range 5 { // what it said last is waited for two seconds, which a busy machine can take from it
		if _, err = c.AddServer(t.Context(), hostileServer("dead", "-start", "crash")); err == nil || strings.Contains(err.Error(), "stderr ends with") {
			break
		}
	}
	if durward.KindOf(err) != durward.Unavailable || err == nil || !strings.Contains(err.Error(), "stderr ends with") {
		t.Error(err)
	}
	if read(t, opt.ConfigFile) != text {
		t.Errorf("the file was changed:\n%s", read(t, opt.ConfigFile))
	}
	kept := hostileServer("dead", "-start", "crash")
	kept.Keep = true
	if s, err := c.AddServer(t.Context(), kept); err != nil || s.Status.State != durward.StateBackoff {
		t.Errorf("%+v %v", s, err)
	}
	l, err := c.ServerLogs(t.Context(), "dead")
	for range 5 { // as above, but for one second
		if err != nil || l.Stderr != "" {
			break
		}
		_, _ = c.RestartServer(t.Context(), "dead") // it ends again
		l, err = c.ServerLogs(t.Context(), "dead")
	}
	if err != nil || l.Stderr == "" {
		t.Errorf("%+v %v", l, err)
	}
}

// What would break the file is refused before anything is written (B21, B28).
func TestEditsThatWouldBreakTheFileAreRefused(t *testing.T) {
	c, opt := served(t, base)
	for _, n := range []client.NewServer{
		{Name: "x"}, {Name: "Bad", Command: "x"}, {Name: "local", Command: "x"}, {Name: "x", Command: "x", URL: "http://x"},
		{Name: "x", URL: "ftp://x"}, {Name: "x", Command: "x", Env: map[string]string{"T": "${env:NO_SUCH_VARIABLE}"}},
		{Name: "x", URL: "http://x", Headers: map[string]string{"A": "b\r\nc"}},
	} {
		if _, err := c.AddServer(t.Context(), n); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if read(t, opt.ConfigFile) != base {
		t.Errorf("the file was changed:\n%s", read(t, opt.ConfigFile))
	}
}

func TestProgressAndItemsAndErrors(t *testing.T) {
	c, _ := served(t, base)
	if _, err := c.AddServer(t.Context(), hostileServer("a")); err != nil {
		t.Fatal(err)
	}
	var seen []float64
	_, err := c.Call(t.Context(), client.CallRequest{Name: "a__progress", Arguments: json.RawMessage(`{"n":3}`)}, func(p client.Progress) { seen = append(seen, p.Progress) })
	if err != nil || len(seen) == 0 {
		t.Errorf("progress %v, %v", seen, err)
	}
	if _, err := c.Call(t.Context(), client.CallRequest{Name: "a__nothing"}, nil); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	for name, list := range map[string]func(context.Context, client.Filter) ([]client.Item, error){"tools": c.Tools, "prompts": c.Prompts, "resources": c.Resources} {
		if some, err := list(t.Context(), client.Filter{Server: "a"}); err != nil || len(some) == 0 {
			t.Errorf("%s: %v %v", name, some, err)
		}
		if _, err := list(t.Context(), client.Filter{Server: "b"}); durward.KindOf(err) != durward.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, err := c.Runtime(t.Context()); err != nil || r.Goroutines == 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// A change of the file takes effect by itself; a broken file changes nothing, and
// events and status tell (B29).
func TestB29_TheFileIsWatched(t *testing.T) {
	c, opt := served(t, base)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	events := make(chan client.Event, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Events(ctx, func(e client.Event) bool { events <- e; return true })
	}()
	command, args := hostile.Command()
	good := base + fmt.Sprintf("servers:\n  a: {command: %q, args: [%q]}\n", command, args[0])
	change := func(text string, want func(client.Event) bool) {
		t.Helper()
		for replace(t, opt.ConfigFile, text); ; {
			select {
			case e := <-events:
				if want(e) {
					return
				}
			case <-ctx.Done():
				t.Fatal("it was never told")
			case <-time.After(3 * time.Second): // the stream may not have been open yet
				text += "\n"
				replace(t, opt.ConfigFile, text)
			}
		}
	}
	change(good, func(e client.Event) bool {
		return e.Type == client.EventReload && e.Reload.Servers == 1 && e.Reload.Problem == ""
	})
	change(base+"nonsense: 1\n", func(e client.Event) bool { return e.Type == client.EventReload && e.Reload.Problem != "" })
	st, err := c.Status(ctx)
	if err != nil || st.Config.Problem == "" || len(st.Servers) != 1 {
		t.Errorf("%+v %v", st, err)
	}
	if _, err := c.Reload(ctx); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	if v, err := c.Validate(ctx, base+"nonsense: 1\n"); err != nil || len(v.Problems) != 1 || v.Problems[0].Line != 6 || v.Problems[0].Code == "" {
		t.Errorf("%+v %v", v, err)
	}
	change(good, func(e client.Event) bool { return e.Type == client.EventReload && e.Reload.Problem == "" })
	if conf, err := c.Config(ctx); err != nil || conf.Problem != "" || len(conf.Settings) < 5 {
		t.Errorf("%+v %v", conf, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheLastGoodConfigurationStarts(t *testing.T) {
	home(t)
	opt := configured(t, base)
	s, err := daemon.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(opt.ConfigFile, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := daemon.Start(opt); err == nil {
		_ = s.Close()
		t.Fatal("it started with a broken file")
	}
	opt.LastGood = true
	started(t, opt)
}

// The service API is on the socket only, knows its routes, and refuses what it
// does not understand.
func TestUnknownRoutesAndBodiesAreRefused(t *testing.T) {
	home(t)
	s := started(t, configured(t, base))
	for _, path := range []string{"/api/v1/servers", "/api/v1/openapi.json"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address()+path, http.NoBody)
		req.Header.Set("Authorization", "Bearer "+token(t))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s by TCP: %d", path, resp.StatusCode)
		}
	}
}
