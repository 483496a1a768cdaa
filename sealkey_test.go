package durward_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
)

type keyHolder struct {
	Public durward.SealKey
	hidden durward.SealKey
	many   []durward.SealKey
	named  map[string]durward.SealKey
	deep   *struct{ keys [2]durward.SealKey }
}

// No verb, encoder or logger shows the key, wherever it stands.
func TestASealKeyIsNeverPrinted(t *testing.T) {
	k := durward.NewSealKey()
	h := keyHolder{k, k, []durward.SealKey{k}, map[string]durward.SealKey{"k": k}, &struct{ keys [2]durward.SealKey }{[2]durward.SealKey{k, k}}}
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%c", "%t", "%b", "%o", "%U", "%p", "%10.3s", "%!"} {
		for _, what := range []any{k, &k, h, &h, []any{k}, []durward.SealKey{k}, map[string]any{"a": k}, fmt.Errorf("x: %v", k)} {
			shown = append(shown, fmt.Sprintf(verb, what))
		}
	}
	for _, what := range []any{k, &k, h, &h} {
		data, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(data))
	}
	var b bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		slog.New(handler).Info("a", "key", k, "pointer", &k, "holder", h, "keys", []durward.SealKey{k})
	}
	if err := gob.NewEncoder(&b).Encode(struct{ K durward.SealKey }{k}); err != nil {
		t.Fatal(err)
	}
	if err := xml.NewEncoder(&b).Encode(k); err != nil {
		t.Fatal(err)
	}
	shown = append(shown, b.String(), fmt.Sprint(k), k.String(), k.GoString())
	for _, s := range shown {
		for form, secret := range forms(k) {
			if strings.Contains(s, secret) {
				t.Errorf("shown in %s: %s", form, s)
			}
		}
	}
	if fmt.Sprint(k) != durward.Hidden {
		t.Errorf("%v", k)
	}
}

// forms are ways in which a beginning of a key could show.
func forms(k durward.SealKey) map[string]string {
	raw := k.Bytes()
	decimal := func(verb string) string { return strings.Trim(fmt.Sprintf(verb, raw[:6]), "[]{}") }
	return map[string]string{
		"bytes": string(raw[:6]), "base64": k.Reveal()[:8], "base64url": base64.URLEncoding.EncodeToString(raw)[:8],
		"hex": hex.EncodeToString(raw[:6]), "HEX": strings.ToUpper(hex.EncodeToString(raw[:6])), "spaced hex": fmt.Sprintf("% x", raw[:6]),
		"decimal": decimal("%v"), "list": strings.ReplaceAll(decimal("%v"), " ", ","), "octal": decimal("%o"), "binary": decimal("%b"),
	}
}

func TestSealKeys(t *testing.T) {
	k, other := durward.NewSealKey(), durward.NewSealKey()
	again, err := durward.ParseSealKey(" " + k.Reveal() + "\r\n")
	if err != nil || !again.Equal(k) || again.Equal(other) || k.Equal(durward.SealKey{}) {
		t.Errorf("%v", err)
	}
	if len(k.Bytes()) != 32 || len(k.Reveal()) != 44 {
		t.Errorf("%d bytes, %d characters", len(k.Bytes()), len(k.Reveal()))
	}
	k.Bytes()[0]++ // it is a copy
	if !again.Equal(k) {
		t.Error("the key can be changed from outside")
	}
	var zero durward.SealKey
	if zero.Bytes() != nil || zero.Reveal() != "" || !zero.Equal(durward.SealKey{}) {
		t.Error("the zero key is a key")
	}
	if reflect.TypeFor[durward.SealKey]().Comparable() {
		t.Error("can be compared with ==")
	}
}

func TestParseSealKeyRefusesAndQuotesNothing(t *testing.T) {
	good := durward.NewSealKey().Reveal()
	for name, text := range map[string]string{
		"empty": "", "short": good[:40], "long": good + "AAAA", "without padding": good[:43], "twice": good + "\n" + good,
		"a line break inside": good[:20] + "\n" + good[20:], "base64url": "-_" + good[2:], "hex": strings.Repeat("0a", 32),
		"stray bits": good[:42] + "B=", "a comment": good + " # mine", "zeros": base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"hunter2": "hunter2",
	} {
		k, err := durward.ParseSealKey(text)
		if durward.KindOf(err) != durward.Invalid || k.Bytes() != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if said := err.Error(); !strings.Contains(said, "durward keys new") || strings.Contains(said, good[:6]) || strings.Contains(said, "hunter2") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// Whatever is parsed, an error shows none of it, and what is taken comes back.
func TestParseSealKeyProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9+/]{8,60}={0,2}`),
			rapid.StringMatching(`[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=`),
			rapid.StringN(8, 60, -1),
		).Draw(t, "text")
		k, err := durward.ParseSealKey(text)
		if err == nil {
			if k.Reveal() != strings.TrimSpace(text) {
				t.Fatalf("%q comes back as another key", text)
			}
			return
		}
		if strings.Contains(err.Error(), text) || strings.Contains(err.Error(), text[:8]) {
			t.Fatalf("%q is quoted: %v", text, err)
		}
	})
}
