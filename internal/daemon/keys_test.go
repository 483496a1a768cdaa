package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
	"durward/internal/seal"
	"durward/internal/testkit/interviewer"
	"durward/internal/testkit/rawclient"
	"durward/internal/testkit/sharedlog"
	"durward/internal/wire"
)

// interview is a configuration with a server that asks two rounds of questions
// and keeps nothing itself.
func interview(t *testing.T, more string) string {
	t.Helper()
	server := httptest.NewServer(new(interviewer.Server))
	t.Cleanup(server.Close)
	return fmt.Sprintf(noServers+"auth: none\nservers:\n  iv: {url: %q}\n%s", server.URL, more)
}

// caller is a modern client of a service.
type caller struct{ *rawclient.Client }

func callerOf(s *daemon.Service) caller {
	return caller{&rawclient.Client{URL: "http://" + s.Address() + "/mcp", Modern: true, Capabilities: `{"elicitation":{"form":{},"url":{}}}`}}
}

// begin begins an interview and returns the state that the client has to carry.
func (c caller) begin(t *testing.T) string {
	t.Helper()
	a := c.round(t, "")
	state, ok := wire.Unquote(wire.Get(a.Msg.Result, "requestState"))
	if !ok || state == "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return state
}

// round makes the call, with the answer to the question of the first round if
// there is a state.
func (c caller) round(t *testing.T, state string) *rawclient.Answer {
	t.Helper()
	more := ""
	if state != "" {
		more = `,"requestState":` + wire.Quote(state) + `,"inputResponses":{"r1-1":{"action":"accept","content":{"said":"yes"}}}`
	}
	a, err := c.Do(t.Context(), wire.MethodToolsCall, `{"name":"iv__interview","arguments":{"who":"me","rounds":1}`+more+`}`)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ends says that the call which a state is of goes on to its end here.
func (c caller) ends(t *testing.T, state string) bool {
	t.Helper()
	a := c.round(t, state)
	switch {
	case strings.Contains(a.Text(), `"said":"yes"`):
		return true
	case a.Code() == wire.CodeInvalidParams && a.Msg.Result == nil:
		return false
	}
	t.Fatalf("%d %s %s", a.Status, a.Body, a.Msg.Error)
	return false
}

func sealKeys(keys ...durward.SealKey) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.Reveal()
	}
	return "seal_keys: [" + strings.Join(texts, ", ") + "]\n"
}

// idsOf are the ids of keys as the service API lists them.
func idsOf(keys *client.Keys) (ids []string) {
	for i, k := range keys.Keys {
		ids = append(ids, k.ID)
		if k.Seals != (i == 0) {
			ids = append(ids, "(order)")
		}
	}
	return ids
}

// What began on one replica ends on another that has the keys, and on no other.
func TestAReplicaWithTheKeysGoesOn(t *testing.T) {
	a, b, foreign := durward.NewSealKey(), durward.NewSealKey(), durward.NewSealKey()
	replica := func(keys ...durward.SealKey) caller {
		home(t)
		return callerOf(started(t, configured(t, interview(t, sealKeys(keys...)))))
	}
	first, second, third := replica(a, b), replica(b, a), replica(foreign)
	state := first.begin(t)
	if third.ends(t, state) {
		t.Error("a stranger went on")
	}
	if !second.ends(t, state) || !first.ends(t, second.begin(t)) {
		t.Error("a replica did not go on")
	}
	if _, err := os.Stat(paths.SealKeys()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key file was made beside the configuration's keys: %v", err)
	}
}

