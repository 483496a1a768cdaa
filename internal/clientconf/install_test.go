package clientconf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durward"
	"durward/internal/clientconf"
)

// modes are ways to install; a client may refuse one, with durward.Invalid.
func modes(f corpusFile) map[string]clientconf.InstallOptions {
	file, _ := clientconf.Read(f.Source, f.data)
	var all []clientconf.Path
	for _, e := range file.Entries {
		if !e.Own {
			all = append(all, e.Path)
		}
	}
	return map[string]clientconf.InstallOptions{
		"command":  {Command: `C:\Program Files\Durward\durward.exe`},
		"endpoint": {Endpoint: &clientconf.Endpoint{URL: "http://127.0.0.1:8484/mcp", Headers: []clientconf.Pair{{Name: "X-Client", Value: "a"}}}},
		"token":    {Endpoint: &clientconf.Endpoint{URL: "http://127.0.0.1:8484/mcp", TokenEnv: "DURWARD_TOKEN"}},
		"move":     {Command: "durward", Move: all},
		"disable":  {Command: "durward", Disable: all},
	}
}

// viaJSON writes a record and reads it again, as the command line does.
func viaJSON(t testing.TB, r *clientconf.Record) *clientconf.Record {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out *clientconf.Record
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUninstallRestoresEveryByte(t *testing.T) {
	done := map[string]int{}
	for _, f := range corpus(t) {
		for mode, o := range modes(f) {
			change, err := clientconf.Install(f.Source, f.data, o)
			if err != nil {
				if kind := durward.KindOf(err); kind != durward.Invalid {
					t.Errorf("%s, %s: %v (%v)", f.name, mode, err, kind)
				}
				continue
			}
			if change.Record == nil {
				continue // it is there already, as wanted
			}
			want := f.data
			if strings.Contains(f.name, "installed") { // our own entry was there, in another form
				base, err := clientconf.Uninstall(f.Source, f.data, nil)
				if err != nil {
					t.Fatal(err)
				}
				want = base.Data
			}
			back, err := clientconf.Uninstall(f.Source, change.Data, viaJSON(t, change.Record))
			if err != nil {
				t.Errorf("%s, %s: %v", f.name, mode, err)
				continue
			}
			if !bytes.Equal(back.Data, want) {
				t.Errorf("%s, %s (-want +got):\n%s", f.name, mode, cmp.Diff(string(want), string(back.Data)))
			}
			done[mode]++
		}
	}
	for mode, least := range map[string]int{"command": 38, "endpoint": 25, "token": 24, "move": 30, "disable": 8} {
		if done[mode] < least {
			t.Errorf("mode %s was only tried on %d files", mode, done[mode])
		}
	}
}

func TestInstallTwiceChangesNothing(t *testing.T) {
	for _, f := range corpus(t) {
		for mode, o := range modes(f) {
			first, err := clientconf.Install(f.Source, f.data, o)
			if err != nil {
				continue
			}
			o.Previous = first.Record
			second, err := clientconf.Install(f.Source, first.Data, o)
			if err != nil || second.Changed || second.Diff != "" || !bytes.Equal(second.Data, first.Data) {
				t.Errorf("%s, %s: with the record: %v\n%s", f.name, mode, err, second.Diff)
			}
			o.Previous, o.Move, o.Disable = nil, nil, nil
			third, err := clientconf.Install(f.Source, first.Data, o)
			if err != nil || third.Changed || third.Record != nil {
				t.Errorf("%s, %s: without the record: %v", f.name, mode, err)
			}
		}
	}
}

func TestReinstallLeadsBackToTheStart(t *testing.T) {
	src := clientconf.Source{Client: clientconf.Cursor, Path: "mcp.json"}
	before := []byte("{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" } // mine\n  }\n}\n")
	first := install(t, src, before, clientconf.InstallOptions{Command: "/old/durward", Move: []clientconf.Path{{"mcpServers", "a"}}})
	second := install(t, src, first.Data, clientconf.InstallOptions{Command: "/new/durward", Previous: first.Record})
	if !strings.Contains(string(second.Data), "/new/durward") || !strings.Contains(string(second.Data), `"a"`) {
		t.Errorf("got %s", second.Data)
	}
	back, err := clientconf.Uninstall(src, second.Data, second.Record)
	if err != nil || !bytes.Equal(back.Data, before) {
		t.Errorf("%v\n%s", err, back.Data)
	}
}

func install(t testing.TB, src clientconf.Source, data []byte, o clientconf.InstallOptions) *clientconf.Change {
	t.Helper()
	change, err := clientconf.Install(src, data, o)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

func TestAbsentFileIsMadeAndRemoved(t *testing.T) {
	for _, c := range clientconf.Clients() {
		if c == clientconf.Generic {
			continue
		}
		src := clientconf.Source{Client: c, Path: "new"}
		change := install(t, src, nil, clientconf.InstallOptions{Command: "durward"})
		if file, problems := clientconf.Read(src, change.Data); len(file.Entries) != 1 || !file.Entries[0].Own || problems.Failed() {
			t.Errorf("%s: %s", c, change.Data)
		}
		back, err := clientconf.Uninstall(src, change.Data, change.Record)
		if err != nil || !back.Remove || back.Data != nil {
			t.Errorf("%s: %+v, %v", c, back, err)
		}
		// Also if somebody formatted the file.
		back, err = clientconf.Uninstall(src, append(change.Data, '\n'), change.Record)
		if err != nil || !back.Remove {
			t.Errorf("%s, formatted: %+v, %v", c, back, err)
		}
	}
}

// TestChangesSinceStay installs, lets the client change its file, and takes the
// installation back.
func TestChangesSinceStay(t *testing.T) {
	for _, tt := range []struct {
		client                  clientconf.Client
		before, from, to, after string
		move, disable           []clientconf.Path
		dropRecord              bool
	}{
		{
			client: clientconf.ClaudeCode,
			before: "{\n  \"n\": 1,\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}", from: `"n": 1`, to: `"n": 2`,
			after: "{\n  \"n\": 2,\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}",
		},
		{
			client: clientconf.ClaudeCode, dropRecord: true,
			before: "{\n  \"n\": 1,\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}", from: `"n": 1`, to: `"n": 2`,
			after: "{\n  \"n\": 2,\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}",
		},
		{
			client: clientconf.ClaudeCode,
			before: "{\n  \"n\": 1\n}", from: `"n": 1`, to: `"n": 2`,
			after: "{\n  \"n\": 2\n}",
		},
		{
			client: clientconf.Cursor, move: []clientconf.Path{{"mcpServers", "a"}},
			before: "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" },\n    \"b\": {}\n  }\n}", from: "\n}", to: ",\n  \"n\": 2\n}",
			after: "{\n  \"mcpServers\": {\n    \"b\": {},\n    \"a\": { \"command\": \"x\" }\n  },\n  \"n\": 2\n}",
		},
		{
			client: clientconf.Windsurf, disable: []clientconf.Path{{"mcpServers", "a"}, {"mcpServers", "b"}},
			before: `{"mcpServers": {"a": {"command": "x"}, "b": {"disabled": false}}, "n": 1}`, from: `"n": 1`, to: `"n": 2`,
			after: `{"mcpServers": {"a": {"command": "x"}, "b": {"disabled": false}}, "n": 2}`,
		},
		{
			client: clientconf.Codex, move: []clientconf.Path{{"mcp_servers", "a"}},
			before: "n = 1\n\n[mcp_servers.a]\ncommand = 'x' # why\n\n[mcp_servers.a.env]\nK = 'v'\n\n[z]\ny = 1\n", from: "n = 1", to: "n = 2",
			after: "n = 2\n\n[z]\ny = 1\n\n[mcp_servers.a]\ncommand = 'x' # why\n\n[mcp_servers.a.env]\nK = 'v'\n",
		},
		{
			client: clientconf.Codex, disable: []clientconf.Path{{"mcp_servers", "a"}},
			before: "n = 1\n[mcp_servers.a]\ncommand = 'x'\n", from: "n = 1", to: "n = 2",
			after: "n = 2\n[mcp_servers.a]\ncommand = 'x'\n",
		},
	} {
		src := clientconf.Source{Client: tt.client, Path: "f"}
		change := install(t, src, []byte(tt.before), clientconf.InstallOptions{Command: "durward", Move: tt.move, Disable: tt.disable})
		touched := strings.Replace(string(change.Data), tt.from, tt.to, 1)
		if strings.HasPrefix(tt.from, "\n}") { // at the end of the file
			touched = strings.TrimSuffix(string(change.Data), tt.from) + tt.to
		}
		record := change.Record
		if tt.dropRecord {
			record = nil
		}
		back, err := clientconf.Uninstall(src, []byte(touched), record)
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.client, err, touched)
			continue
		}
		if diff := cmp.Diff(tt.after, string(back.Data)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.client, diff)
		}
	}
}

