package clientconf_test

import (
	"bytes"
	"testing"

	"go.yaml.in/yaml/v4"

	"durward"
	"durward/internal/clientconf"
)

func addCorpus(f *testing.F) {
	for _, c := range corpus(f) {
		f.Add(string(c.Client), c.data)
	}
}

// FuzzRead: whatever a file holds, it is read without a panic, every entry has
// a legal name of its own, and what comes out can be written as YAML and JSON.
func FuzzRead(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, client string, data []byte) {
		c, err := clientconf.ParseClient(client)
		if err != nil {
			return
		}
		file, problems := clientconf.Read(clientconf.Source{Client: c, Path: "f"}, data)
		seen := map[string]bool{}
		for _, e := range file.Entries {
			if err := durward.CheckServerName(e.Name); err != nil || seen[e.Name] {
				t.Fatalf("name %q: %v", e.Name, err)
			}
			seen[e.Name] = true
			if e.Skip == "" && !e.Own && (e.Command == "") == (e.URL == "") {
				t.Fatalf("neither or both: %+v", e)
			}
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Fatalf("a problem without a place: %+v", p)
			}
		}
		plan := clientconf.NewPlan([]*clientconf.File{file, file}, clientconf.PlanOptions{})
		var doc struct {
			Servers map[string]any `yaml:"servers"`
		}
		if err := yaml.Unmarshal(plan.YAML(), &doc); err != nil || len(doc.Servers) != len(plan.Servers) {
			t.Fatalf("%v\n%s", err, plan.YAML())
		}
		if _, err := plan.JSON(); err != nil {
			t.Fatal(err)
		}
		_ = plan.Text()
	})
}

// FuzzInstall: a file in which Durward can be installed says the same as before
// besides, and is the same bytes after it is taken out again.
func FuzzInstall(f *testing.F) {
	addCorpus(f)
	f.Fuzz(func(t *testing.T, client string, data []byte) {
		c, err := clientconf.ParseClient(client)
		if err != nil {
			return
		}
		src := clientconf.Source{Client: c, Path: "f"}
		file, _ := clientconf.Read(src, data)
		o := clientconf.InstallOptions{Command: "durward"}
		for i, e := range file.Entries {
			if i%2 == 0 && !e.Own {
				o.Move = append(o.Move, e.Path)
			}
		}
		change, err := clientconf.Install(src, data, o)
		if err != nil {
			if durward.KindOf(err) == durward.Internal {
				t.Fatalf("%v\n%q", err, data)
			}
			return
		}
		again, problems := clientconf.Read(src, change.Data)
		for _, p := range problems {
			if p.Code == clientconf.CodeSyntax && p.Severity == clientconf.Error {
				t.Fatalf("%v\n%q", p, change.Data)
			}
		}
		if len(again.Entries) == 0 {
			t.Fatalf("the entry is not there: %q", change.Data)
		}
		if change.Record == nil {
			return
		}
		back, err := clientconf.Uninstall(src, change.Data, change.Record)
		if err != nil {
			t.Fatalf("%v\n%q", err, change.Data)
		}
		base := data
		if own, err := clientconf.Uninstall(src, data, nil); err == nil { // it was there before, in another form
			base = own.Data
		}
		if !bytes.Equal(back.Data, base) {
			t.Fatalf("before %q\nafter  %q\nback   %q", base, change.Data, back.Data)
		}
		if _, err := clientconf.Uninstall(src, append(bytes.Clone(change.Data), '\n'), change.Record); durward.KindOf(err) == durward.Internal && err != nil {
			t.Fatalf("changed since: %v\n%q", err, change.Data)
		}
	})
}
