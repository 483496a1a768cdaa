package transport_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"durward/internal/exchange"
	"durward/internal/wire"
)

var update = flag.Bool("update", false, "write what was received into testdata/*.txtar")

// TestTranscripts plays HTTP exchanges: a file NAME.in holds a request (without
// Host, token and lengths, which are added), NAME.out the answer. $SESSION is the
// id that the last initialize got, $MARKS what all event ids of it begin with.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	t.Helper()
	script := readArchive(t, file)
	r := newRig(t, map[string]tool{
		"progress": func(_ context.Context, _ *exchange.Inbound, out exchange.Stream) exchange.Reply {
			out.Notify(wire.NoteProgress, []byte(`{"progressToken":1,"progress":1,"total":2}`))
			out.Notify(wire.NoteProgress, []byte(`{"progressToken":1,"progress":2,"total":2}`))
			return result(`{"content":[]}`)
		},
		"needs": func(context.Context, *exchange.Inbound, exchange.Stream) exchange.Reply {
			return exchange.Reply{Error: []byte(`{"code":-32021,"message":"needs roots","data":{"requiredCapabilities":{"roots":{}}}}`)}
		},
	}, nil)
	session, marks := "none", "none"
	changed := false
	for i, f := range script.files {
		name, isIn := strings.CutSuffix(f.name, ".in")
		if !isIn {
			continue
		}
		resp, body := r.playOne(strings.NewReplacer("$SESSION", session, "$MARKS", marks).Replace(f.data))
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if begin := eventMarks.FindStringSubmatch(body); begin != nil {
			marks = begin[1]
		}
		got := strings.NewReplacer(session, "$SESSION", marks, "$MARKS").Replace(printed(resp, body))
		if i+1 >= len(script.files) || script.files[i+1].name != name+".out" {
			t.Fatalf("%s.in needs %s.out behind it", name, name)
		}
		if out := &script.files[i+1]; out.data != got {
			if !*update {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, out.data)
			}
			out.data, changed = got, true
		}
	}
	if changed && *update {
		if err := os.WriteFile(file, script.format(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var eventMarks = regexp.MustCompile(`id: ([0-9a-f]{8}_[0-9a-f]{8})_`)

// playOne sends what was written down.
func (r *rig) playOne(script string) (*http.Response, string) {
	r.t.Helper()
	head, body, _ := strings.Cut(script, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, ok := strings.Cut(lines[0], " ")
	if !ok {
		r.t.Fatalf("no request: %s", script)
	}
	var headers []string
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		headers = append(headers, name, strings.TrimSpace(value))
	}
	return r.send(method, path, strings.TrimSuffix(body, "\n"), headers...)
}

// printed renders an answer without what differs from run to run.
func printed(resp *http.Response, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", resp.StatusCode)
	var names []string
	for name := range resp.Header {
		if name != "Date" && name != "Content-Length" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(resp.Header[name], ", "))
	}
	if body != "" {
		b.WriteByte('\n')
	}
	for scan := bufio.NewScanner(strings.NewReader(body)); scan.Scan(); {
		b.WriteString(scan.Text() + "\n")
	}
	return b.String()
}

// archive is a text with files in it, each behind a line "-- NAME --".
type archive struct {
	comment string
	files   []archived
}

type archived struct{ name, data string }

func readArchive(t *testing.T, path string) *archive {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{}
	for line := range strings.Lines(string(data)) {
		rest, begins := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
		if name, ends := strings.CutSuffix(rest, " --"); begins && ends {
			a.files = append(a.files, archived{name: name})
		} else if n := len(a.files); n > 0 {
			a.files[n-1].data += line
		} else {
			a.comment += line
		}
	}
	return a
}

func (a *archive) format() []byte {
	var b strings.Builder
	b.WriteString(a.comment)
	for _, f := range a.files {
		b.WriteString("-- " + f.name + " --\n" + f.data)
	}
	return []byte(b.String())
}
