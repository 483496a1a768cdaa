package seal_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/seal"
)

func ring(t interface{ Fatal(args ...any) }, keys ...durward.SealKey) *seal.Ring {
	r, err := seal.NewRing(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused checks that a token does not open, and that the error says nothing of why.
func refused(t interface{ Fatalf(string, ...any) }, r *seal.Ring, p seal.Purpose, bound, token string) {
	payload, err := r.Open(p, bound, token)
	if payload != nil || durward.KindOf(err) != durward.Invalid || err.Error() != "the token is not valid here: it was changed, belongs to somebody else, or its key was retired" {
		t.Fatalf("%q for %q: %q, %v", token, bound, payload, err)
	}
}

func TestWhatIsSealedOpensForItsPurposeAndBoundOnly(t *testing.T) {
	r := ring(t, durward.NewSealKey())
	purposes := []seal.Purpose{seal.RequestState, seal.Task, seal.Cursor, seal.Session}
	bounds := []string{"", "local", "local\x00/mcp", "local\x00/servers/a/mcp", "loca", "l"}
	for _, p := range purposes {
		for _, bound := range bounds {
			token := r.Seal(p, bound, []byte("payload"))
			if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
				t.Errorf("%q is no base64url", token)
			}
			if got, err := r.Open(p, bound, token); err != nil || string(got) != "payload" {
				t.Errorf("%d %q: %q, %v", p, bound, got, err)
			}
			for _, other := range purposes {
				for _, elsewhere := range bounds {
					if other != p || elsewhere != bound {
						refused(t, r, other, elsewhere, token)
					}
				}
			}
		}
	}
}

// The purpose is not a part of what the token is bound to, and cannot be made one.
func TestPurposeAndBoundDoNotRunTogether(t *testing.T) {
	r := ring(t, durward.NewSealKey())
	refused(t, r, seal.RequestState, "x", r.Seal(seal.Task, string(rune(seal.RequestState))+"x", nil))
	refused(t, r, seal.Task, "", r.Seal(seal.RequestState, string(rune(seal.Task)), nil))
}

func TestOpenRefusesWhatItDidNotSeal(t *testing.T) {
	key := durward.NewSealKey()
	r := ring(t, key)
	good := r.Seal(seal.Cursor, "b", []byte("payload"))
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	with := func(at int, b byte) string {
		changed := slices.Clone(raw)
		changed[at] = b
		return encode(changed)
	}
	for name, token := range map[string]string{
		"empty": "", "one character": "A", "no base64": "not a token!", "head only": encode(raw[:5]), "without payload": encode(raw[:17]), "without tag": encode(raw[:len(raw)-16]),
		"padding": good + "=", "a line break at the end": good + "\n", "a line break inside": good[:9] + "\r\n" + good[9:], "twice": good + good,
		"standard base64": strings.NewReplacer("-", "+", "_", "/").Replace(good) + "++", "another version": with(0, 2), "another key": with(1, raw[1]+1),
		"a longer one": encode(append(slices.Clone(raw), 0)), "zeros": encode(make([]byte, 64)), "long": strings.Repeat("A", 1<<16), "upper case": strings.ToUpper(good),
	} {
		t.Run(name, func(t *testing.T) { refused(t, r, seal.Cursor, "b", token) })
	}
	refused(t, ring(t, durward.NewSealKey()), seal.Cursor, "b", good)
}

func TestTheSamePayloadIsSealedDifferentlyEachTime(t *testing.T) {
	r := ring(t, durward.NewSealKey())
	seen := map[string]bool{}
	for range 100 {
		token := r.Seal(seal.Session, "b", []byte("the same"))
		if seen[token] || strings.Contains(token, base64.RawURLEncoding.EncodeToString([]byte("the same"))) {
			t.Fatalf("%q", token)
		}
		seen[token] = true
	}
}

// A rotation seals with a new key and still opens what the last one sealed; what
// is older than that is gone.
func TestRotation(t *testing.T) {
	first, second, third := durward.NewSealKey(), durward.NewSealKey(), durward.NewSealKey()
	r := ring(t, first)
	old := r.Seal(seal.Task, "b", []byte("old"))
	rotate := func(keys ...durward.SealKey) {
		t.Helper()
		if err := r.Replace(keys...); err != nil {
			t.Fatal(err)
		}
	}
	rotate(second, first)
	if got, err := r.Open(seal.Task, "b", old); err != nil || string(got) != "old" {
		t.Errorf("after one rotation: %q, %v", got, err)
	}
	middle := r.Seal(seal.Task, "b", []byte("middle"))
	refused(t, ring(t, first), seal.Task, "b", middle) // the new key seals
	rotate(third, second)
	refused(t, r, seal.Task, "b", old)
	if got, err := r.Open(seal.Task, "b", middle); err != nil || string(got) != "middle" {
		t.Errorf("after one more: %q, %v", got, err)
	}
	// Order is about sealing only: a replica that has not heard of the rotation yet opens too.
	if got, err := ring(t, second, third).Open(seal.Task, "b", r.Seal(seal.Task, "b", []byte("new"))); err != nil || string(got) != "new" {
		t.Errorf("on a replica: %q, %v", got, err)
	}
}

func TestARingNeedsKeys(t *testing.T) {
	if _, err := seal.NewRing(); durward.KindOf(err) != durward.Invalid {
		t.Error(err)
	}
	if _, err := seal.NewRing(durward.NewSealKey(), durward.SealKey{}); durward.KindOf(err) != durward.Invalid {
		t.Errorf("the zero value: %v", err)
	}
	if _, err := seal.NewRing(slices.Repeat([]durward.SealKey{durward.NewSealKey()}, seal.MaxKeys+1)...); durward.KindOf(err) != durward.Invalid {
		t.Errorf("too many: %v", err)
	}
	// What cannot be put in place leaves the old keys there.
	r := ring(t, durward.NewSealKey())
	token := r.Seal(seal.Task, "", nil)
	if r.Replace() == nil || r.Replace(durward.SealKey{}) == nil {
		t.Error("replaced by nothing")
	}
	if _, err := r.Open(seal.Task, "", token); err != nil {
		t.Error(err)
	}
}

// Calls go on while keys are rotated: whatever was sealed within one rotation opens.
func TestRotationWhileTokensAreMade(t *testing.T) {
	keys := []durward.SealKey{durward.NewSealKey(), durward.NewSealKey()}
	r := ring(t, keys...)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				want := fmt.Sprint(i)
				if got, err := r.Open(seal.Cursor, want, r.Seal(seal.Cursor, want, []byte(want))); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", want, got, err)
					return
				}
			}
		})
	}
	all.Go(func() {
		for range 200 {
			slices.Reverse(keys)
			if err := r.Replace(keys...); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
}

func TestID(t *testing.T) {
	k := durward.NewSealKey()
	raw, err := base64.RawURLEncoding.DecodeString(ring(t, k).Seal(seal.Task, "", nil))
	if err != nil {
		t.Fatal(err)
	}
	if id := seal.ID(k); id != fmt.Sprintf("%08x", binary.BigEndian.Uint32(raw[1:])) || id == seal.ID(durward.NewSealKey()) {
		t.Error(id)
	}
	// It is the same in every version, or replicas of two versions would not open each other's tokens.
	known, err := durward.ParseSealKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil || seal.ID(known) != knownID {
		t.Error(seal.ID(known), err)
	}
	if payload, err := ring(t, known).Open(seal.Session, "local", knownToken); err != nil || string(payload) != "payload" {
		t.Errorf("a token of an earlier version: %q, %v", payload, err)
	}
}

// The id and a token of the key 00 01 … 1f, as the first version made them.
const (
	knownID    = "7a898518"
	knownToken = "AXqJhRj5-82nIXPePAdcCeV7lI6tp7KuTXkWCYFerwZMIIiPVbwb4Q"
)

// drawn is a ring with what rapid chose to be sealed in it.
type drawn struct {
	ring    *seal.Ring
	purpose seal.Purpose
	bound   string
	payload []byte
	token   string
}

func draw(t *rapid.T) drawn {
	d := drawn{
		purpose: seal.Purpose(rapid.Byte().Draw(t, "purpose")),
		bound:   rapid.String().Draw(t, "bound"),
		payload: rapid.SliceOf(rapid.Byte()).Draw(t, "payload"),
	}
	keys := make([]durward.SealKey, rapid.IntRange(1, 4).Draw(t, "keys"))
	for i := range keys {
		keys[i] = durward.NewSealKey()
	}
	d.ring = ring(t, keys...)
	d.token = d.ring.Seal(d.purpose, d.bound, d.payload)
	return d
}

// Whatever is sealed opens as it was.
func TestSealAndOpenProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		got, err := d.ring.Open(d.purpose, d.bound, d.token)
		if err != nil || string(got) != string(d.payload) {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

// Whatever is changed about a token, it does not open.
func TestTamperedTokensProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		r, p, bound, token := d.ring, d.purpose, d.bound, d.token
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		switch rapid.SampledFrom([]string{"bit", "character", "bytes", "characters", "more", "purpose", "bound", "ring"}).Draw(t, "what") {
		case "bit":
			bit := rapid.IntRange(0, 8*len(raw)-1).Draw(t, "bit")
			raw[bit/8] ^= 1 << (bit % 8)
			token = base64.RawURLEncoding.EncodeToString(raw)
		case "character":
			at, bit := rapid.IntRange(0, len(token)-1).Draw(t, "at"), rapid.IntRange(0, 7).Draw(t, "bit")
			changed := []byte(token)
			changed[at] ^= 1 << bit
			token = string(changed)
		case "bytes":
			token = base64.RawURLEncoding.EncodeToString(raw[:rapid.IntRange(0, len(raw)-1).Draw(t, "length")])
		case "characters":
			token = token[:rapid.IntRange(0, len(token)-1).Draw(t, "length")]
		case "more":
			at := rapid.IntRange(0, len(token)).Draw(t, "at")
			token = token[:at] + rapid.SampledFrom([]string{"A", "=", "\n", " ", "\x00", "AAAA"}).Draw(t, "extra") + token[at:]
		case "purpose":
			p += seal.Purpose(rapid.ByteRange(1, 255).Draw(t, "other"))
		case "bound":
			if bound = rapid.String().Draw(t, "elsewhere"); bound == d.bound {
				bound += "x"
			}
		case "ring":
			r = ring(t, durward.NewSealKey(), durward.NewSealKey())
		}
		refused(t, r, p, bound, token)
	})
}

