package readme_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durward/test/readme"
)

func TestBlocksSayWhatIsDoneWithThem(t *testing.T) {
	document := strings.ReplaceAll(`text
'''yaml
version: 1
'''
'''sh
echo a
'''
'''text output
a
'''
1. a list

   '''sh exit 2
   false
     deeper
   '''
'''sh background
serve
'''
'''sh no-run: needs an account
login
'''
`, "'''", "```")
	want := []readme.Block{
		{Kind: readme.Shown, Line: 2, Text: "version: 1\n"},
		{Kind: readme.Run, Line: 5, Text: "echo a\n"},
		{Kind: readme.Output, Line: 8, Text: "a\n"},
		{Kind: readme.Run, Line: 13, Text: "false\n  deeper\n", Exit: 2},
		{Kind: readme.Background, Line: 17, Text: "serve\n"},
		{Kind: readme.NotRun, Line: 20, Text: "login\n", Reason: "needs an account"},
	}
	got, err := readme.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoCommandEscapes(t *testing.T) {
	for name, document := range map[string]string{
		"another name":          "```bash\nx\n```\n",
		"no reason":             "```sh no-run:\nx\n```\n",
		"an unknown word":       "```sh sometimes\nx\n```\n",
		"no status":             "```sh exit x\nx\n```\n",
		"an open fence":         "```sh\nx\n",
		"output of nothing":     "```text output\nx\n```\n",
		"output of a shown one": "```yaml\nx\n```\n```text output\nx\n```\n",
		"a word after text":     "```text results\nx\n```\n",
	} {
		if _, err := readme.Parse(document); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestOutputsMatch(t *testing.T) {
	for _, tc := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\n", "a", true},
		{"a", "a  \n", true},
		{"a", "a\nb", false},
		{"a\nb", "a", false},
		{"pid …, up …s", "pid 7, up 3s", true},
		{"pid …, up …s", "pid 7, up 3", false},
		{"…", "", true},
		{"a\n…\nd", "a\nb\nc\nd", true},
		{"a\n…\nd", "a\nd", true},
		{"a\n…\nd", "a\nb", false},
		{"…b…", "abc", true},
		{"x…", "abc", false},
		{"a…a", "a", false},
		{"  …", "x\ny", true},
	} {
		if got := readme.Matches(tc.shown, tc.printed); got != tc.want {
			t.Errorf("Matches(%q, %q) = %t", tc.shown, tc.printed, got)
		}
	}
}
