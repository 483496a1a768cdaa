package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"durward/internal/wire"

	"pgregory.net/rapid"
)

// Messages that are almost right are rare among mutated bytes; here they are made.

// space is white space, mostly none.
func space() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "", "", "", " ", "\n\t", "\r\n  "})
}

// jsonString makes the raw text of a string, sometimes with a fault in it.
func jsonString() *rapid.Generator[string] {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{`\n`, `\"`, `\\`, `\/`, `\u0041`, `\u00e9`, `\ud83d\ude00`, "é", "日本語", "😀", "\x7f", "longer than eight bytes", `\ud800`, "\xff", "\x01", `\x`, `"`}),
		rapid.StringMatching(`[a-zA-Z ]{0,12}`), rapid.StringMatching(`[a-zA-Z ]{0,12}`), rapid.StringMatching(`[a-zA-Z ]{0,12}`),
	)
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(part, 0, 3).Draw(t, "parts")
		return `"` + strings.Join(parts, "") + `"`
	})
}

func jsonScalar() *rapid.Generator[string] {
	return rapid.OneOf(
		jsonString(), jsonString(),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?`),
		rapid.SampledFrom([]string{"null", "true", "false", "0", "1e400", "9007199254740993", "{}", "[]", "01", "1.", "nul", ""}),
	)
}

func jsonValue(depth int, names *rapid.Generator[string]) *rapid.Generator[string] {
	if depth == 0 {
		return jsonScalar()
	}
	inner := jsonValue(depth-1, names)
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return jsonArray(t, inner)
		case 1, 2:
			return jsonObject(t, names, inner)
		default:
			return jsonScalar().Draw(t, "scalar")
		}
	})
}

func jsonArray(t *rapid.T, inner *rapid.Generator[string]) string {
	var b strings.Builder
	for i := range rapid.IntRange(0, 4).Draw(t, "elements") {
		if i > 0 {
			b.WriteString("," + space().Draw(t, "space"))
		}
		b.WriteString(inner.Draw(t, "element") + space().Draw(t, "space"))
	}
	return "[" + b.String() + "]"
}

func jsonObject(t *rapid.T, names, inner *rapid.Generator[string]) string {
	var b strings.Builder
	n := rapid.SampledFrom([]int{0, 1, 2, 3, 5, 14, 30}).Draw(t, "members")
	for i := range n {
		if i > 0 {
			b.WriteString("," + space().Draw(t, "space"))
		}
		name := names.Draw(t, "name")
		if n > 5 && rapid.IntRange(0, 9).Draw(t, "numbered") > 0 {
			name = fmt.Sprintf(`"n%d"`, i)
		}
		b.WriteString(name + space().Draw(t, "space") + ":" + space().Draw(t, "space") + inner.Draw(t, "value") + space().Draw(t, "space"))
	}
	return "{" + space().Draw(t, "space") + b.String() + "}"
}

// nameIn makes member names: those given, as they are or slightly off, and others.
func nameIn(known []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 2).Draw(t, "foreign") == 0 {
			return jsonString().Draw(t, "name")
		}
		name := rapid.SampledFrom(known).Draw(t, "known")
		switch rapid.IntRange(0, 12).Draw(t, "spelling") {
		case 0:
			name = strings.ToUpper(name)
		case 1:
			name = fmt.Sprintf(`\u%04x`, name[0]) + name[1:]
		case 2:
			name = strings.ReplaceAll(strings.ReplaceAll(name, "s", "ſ"), "k", "K")
		case 3:
			name = name[:len(name)-1]
		}
		return `"` + name + `"`
	})
}

func TestMessagesAgreeWithOracle(t *testing.T) {
	short := nameIn([]string{"a", "b", "c", "abcdefgh", "abcdefghi", "abcdefghj", "isError", "resultType"})
	plain := jsonValue(3, short)
	meta := rapid.Custom(func(t *rapid.T) string { return jsonObject(t, nameIn(metaNames), jsonValue(1, short)) })
	params := rapid.Custom(func(t *rapid.T) string {
		inner := jsonValue(2, short)
		object := jsonObject(t, nameIn(paramsNames), inner)
		return strings.Replace(object, `"_meta":`, `"_meta":`+meta.Draw(t, "meta")+`,"m":`, 1)
	})
	rapid.Check(t, func(t *rapid.T) {
		value := plain
		members := []string{`"jsonrpc":"2.0"`}
		if rapid.IntRange(0, 3).Draw(t, "id") > 0 {
			members = append(members, `"id":`+rapid.SampledFrom([]string{"1", `"x"`, "1.5", "null", "true", "{}"}).Draw(t, "id value"))
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0, 1:
			members = append(members, `"method":"tools/call"`, `"params":`+params.Draw(t, "params"))
		case 2:
			members = append(members, `"result":`+value.Draw(t, "result"))
		default:
			members = append(members, `"error":`+value.Draw(t, "error"))
		}
		if rapid.IntRange(0, 5).Draw(t, "extra") == 0 {
			members = append(members, nameIn(envelopeNames).Draw(t, "extra name")+":"+value.Draw(t, "extra value"))
		}
		data := []byte("{" + strings.Join(rapid.Permutation(members).Draw(t, "order"), space().Draw(t, "space")+",") + "}")
		for _, from := range []wire.Origin{wire.FromClient, wire.FromServer} {
			if problem := differs(data, from); problem != "" {
				t.Fatal(problem)
			}
		}
	})
}

// TestCutMessagesAgreeWithOracle cuts and doubles parts of good messages.
func TestCutMessagesAgreeWithOracle(t *testing.T) {
	good := seeds()
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SampledFrom(good).Draw(t, "message")
		i := rapid.IntRange(0, len(data)).Draw(t, "i")
		j := rapid.IntRange(i, len(data)).Draw(t, "j")
		if rapid.Bool().Draw(t, "double") {
			data = data[:j] + data[i:]
		} else {
			data = data[:i] + data[j:]
		}
		for _, from := range []wire.Origin{wire.FromClient, wire.FromServer} {
			if problem := differs([]byte(data), from); problem != "" {
				t.Fatal(problem)
			}
		}
	})
}
