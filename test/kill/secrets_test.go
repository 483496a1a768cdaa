package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"durward/internal/store/sqlite"
	"durward/ledger"
	"durward/test/kill/rig"
)

// secrets are what nobody may see, by the variable of the service that brings them
// in. Their characters are those that encoders treat in different ways.
func secrets() map[string]string {
	return map[string]string{
		"KILL_S_ENV":    `env/pl4nted+välue "x" \ & <y> ~ 😀 1`,
		"KILL_S_ARG":    `arg-pl4nted/0123456789+abcdef=`,
		"KILL_S_HEADER": `header-pl4nted/0123456789+abcdef=`,
		"KILL_S_NOTE":   "-----BEGIN KEY-----\npl4nted/note+0123456789\n-----END KEY-----",
		"KILL_S_BASIC":  `dXNlcjpwbDRudGVkLWJhc2lj`,
	}
}

// marker goes the way of the secrets and is none: it must be found, so that it is
// known that the search finds things.
const marker = `marker/pl4nted+välue "x" \ & <y> ~ 😀 1`

// What came into the configuration by reference is nowhere in what the service
// leaves: not after calls that are full of it in every form, not after a crash, in
// no export and in no backup.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	var env []string
	for name, value := range secrets() {
		env = append(env, name+"="+value)
	}
	s := newStage(t, env, plant)
	s.up()
	s.babble()
	s.kill()
	s.up()
	s.babble()
	exported := s.path("exported")
	if err := os.Mkdir(exported, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"ledger", "backup", filepath.Join(exported, "backup.db")},
		{"ledger", "export", "--bodies", "--out", filepath.Join(exported, "calls.ndjson")},
		{"ledger", "export", "--format", "csv", "--out", filepath.Join(exported, "calls.csv")},
	} {
		if out, errs, err := s.Command(t.Context(), args...); err != nil {
			t.Fatalf("%v: %v: %s%s", args, err, out, errs)
		}
	}
	for name, args := range map[string][]string{
		"calls": {"calls", "--json"}, "status": {"status", "--json"}, "logs": {"server", "logs", "lines"}, "timeline": {"timeline"},
	} {
		out, errs, err := s.Command(t.Context(), args...)
		if err != nil {
			t.Fatalf("%v: %v: %s%s", args, err, out, errs)
		}
		if err := os.WriteFile(filepath.Join(exported, name), []byte(out+errs), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	while := s.contents() // with the log and its index
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	s.search(while)
	after := s.contents()
	maps.DeleteFunc(after, func(where, content string) bool { return while[where] == content })
	s.search(after)
}

// plant gives the servers their secrets.
func plant(config map[string]any) {
	servers := config["servers"].(map[string]any)
	lines, web := servers["lines"].(map[string]any), servers["web"].(map[string]any)
	lines["args"] = append(lines["args"].([]string), "-token", "${env:KILL_S_ARG}")
	lines["env"] = map[string]any{"KILL_S_ENV": "${env:KILL_S_ENV}", "KILL_NOTE": "${env:KILL_S_NOTE}"}
	web["headers"] = map[string]any{"X-Key": "${env:KILL_S_HEADER}", "Authorization": "Basic ${env:KILL_S_BASIC}"}
}

// babble has servers tell what they know, and tells them what they know.
func (s *stage) babble() {
	s.t.Helper()
	hows := []string{"text", "structured", "error", "tool", "log", "stderr"}
	for _, how := range hows {
		for _, what := range []string{"env KILL_S_ENV", "env KILL_NOTE", "args"} {
			s.tell("lines", how, jsonString(what))
		}
		for _, what := range []string{"header X-Key", "header Authorization"} {
			s.tell("web", how, jsonString(what))
		}
	}
	for _, c := range []*rig.Client{s.modern, s.legacy} {
		s.next++
		uri := fmt.Sprintf("durward://lines/kill%%3A%%2F%%2Fnote%%2Fcall-%d", s.next)
		c.Do(s.t.Context(), rig.Request{ID: fmt.Sprintf("call-%d", s.next), Method: "resources/read", Name: uri, Params: fmt.Sprintf(`"uri":%q`, uri)})
	}
	texts := append(slices.Collect(maps.Values(secrets())), rig.Token, marker)
	for i, text := range texts {
		for _, encoded := range encodings(text) {
			for _, what := range inJSON(encoded) {
				s.tell([]string{"lines", "web"}[i%2], hows[i%len(hows)], what)
			}
		}
	}
	for _, text := range texts {
		s.misplace(text)
		for _, what := range inJSON(text) { // in what is stored as a body, and where a preview is cut
			s.tell("lines", "text", strings.Repeat("filler ", 1000)+what)
			s.tell("web", "error", strings.Repeat("f", 900)+what)
		}
	}
}

// misplace puts a text where names are expected.
func (s *stage) misplace(text string) {
	s.t.Helper()
	quoted := jsonString(text)
	odd := rig.NewClient(s.Addr, false)
	odd.Name = text
	for _, c := range []*rig.Client{s.modern, s.legacy, odd} {
		for _, r := range []rig.Request{
			{ID: text, Method: "tools/list"},
			{ID: "name", Method: "tools/call", Name: "lines__" + text, Params: `"name":"lines__` + quoted + `"`},
			{ID: "prompt", Method: "prompts/get", Name: text, Params: `"name":"` + quoted + `"`},
			{ID: "uri", Method: "resources/read", Name: "kill://note/" + text, Params: `"uri":"kill://note/` + quoted + `"`},
			{ID: "escaped uri", Method: "resources/read", Name: "kill://note/" + url.PathEscape(text), Params: `"uri":"kill://note/` + url.PathEscape(text) + `"`},
			{ID: "method", Method: jsonString("odd/" + text)},
			{ID: "header", Method: "tools/list", Header: map[string]string{"User-Agent": url.QueryEscape(text), "Baggage": "key=" + url.PathEscape(text), "Tracestate": "k=" + url.PathEscape(text)}},
		} {
			if a := c.Do(s.t.Context(), r); a.Broke != nil && c != odd && r.Name == "" && r.Method == "tools/list" {
				s.t.Fatalf("%s: %s", r.ID, &a)
			}
		}
	}
}

// tell has a server tell what, which is the inside of a JSON string.
func (s *stage) tell(server, how, what string) {
	s.t.Helper()
	client := s.modern
	if s.next%2 == 0 {
		client = s.legacy
	}
	a, _ := s.call(client, server, "tell", fmt.Sprintf(`"how":%q,"what":"%s"`, how, what))
	if a.Broke != nil || a.Result == nil && a.Code != -32050 {
		s.t.Fatalf("%s, %s, %.300s: %s", server, how, what, &a)
	}
}

// contents are all texts that can be had from what the service leaves, by where
// they are.
func (s *stage) contents() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(s.dir, path)
		if err != nil || !entry.Type().IsRegular() || name == "web.log" || name == "journal" { // those of the server that has the secrets
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was there for a moment
		}
		all[name] = string(content)
		for n, frame := range frames(content) {
			all[fmt.Sprintf("%s, zstd frame %d", name, n)] = frame
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for name, path := range map[string]string{"ledger": s.Ledger(), "backup": s.path("exported/backup.db")} {
		s.records(all, name, path)
	}
	return all
}

// frames are what can be decompressed, wherever it begins.
func frames(content []byte) (all []string) {
	for at := 0; ; at++ {
		next := bytes.Index(content[at:], []byte{0x28, 0xb5, 0x2f, 0xfd})
		if next < 0 {
			return all
		}
		at += next
		r, err := zstd.NewReader(bytes.NewReader(content[at:]), zstd.WithDecoderConcurrency(1))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(r) // as far as it goes: in a database a frame can be in pieces
		r.Close()
		all = append(all, string(text))
	}
}

// records adds all records and bodies of a ledger.
func (s *stage) records(all map[string]string, name, path string) {
	db, err := sqlite.OpenReader(s.t.Context(), path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var texts strings.Builder
	if err := db.Links(s.t.Context(), 0, func(_ ledger.Link, records []ledger.Record) error {
		for _, r := range records {
			fmt.Fprintf(&texts, "%+v\n", r)
		}
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	all[name+", records"] = texts.String()
	var bodies strings.Builder
	if err := db.Bodies(s.t.Context(), func(_ ledger.BodyInfo, content io.Reader) error {
		_, err := io.Copy(&bodies, content)
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	all[name+", bodies"] = bodies.String()
}

// search looks for everything that gives a secret away.
func (s *stage) search(contents map[string]string) {
	s.t.Helper()
	hidden := secrets()
	hidden["KILL_TOKEN"] = rig.Token
	bare, escaped, found := map[string][]string{}, map[string][]string{}, 0
	for name, text := range hidden {
		bare[name], escaped[name] = traces(text), escapedTraces(text)
	}
	all := append(escapedTraces(marker), traces(marker)...)
	for where, content := range contents {
		once := unescaped(content)
		twice := unescaped(once)
		for name := range hidden {
			s.expose(where, name, content, escaped[name])
			for _, v := range []string{content, once, twice} {
				s.expose(where, name, v, bare[name])
			}
		}
		for _, trace := range all {
			if strings.Contains(content, trace) {
				found++
			}
		}
	}
	if found < 30 { // in the file, in its records, in its bodies
		s.t.Errorf("what is no secret was found %d times only: the search does not work", found)
	}
}

func (s *stage) expose(where, name, content string, traces []string) {
	s.t.Helper()
	for _, trace := range traces {
		if at := strings.Index(content, trace); at >= 0 {
			s.t.Errorf("%s is in %s: …%q", name, where, content[max(0, at-120):min(len(content), at+len(trace)+20)])
			return
		}
	}
}
