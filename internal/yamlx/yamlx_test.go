package yamlx_test

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/yamlx"
)

type inner struct {
	Port  int               `yaml:"port,required" min:"1" max:"65535"`
	Mode  string            `yaml:"mode" enum:"fast|slow"`
	Env   map[string]string `yaml:"env" sensitive:"true"`
	Sub   *sub              `yaml:"sub"`
	Other string            // without a tag: not part of the document
}

type sub struct {
	On bool `yaml:"on"`
}

type shared struct {
	Wait time.Duration `yaml:"wait" min:"1ms" max:"1h"`
}

type outer struct {
	Name    string                  `yaml:"name"`
	Size    yamlx.Size              `yaml:"size" max:"1GiB"`
	Ratio   float64                 `yaml:"ratio" min:"0" max:"1"`
	Small   uint8                   `yaml:"small"`
	Args    []yamlx.Text            `yaml:"args"`
	Nets    []netip.Prefix          `yaml:"nets"`
	Flag    bool                    `yaml:"flag"`
	Servers map[string]inner        `yaml:"servers"`
	Lists   map[string][]yamlx.Text `yaml:"lists"`
	Modes   []string                `yaml:"modes" enum:"fast|slow"`
	Shared  shared                  `yaml:",inline"`
}

func decode(text string) (outer, error) {
	var out outer
	s := yamlx.Parse("t.yaml", []byte(text), yamlx.Limits{})
	s.Decode(&out)
	return out, s.Err()
}

