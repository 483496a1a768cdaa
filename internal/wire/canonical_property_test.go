package wire_test

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"durward/internal/wire"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// reference renders value in a way that is slow, ugly and obvious: two values
// have the same rendering exactly if they are equal.
func reference(value []byte) string {
	value = bytes.Trim(value, " \t\r\n")
	switch value[0] {
	case '{':
		list, _ := membersOf(value)
		parts := make([][2]string, len(list))
		for i, m := range list {
			parts[i] = [2]string{fmt.Sprint(characters(m.rawName)), reference([]byte(m.value))}
		}
		slices.SortStableFunc(parts, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		return fmt.Sprintf("object%q", parts)
	case '[':
		elements, _ := elementsOf(value)
		parts := make([]string, len(elements))
		for i, e := range elements {
			parts[i] = reference([]byte(e))
		}
		return fmt.Sprintf("array%q", parts)
	case '"':
		return "string" + fmt.Sprint(characters(string(value)))
	case 't', 'f', 'n':
		return string(value)
	default:
		return "number" + slowNumber(string(value))
	}
}

// characters are those of a JSON string: code points, lone surrogates as they
// are, and bytes that are no UTF-8 beyond all code points.
func characters(quoted string) []int {
	var out []int
	for s := quoted[1 : len(quoted)-1]; s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, 1<<24+int(s[0]))
		case r != '\\':
			out = append(out, int(r))
		case s[1] != 'u':
			out = append(out, map[byte]int{'b': 8, 't': 9, 'n': 10, 'f': 12, 'r': 13}[s[1]])
			if n = 2; out[len(out)-1] == 0 {
				out[len(out)-1] = int(s[1])
			}
		default:
			unit, _ := strconv.ParseUint(s[2:6], 16, 32)
			n = 6
			if len(s) >= 12 && s[6:8] == `\u` {
				if low, _ := strconv.ParseUint(s[8:12], 16, 32); utf16.DecodeRune(rune(unit), rune(low)) != utf8.RuneError {
					unit, n = uint64(utf16.DecodeRune(rune(unit), rune(low))), 12
				}
			}
			out = append(out, int(unit))
		}
		s = s[n:]
	}
	return out
}

// slowNumber renders mantissa and exponent of ten as big integers, the mantissa
// with no zero at its end.
func slowNumber(s string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	m, _ := new(big.Int).SetString(whole+fraction, 10)
	e := new(big.Int)
	if power != "" {
		e.SetString(power, 10)
	}
	if e.Sub(e, big.NewInt(int64(len(fraction)))); m.Sign() == 0 {
		return "0"
	}
	for ten := big.NewInt(10); ; e.Add(e, big.NewInt(1)) {
		q, r := new(big.Int).QuoRem(m, ten, new(big.Int))
		if r.Sign() != 0 {
			return m.String() + "e" + e.String()
		}
		m = q
	}
}

// checkCanonical holds the canonical forms of two values against the reference.
func checkCanonical(t rapid.TB, a, b []byte) {
	t.Helper()
	formA, formB := wire.AppendCanonical([]byte("kept"), a), wire.AppendCanonical(nil, b)
	formA, ok := bytes.CutPrefix(formA, []byte("kept"))
	if !ok {
		t.Fatalf("what was there is gone: %q", formA)
	}
	for _, f := range [][2][]byte{{a, formA}, {b, formB}} {
		if again := wire.AppendCanonical(nil, f[1]); !bytes.Equal(again, f[1]) {
			t.Fatalf("%q is not its own canonical form: %q", f[1], again)
		}
		if reference(f[0]) != reference(f[1]) {
			t.Fatalf("the form %q of %q is another value", f[1], f[0])
		}
		if isJSON(f[0]) && !isJSON(f[1]) {
			t.Fatalf("the form %q of %q is no JSON", f[1], f[0])
		}
	}
	if same := reference(a) == reference(b); bytes.Equal(formA, formB) != same {
		t.Fatalf("%q and %q are equal: %v; their forms are %q and %q", a, b, same, formA, formB)
	}
}

