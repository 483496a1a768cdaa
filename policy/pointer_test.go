package policy

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPointers(t *testing.T) {
	for _, c := range []struct{ at, doc, value, want string }{
		{"/a", `{"a":1}`, `2`, `{"a":2}`},
		{"/a", `{}`, `2`, `{"a":2}`},
		{"/a", `{ }`, `2`, `{ "a":2}`},
		{"/a", `{"b": 1 , "c":[ 1 ]}`, `2`, `{"b": 1 , "c":[ 1 ],"a":2}`},
		{"/a/b/c", `{"z":0}`, `2`, `{"z":0,"a":{"b":{"c":2}}}`},
		{"/a/b", `{"a":{"b":1, "x":1}}`, `{}`, `{"a":{"b":{}, "x":1}}`},
		{"/a~1b/c~0d", `{"a/b":{"c~d":1}}`, `2`, `{"a/b":{"c~d":2}}`},
		{"/a", `{"\u0061":1}`, `2`, `{"\u0061":2}`},
		{"/", `{"":1}`, `2`, `{"":2}`},
		{"/l/0", `{"l":[1,2]}`, `9`, `{"l":[9,2]}`},
		{"/l/-", `{"l":[1]}`, `9`, `{"l":[1,9]}`},
		{"/l/-", `{"l":[]}`, `9`, `{"l":[9]}`},
		{"/l/2", `{"l":[1]}`, `9`, "!"},
		{"/l/01", `{"l":[1,2]}`, `9`, "!"},
		{"/l/x", `{"l":[1,2]}`, `9`, "!"},
		{"/l/-/x", `{"l":[1,2]}`, `9`, "!"},
		{"/s/x", `{"s":"text"}`, `9`, "!"},
		{"/n/x", `{"n":null}`, `9`, "!"},
		{"/a", `{"a":1}`, ``, `{}`},
		{"/a", `{"a":1,"b":2}`, ``, `{"b":2}`},
		{"/x/y", `{"a":1}`, ``, `{"a":1}`},
		{"/a/y", `{"a":1}`, ``, `{"a":1}`},
		{"/l/0", `{"l":[1]}`, ``, `{"l":[]}`},
		{"/l/0", `{"l":[1, 2]}`, ``, `{"l":[2]}`},
		{"/l/1", `{"l":[1, 2]}`, ``, `{"l":[1]}`},
		{"/l/7", `{"l":[1, 2]}`, ``, `{"l":[1, 2]}`},
		{"/a", `{"a":1,"a":2}`, `3`, "!"},
		{"/a", `{"a":1,"a":2}`, ``, `{}`},
	} {
		p, err := parsePointer(c.at)
		if err != nil {
			t.Fatal(err)
		}
		var value []byte
		if c.value != "" {
			value = []byte(c.value)
		}
		got, err := p.set([]byte(c.doc), value)
		if err != nil {
			got = []byte("!")
		}
		if string(got) != c.want || p.String() != c.at {
			t.Errorf("%s in %s: %s, want %s (%v)", c.at, c.doc, got, c.want, err)
		}
	}
	for _, text := range []string{"", "a", "/a~", "/a~2", "~0", strings.Repeat("/a", maxPointer+1)} {
		if _, err := parsePointer(text); err == nil {
			t.Errorf("%q is a pointer", text)
		}
	}
}

// someJSON makes a value of a few names and depths.
func someJSON(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case n < 2 && depth > 0:
		m := make(map[string]any)
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[rapid.SampledFrom([]string{"a", "b", "a/b", "~", "", "0"}).Draw(t, "name")] = someJSON(t, depth-1)
		}
		return m
	case n < 4 && depth > 0:
		l := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			l = append(l, someJSON(t, depth-1))
		}
		return l
	case n == 4:
		return rapid.SampledFrom([]string{"", "x", "\"\\"}).Draw(t, "text")
	default:
		return float64(rapid.IntRange(0, 9).Draw(t, "number"))
	}
}

// slowSet is what set does, on decoded values; false where it must fail.
func slowSet(doc any, p []string, value any, remove bool) (any, bool) {
	switch d := doc.(type) {
	case map[string]any:
		inner, there := d[p[0]]
		switch {
		case !there && remove:
			return doc, true
		case len(p) == 1 && remove:
			delete(d, p[0])
			return d, true
		case len(p) == 1:
			d[p[0]] = value
			return d, true
		case !there:
			for i := len(p) - 1; i > 0; i-- {
				value = map[string]any{p[i]: value}
			}
			d[p[0]] = value
			return d, true
		}
		next, ok := slowSet(inner, p[1:], value, remove)
		d[p[0]] = next
		return d, ok
	case []any:
		i, err := strconv.Atoi(p[0])
		if p[0] == "-" && len(p) == 1 && !remove {
			return append(d, value), true
		}
		if err != nil || i < 0 || i >= len(d) || strconv.Itoa(i) != p[0] {
			return doc, remove
		}
		if len(p) == 1 && remove {
			return append(d[:i:i], d[i+1:]...), true
		}
		if len(p) == 1 {
			d[i] = value
			return d, true
		}
		next, ok := slowSet(d[i], p[1:], value, remove)
		d[i] = next
		return d, ok
	default:
		return doc, remove
	}
}

func TestSettingIsThatOfTheReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc := any(map[string]any{"a": someJSON(rt, 3), "b": someJSON(rt, 2)})
		raw, err := json.MarshalIndent(doc, "", rapid.SampledFrom([]string{"", " "}).Draw(rt, "indent"))
		if err != nil {
			rt.Fatal(err)
		}
		var p pointer
		for range rapid.IntRange(1, 4).Draw(rt, "steps") {
			p = append(p, rapid.SampledFrom([]string{"a", "b", "a/b", "~", "", "0", "1", "2", "-", "00"}).Draw(rt, "step"))
		}
		value, remove := someJSON(rt, 1), rapid.Bool().Draw(rt, "remove")
		var rawValue []byte
		if !remove {
			rawValue, _ = json.Marshal(value)
		}
		back, err := parsePointer(p.String())
		if err != nil || !reflect.DeepEqual(back, p) {
			rt.Fatalf("%q is read as %q: %v", p, back, err)
		}
		got, err := p.set(raw, rawValue)
		want, ok := slowSet(doc, p, value, remove)
		if (err == nil) != ok {
			rt.Fatalf("%s in %s: %v, the reference says %v", p, raw, err, ok)
		}
		if err != nil {
			return
		}
		var decoded any
		if err := json.Unmarshal(got, &decoded); err != nil || !reflect.DeepEqual(decoded, want) {
			rt.Fatalf("%s in %s with %s: %s, the reference has %v", p, raw, rawValue, got, want)
		}
	})
}

func FuzzPointer(f *testing.F) {
	f.Add("/a/0/b", `{"a":[{"b":1}]}`, "2")
	f.Add("/a~1b", `{"a/b":{}}`, "")
	f.Fuzz(func(t *testing.T, at, doc, value string) {
		p, err := parsePointer(at)
		if err != nil || !json.Valid([]byte(doc)) || value != "" && !json.Valid([]byte(value)) {
			return
		}
		doc = string(bytes.TrimSpace([]byte(doc)))
		var raw []byte
		if value != "" {
			raw = bytes.TrimSpace([]byte(value))
		}
		got, err := p.set([]byte(doc), raw)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s in %s with %s: %s", at, doc, value, got)
		}
		if raw != nil && p[len(p)-1] != "-" && !bytes.Equal(p.get(got), raw) {
			t.Fatalf("%s in %s with %s: %s has %s", at, doc, value, got, p.get(got))
		}
	})
}
