package clientconf_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durward/internal/clientconf"
)

var update = flag.Bool("update", false, "write the golden files anew")

// corpusFile is a file of a client among the test data.
type corpusFile struct {
	clientconf.Source
	name string
	data []byte
}

// corpus returns the files of all clients; broken ones are named CLIENT.WHAT.
func corpus(t testing.TB) []corpusFile {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*")
	if err != nil || len(paths) < 40 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var out []corpusFile
	for _, p := range paths {
		dir, file := filepath.Split(filepath.ToSlash(p))
		client := filepath.Base(dir)
		switch client {
		case "golden", "fuzz", "rapid":
			continue
		case "broken":
			client, _, _ = strings.Cut(file, ".")
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		c, err := clientconf.ParseClient(client)
		if err != nil {
			t.Fatal(err)
		}
		f := corpusFile{Source: clientconf.Source{Client: c, Path: file}, name: client + "/" + file, data: data}
		if strings.HasPrefix(file, "project") || strings.HasPrefix(file, "workspace") {
			f.Dir = "/home/ada/src/shop"
		}
		out = append(out, f)
	}
	return out
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not as it was (-update writes it anew; -want +got):\n%s", path, diff)
	}
}

func TestCorpusIsReadAsBefore(t *testing.T) {
	for _, f := range corpus(t) {
		t.Run(f.name, func(t *testing.T) {
			file, problems := clientconf.Read(f.Source, f.data)
			plan := clientconf.NewPlan([]*clientconf.File{file}, clientconf.PlanOptions{})
			var b strings.Builder
			b.WriteString("== problems\n")
			for _, p := range problems {
				b.WriteString(p.String() + "\n")
			}
			b.WriteString("== plan\n" + plan.Text())
			b.WriteString("== durward.yaml\n" + string(plan.YAML()))
			b.WriteString("== install\n")
			change, err := clientconf.Install(f.Source, f.data, clientconf.InstallOptions{Command: "durward"})
			if err != nil {
				b.WriteString("error: " + err.Error() + "\n")
			} else {
				b.WriteString(change.Diff)
			}
			golden(t, strings.ReplaceAll(f.name, "/", ".")+".txt", b.String())
		})
	}
}
