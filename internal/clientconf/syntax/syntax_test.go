package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durward"
	"durward/internal/clientconf/syntax"
)

func TestFaultsSayWhatToDo(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", `1:1 E_EMPTY there is nothing in the file; a JSON file holds at least {}`},
		{"only comment", "// x", `1:1 E_EMPTY there is nothing in the file; a JSON file holds at least {}`},
		{"missing comma", "{\n  \"a\": 1\n  \"b\": 2\n}", `2:9 E_SYNTAX a comma is missing here, after the value`},
		{"missing comma in list", `["a" "b"]`, `1:5 E_SYNTAX a comma is missing here, after the value`},
		{"cut off", "{\n  \"a\": {", `2:9 E_SYNTAX the file ends inside the '{' of line 2; the closing '}' is missing, or the file was cut off`},
		{"wrong bracket", "{\n\"a\": [1}\n", `2:8 E_SYNTAX '}' closes the '[' of line 2; ']' is expected`},
		{"single quotes", "{'a': 1}", `1:2 E_SYNTAX text stands in double quotes, not in single ones`},
		{"typographic quotes", "{“a”: 1}", `1:2 E_SYNTAX this is a typographic quote; write the plain "`},
		{"bare key", "{a: 1}", `1:2 E_SYNTAX the name of a key stands in double quotes`},
		{"number as key", "{1: 1}", `1:2 E_SYNTAX the name of a key, in double quotes, is expected here, not '1'`},
		{"no colon", `{"a" 1}`, `1:6 E_SYNTAX a colon is missing after the key`},
		{"equals sign", `{"a" = 1}`, `1:6 E_SYNTAX a key and its value are joined by a colon, not by =`},
		{"two commas", `{"a": 1,, "b": 2}`, `1:9 E_SYNTAX there is a comma too many`},
		{"no value", `{"a": , "b": 2}`, `1:7 E_SYNTAX a value is missing before this ','`},
		{"windows path", `{"a": "C:\Users\me"}`, `1:10 E_SYNTAX a backslash is written \\ in JSON, as in C:\\Users\\me`},
		{"windows user", `{"a": "C:\users"}`, `1:10 E_SYNTAX \u needs four hexadecimal digits; a backslash itself is written \\, as in C:\\users`},
		{"open text", "{\"a\": \"x\n}", `1:7 E_SYNTAX the text that begins here does not end on its line; the closing double quote is missing`},
		{"open text at end", `{"a": "x`, `1:7 E_SYNTAX the text that begins here never ends; the closing double quote is missing`},
		{"control character", "{\"a\": \"x\ty\"}", `1:9 E_SYNTAX a text must not hold the control character 0x9; write \u0009`},
		{"python", `{"a": True}`, `1:7 E_SYNTAX True is written true in JSON`},
		{"none", `{"a": None}`, `1:7 E_SYNTAX None is written null in JSON`},
		{"word", `{"a": npx}`, `1:7 E_SYNTAX text stands in double quotes`},
		{"number", `{"a": 007}`, `1:7 E_SYNTAX this is no number as JSON writes it; put it in double quotes if it is text`},
		{"hash comment", "# x\n{}", `1:1 E_SYNTAX comments begin with //, not with #`},
		{"slash", "{/}", `1:2 E_SYNTAX this / begins no comment; comments are // … or /* … */`},
		{"open comment", "{} /* x", `1:4 E_SYNTAX this / begins no comment; comments are // … or /* … */`},
		{"two documents", "{}\n{}", `2:1 E_SYNTAX something follows the end of the document; is there one closing bracket too many above, or are there two documents in the file?`},
		{"merge conflict", "{\n<<<<<<< HEAD\n}", `2:1 E_SYNTAX the file holds the marks of a merge conflict; settle it first`},
		{"stray closing", "}", `1:1 E_SYNTAX a value is missing before this '}'`},
		{"html", "<html>", `1:1 E_SYNTAX a value is expected here, not '<'`},
		{"utf16", "\xff\xfe{\x00", `1:1 E_ENCODING the file is UTF-16; save it as UTF-8`},
		{"latin1", "{\"a\": \"\xe9\"}", `1:8 E_ENCODING this byte is not UTF-8; save the file as UTF-8`},
		{"deep", strings.Repeat("[", 200), `1:129 E_SIZE objects and lists are nested deeper than the limit of 128`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := faultOf(syntax.JSON, tt.text); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func faultOf(f syntax.Format, text string) string {
	_, bad := syntax.Parse(f, []byte(text))
	if bad == nil {
		return "valid"
	}
	line, column := syntax.NewLines([]byte(text)).Position(bad.Offset)
	return fmt.Sprintf("%d:%d %s %s", line, column, bad.Code, bad.Message)
}

func TestTOMLFaultsHaveAPlace(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\na = 2\n":                        "2:1 E_SYNTAX",
		"[a\nb = 1\n":                           "1:3 E_SYNTAX",
		"a = 'x\n":                              "1:7 E_SYNTAX",
		"a = " + strings.Repeat("[", 200) + "1": "1:205 E_SYNTAX",
		"x = {a = 1}\n[x.b]\n":                  "2:2 E_SYNTAX",
		"a = " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "1:5 E_SIZE",
		"a" + strings.Repeat(".a", 200) + " = 1\n":                   "1:257 E_SIZE lists and tables are nested",
		"[a" + strings.Repeat(".a", 200) + "]\n":                     "1:258 E_SIZE lists and tables are nested",
		strings.Repeat("[[a]]\n", 10_001):                            "1:1 E_SIZE the file has more keys",
		"a = [" + strings.Repeat("{b=1},", 10_001) + "]\n":           "1:1 E_SIZE the file has more keys",
		"// x\n":                "1:1 E_SYNTAX comments begin with #",
		"<<<<<<< HEAD\n":        "1:1 E_SYNTAX the file holds the marks of a merge conflict",
		"a = \"C:\\Users\"\n":   "1:8 E_SYNTAX a backslash is written",
		"a =\n":                 "1:4 E_SYNTAX a value is missing after the =",
		"{\"a\": 1}\n":          "1:1 E_SYNTAX the file looks like JSON",
		"\xef\xbb\xbfa = npx\n": "1:6 E_SYNTAX text stands in quotes",
	} {
		if got := faultOf(syntax.TOML, text); !strings.HasPrefix(got, want) {
			t.Errorf("%.30q: got %s, want %s", text, got, want)
		}
	}
}

func TestTooLargeIsRefused(t *testing.T) {
	if got := faultOf(syntax.JSON, strings.Repeat(" ", syntax.MaxBytes+1)); !strings.Contains(got, "16 MiB") {
		t.Errorf("got %s", got)
	}
}

func ours() syntax.Fields {
	return syntax.Fields{{Key: "command", Value: "durward"}, {Key: "args", Value: []string{"stdio"}}}
}

// layouts are files and what they are with a key put into "s"; taking the key
// out again must give the file back where undo is set.
var layouts = []struct {
	name, before, after string
	undo                bool
}{
	{"usual", "{\n  \"s\": {\n    \"a\": {}\n  }\n}\n", "{\n  \"s\": {\n    \"a\": {},\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}\n", true},
	{"tabs and CRLF", "{\r\n\t\"s\": {\r\n\t\t\"a\": 1\r\n\t}\r\n}", "{\r\n\t\"s\": {\r\n\t\t\"a\": 1,\r\n\t\t\"d\": {\r\n\t\t\t\"command\": \"durward\",\r\n\t\t\t\"args\": [\"stdio\"]\r\n\t\t}\r\n\t}\r\n}", true},
	{"trailing comma", "{\n  \"s\": {\n    \"a\": 1, // one\n  },\n}", "{\n  \"s\": {\n    \"a\": 1, // one\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    },\n  },\n}", true},
	{"comment after the last", "{\n  \"s\": {\n    \"a\": 1 // one\n    // two\n  }\n}", "{\n  \"s\": {\n    \"a\": 1, // one\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n    // two\n  }\n}", true},
	{"dense", `{"s":{"a":1}}`, `{"s":{"a":1, "d": {"command": "durward", "args": ["stdio"]}}}`, true},
	{"dense with comma", `{"s":{"a":1,}}`, `{"s":{"a":1, "d": {"command": "durward", "args": ["stdio"]},}}`, true},
	{"dense and empty", `{"x":1,"s":{}}`, `{"x":1,"s":{"d": {"command": "durward", "args": ["stdio"]}}}`, true},
	{"closing brace on the line", "{\n  \"s\": {\n    \"a\": 1 } }", "{\n  \"s\": {\n    \"a\": 1,\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    } } }", true},
	{"empty object", "{\n  \"s\": {}\n}", "{\n  \"s\": {\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}", true},
	{"empty object on lines", "{\n  \"s\": {\n  }\n}", "{\n  \"s\": {\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}", false},
	{"empty object with comment", "{\n  \"s\": { // none\n  }\n}", "{\n  \"s\": { // none\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}", true},
	{"not there", "{\n    \"x\": 1\n}\n", "{\n    \"x\": 1,\n    \"s\": {\n        \"d\": {\n            \"command\": \"durward\",\n            \"args\": [\"stdio\"]\n        }\n    }\n}\n", false},
	{"null", "{\n  \"s\": null\n}", "{\n  \"s\": {\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}", false},
	{"empty file", "", "{\n  \"s\": {\n    \"d\": {\n      \"command\": \"durward\",\n      \"args\": [\"stdio\"]\n    }\n  }\n}\n", false},
	{"byte order mark", "\xef\xbb\xbf{\"s\":{\"a\":1}}", "\xef\xbb\xbf{\"s\":{\"a\":1, \"d\": {\"command\": \"durward\", \"args\": [\"stdio\"]}}}", true},
}

func TestInsertKeepsTheLayout(t *testing.T) {
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			after, err := syntax.Insert(syntax.JSON, []byte(tt.before), []string{"s"}, "d", ours())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(after)); diff != "" {
				t.Errorf("insert (-want +got):\n%s", diff)
			}
			if !tt.undo {
				return
			}
			back, taken, err := syntax.Remove(syntax.JSON, after, []string{"s"}, []string{"d"})
			if err != nil || len(taken) != 1 {
				t.Fatal(err, taken)
			}
			if diff := cmp.Diff(tt.before, string(back)); diff != "" {
				t.Errorf("remove (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemoveLeavesAValidFile(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		keys         []string
		after        string
	}{
		{"first", "{\"s\": {\n  \"a\": 1,\n  \"b\": 2\n}}", []string{"a"}, "{\"s\": {\n  \"b\": 2\n}}"},
		{"middle with comment", "{\"s\": {\n  \"a\": 1,\n  \"b\": 2, // two\n  \"c\": 3\n}}", []string{"b"}, "{\"s\": {\n  \"a\": 1, // two\n  \"c\": 3\n}}"},
		{"all", "{\"s\": {\n  \"a\": 1,\n  \"b\": 2\n}}", []string{"a", "b"}, "{\"s\": {}}"},
		{"all but comments", "{\"s\": {\n  // x\n  \"a\": 1\n}}", []string{"a"}, "{\"s\": {\n  // x\n}}"},
		{"last two", "{\"s\": {\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}}", []string{"b", "c"}, "{\"s\": {\n  \"a\": 1\n}}"},
		{"comment would swallow the brace", "{\"s\": { // x\n  \"a\": 1}}", []string{"a"}, "{\"s\": { // x\n}}"},
		{"comment would swallow what follows two", "{\"s\": { // x\n  \"a\": 1,\n  \"b\": 2, \"c\": 3}}", []string{"a", "b"}, "{\"s\": { // x\n \"c\": 3}}"},
		{"comment before the comma", "{\"s\": {\"a\": 1 /* , */, \"b\": 2}}", []string{"a"}, "{\"s\": { /* , */ \"b\": 2}}"},
		{"twice", `{"s": {"a": 1, "a": 2, "b": 3}}`, []string{"a"}, `{"s": { "b": 3}}`},
		{"not there", `{"s": {"a": 1}}`, []string{"x"}, `{"s": {"a": 1}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after, _, err := syntax.Remove(syntax.JSON, []byte(tt.before), []string{"s"}, tt.keys)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, bad := syntax.Parse(syntax.JSON, after); bad != nil {
				t.Errorf("no longer valid: %s", bad.Message)
			}
		})
	}
}

func TestTOMLTables(t *testing.T) {
	block := "[s.d]\ncommand = \"durward\"\nargs = [\"stdio\"]\n"
	for _, tt := range []struct{ name, before, after string }{
		{"empty", "", block},
		{"usual", "# top\nm = 1\n\n[s.a] # x\ncommand = 'y'\n", "# top\nm = 1\n\n[s.a] # x\ncommand = 'y'\n\n" + block},
		{"other table last", "[s.a]\ncommand = 'y'\n[z]\nq = 1\n# end\n", "[s.a]\ncommand = 'y'\n[z]\nq = 1\n# end\n\n" + block},
		{"inline", "s = { a = { command = 'y' } } # x\n", "s = { a = { command = 'y' }, d = { command = \"durward\", args = [\"stdio\"] } } # x\n"},
		{"inline and empty", "s = {}\n", "s = { d = { command = \"durward\", args = [\"stdio\"] } }\n"},
		{"dotted", "s.a.command = 'y'\n", "s.a.command = 'y'\n\n" + block},
		{"CRLF", "a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(block, "\n", "\r\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after, err := syntax.Insert(syntax.TOML, []byte(tt.before), []string{"s"}, "d", ours())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(after)); diff != "" {
				t.Errorf("insert (-want +got):\n%s", diff)
			}
			back, _, err := syntax.Remove(syntax.TOML, after, []string{"s"}, []string{"d"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.before, string(back)); diff != "" {
				t.Errorf("remove (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTakenCanBePutBack(t *testing.T) {
	for _, tt := range []struct {
		f    syntax.Format
		text string
	}{
		{syntax.JSON, "{\"s\": {\n  \"a\": {\"x\": [1, 2]}, // c\n  \"b\": 2\n}}"},
		{syntax.TOML, "[s.a]\ncommand = 'x'\n[s.a.env]\nK = 'v'\n\n[other]\nz = 1\n"},
		{syntax.TOML, "[s]\na = { command = 'x', env = { K = 'v' } }\nb = { command = 'y' }\n"},
		{syntax.TOML, "s = { a = { command = 'x', env.K = 'v' }, b = { command = 'y' } }\n"},
		{syntax.TOML, "s.a.command = 'x'\ns.a.env.K = 'v'\n[s.b]\ncommand = 'y'\n"},
	} {
		before, bad := syntax.Parse(tt.f, []byte(tt.text))
		if bad != nil {
			t.Fatal(bad.Message)
		}
		data, taken, err := syntax.Remove(tt.f, []byte(tt.text), []string{"s"}, []string{"a"})
		if err != nil || len(taken) != 1 {
			t.Fatalf("%s: %v %v", tt.text, err, taken)
		}
		if n, _ := syntax.Parse(tt.f, data); n == nil || n.At([]string{"s", "a"}) != nil {
			t.Errorf("still there, or broken:\n%s", data)
		}
		back, err := syntax.Restore(tt.f, data, []string{"s"}, taken[0])
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		after, bad := syntax.Parse(tt.f, back)
		if bad != nil || !after.Equal(before, false) {
			t.Errorf("not the same after putting back: %v\n%s", bad, back)
		}
	}
}

func TestSetBool(t *testing.T) {
	for _, tt := range []struct {
		f             syntax.Format
		before, after string
	}{
		{syntax.JSON, `{"s": {"on": true}}`, `{"s": {"on": false}}`},
		{syntax.JSON, `{"s": {}}`, `{"s": {"on": false}}`},
		{syntax.TOML, "[s] # x\na = 1\n", "[s] # x\non = false\na = 1\n"},
		{syntax.TOML, "[s]", "[s]\non = false\n"},
		{syntax.TOML, "[s]\non = true # yes\n", "[s]\non = false # yes\n"},
		{syntax.TOML, "s = { a = 1 }\n", "s = { a = 1, on = false }\n"},
	} {
		got, err := syntax.SetBool(tt.f, []byte(tt.before), []string{"s"}, "on", false)
		if err != nil || string(got) != tt.after {
			t.Errorf("%q: got %q, %v", tt.before, got, err)
		}
	}
}

func TestWhatIsInTheWayIsNamed(t *testing.T) {
	for _, tt := range []struct {
		f          syntax.Format
		text, want string
	}{
		{syntax.JSON, "{\n \"s\": []}", `line 2, column 7: "s" is a list where an object of servers belongs; correct it first`},
		{syntax.JSON, "{\n", `line 2, column 1: the file ends inside`},
		{syntax.JSON, "[]", `line 1, column 1`},
		{syntax.TOML, "s = 'x'\n", `line 1, column 5: "s" is text where`},
		{syntax.TOML, "s = \n", `line 1, column 5`},
	} {
		_, err := syntax.Insert(tt.f, []byte(tt.text), []string{"s"}, "d", ours())
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || durward.KindOf(err) != durward.Invalid {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.want)
		}
	}
	_, err := syntax.Insert(syntax.TOML, []byte("m = { x = 1 }\n"), []string{"m", "s"}, "d", ours())
	if err == nil || !strings.Contains(err.Error(), "make it a table of its own: [m]") {
		t.Errorf("got %v", err)
	}
}
