package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"durward/internal/wire"
)

func canonical(s string) string { return string(wire.AppendCanonical(nil, []byte(s))) }

func TestCanonicalForms(t *testing.T) {
	for _, c := range [][2]string{
		{``, ``},
		{` null `, `null`},
		{"\n true\t", `true`},
		{`[ ]`, `[]`},
		{` { } `, `{}`},
		{`[ 1 , "a" , [ ] , { } ]`, `[1,"a",[],{}]`},
		{`{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{`{"b":[{"d":1,"c":{"f":1,"e":2}},{"y":1,"x":2}],"a":{"z":[{"n":1,"m":2}],"k":0}}`, `{"a":{"k":0,"z":[{"m":2,"n":1}]},"b":[{"c":{"e":2,"f":1},"d":1},{"x":2,"y":1}]}`},
		{`{"a":2,"b":0,"a":1}`, `{"a":2,"a":1,"b":0}`},
		{`{"\u0061":2,"b":0,"a":1}`, `{"a":2,"a":1,"b":0}`},
		{`{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{`{"a":1,"\n":2,"\"":3,"é":4,"Z":5}`, `{"\n":2,"\"":3,"Z":5,"a":1,"é":4}`},
		{`"\u0041\/\b\f\n\r\t\"\\\u001F\u007f\u2028"`, "\"A/\\u0008\\u000c\\n\\r\\t\\\"\\\\\\u001f\x7f\u2028\""},
		{`"\ud83d\uDE00"`, `"😀"`},
		{`"\uD83D"`, `"\ud83d"`},
		{`"\uFFFD"`, "\"\ufffd\""},
		{`"\ud83d\ud83d\ude00\ude00"`, `"\ud83d😀\ude00"`},
		{`{"\ud800":1,"\ue000":2,"\ud7ff":3}`, "{\"\ud7ff\":3,\"\\ud800\":1,\"\ue000\":2}"},
		{`{"a\u0000":1,"a":2,"same beginning b":3,"same beginning a":4,"same beg":5}`, `{"a":2,"a\u0000":1,"same beg":5,"same beginning a":4,"same beginning b":3}`},
		{`{"\ud800":1,"\ufffd":2}`, "{\"\\ud800\":1,\"\ufffd\":2}"},
		{"{\"\xed\xa0\x80\":1,\"\\ud800\":2}", "{\"\\ud800\":2,\"\xed\xa0\x80\":1}"},
		{"{\"\\ud800\":2,\"\xed\xa0\x80\":1}", "{\"\\ud800\":2,\"\xed\xa0\x80\":1}"},
	} {
		got := canonical(c[0])
		if got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
		if again := canonical(got); again != got {
			t.Errorf("%s is not its own canonical form: %s", got, again)
		}
	}
}

// TestCanonicalKeepsTheOrderOfOneName, of which a server's result may have many.
func TestCanonicalKeepsTheOrderOfOneName(t *testing.T) {
	var in, same, other []string
	for i := range 100 {
		in = append(in, fmt.Sprintf(`"b":%d,"a":%d`, i, i))
		same = append(same, fmt.Sprintf(`"a":%d`, i))
		other = append(other, fmt.Sprintf(`"b":%d`, i))
	}
	want := "{" + strings.Join(append(same, other...), ",") + "}"
	if got := canonical("{" + strings.Join(in, ",") + "}"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCanonicalNumbers(t *testing.T) {
	big := strings.Repeat("9", 40)
	for _, c := range [][2]string{
		{"1", "1"}, {"1.0", "1"}, {"1e0", "1"}, {"10e-1", "1"}, {"1E+000", "1"}, {"0.1e1", "1"}, {"100e-2", "1"},
		{"0", "0"}, {"-0", "0"}, {"0.000", "0"}, {"-0e999999999999999999999", "0"},
		{"-1.50", "-15e-1"}, {"0.015", "15e-3"}, {"12300", "12300"}, {"1.23e4", "12300"},
		{"9007199254740993", "9007199254740993"}, {"9007199254740992", "9007199254740992"}, {"9007199254740993.0", "9007199254740993"},
		{"1e20", "100000000000000000000"}, {"1e21", "1e21"}, {"10e20", "1e21"}, {"1" + strings.Repeat("0", 21), "1e21"},
		{"1e400", "1e400"}, {"1e-400", "1e-400"}, {"10e-401", "1e-400"},
		{"1e" + big, "1e" + big}, {"10e" + big, "1e1" + strings.Repeat("0", 40)}, {"0.1e" + big, "1e" + strings.Repeat("9", 39) + "8"},
		{"1e-" + big, "1e-" + big}, {"10e-" + big, "1e-" + strings.Repeat("9", 39) + "8"}, {"0.1e-" + big, "1e-1" + strings.Repeat("0", 40)},
		{"0.1e100000000000000000", "1e99999999999999999"}, {"1e99999999999999999", "1e99999999999999999"},
		{"10e99999999999999999", "1e100000000000000000"}, {"1e100000000000000000", "1e100000000000000000"},
		{"10e-100000000000000000", "1e-99999999999999999"}, {"0.1e-99999999999999999", "1e-100000000000000000"},
		{"1e00000000000000000000000000001", "10"},
	} {
		if got := canonical(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
		if again := canonical(c[1]); again != c[1] {
			t.Errorf("%s is not its own canonical form: %s", c[1], again)
		}
	}
}

// TestCanonicalOfNonsense: of bytes nobody checked anything may come, but not a panic.
func TestCanonicalOfNonsense(t *testing.T) {
	for _, in := range []string{"{", "[", `{"a"`, `{"a":`, `{"a":{`, `[1,`, `"`, `"\`, `"\u`, `"\u12"`, "1e" + strings.Repeat("z", 40), "1e", "-", "01", "}", strings.Repeat("[", 1000), `{"\`, `{"\u1":1}`} {
		if got := wire.AppendCanonical([]byte("kept"), []byte(in)); !strings.HasPrefix(string(got), "kept") {
			t.Errorf("%q: %q", in, got)
		}
	}
}