// Nothing that was not sealed opens, and nothing makes Open fail in another way.
func FuzzOpen(f *testing.F) {
	k, err := durward.ParseSealKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		f.Fatal(err)
	}
	r := ring(f, k)
	f.Add(byte(seal.Session), "local", knownToken)
	f.Add(byte(seal.Task), "", r.Seal(seal.Task, "", nil))
	f.Add(byte(0), "\x00", "AQ")
	f.Add(byte(255), strings.Repeat("b", 300), strings.Repeat("_", 300))
	f.Fuzz(func(t *testing.T, purpose byte, bound, token string) {
		payload, err := r.Open(seal.Purpose(purpose), bound, token)
		if err != nil {
			refused(t, r, seal.Purpose(purpose), bound, token)
			return
		}
		// The fuzzer does not have the key: it can only have found what is in its corpus.
		if again, err := ring(t, k).Open(seal.Purpose(purpose), bound, token); err != nil || string(again) != string(payload) {
			t.Fatalf("opens once only: %v", err)
		}
		refused(t, r, seal.Purpose(purpose)+1, bound, token)
		refused(t, r, seal.Purpose(purpose), bound+"x", token)
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	r := ring(b, durward.NewSealKey(), durward.NewSealKey())
	payload := []byte(strings.Repeat("x", 200))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Open(seal.Session, "local\x00/mcp", r.Seal(seal.Session, "local\x00/mcp", payload)); err != nil {
			b.Fatal(err)
		}
	}
}