func TestMoveKeepsWhatOthersPutInPlace(t *testing.T) {
	src := clientconf.Source{Client: clientconf.Cursor, Path: "f"}
	change := install(t, src, []byte(`{"mcpServers": {"a": {"command": "x"}}}`), clientconf.InstallOptions{Command: "durward", Move: []clientconf.Path{{"mcpServers", "a"}}})
	touched := strings.Replace(string(change.Data), `"durward": {`, `"a": {"command": "mine"}, "durward": {`, 1)
	back, err := clientconf.Uninstall(src, []byte(touched), change.Record)
	if err != nil || string(back.Data) != `{"mcpServers": {"a": {"command": "mine"}}}` {
		t.Errorf("%v: %s", err, back.Data)
	}
}

func TestEntryInTheFormOfEachClient(t *testing.T) {
	var b strings.Builder
	for _, c := range clientconf.Clients() {
		for _, o := range []clientconf.InstallOptions{
			{Command: "durward"},
			{Endpoint: &clientconf.Endpoint{URL: "http://127.0.0.1:8484/mcp", TokenEnv: "DURWARD_TOKEN"}},
			{Endpoint: &clientconf.Endpoint{URL: "http://127.0.0.1:8484/mcp", Headers: []clientconf.Pair{{Name: "X-A", Value: "b"}}}},
		} {
			change, err := clientconf.Install(clientconf.Source{Client: c}, nil, o)
			fmt.Fprintf(&b, "== %s\n", c)
			if err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
				continue
			}
			b.Write(change.Data)
		}
	}
	golden(t, "entries.txt", b.String())
}

func TestInstallRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		client     clientconf.Client
		o          clientconf.InstallOptions
		kind       durward.Kind
		want       string
	}{
		{"other entry", `{"mcpServers": {"durward": {"command": "sleep"}}}`, clientconf.Cursor, clientconf.InstallOptions{Command: "durward"}, durward.Conflict, "runs something else"},
		{"nothing to install", `{}`, clientconf.Cursor, clientconf.InstallOptions{}, durward.Invalid, "neither a command nor an address"},
		{"unknown client", `{}`, "emacs", clientconf.InstallOptions{Command: "durward"}, durward.Invalid, "emacs"},
		{"bad variable", `{}`, clientconf.Cursor, clientconf.InstallOptions{Endpoint: &clientconf.Endpoint{URL: "u", TokenEnv: "A B"}}, durward.Invalid, "cannot be the name of a variable"},
		{"move what is not there", `{}`, clientconf.Cursor, clientconf.InstallOptions{Command: "durward", Move: []clientconf.Path{{"mcpServers", "a"}}}, durward.Invalid, "no server at mcpServers.a"},
		{"cannot disable", `{"mcpServers": {"a": {}}}`, clientconf.Cursor, clientconf.InstallOptions{Command: "durward", Disable: []clientconf.Path{{"mcpServers", "a"}}}, durward.Invalid, "move the servers instead"},
		{"list", `{"mcpServers": []}`, clientconf.Cursor, clientconf.InstallOptions{Command: "durward"}, durward.Invalid, "is a list"},
		{"text", `"x"`, clientconf.Cursor, clientconf.InstallOptions{Command: "durward"}, durward.Invalid, "must hold an object"},
	} {
		_, err := clientconf.Install(clientconf.Source{Client: tt.client, Path: "f.json"}, []byte(tt.text), tt.o)
		if err == nil || durward.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v (%v)", tt.name, err, durward.KindOf(err))
		}
	}
}

func TestUninstallRefuses(t *testing.T) {
	src := clientconf.Source{Client: clientconf.Cursor, Path: "f.json"}
	for _, tt := range []struct {
		text   string
		record *clientconf.Record
		kind   durward.Kind
	}{
		{`{"mcpServers": {}}`, nil, durward.NotFound},
		{``, nil, durward.NotFound},
		{`{"mcpServers": {"durward": {"command": "sleep"}}}`, nil, durward.Conflict},
		{`{`, nil, durward.Invalid},
		{`{}`, &clientconf.Record{Version: 1, Client: clientconf.Zed}, durward.Invalid},
		{`{}`, &clientconf.Record{Version: 9, Client: clientconf.Cursor}, durward.Invalid},
	} {
		if _, err := clientconf.Uninstall(src, []byte(tt.text), tt.record); durward.KindOf(err) != tt.kind {
			t.Errorf("%s: %v (%v)", tt.text, err, durward.KindOf(err))
		}
	}
}

