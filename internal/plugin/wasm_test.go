package plugin_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/plugin"
)

// builder builds the plugins of testdata once.
type builder struct {
	once sync.Once
	dir  string // removed by TestMain
	err  error
}

func (b *builder) file(t *testing.T, name string) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "plugins"); b.err != nil {
			return
		}
		for _, name := range []string{"codenames", "hostile"} {
			cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(b.dir, name+".wasm"), "./testdata/wasm/"+name)
			cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.err = durward.Errorf(durward.Internal, "go build", "%w: %s", err, out)
				return
			}
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, name+".wasm")
}

var built builder

// modules are compiled once for all tests.
var modules = plugin.NewCache()

func TestMain(m *testing.M) {
	code := m.Run()
	modules.Close()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// newSet makes a set that is closed when the test ends.
func newSet(t testing.TB, plugins map[string]plugin.Config) *plugin.Set {
	t.Helper()
	set, err := plugin.New(plugin.Options{Plugins: plugins, Cache: modules, Start: time.Minute}) // the machine may be busy
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

// toolCall is a call of notes/write with these arguments.
func toolCall(arguments string) *durward.Call {
	return &durward.Call{
		Method: "tools/call", Server: "notes", Name: "write", Params: []byte(`{"name":"write","arguments":` + arguments + `}`), Arguments: []byte(arguments),
		Tool: &durward.Tool{Annotations: []byte(`{"openWorldHint":false}`)},
	}
}

func TestWASMExample(t *testing.T) {
	set := newSet(t, map[string]plugin.Config{"codenames": {Mode: "redact", WASM: built.file(t, "codenames"), Timeout: 10 * time.Second}})
	d, labels, err := set.Preprocess(t.Context(), toolCall(`{"text":"ship Project Nightingale","n":1e400}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(d.Changed), `{"name":"write","arguments":{"text":"ship [codename]","n":1e400}}`; got != want {
		t.Errorf("changed to %s, want %s", got, want)
	}
	if len(labels) != 1 || labels[0] != "codenames" {
		t.Errorf("labels %v", labels)
	}
	if len(d.Matches) != 1 || d.Matches[0].Rule != "plugin:codenames" || d.Matches[0].Detail != "1 changed, 1 codename" {
		t.Errorf("matches %+v", d.Matches)
	}
	d, _, err = set.Preprocess(t.Context(), toolCall(`{"text":"ship it"}`), nil)
	if err != nil || d.Changed != nil || len(d.Matches) > 0 || d.Action != durward.Allow {
		t.Errorf("clean text: %+v, %v", d, err)
	}
	if d, _, _, err = set.Postprocess(t.Context(), toolCall(`{}`), []byte(`{"content":[{"type":"text","text":"Operation Kestrel"}]}`), nil); err != nil {
		t.Fatal(err)
	}
	if got := string(d.Changed); got != `{"content":[{"type":"text","text":"[codename]"}]}` {
		t.Errorf("result changed to %s", got)
	}
}

// TestWASMModes runs a plugin that says the same in every mode.
func TestWASMModes(t *testing.T) {
	file := built.file(t, "hostile")
	say := `{\"action\":\"ask\",\"reason\":\"odd\",\"findings\":[{\"kind\":\"odd-word\"}],\"payload\":{\"name\":\"write\",\"arguments\":{}}}`
	for _, test := range []struct {
		mode    string
		action  durward.Action
		changed bool
	}{{"observe", durward.Allow, false}, {"redact", durward.Ask, true}, {"block", durward.Block, false}} {
		set := newSet(t, map[string]plugin.Config{"odd": {Mode: test.mode, WASM: file, Timeout: 10 * time.Second}})
		d, _, err := set.Preprocess(t.Context(), toolCall(`{"do":"`+say+`"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.Action != test.action || d.Changed != nil != test.changed || len(d.Matches) != 1 {
			t.Errorf("%s: %+v", test.mode, d)
		}
	}
}

// TestWASMIsConfined has a plugin do what it should not. Each is an error, which
// blocks the call, and the next call is served.
func TestWASMIsConfined(t *testing.T) {
	file := built.file(t, "hostile")
	set := newSet(t, map[string]plugin.Config{"hostile": {Mode: "redact", WASM: file, Timeout: 10 * time.Second}})
	hasty := newSet(t, map[string]plugin.Config{"hostile": {Mode: "redact", WASM: file, Timeout: 300 * time.Millisecond}})
	for _, test := range []struct{ do, want string }{
		{"loop", "longer than 300ms"},
		{"memory", "plugin hostile"}, // too much of it, or too long before,
		{"panic", "durward_run failed"},
		{"exit", "durward_run failed"},
		{"much", "at most 16777216 are taken"},
		{"outside", "outside of its memory"},
		{"nothing", "no valid JSON"},
		{"[]", "not understood"},
		{`{\"unknown\":1}`, "unknown field"},
		{`{\"action\":\"permit\"}`, "none of allow, ask, block"},
		{`{\"findings\":[{\"kind\":\"AKIA secret\"}]}`, "kind of a finding"},
		{`{\"labels\":[\"Big\"]}`, "label"},
		{`{\"payload\":[]}`, "no JSON object"},
		{`{\"payload\":{\"name\":\"delete\",\"arguments\":{}}}`, "changes name"},
		{`{\"payload\":{\"arguments\":{}}}`, "leaves out name"},
		{`{\"payload\":{\"name\":\"write\",\"name\":\"write\"}}`, "no valid JSON"},
	} {
		with := set
		if test.do == "loop" {
			with = hasty
		}
		d, _, err := with.Preprocess(t.Context(), toolCall(`{"do":"`+test.do+`"}`), nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || d.Changed != nil {
			t.Errorf("%s: %+v, %v; want an error with %q", test.do, d, err, test.want)
		}
	}
	d, _, err := set.Preprocess(t.Context(), toolCall(`{"do":"reach"}`), nil)
	if err != nil || d.Reason != "got " {
		t.Errorf("it reached: %q, %v", d.Reason, err)
	}
}

// TestWASMForgets: nothing of one call is there in the next.
func TestWASMForgets(t *testing.T) {
	set := newSet(t, map[string]plugin.Config{"hostile": {Mode: "observe", WASM: built.file(t, "hostile"), Timeout: 10 * time.Second}})
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			d, _, err := set.Preprocess(t.Context(), toolCall(`{"do":"remember"}`), nil)
			if err != nil || len(d.Matches) != 1 || d.Matches[0].Detail != "1 seen-i" {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	all.Wait()
}

func TestWASMEndsWithTheCall(t *testing.T) {
	set := newSet(t, map[string]plugin.Config{"hostile": {Mode: "observe", WASM: built.file(t, "hostile"), Timeout: 10 * time.Second}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := set.Preprocess(ctx, toolCall(`{"do":"loop"}`), nil); err == nil {
		t.Error("a call that ended was looked at")
	}
}

func TestWASMThatCannotLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	empty := "\x00asm\x01\x00\x00\x00"
	// (import "env" "f" (func))
	foreign := empty + "\x01\x04\x01\x60\x00\x00" + "\x02\x09\x01\x03env\x01f\x00\x00"
	for _, test := range []struct{ file, want string }{
		{filepath.Join(dir, "none.wasm"), "no such file"},
		{write("text.wasm", "hello"), "no WebAssembly module"},
		{write("empty.wasm", empty), "no function durward_abi"},
		{write("foreign.wasm", foreign), "it wants env.f"},
	} {
		_, err := plugin.New(plugin.Options{Plugins: map[string]plugin.Config{"mine": {Mode: "redact", WASM: test.file}}})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "policy.plugins.mine.wasm") {
			t.Errorf("%s: %v, want %q", filepath.Base(test.file), err, test.want)
		}
	}
}