// The parts are few, so that values often are equal and mostly almost.
func looseString() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", `\u0061`, "b", "same beginning", "same b", "eginning", "é", `\u00e9`, `\u00E9`, "\n", `\n`, `\u000a`, `\"`, `\u0022`, `\\`, `\u005c`, `\/`, "/", "n", "u0061", "\x7f",
		`\ud83d`, `\ude00`, "😀", `\ud83d\ude00`, `\uD83D\uDE00`, "\ufffd", `\ufffd`, "\xed\xa0\xbd", "\xed", "\xa0", "\xbd", "\xff", `\u0000`, `\b`,
	})
	return rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(part, 0, 3).Draw(t, "parts"), "")
		return `"` + strings.ReplaceAll(s, "\n", "") + `"`
	})
}

func looseNumber() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`-?(0|1|10|100|12)(\.(0|1|10|01|2))?([eE][+-]?(0|1|01|2|19|20|21))?`),
		rapid.StringMatching(`-?(1|10|0)(\.[01])?[eE][+-]?0?(99999999999999999|100000000000000000|99999999999999998|1000000000000000000000|999999999999999999999)`),
		rapid.StringMatching(`900719925474099[23](\.0)?`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,40})?`),
	)
}

func looseValue(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if depth == 0 {
			kind += 7
		}
		switch kind {
		case 0, 1:
			return jsonArray(t, looseValue(depth-1))
		case 2, 3, 4:
			return looseObject(t, looseValue(depth-1))
		case 5, 7, 8:
			return looseNumber().Draw(t, "number")
		case 6, 9, 10:
			return looseString().Draw(t, "string")
		default:
			return rapid.SampledFrom([]string{"null", "true", "false", "{}", "[]"}).Draw(t, "word")
		}
	})
}

func looseObject(t *rapid.T, inner *rapid.Generator[string]) string {
	members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return looseString().Draw(t, "name") + space().Draw(t, "space") + ":" + space().Draw(t, "space") + inner.Draw(t, "value")
	}), 0, 5).Draw(t, "members")
	return "{" + space().Draw(t, "space") + strings.Join(members, ",") + space().Draw(t, "space") + "}"
}

func TestCanonicalAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkCanonical(t, []byte(looseValue(3).Draw(t, "a")), []byte(looseValue(3).Draw(t, "b")))
	})
}

func TestCanonicalStringsAgreeWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkCanonical(t, []byte(looseString().Draw(t, "a")), []byte(looseString().Draw(t, "b")))
	})
}

func TestCanonicalNumbersAgreeWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkCanonical(t, []byte(looseNumber().Draw(t, "a")), []byte(looseNumber().Draw(t, "b")))
	})
}

// TestCanonicalNumbersAgreeWithRationals: the reference above knows how numbers
// are written; this one does not.
func TestCanonicalNumbersAgreeWithRationals(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9]|[1-9]0|[1-9][0-9]{0,25})(\.(0|[0-9]{1,25}))?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a := number.Draw(t, "a")
		b := rapid.OneOf(number, rapid.Just(canonical(a)), rapid.Just(canonical(a)+"0"), rapid.Just("-"+a)).Draw(t, "b")
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if !okX || !okY || !isJSON([]byte(b)) {
			return // two signs
		}
		if same := x.Cmp(y) == 0; same != (canonical(a) == canonical(b)) {
			t.Fatalf("%s and %s are equal: %v; %s, %s", a, b, same, canonical(a), canonical(b))
		}
	})
}

// rewritten writes value in another way: white space, the order of members, the
// escapes of strings, and how a number is put.
func rewritten(t *rapid.T, value string) string {
	gap := space().Draw(t, "space")
	value = strings.Trim(value, " \t\r\n")
	var parts []string
	switch value[0] {
	case '{':
		list, _ := membersOf([]byte(value))
		for _, m := range rapid.Permutation(list).Draw(t, "order") {
			parts = append(parts, reescaped(t, m.rawName)+gap+":"+gap+rewritten(t, m.value))
		}
		return gap + "{" + gap + strings.Join(parts, gap+","+gap) + gap + "}" + gap
	case '[':
		elements, _ := elementsOf([]byte(value))
		for _, e := range elements {
			parts = append(parts, rewritten(t, e))
		}
		return gap + "[" + gap + strings.Join(parts, ","+gap) + gap + "]"
	case '"':
		return gap + reescaped(t, value)
	case 't', 'f', 'n':
		return value + gap
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(value), "e")
	e, _ := new(big.Int).SetString("0"+strings.TrimLeft(power, "+-"), 10)
	if strings.HasPrefix(power, "-") {
		e.Neg(e)
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	zeros := rapid.IntRange(1, 25).Draw(t, "zeros")
	if rapid.Bool().Draw(t, "shift") {
		return mantissa + strings.Repeat("0", zeros) + "E" + e.String()
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	sign, digits := "", whole+fraction+strings.Repeat("0", zeros)
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	return sign + digits + "e" + e.Sub(e, big.NewInt(int64(len(fraction)+zeros))).String()
}

func reescaped(t *rapid.T, quoted string) string {
	var b strings.Builder
	for _, r := range characters(quoted) {
		switch how := rapid.IntRange(0, 2).Draw(t, "how"); {
		case r >= 1<<24:
			b.WriteByte(byte(r))
		case r >= 0x10000 && how > 0:
			high, low := utf16.EncodeRune(rune(r))
			fmt.Fprintf(&b, `\u%04x\u%04X`, high, low)
		case how == 1 && r < 0x10000 || r >= 0xD800 && r < 0xE000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case how == 2 && r < 0x10000 || r < ' ' || r == '"' || r == '\\':
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(rune(r))
		}
	}
	return `"` + b.String() + `"`
}

func TestCanonicalDoesNotDependOnTheSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := looseValue(3).Draw(t, "a")
		if !jsontext.Value(a).IsValid(jsontext.AllowInvalidUTF8(true)) {
			return // a name that stands twice: the order matters then
		}
		b := rewritten(t, a)
		if canonical(a) != canonical(b) {
			t.Fatalf("%q and %q differ: %q, %q", a, b, canonical(a), canonical(b))
		}
		checkCanonical(t, []byte(a), []byte(b))
	})
}

func FuzzCanonical(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s), []byte(s))
	}
	f.Add([]byte(`{"b":[1.0,{"d":1,"c":"\u00e9"}],"a":1e400}`), []byte(` { "a" : 10e399, "b" : [1,{"c":"é","d":1}] }`))
	f.Add([]byte(`{"\ud800":1,"a":1,"a":2}`), []byte(`{"a":1,"a":2,"`+"\xed\xa0\x80"+`":1}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		formA, formB := wire.AppendCanonical(nil, a), wire.AppendCanonical(nil, b) // of anything: no panic
		if len(formA) > 8*len(a)+32 || len(formB) > 8*len(b)+32 {
			t.Fatalf("%d bytes of %d, %d of %d", len(formA), len(a), len(formB), len(b))
		}
		if len(a)+len(b) < 4096 && isJSON(a, lenient...) && isJSON(b, lenient...) {
			checkCanonical(t, a, b)
			checkCanonical(t, a, a)
		}
	})
}

// TestCanonicalOfDeepObjectsOutOfOrder: what has to be moved may be nested as deep
// as a message can be.
func TestCanonicalOfDeepObjectsOutOfOrder(t *testing.T) {
	inner := `"` + strings.Repeat("x", 1<<16) + `"`
	value, want := inner, inner
	for range wire.MaxDepth - 1 {
		value = `{"b":` + value + `,"a":[]}`
		want = `{"a":[],"b":` + want + `}`
	}
	if canonical(value) != want {
		t.Fatal("wrong")
	}
}

func TestCanonicalOfManyMembers(t *testing.T) {
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprintf(`"m%d":%d.0`, i*7919%10_000, i))
	}
	value := "{" + strings.Join(names, ",") + "}"
	form := canonical(value)
	slices.Reverse(names)
	if canonical("{"+strings.Join(names, " , ")+"}") != form || !isJSON([]byte(form)) {
		t.Fatal("the order of ten thousand members counts")
	}
}