func TestReplacedEntryComesBack(t *testing.T) {
	src := clientconf.Source{Client: clientconf.Cursor, Path: "f.json"}
	before := `{"mcpServers": {"durward": {"command": "sleep"}}}`
	change := install(t, src, []byte(before), clientconf.InstallOptions{Command: "durward", Replace: true})
	back, err := clientconf.Uninstall(src, change.Data, change.Record)
	if err != nil || string(back.Data) != before {
		t.Errorf("%v: %s", err, back.Data)
	}
	back, err = clientconf.Uninstall(src, append(change.Data, ' '), change.Record)
	if err != nil || string(back.Data) != before+" " {
		t.Errorf("changed since: %v: %s", err, back.Data)
	}
}

// TestInstallOfDrawnFiles draws files and ways to install.
func TestInstallOfDrawnFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		client := rapid.SampledFrom([]clientconf.Client{clientconf.Windsurf, clientconf.Zed, clientconf.ClaudeCode, clientconf.Codex}).Draw(rt, "client")
		src := clientconf.Source{Client: client, Path: "f"}
		data := []byte(drawFile(rt, client))
		file, problems := clientconf.Read(src, data)
		if problems.Failed() {
			rt.Fatalf("%v\n%s", problems, data)
		}
		o := clientconf.InstallOptions{Command: rapid.StringMatching(`[a-z/\\ "]{0,9}durward`).Draw(rt, "command")}
		for _, e := range file.Entries {
			switch rapid.IntRange(0, 2).Draw(rt, "fate") {
			case 1:
				o.Move = append(o.Move, e.Path)
			case 2:
				if client != clientconf.ClaudeCode {
					o.Disable = append(o.Disable, e.Path)
				}
			}
		}
		change, err := clientconf.Install(src, data, o)
		if err != nil {
			if durward.KindOf(err) == durward.Internal {
				rt.Fatalf("%v\n%s", err, data)
			}
			return
		}
		back, err := clientconf.Uninstall(src, change.Data, viaJSON(t, change.Record))
		if err != nil || !bytes.Equal(back.Data, data) {
			rt.Fatalf("exact: %v\n%s\n%s", err, data, back.Data)
		}
		touched := append(bytes.Clone(change.Data), '\n')
		back, err = clientconf.Uninstall(src, touched, change.Record)
		if err != nil {
			rt.Fatalf("touched: %v\nbefore %q\nafter %q", err, data, touched)
		}
		again, _ := clientconf.Read(src, back.Data)
		if a, b := summary(file), summary(again); a != b {
			rt.Fatalf("touched: want %s, got %s\nbefore %q\nafter %q\nback %q", a, b, data, touched, back.Data)
		}
	})
}

// summary is what a file says, without order and places.
func summary(f *clientconf.File) string {
	out := map[string]string{}
	for _, e := range f.Entries {
		out[e.Path.String()] = fmt.Sprint(e.Command, e.Args, e.Env, e.Disabled)
	}
	return fmt.Sprint(out)
}

func drawFile(t *rapid.T, c clientconf.Client) string {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c d", "e"}), 0, 4, rapid.ID).Draw(t, "names")
	nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var b strings.Builder
	if c == clientconf.Codex {
		b.WriteString(pick("head", "", "model = 'x'"+nl, "# c"+nl+nl))
		for _, n := range names {
			b.WriteString(pick("gap", "", nl, "# about"+nl) + "[mcp_servers." + fmt.Sprintf("%q", n) + "]" + pick("comment", "", " # c") + nl)
			b.WriteString("command = 'x'" + nl + pick("more", "", "enabled = true"+nl, "args = ["+nl+"'y', # z"+nl+"]"+nl))
			b.WriteString(pick("sub", "", "[mcp_servers."+fmt.Sprintf("%q", n)+".env]"+nl+"K = '''v"+nl+"w'''"+nl))
		}
		return b.String() + pick("tail", "", "[z]"+nl+"y = 1", nl)
	}
	key := map[clientconf.Client]string{clientconf.Zed: "context_servers", clientconf.Windsurf: "mcpServers", clientconf.ClaudeCode: "mcpServers"}[c]
	gap := func() string { return pick("gap", "", " ", nl+"  ", nl+"\t", " // c"+nl, "/* } */") }
	b.WriteString("{" + pick("head", "", `"x": 1,`, nl) + gap() + fmt.Sprintf("%q:", key) + gap() + "{")
	for i, n := range names {
		b.WriteString(gap() + fmt.Sprintf("%q", n) + `: {"command": "x"` + pick("more", "", `, "args": ["y"]`, ","+nl) + "}" + gap())
		if i < len(names)-1 || rapid.Bool().Draw(t, "comma") {
			b.WriteString(",")
		}
	}
	return b.String() + gap() + "}" + pick("tail", "", ",", `, "z": {}`) + gap() + "}"
}