func TestDecode(t *testing.T) {
	got, err := decode("\ufeff" + `
name: "a: b"
size: 32MiB
ratio: 0.5
small: 255
args: [--port, 8080, 1.10, 0o17, true, 2026-01-02, "", yes]
nets: [10.0.0.0/8]
flag: true
wait: 1m30s
servers:
  a: &a
    port: 80
    mode: fast
    env: {K: "v"}
    sub: {on: true}
  b: *a
lists: {x: [1], y: }
modes: [slow]
`)
	if err != nil {
		t.Fatal(err)
	}
	in := inner{Port: 80, Mode: "fast", Env: map[string]string{"K": "v"}, Sub: &sub{On: true}}
	want := outer{
		Name: "a: b", Size: 32 << 20, Ratio: 0.5, Small: 255, Flag: true,
		Args:    []yamlx.Text{"--port", "8080", "1.10", "0o17", "true", "2026-01-02", "", "yes"},
		Nets:    []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Servers: map[string]inner{"a": in, "b": in},
		Lists:   map[string][]yamlx.Text{"x": {"1"}, "y": nil},
		Modes:   []string{"slow"},
		Shared:  shared{Wait: 90 * time.Second},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDecodeKeepsDefaults(t *testing.T) {
	out := outer{Name: "kept", Size: 7}
	s := yamlx.Parse("t", []byte("size: 8"), yamlx.Limits{})
	s.Decode(&out)
	if s.Err() != nil || out.Name != "kept" || out.Size != 8 {
		t.Errorf("%+v, %v", out, s.Err())
	}
}

func TestProblems(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"unknown key", "servers:\n  a: {prot: 1, port: 2}\n", `t.yaml:2:7: E_UNKNOWN_KEY: servers.a.prot: unknown key; did you mean "port"?
    2 |   a: {prot …
      |       ^~~~`},
		{"unknown key, nothing like it", "servers: {a: {port: 1, sub: {zzz: 1}}}", `t.yaml:1:30: E_UNKNOWN_KEY: servers.a.sub.zzz: unknown key; known here: on
    1 | servers: {a: {port: 1, sub: {zzz …
      |                              ^~~`},
		{"swap and case", "Naem: x", `t.yaml:1:1: E_UNKNOWN_KEY: Naem: unknown key; did you mean "name"?
    1 | Naem …
      | ^~~~`},
		{"duplicate", "name: a\nname: b\n", `t.yaml:2:1: E_DUPLICATE_KEY: name: the key is there twice, first on line 1; remove one
    2 | name …
      | ^~~~`},
		{"no text", "name: 12\n", `t.yaml:1:7: E_TYPE: name: must be a text, is a number; put it in quotes
    1 | name: 12
      |       ^~`},
		{"list for text", "name: [a]\n", `t.yaml:1:7: E_TYPE: name: must be a text, is a list
    1 | name: [ …
      |       ^`},
		{"text for list", "args: abc\n", `t.yaml:1:7: E_TYPE: args: must be a list, is a text
    1 | args: abc
      |       ^~~`},
		{"list for mapping", "servers: [a]", `t.yaml:1:10: E_TYPE: servers: must be a mapping (key: value), is a list
    1 | servers: [ …
      |          ^`},
		{"no value", "name:\nflag: true", `t.yaml:1:1: E_TYPE: name: has no value; give it one or remove the key
    1 | name …
      | ^~~~`},
		{"yes", "flag: yes", `t.yaml:1:7: E_TYPE: flag: must be true or false, is "yes"
    1 | flag: yes
      |       ^~~`},
		{"quoted truth", `flag: "true"`, `t.yaml:1:7: E_TYPE: flag: must be true or false, is "true"
    1 | flag: "true"
      |       ^~~~~~`},
		{"octal", "small: 010", `t.yaml:1:8: E_TYPE: small: must be a whole number, is "010"
    1 | small: 010
      |        ^~~`},
		{"overflow", "small: 256", `t.yaml:1:8: E_RANGE: small: is out of range, is "256"
    1 | small: 256
      |        ^~~`},
		{"range", "servers: {a: {port: 0}}", `t.yaml:1:21: E_RANGE: servers.a.port: must be between 1 and 65535, is "0"
    1 | servers: {a: {port: 0 …
      |                     ^`},
		{"size range", "size: 2GiB", `t.yaml:1:7: E_RANGE: size: must be at most 1GiB, is "2GiB"
    1 | size: 2GiB
      |       ^~~~`},
		{"size", "size: 2GB", `t.yaml:1:7: E_TYPE: size: must be a size (1024, 64KiB, 32MiB), is "2GB"
    1 | size: 2GB
      |       ^~~`},
		{"ratio", "ratio: .nan", `t.yaml:1:8: E_TYPE: ratio: must be a number, is ".nan"
    1 | ratio: .nan
      |        ^~~~`},
		{"ratio range", "ratio: 1.5", `t.yaml:1:8: E_RANGE: ratio: must be between 0 and 1, is "1.5"
    1 | ratio: 1.5
      |        ^~~`},
		{"duration", "wait: 30", `t.yaml:1:7: E_TYPE: wait: must be a duration with a unit (500ms, 30s, 5m, 1h), is "30"
    1 | wait: 30
      |       ^~`},
		{"duration range", "wait: -5s", `t.yaml:1:7: E_RANGE: wait: must be between 1ms and 1h, is "-5s"
    1 | wait: -5s
      |       ^~~`},
		{"enum", "servers: {a: {port: 1, mode: fats}}", `t.yaml:1:30: E_VALUE: servers.a.mode: must be one of fast, slow, is "fats"; did you mean "fast"?
    1 | servers: {a: {port: 1, mode: fats …
      |                              ^~~~`},
		{"enum in list", "modes: [fast, x]", `t.yaml:1:15: E_VALUE: modes[1]: must be one of fast, slow, is "x"
    1 | modes: [fast, x …
      |               ^`},
		{"own text", "nets: [nonsense]", `t.yaml:1:8: E_VALUE: nets[0]: netip.ParsePrefix("nonsense"): no '/'
    1 | nets: [nonsense …
      |        ^~~~~~~~`},
		{"required", "servers:\n  a: {mode: fast}", `t.yaml:2:6: E_REQUIRED: servers.a.port: is missing`},
		{"null in list", "args: [a, ~]", `t.yaml:1:11: E_TYPE: args[1]: must be a text, is empty
    1 | args: [a, ~ …
      |           ^`},
		{"null in sensitive mapping", "servers: {a: {port: 1, env: {A: }}}", `t.yaml:1:30: E_TYPE: servers.a.env.A: has no value; write "" if it is to be empty`},
		{"sensitive", "servers:\n  a:\n    port: 1\n    env:\n      A: {hunter2: x}\n      B: 12345\n", `t.yaml:5:10: E_TYPE: servers.a.env.A: must be a text, is a mapping
t.yaml:6:10: E_TYPE: servers.a.env.B: must be a text, is a number; put it in quotes`},
		{"a secret below a misspelt key", "servers: {a: {enb: {K: hunter2}, port: x}}", `t.yaml:1:15: E_UNKNOWN_KEY: servers.a.enb: unknown key; did you mean "env"?
    1 | servers: {a: {enb …
      |               ^~~
t.yaml:1:40: E_TYPE: servers.a.port: must be a whole number, is "x"`},
		{"tag", "name: !!binary aGk=", `t.yaml:1:7: E_TAG: name: the tag !!binary is not permitted; remove it
    1 | name: ! …
      |       ^`},
		{"merge key", "<<: {name: x}", `t.yaml:1:1: E_MERGE_KEY: merge keys (<<) are not supported; write the keys out
    1 | << …
      | ^~`},
		{"odd key", "servers: {1: {port: 1}}", `t.yaml:1:11: E_KEY: servers: a key must be a text; put it in quotes if it looks like something else
    1 | servers: {1 …
      |           ^`},
		{"complex key", "? [a]\n: b", `t.yaml:1:3: E_KEY: a key must be a text; put it in quotes if it looks like something else
    1 | ? [ …
      |   ^`},
		{"itself", "lists: {a: &a [*a]}", `t.yaml:1:12: E_ALIAS: lists.a[0]: the value contains itself by an alias
    1 | lists: {a: & …
      |            ^`},
		{"unknown anchor", "name: *x", `t.yaml:1:7: E_SYNTAX: unknown anchor 'x' referenced
    1 | name: * …
      |       ^`},
		{"syntax", "name: a\nargs: [1, 2\nflag: true\n", `t.yaml:3:5: E_SYNTAX: did not find expected ',' or ']' (while parsing a flow sequence from line 2)
    3 | flag: …
      |     ^`},
		{"tab", "servers:\n\ta: 1\n", `t.yaml:2:1: E_SYNTAX: found character that cannot start any token (while scanning for the next token)
    2 | 	 …
      | ^`},
		{"documents", "name: a\n---\nname: b\n", `t.yaml:2:1: E_DOCUMENTS: a second document starts here; one file holds one document`},
		{"empty", "# nothing\n", `t.yaml:1:1: E_EMPTY: the document is empty`},
		{"null", "~", `t.yaml:1:1: E_EMPTY: the document is empty`},
		{"not a mapping", "- a", `t.yaml:1:1: E_TYPE: must be a mapping (key: value), is a list
    1 | - …
      | ^`},
		{"not UTF-8", "name: a\nflag: \xff", `t.yaml:2:1: E_ENCODING: the line is not UTF-8 text; save the file as UTF-8`},
		{"NUL", "name: a\x00", `t.yaml:1:1: E_ENCODING: the line is not UTF-8 text; save the file as UTF-8`},
		{"wide characters and tabs", "name: {ä: \"ö\",\tb: 1}", `t.yaml:1:7: E_TYPE: name: must be a text, is a mapping
    1 | name: { …
      |       ^`},
		{"path with odd keys", "lists: {\"a b\": x}", `t.yaml:1:16: E_TYPE: lists["a b"]: must be a list, is a text
    1 | lists: {"a b": x …
      |                ^`},
		{"everything at once", "flag: 1\nname: x\nsmall: -1\nzzz: 1\n", `t.yaml:1:7: E_TYPE: flag: must be true or false, is "1"
    1 | flag: 1
      |       ^
t.yaml:3:8: E_RANGE: small: is out of range, is "-1"
    3 | small: -1
      |        ^~
t.yaml:4:1: E_UNKNOWN_KEY: zzz: unknown key; known here: name, size, ratio, small, args, nets, flag, servers, lists, modes, wait
    4 | zzz …
      | ^~~`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decode(tt.in)
			if err == nil {
				t.Fatal("no problem found")
			}
			if err.Error() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", err, tt.want)
			}
			if durward.KindOf(err) != durward.Invalid {
				t.Errorf("kind %s", durward.KindOf(err))
			}
		})
	}
}

