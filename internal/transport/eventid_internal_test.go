package transport

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlacesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := place{session: rapid.StringMatching(`[0-9a-f]{8}`).Draw(t, "session"), edge: rapid.StringMatching(`[0-9a-f]{8}`).Draw(t, "edge"),
			number: rapid.Uint64().Draw(t, "number"), seq: rapid.Uint64().Draw(t, "seq")}
		if p.number == 0 {
			p.stream = rapid.Uint64Min(1).Draw(t, "stream")
		} else if id := rapid.SampledFrom([]string{"", "1", "-3.5e300", `"a b_c\u00e4"`, `"` + strings.Repeat("x", 62) + `"`}).Draw(t, "request"); id != "" {
			p.request = []byte(id)
		}
		before, after := p.parts()
		text := before + strconv.FormatUint(p.seq, 10) + after
		got, ok := parsePlace(text)
		if !ok || got.session != p.session || got.edge != p.edge || got.number != p.number || got.stream != p.stream || got.seq != p.seq || !bytes.Equal(got.request, p.request) {
			t.Fatalf("%+v is %s, which is %+v %v", p, text, got, ok)
		}
	})
}

func TestWhatIsNoPlace(t *testing.T) {
	for _, id := range []string{
		"", "x", "_", "____", "a_b_1", "a_b_0_1", "a_b_1.1_1", "a_b_0.1_1_MQ", "a_b_0.0_1", "a_b_0._1", "a_b_.1_1", "a_b_0.1.1_1", "a_b_-1_1", "a_b_1_+1", "a_b_01_1", "a_b_1_",
		"a_b_1_18446744073709551616", "a_b_1_1_", "a_b_1_1_MQ=", "a_b_1_1_M", "a_b_1_1_bnVsbA" /* null */, "a_b_1_1_e30" /* {} */, "a_b_1_1_MSwi" /* 1," */, "a_b_1_1_IDE", /* space 1 */
	} {
		if p, ok := parsePlace(id); ok {
			t.Errorf("%q was read as %+v", id, p)
		}
	}
}

func FuzzPlace(f *testing.F) {
	for _, id := range []string{"44157239_1c022f0e_1_3_Mg", "44157239_1c022f0e_0.7_0", "a_b_1_1"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		p, ok := parsePlace(id)
		if !ok {
			return
		}
		before, after := p.parts()
		if again := before + strconv.FormatUint(p.seq, 10) + after; again != id {
			t.Fatalf("%q is written as %q", id, again)
		}
	})
}