// Two keys of the file are active: a call outlives one rotation, and a restart, but not two.
func TestACallOutlivesARotationAndARestart(t *testing.T) {
	home(t)
	opt := configured(t, interview(t, ""))
	s, err := daemon.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(paths.SealKeys()); err != nil || info.Mode() != 0o600 {
		t.Error(info, err)
	}
	state := callerOf(s).begin(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, api := callerOf(started(t, opt)), client.New(paths.Socket())
	if !c.ends(t, state) {
		t.Error("after a restart")
	}
	listed, err := api.Keys(t.Context())
	if err != nil || listed.Source != client.KeysFromFile || listed.File != paths.SealKeys() || len(listed.Keys) != 1 || listed.Keys[0].Created.IsZero() {
		t.Fatalf("%+v, %v", listed, err)
	}
	rotated, err := api.RotateKeys(t.Context())
	if err != nil || len(rotated.Keys) != 2 || rotated.Keys[1] != (client.Key{ID: listed.Keys[0].ID, Created: listed.Keys[0].Created}) || !rotated.Keys[0].Seals {
		t.Fatalf("%+v, %v", rotated, err)
	}
	if !c.ends(t, state) {
		t.Error("after one rotation")
	}
	newer := c.begin(t)
	if again, err := api.RotateKeys(t.Context()); err != nil || again.Keys[1].ID != rotated.Keys[0].ID {
		t.Fatalf("%+v, %v", again, err)
	}
	if c.ends(t, state) || !c.ends(t, newer) {
		t.Error("after two rotations")
	}
}

// A reload takes other keys into use, from the configuration, from the file and back.
func TestAReloadChangesTheKeys(t *testing.T) {
	home(t)
	text := interview(t, "")
	a, b := durward.NewSealKey(), durward.NewSealKey()
	opt := configured(t, text+sealKeys(a))
	s := started(t, opt)
	c, api := callerOf(s), client.New(paths.Socket())
	state := c.begin(t)
	reload := func(text string, want ...string) {
		t.Helper()
		if err := os.WriteFile(opt.ConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		if listed, err := api.Keys(t.Context()); err != nil || !slices.Equal(idsOf(listed), want) {
			t.Fatalf("%+v, %v, want %s", listed, err, want)
		}
	}
	reload(text+sealKeys(b, a), seal.ID(b), seal.ID(a))
	if !c.ends(t, state) {
		t.Error("the key that is second now does not open")
	}
	newer := c.begin(t)
	reload(text+sealKeys(b), seal.ID(b))
	if c.ends(t, state) || !c.ends(t, newer) {
		t.Error("the key that was removed opens, or the other does not")
	}
	var failure *durward.Error
	if _, err := api.RotateKeys(t.Context()); durward.KindOf(err) != durward.Conflict || !errors.As(err, &failure) || !strings.Contains(failure.Message, "seal_keys") {
		t.Error("rotated:", err)
	}
	file, err := seal.LoadFile(paths.SealKeys())
	if err != nil {
		t.Fatal(err)
	}
	reload(text, seal.ID(file[0]))
	if c.ends(t, newer) {
		t.Error("a key of the configuration opens though it is gone")
	}
	reload(text+sealKeys(b), seal.ID(b))
	if !c.ends(t, newer) {
		t.Error("a key that came back does not open")
	}
}

// A key file that others may have read, or that holds anything else, lets nothing
// start, and a reload keeps the keys there are.
func TestABrokenKeyFileIsNotReplaced(t *testing.T) {
	home(t)
	text := interview(t, "")
	opt := configured(t, text+sealKeys(durward.NewSealKey()))
	s := started(t, opt)
	c := callerOf(s)
	state := c.begin(t)
	key := durward.NewSealKey().Reveal()
	for content, mode := range map[string]os.FileMode{key: 0o644, key[:40]: 0o600, key + "\n" + key: 0o600} {
		if err := errors.Join(os.WriteFile(paths.SealKeys(), []byte(content), mode), os.Chmod(paths.SealKeys(), mode)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(opt.ConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.Reload()
		if err == nil || !strings.Contains(err.Error(), paths.SealKeys()) || strings.Contains(err.Error(), key[:8]) {
			t.Errorf("%v", err)
		}
		if !c.ends(t, state) || read(t, paths.SealKeys()) != content {
			t.Error("something was changed")
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := daemon.Start(opt); err == nil {
		_ = s.Close()
		t.Error("it started")
	}
}

// A key is in no log, no answer of the service API and no error, wherever it is from.
func TestAPlantedKeyIsNeverTold(t *testing.T) {
	planted := []durward.SealKey{durward.NewSealKey(), durward.NewSealKey(), durward.NewSealKey(), durward.NewSealKey()}
	home(t)
	t.Setenv("DURWARD_TEST_KEY", planted[0].Reveal())
	if err := errors.Join(os.MkdirAll(paths.State(), 0o700), os.WriteFile(paths.SealKeys(), []byte(planted[1].Reveal()), 0o600)); err != nil {
		t.Fatal(err)
	}
	var log sharedlog.Buffer
	text := interview(t, "log: {level: debug}\n")
	opt := configured(t, text)
	opt.LogTo = &log
	s := started(t, opt)
	var told []string
	tell := func() {
		t.Helper()
		told = append(told, everyAnswer(t)...)
		callerOf(s).begin(t)
	}
	tell()
	if _, err := client.New(paths.Socket()).RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, next := range []string{
		text + "seal_keys: [\"${env:DURWARD_TEST_KEY}\", " + planted[2].Reveal() + "]\n",
		text + "seal_keys: [" + planted[3].Reveal() + ", " + planted[3].Reveal() + "]\n",
		text + "seal_keys: [x" + planted[3].Reveal() + "]\n",
		text + "seal_keys: " + planted[3].Reveal() + "\n",
		text + "nonsense: 1\n" + sealKeys(planted[3]),
	} {
		if err := os.WriteFile(opt.ConfigFile, []byte(next), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(); err != nil {
			told = append(told, err.Error())
		}
		if v, err := client.New(paths.Socket()).Validate(t.Context(), next); err != nil {
			t.Fatal(err)
		} else {
			told = append(told, fmt.Sprintf("%+v", v))
		}
		tell()
	}
	told = append(told, log.String(), fmt.Sprintf("%+v %#v", s.Config(), s.Status()))
	all := strings.Join(told, "\n")
	if !strings.Contains(all, seal.ID(planted[2])) || !strings.Contains(all, "seal_keys[0]: is no key") {
		t.Fatal("it is not told at all of keys: this test would prove nothing")
	}
	for i, k := range planted {
		if strings.Contains(all, k.Reveal()[:12]) || strings.Contains(all, fmt.Sprintf("%x", k.Bytes()[:6])) {
			t.Errorf("the key %d is told", i)
		}
	}
}

// everyAnswer is what the service API answers on each route that only shows.
func everyAnswer(t *testing.T) []string {
	t.Helper()
	api := &http.Client{Transport: &http.Transport{DialContext: dialSocket}}
	defer api.CloseIdleConnections()
	get := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://durward"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := api.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(get("/api/v1/openapi.json")), &doc); err != nil {
		t.Fatal(err)
	}
	var all []string
	for path, methods := range doc.Paths {
		if methods["get"] != nil && !strings.HasSuffix(path, "/events") && !strings.HasSuffix(path, "/profile") {
			all = append(all, get(strings.ReplaceAll(path, "{name}", "iv")))
		}
	}
	if len(all) < 8 {
		t.Fatalf("only %d routes", len(all))
	}
	return all
}

func dialSocket(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", paths.Socket())
}
