package wire_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"

	"durward/internal/wire"

	"pgregory.net/rapid"
)

// The vectors of 2026-07-28, streamable-http "Value Encoding", and of SEP-2243.
func TestHeaderValueVectors(t *testing.T) {
	for _, c := range [][2]string{
		{"us-west1", "us-west1"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{" us-west1", "=?base64?IHVzLXdlc3Qx?="},
		{"us-west1 ", "=?base64?dXMtd2VzdDEg?="},
		{"us west 1", "us west 1"},
		{"日本語", "=?base64?5pel5pys6Kqe?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="},
		{"\tindented", "=?base64?CWluZGVudGVk?="},
		{"in\tside", "=?base64?aW4Jc2lkZQ==?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="}, // the mark is lower case
		{"=?base64?SGVsbG8=", "=?base64?SGVsbG8="},
		{"SGVsbG8=?=", "SGVsbG8=?="},
		{"", "=?base64??="},
		{"\x7f", "=?base64?fw==?="},
	} {
		if got := wire.EncodeHeaderValue(c[0]); got != c[1] {
			t.Errorf("%q is encoded as %q, want %q", c[0], got, c[1])
		}
		if got, err := wire.DecodeHeaderValue(c[1]); err != nil || got != c[0] {
			t.Errorf("%q is decoded as %q, %v, want %q", c[1], got, err, c[0])
		}
	}
}

func TestDecodeHeaderValue(t *testing.T) {
	for in, want := range map[string]string{"": "", " \t": "", " a b\t": "a b", "=?base64?SGVsbG8=?= ": "Hello", "in\tside": "in\tside"} {
		if got, err := wire.DecodeHeaderValue(in); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for in, words := range map[string]string{
		"=?base64?SGVsbG8?=":        "malformed", // no padding
		"=?base64?SGVs!!!bG8=?=":    "malformed",
		"=?base64?SGVsbG9=?=":       "malformed", // bits that no encoder writes
		"=?base64?SGVsbG8=\r\n?=":   "not printable ASCII",
		"=?base64?SGVs bG8=?=":      "malformed",
		"=?base64?_w==?=":           "malformed", // the URL alphabet
		"=?base64?/w==?=":           "no UTF-8",
		"=?base64?=":                "ambiguous",
		"é":                         "not printable ASCII",
		"a\x00b":                    "not printable ASCII",
		"a\x7fb":                    "not printable ASCII",
		"=?base64?SGVsbG8=?==?==?=": "malformed",
	} {
		if got, err := wire.DecodeHeaderValue(in); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestHeaderValueRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`=\?base64\?.*\?=`), rapid.StringMatching(`[ -~\t]*`)).Draw(t, "s")
		encoded := wire.EncodeHeaderValue(s)
		for i := range len(encoded) {
			if encoded[i] < ' ' || encoded[i] > '~' {
				t.Fatalf("%q is no header value", encoded)
			}
		}
		if got, err := wire.DecodeHeaderValue(encoded); err != nil || got != s {
			t.Fatalf("%q became %q, %v", s, got, err)
		}
		if !wire.HeaderMatches("string", encoded, []byte(wire.Quote(s))) {
			t.Fatalf("%q does not match itself", s)
		}
	})
}

func TestHeaderMatches(t *testing.T) {
	for _, c := range []struct {
		kind, header, argument string
		want                   bool
	}{
		{"string", "us-west1", `"us-west1"`, true},
		{"string", "us-west1", `"us-we\u0073t1"`, true},
		{"string", "us-west1", `"US-WEST1"`, false},
		{"string", "=?base64?SGVsbG8=?=", `"Hello"`, true},
		{"string", "=?base64?SGVsbG8?=", `"Hello"`, false},
		{"string", "", `""`, true},
		{"string", "42.0", `"42"`, false},
		{"string", "null", `null`, false},
		{"string", "", ``, false},
		{"integer", "42", `42`, true},
		{"integer", "42.0", `42`, true},
		{"integer", "42", `42.0`, true},
		{"integer", "42", `4.2e1`, true},
		{"integer", "4200E-2", `42`, true},
		{"integer", "-0", `0`, true},
		{"integer", "=?base64?NDI=?=", `42`, true},
		{"integer", "43", `42`, false},
		{"integer", "042", `42`, false},
		{"integer", "+42", `42`, false},
		{"integer", "0x2A", `42`, false},
		{"integer", "", `42`, false},
		{"integer", "9007199254740991", `9007199254740991`, true},
		{"integer", "9007199254740993", `9007199254740992`, false}, // equal only as doubles
		{"integer", "9007199254740993", `9007199254740993`, true},  // too big to be mirrored, but the same text
		{"integer", "3.14", `3.14`, true},
		{"integer", "3.140", `3.14`, false},
		{"integer", "42", `"42"`, true},
		{"boolean", "true", `true`, true},
		{"boolean", "false", `false`, true},
		{"boolean", "True", `true`, false},
		{"boolean", "1", `true`, false},
		{"string", "[1]", `[1]`, false},
		{"string", "{}", `{}`, false},
	} {
		if got := wire.HeaderMatches(c.kind, c.header, []byte(c.argument)); got != c.want {
			t.Errorf("%s %q against %s: %v", c.kind, c.header, c.argument, got)
		}
	}
}

// TestIntegersCompareAsNumbers: against exact rational numbers, which are slow.
func TestIntegersCompareAsNumbers(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,4}|\.0{1,20})?([eE][+-]?[0-9]{1,2})?`)
	exact := func(t *rapid.T, s string) (*big.Int, bool) {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		limit := new(big.Rat).SetInt64(1<<53 - 1)
		if !r.IsInt() || new(big.Rat).Abs(r).Cmp(limit) > 0 {
			return nil, false
		}
		return r.Num(), true
	}
	param := []wire.HeaderParam{{Header: "N", Path: []string{"n"}, Type: "integer"}}
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, xOK := exact(t, a)
		y, yOK := exact(t, b)
		values := wire.HeaderValues(param, []byte(`{"n":`+a+`}`))
		if xOK != (len(values) == 1) || xOK && values[0].Value != x.String() {
			t.Fatalf("%s is mirrored as %v", a, values)
		}
		want := a == b || xOK && yOK && x.Cmp(y) == 0
		if got := wire.HeaderMatches("integer", a, []byte(b)); got != want {
			t.Fatalf("%s against %s: %v", a, b, got)
		}
	})
	for _, absurd := range []string{"1e999999999999999999999", "-1e-999999999999999999999", "0e99999999999", "1e400", strings.Repeat("9", 1000)} {
		values := wire.HeaderValues(param, []byte(`{"n":`+absurd+`}`))
		if zero := strings.HasPrefix(absurd, "0"); zero != (len(values) == 1) {
			t.Errorf("%.40s: %v", absurd, values)
		}
	}
	if v := wire.HeaderValues(param, []byte(`{"n":1`+strings.Repeat("0", 40)+`e-40}`)); len(v) != 1 || v[0].Value != strconv.Itoa(1) {
		t.Error(v)
	}
}
