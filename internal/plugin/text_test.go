package plugin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/plugin"
	"durward/internal/wire"
)

func TestStrings(t *testing.T) {
	got := plugin.Strings([]byte(` { "a" : "1" , "b":["2",["3",{"c":"4"}],"5\"\\"] ,"d":{"e":{}},"f":-1.5e3,"\u0067":"" } `))
	want := []string{"name a", "a=1", "name b", "b=2", "b=3", "name c", "c=4", `b=5"\`, "name d", "name e", "name f", "name g", `\u0067=`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, broken := range []string{``, `"`, `"\`, `{"a`, `]}`, `{"a":"\u12`, `[[[`} {
		plugin.Strings([]byte(broken)) // stays inside
	}
}

// TestWordsAgainstAReference compares with a search for each word by itself.
func TestWordsAgainstAReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abAB-]{1,4}`)
		list := rapid.SliceOfNDistinct(word, 1, 8, strings.ToLower).Draw(t, "words")
		text := rapid.StringMatching(`[abcAB-]{0,200}`).Draw(t, "text")
		var want [][2]int
		for end := 1; end <= len(text); end++ {
			for n, w := range list {
				if strings.HasSuffix(strings.ToLower(text[:end]), strings.ToLower(w)) {
					want = append(want, [2]int{end, n})
				}
			}
		}
		got := plugin.Words(list)([]byte(text))
		order := func(a, b [2]int) int {
			if a[0] != b[0] {
				return a[0] - b[0]
			}
			return a[1] - b[1]
		}
		if !slices.IsSortedFunc(got, func(a, b [2]int) int { return a[0] - b[0] }) {
			t.Fatalf("not in order: %v", got)
		}
		slices.SortFunc(got, order)
		if !slices.Equal(got, want) {
			t.Fatalf("words %q in %q: got %v, want %v", list, text, got, want)
		}
	})
}

// FuzzReplace: whatever is replaced, the result stays valid, and only strings
// change: those that say so, or that lose what is not seen.
func FuzzReplace(f *testing.F) {
	for _, seed := range []string{
		`{"a":"` + githubToken() + `"}`, `{"a":"\u0067` + githubToken()[1:] + `x\n","` + awsKey() + `":[1.0,{"b":"a@acme.io"}]}`,
		"{\"a\":\"x\u200b\\u202e\\ud83d\\ude00\U000E0041\"}", `{"password":"Tr0ub4dor&3","iban":"DE89 3704 0044 0532 0130 00"}`,
		`{"a":"%67` + githubToken()[1:] + `","b":"4111 1111 1111 1111"}`, `{"a":"-----BEGIN PRIVATE KEY-----\\n` + strings.Repeat("aB3", 30) + `"}`,
		`{"a":"` + strings.Repeat("YWJjZGVm", 8) + `","a\u200b":1}`,
	} {
		f.Add([]byte(seed))
	}
	set := newSet(f, every())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !wire.Valid(raw) || len(bytes.TrimSpace(raw)) == 0 {
			return
		}
		d, _, _, err := set.Postprocess(t.Context(), &durward.Call{Method: "tools/call"}, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, next := range [][]byte{d.Changed, d.Recorded} {
			if next != nil && d.Action != durward.Block && !wire.Valid(next) {
				t.Fatalf("%q became %q", raw, next)
			}
		}
		if d.Changed != nil {
			compare(t, raw, d.Changed)
		}
	})
}

// compare goes through two JSON texts token by token.
func compare(t *testing.T, before, after []byte) {
	t.Helper()
	a, b := json.NewDecoder(bytes.NewReader(before)), json.NewDecoder(bytes.NewReader(after))
	a.UseNumber()
	b.UseNumber()
	for {
		x, errA := a.Token()
		y, errB := b.Token()
		if errors.Is(errA, io.EOF) && errors.Is(errB, io.EOF) {
			return
		}
		if errA != nil || errB != nil {
			t.Fatalf("%q became %q: %v, %v", before, after, errA, errB)
		}
		s, isText := x.(string)
		r, stays := y.(string)
		if isText != stays || !isText && x != y {
			t.Fatalf("%v became %v in %q", x, y, after)
		}
		if isText && s != r && !strings.Contains(r, "[redacted:") && len(r) >= len(s) {
			t.Fatalf("%q became %q", s, r)
		}
	}
}
