//go:build unix

package readme_test

import (
	"os"
	"path/filepath"
	"testing"

	"durward/test/readme"
)

// documents are those whose commands are run, from the top of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	howTos, err := filepath.Glob(filepath.Join(root(), "docs", "how-to", "*.md"))
	if err != nil || len(howTos) == 0 {
		t.Fatalf("no how-tos were found: %v", err)
	}
	return append([]string{filepath.Join(root(), "README.md")}, howTos...)
}

func TestCommandsOfTheDocuments(t *testing.T) {
	for _, file := range documents(t) {
		name, err := filepath.Rel(root(), file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			blocks, err := readme.Parse(string(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			follow(t, name, blocks)
		})
	}
}

// follow does what a document says, from its beginning to its end.
func follow(t *testing.T, name string, blocks []readme.Block) {
	p := newPerson(t)
	printed := ""
	count := map[readme.Kind]int{}
	for _, b := range blocks {
		count[b.Kind]++
		switch b.Kind {
		case readme.Run:
			var status int
			if printed, status = p.run(b.Text); status != b.Exit {
				t.Fatalf("%s:%d: exit status %d, not %d, of\n%s\nwhich printed\n%s%s", name, b.Line, status, b.Exit, b.Text, printed, p.served())
			}
		case readme.Background:
			p.serve(b.Text)
		case readme.Output:
			if !readme.Matches(b.Text, printed) {
				t.Fatalf("%s:%d: what was printed is not what is shown. It was\n%s%s", name, b.Line, printed, p.served())
			}
		case readme.NotRun:
			t.Logf("%s:%d: not run: %s", name, b.Line, b.Reason)
		case readme.Shown:
		}
	}
	t.Logf("%s: run %d, served %d, outputs compared %d, not run %d, other blocks %d", name,
		count[readme.Run], count[readme.Background], count[readme.Output], count[readme.NotRun], count[readme.Shown])
	if count[readme.Run] == 0 {
		t.Errorf("%s: no command of it was run", name)
	}
}

// served is what the service in the other terminal printed, for a failure.
func (p *person) served() string {
	if p.serving == nil {
		return ""
	}
	return "\nand the service printed\n" + p.serving.text()
}
