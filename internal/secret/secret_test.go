package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/secret"
)

const text = "s3cr3t/välue+\"x\""

type holder struct {
	Public secret.Value
	hidden secret.Value
	many   []secret.Value
	named  map[string]secret.Value
}

func hold() holder {
	v := secret.New(text)
	return holder{v, v, []secret.Value{v}, map[string]secret.Value{"k": v}}
}

// No verb, encoder or logger shows the text, wherever the value stands.
func TestValueIsNeverPrinted(t *testing.T) {
	v, h := secret.New(text), hold()
	m := secret.NewMatcher(v)
	var shown []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%t", "%p", "%10.3s", "%!"} {
		for _, what := range []any{v, &v, h, &h, []any{v}, map[string]any{"a": v}, m, struct{ m *secret.Matcher }{m}, fmt.Errorf("x: %v", v)} {
			shown = append(shown, fmt.Sprintf(verb, what))
		}
	}
	for _, what := range []any{v, &v, h, &h, m} {
		data, err := json.Marshal(what)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(data))
	}
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("a", "value", v, "pointer", &v, "holder", h, "matcher", m)
	slog.New(slog.NewTextHandler(&b, nil)).Info("a", "value", v, "pointer", &v, "holder", h, "matcher", m)
	if err := gob.NewEncoder(&b).Encode(struct{ V secret.Value }{v}); err != nil {
		t.Fatal(err)
	}
	yaml, err := v.MarshalYAML()
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, b.String(), fmt.Sprint(yaml), v.String(), v.GoString())
	for _, s := range shown {
		if strings.Contains(s, "s3cr3t") || strings.Contains(strings.ToLower(s), "733363723374") {
			t.Errorf("shown: %s", s)
		}
	}
	if v.Reveal() != text || fmt.Sprint(v) != secret.Mask {
		t.Errorf("%q, %v", v.Reveal(), v)
	}
}

func TestValue(t *testing.T) {
	var zero secret.Value
	if !zero.Empty() || zero.Reveal() != "" || !zero.Equal("") || zero.Equal("x") {
		t.Error("the zero value is not empty")
	}
	v := secret.New(text)
	if v.Empty() || !v.Equal(text) || v.Equal(text+"x") || v.Equal("") {
		t.Error("Equal")
	}
	if reflect.TypeFor[secret.Value]().Comparable() {
		t.Error("can be compared with ==")
	}
}

func TestMatcherMasksEveryForm(t *testing.T) {
	m := secret.NewMatcher(secret.New(text), secret.New("plain-token"), secret.New("abc"))
	js, _ := json.Marshal(text)
	twice, _ := json.Marshal(string(js))
	for name, in := range map[string]string{
		"plain":                text,
		"JSON":                 string(js),
		"JSON in JSON":         string(twice),
		"JSON, ASCII":          `s3cr3t/v\u00e4lue+\"x\"`,
		"JSON, slashes":        `s3cr3t\/välue+\"x\"`,
		"query":                url.QueryEscape(text),
		"query, lower case":    "s3cr3t%2fv%c3%a4lue%2b%22x%22",
		"path":                 url.PathEscape(text),
		"base64":               base64.StdEncoding.EncodeToString([]byte(text)),
		"base64, URL":          base64.URLEncoding.EncodeToString([]byte(text)),
		"basic authentication": base64.StdEncoding.EncodeToString([]byte("user:" + text + "\n")),
		"offset 1":             base64.StdEncoding.EncodeToString([]byte("u" + text)),
		"offset 2":             base64.RawURLEncoding.EncodeToString([]byte("uu" + text + "12")),
		"hexadecimal":          hex.EncodeToString([]byte(text)),
		"hexadecimal, upper":   strings.ToUpper(hex.EncodeToString([]byte(text))),
	} {
		got := m.Text("<" + in + ">")
		if !strings.HasPrefix(got, "<") || !strings.HasSuffix(got, ">") || !strings.Contains(got, secret.Mask) || strings.Contains(got, "3cr3t") {
			t.Errorf("%s: %s gives %s", name, in, got)
		}
	}
	if got := m.Text("abc plain-tokens abc"); got != "abc "+secret.Mask+"s abc" {
		t.Error(got)
	}
}

