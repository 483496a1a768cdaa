package cli_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"durward"
	"durward/internal/cli"
)

func TestValuesAreReadAsTheSchemaSays(t *testing.T) {
	for _, tt := range []struct{ schema, text, want string }{
		{`{"type":"string"}`, "42", `"42"`},
		{`{"type":"string"}`, `<a> & "b"`, `"<a> & \"b\""`},
		{`{"type":"integer"}`, "12345678901234567890", "12345678901234567890"},
		{`{"type":"boolean"}`, "true", "true"},
		{`{"type":"array"}`, `[1, 2]`, "[1, 2]"},
		{`{"type":["string","null"]}`, "null", "null"},
		{`{"type":["string","null"]}`, "text", `"text"`},
		{`{"enum":["1","2"]}`, "1", `"1"`},
		{`{}`, "1", "1"},
		{`{}`, "one", `"one"`},
		{`true`, "one", `"one"`},
	} {
		if got, err := cli.Value(tt.schema, tt.text); err != nil || got != tt.want {
			t.Errorf("%s %q: %s %v, wanted %s", tt.schema, tt.text, got, err, tt.want)
		}
	}
	for _, schema := range []string{`{"type":"integer"}`, `{"type":["object","array"]}`} {
		if got, err := cli.Value(schema, "{x"); durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %s %v", schema, got, err)
		}
	}
}

func TestReferencesAreReplacedUnlessEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"a ${secret:X} b ${secret:X}": "a ${file:/x} b ${file:/x}",
		"$${secret:X} ${secret:XY}":   "$${secret:X} ${secret:XY}",
		"":                            "",
	} {
		if got := cli.ReplaceReference(in, "secret:X", "${file:/x}"); got != want {
			t.Errorf("%q: %q, wanted %q", in, got, want)
		}
	}
}

// What a person pastes into a shell is what is meant (B28).
func TestB28_ShellQuoting(t *testing.T) {
	for _, word := range []string{"", "plain", "two words", `it's`, `$HOME "x" \n`, "line\nbreak", "ünï", "*?[a]", "-x"} {
		out, err := exec.Command("sh", "-c", "printf %s "+cli.ShellQuote(word)).Output()
		if err != nil && word != "-x" || err == nil && string(out) != word {
			t.Errorf("%q: %q %v", word, out, err)
		}
	}
}

func TestUnitFiles(t *testing.T) {
	if got := cli.SystemdQuote(`/a b/100%/$x"`); got != `"/a b/100%%/$$x\""` {
		t.Error(got)
	}
	file, unit := cli.LaunchdUnit("/Apps/A & B/durward", "/Users/me", "/bin:<x>")
	if file != "/Users/me/Library/LaunchAgents/dev.durward.service.plist" || !strings.Contains(unit, "<string>/Apps/A &amp; B/durward</string>") {
		t.Errorf("%s\n%s", file, unit)
	}
	d := xml.NewDecoder(strings.NewReader(unit))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A foreign text cannot steer the terminal.
func TestExtensions(t *testing.T) {
	for in, want := range map[string]string{"image/PNG; x=y": ".png", "text/html": ".bin", "application/x-sh": ".bin", "": ".bin"} {
		if got := cli.Extension(in); got != want {
			t.Errorf("%q: %q, wanted %q", in, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"echo", "echo", 0}, {"ecko", "echo", 1}, {"eho", "echo", 1}, {"abcdef", "uvwxyz", 5}, {"a", "abcdefgh", 5}} {
		if got := min(5, cli.Distance(tt.a, tt.b, 5)); got != tt.want {
			t.Errorf("%s %s: %d, wanted %d", tt.a, tt.b, got, tt.want)
		}
	}
}
