package session

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// written is a state in its form.
func written(t testing.TB, s state) []byte {
	t.Helper()
	raw, ok := appendState(nil, &s)
	if !ok {
		t.Fatalf("%+v cannot be written", s)
	}
	return raw
}

func TestStatesComeBackAsTheyWere(t *testing.T) {
	object := rapid.SampledFrom([]string{"", `{}`, `{"name":"c","x":[1e400,"\u00e4"]}`, `{"roots":{"listChanged":true},"sampling":{}}`})
	rapid.Check(t, func(t *rapid.T) {
		s := state{
			session: durward.NewSessionID(),
			issuer:  instance(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "issuer")),
			whole:   rapid.Bool().Draw(t, "whole"),
		}
		if s.whole {
			s.client = exchange.Client{Era: wire.Legacy, Revision: rapid.SampledFrom(wire.LegacyRevisions()).Draw(t, "revision")}
			if info := object.Draw(t, "info"); info != "" {
				s.client.Info = []byte(info)
			}
			if capabilities := object.Draw(t, "capabilities"); capabilities != "" {
				s.client.Capabilities = []byte(capabilities)
			}
		}
		raw, ok := appendState(nil, &s)
		got, read := readState(raw)
		if !ok || !read || got.session != s.session || got.issuer != s.issuer || got.whole != s.whole || got.client.Revision != s.client.Revision ||
			!bytes.Equal(got.client.Info, s.client.Info) || !bytes.Equal(got.client.Capabilities, s.client.Capabilities) {
			t.Fatalf("wrote %+v, read %+v", s, got)
		}
		if !s.whole && len(raw) != 25 {
			t.Fatalf("the short form has %d bytes", len(raw))
		}
	})
}

func TestOnlyWhatWasWrittenIsRead(t *testing.T) {
	whole := written(t, state{session: durward.NewSessionID(), whole: true,
		client: exchange.Client{Revision: "2025-06-18", Info: []byte(`{"name":"c"}`), Capabilities: []byte(`{}`)}})
	if _, ok := readState(whole); !ok {
		t.Fatal("it cannot be read as it is")
	}
	change := func(f func(raw []byte) []byte) []byte { return f(bytes.Clone(whole)) }
	for name, raw := range map[string][]byte{
		"empty":                  nil,
		"another version":        change(func(raw []byte) []byte { raw[0] = 2; return raw }),
		"cut":                    whole[:len(whole)-1],
		"cut in the short form":  whole[:24],
		"more behind it":         append(bytes.Clone(whole), 0),
		"a revision we lack":     change(func(raw []byte) []byte { raw[26] = '9'; return raw }),
		"a modern revision":      written(t, state{session: durward.NewSessionID(), whole: true, client: exchange.Client{Revision: wire.RevisionModern}}),
		"no revision":            written(t, state{session: durward.NewSessionID(), whole: true}),
		"info that is no object": written(t, state{session: durward.NewSessionID(), whole: true, client: exchange.Client{Revision: "2025-06-18", Info: []byte(`[]`)}}),
		"capabilities cut short": written(t, state{session: durward.NewSessionID(), whole: true, client: exchange.Client{Revision: "2025-06-18", Capabilities: []byte(`{"a":`)}}),
		"a length in two bytes":  append(append(bytes.Clone(whole[:25]), 0x8a, 0), whole[26:]...),
		"a length without end":   append(bytes.Clone(whole[:25]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	} {
		if s, ok := readState(raw); ok {
			t.Errorf("%s: read %+v", name, s)
		}
	}
	for _, id := range []durward.SessionID{"", "x", "0198C0DE-0000-7000-8000-000000000000", "0198c0de-0000-7000-8000_000000000000", "0198c0de00007000800000000000000000000"} {
		if _, ok := appendState(nil, &state{session: id}); ok {
			t.Errorf("%q was taken for a UUID", id)
		}
	}
}

func FuzzState(f *testing.F) {
	f.Add(written(f, state{session: durward.NewSessionID()}))
	f.Add(written(f, state{session: durward.NewSessionID(), whole: true, client: exchange.Client{Revision: "2025-11-25", Info: []byte(`{"name":"c"}`)}}))
	f.Add(written(f, state{session: durward.NewSessionID(), whole: true, client: exchange.Client{Revision: "2024-11-05", Capabilities: []byte(`{"roots":{}}`)}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, ok := readState(raw)
		if !ok {
			return
		}
		if again := written(t, s); !bytes.Equal(again, raw) {
			t.Fatalf("%x was read, and written as %x", raw, again)
		}
	})
}