// Each level refers nine times to the one before: 9^9 values from 600 bytes.
func TestBillionLaughs(t *testing.T) {
	var b strings.Builder
	b.WriteString("lists:\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	type laugh []laugh
	var out struct {
		Lists map[string]laugh `yaml:"lists"`
	}
	s := yamlx.Parse("t", []byte(b.String()), yamlx.Limits{})
	s.Decode(&out)
	var ps yamlx.Problems
	if !errors.As(s.Err(), &ps) || !hasCode(ps, yamlx.CodeAlias) {
		t.Errorf("%v", s.Err())
	}
}

func hasCode(ps yamlx.Problems, code yamlx.Code) bool {
	for _, p := range ps {
		if p.Code == code {
			return true
		}
	}
	return false
}

func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		in     string
		limits yamlx.Limits
		want   string
	}{
		"bytes":         {strings.Repeat("#", 101), yamlx.Limits{Bytes: 100}, "t:1:1: E_SIZE: the document has 101 bytes, more than the limit of 100"},
		"depth":         {"a: [[[[1]]]]", yamlx.Limits{Depth: 3}, "E_SIZE: nested more than 3 levels deep"},
		"block depth":   {"a:\n b:\n  c:\n   d: 1", yamlx.Limits{Depth: 3}, "E_SIZE: nested more than 3 levels deep"},
		"default depth": {strings.Repeat("[", 5000), yamlx.Limits{}, "E_SIZE: nested more than 64 levels deep"},
		"default bytes": {strings.Repeat("#", 1<<20+1), yamlx.Limits{}, "E_SIZE"},
	} {
		s := yamlx.Parse("t", []byte(tt.in), tt.limits)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManyProblemsAreCut(t *testing.T) {
	_, err := decode("modes:\n" + strings.Repeat("- x\n", 150))
	if err == nil || !strings.HasSuffix(err.Error(), "\nand at least 50 more problems") {
		t.Errorf("%v", err)
	}
}

// A large document that is wrong everywhere stays cheap.
func TestALargeWrongDocument(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 256<<10; i++ {
		fmt.Fprintf(&b, "k%d: {x: [1, 2]}\n", i)
	}
	_, err := decode(b.String())
	var ps yamlx.Problems
	if !errors.As(err, &ps) || len(ps) > 1000 || len(err.Error()) > 100_000 {
		t.Errorf("%d problems, %d bytes", len(ps), len(err.Error()))
	}
}

func TestReportPointsAtTheNearestThing(t *testing.T) {
	const text = "name: a\nservers:\n  a:\n    port: 1\n    mode:\nargs: [x, y]\n"
	for name, tt := range map[string]struct {
		path yamlx.Path
		key  bool
		want string
	}{
		"value":          {yamlx.Path{"servers", "a", "port"}, false, "t:4:11: E: servers.a.port: m"},
		"key":            {yamlx.Path{"servers", "a", "port"}, true, "t:4:5: E: servers.a.port: m"},
		"absent":         {yamlx.Path{"servers", "a", "env", "X"}, false, "t:3:3: E: servers.a.env.X: m"},
		"empty value":    {yamlx.Path{"servers", "a", "mode"}, false, "t:5:5: E: servers.a.mode: m"},
		"element":        {yamlx.Path{"args", "1"}, false, "t:6:11: E: args[1]: m"},
		"absent at root": {yamlx.Path{"size"}, false, "t:1:1: E: size: m"},
		"the document":   {nil, false, "t:1:1: E: m"},
	} {
		s := yamlx.Parse("t", []byte(text), yamlx.Limits{})
		if tt.key {
			s.ReportKey("E", tt.path, "m")
		} else {
			s.Report("E", tt.path, "m")
		}
		if got, _, _ := strings.Cut(s.Err().Error(), "\n"); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
	s := yamlx.Parse("t", []byte(text), yamlx.Limits{})
	if !s.Has(yamlx.Path{"servers", "a", "mode"}) || s.Has(yamlx.Path{"servers", "b"}) {
		t.Error("Has is wrong")
	}
}

// What Decode has found fault with is not reported a second time by later checks.
func TestReportAfterAFault(t *testing.T) {
	s := yamlx.Parse("t", []byte("name: 1\nsize: 2"), yamlx.Limits{})
	var out outer
	s.Decode(&out)
	s.Report("E", yamlx.Path{"name"}, "follows from the first")
	s.Report("E", yamlx.Path{"size"}, "stands alone")
	var ps yamlx.Problems
	if !errors.As(s.Err(), &ps) || len(ps) != 2 || ps[0].Code != yamlx.CodeType || ps[1].Message != "stands alone" {
		t.Errorf("%v", s.Err())
	}
}

func TestSizeString(t *testing.T) {
	for size, want := range map[yamlx.Size]string{0: "0", 1000: "1000", 1024: "1KiB", 32 << 20: "32MiB", 3 << 30: "3GiB", 1536: "1536"} {
		if size.String() != want {
			t.Errorf("%d: %s", int64(size), size)
		}
	}
}

func TestSizesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]yamlx.Size{"0": 0, "7": 7, "5G": 5 << 30, "5GiB": 5 << 30, "5 GiB": 5 << 30, "1K": 1 << 10, "2T": 2 << 40, "3TiB": 3 << 40} {
		if size, ok := yamlx.ParseSize(text); !ok || size != want {
			t.Errorf("%q: %d %t", text, int64(size), ok)
		}
	}
	for _, text := range []string{"", "G", "5g", "5GB", "5Gi", "-5G", "05G", "1.5G", "5GG", "99999999T", "0x5G", "5_0"} {
		if size, ok := yamlx.ParseSize(text); ok {
			t.Errorf("%q is %d", text, int64(size))
		}
	}
}

func TestDurationsMayHaveDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "0d": 0, "1d12h": 36 * time.Hour, "1d1ns": 24*time.Hour + 1, "36h": 36 * time.Hour, "1.5h": 90 * time.Minute, "-1s": -time.Second,
	} {
		if d, ok := yamlx.ParseDuration(text); !ok || d != want {
			t.Errorf("%q: %s %t", text, d, ok)
		}
	}
	for _, text := range []string{"", "d", "1", "1.5d", "-1d", "+1d", "01d", "1d-1h", "1d+1h", "1h1d", "1d1d", "1d5", "1D", "200000d", "106751d24h", "9999999999999999999d"} {
		if d, ok := yamlx.ParseDuration(text); ok {
			t.Errorf("%q is %s", text, d)
		}
	}
}