func TestMatcherMasksTheLongerValueAsAWhole(t *testing.T) {
	m := secret.NewMatcher(secret.New("token"), secret.New("token-and-more"))
	if got := m.Text("token-and-more, token"); got != secret.Mask+", "+secret.Mask {
		t.Error(got)
	}
}

func TestMatcherLeavesTheRestAlone(t *testing.T) {
	var none *secret.Matcher
	data := []byte("nothing here")
	for name, m := range map[string]*secret.Matcher{"nil": none, "empty": secret.NewMatcher(), "short": secret.NewMatcher(secret.New("her")), "other": secret.NewMatcher(secret.New("other"))} {
		if got := m.Bytes(data); &got[0] != &data[0] || m.Text("nothing here") != "nothing here" || m.Find(data) {
			t.Errorf("%s: %s", name, got)
		}
	}
	m := secret.NewMatcher(secret.New("here"))
	if got := m.Bytes(data); string(got) != "nothing "+secret.Mask || string(data) != "nothing here" || !m.Find(data) {
		t.Errorf("%s, %s", got, data)
	}
}

// Whatever the secret and wherever an encoder puts it, it does not come through,
// and everything around it does.
func TestMatcherProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringN(12, 40, -1).Draw(t, "value")
		m := secret.NewMatcher(secret.New(value))
		before := rapid.StringMatching(`[a-z ]{0,8}`).Draw(t, "before")
		encode := map[string]func(string) string{
			"plain": func(s string) string { return s },
			"json":  func(s string) string { b, _ := json.Marshal(s); return string(b[1 : len(b)-1]) },
			"query": url.QueryEscape,
			"path":  url.PathEscape,
			"std":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
			"url":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		}
		how := rapid.SampledFrom([]string{"plain", "json", "query", "path", "std", "url"}).Draw(t, "how")
		in := encode[how](before + value)
		got := m.Text(in)
		if !strings.Contains(got, secret.Mask) || strings.Contains(got, encode[how](value)) {
			t.Fatalf("%s: %q gives %q", how, in, got)
		}
		if how != "std" && how != "url" && !strings.HasPrefix(got, encode[how](before)) {
			t.Fatalf("%s: %q gives %q", how, in, got)
		}
		if string(m.Bytes([]byte(in))) != got {
			t.Fatal("Bytes and Text differ")
		}
	})
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"github": true, "GITHUB_TOKEN": true, "a.b-c_1": true, strings.Repeat("x", 128): true,
		"": false, ".hidden": false, "a b": false, "a/b": false, "ä": false, strings.Repeat("x", 129): false, "a\n": false,
	} {
		if err := secret.CheckName(name); (err == nil) != ok || err != nil && durward.KindOf(err) != durward.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	var e *durward.Error
	if err := secret.Missing("github"); !errors.As(err, &e) || e.Kind != durward.NotFound || !strings.Contains(e.Message, "durward secret set github") {
		t.Error(err)
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add("token", "a token is a token")
	f.Add("\"\\\xff", "\xff\"\\\\")
	f.Fuzz(func(t *testing.T, value, in string) {
		m := secret.NewMatcher(secret.New(value))
		got := m.Text(in)
		if len(value) < secret.MinLength {
			if got != in {
				t.Fatalf("%q masked in %q", value, in)
			}
			return
		}
		if strings.Contains(in, value) && got == in || !strings.Contains(got, secret.Mask) && got != in {
			t.Fatalf("%q in %q gives %q", value, in, got)
		}
		if again := m.Text(got); !strings.Contains(secret.Mask, value) && strings.Contains(got, value) && again == got {
			t.Fatalf("%q is left in %q", value, got)
		}
	})
}
