package worker

import (
	"bytes"
	"testing"

	"durward/internal/exchange"
	"durward/internal/wire"
)

func TestALegacyClientsCapabilitiesBecomeModern(t *testing.T) {
	for _, tt := range []struct{ legacy, want string }{
		{``, `{}`},
		{`{}`, `{}`},
		{`null`, `{}`},
		{`{"elicitation":{}}`, `{"elicitation":{}}`}, // form mode in both eras
		{`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}}}`, `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}}}`},
		{`{"roots":{"listChanged":true},"sampling":{}}`, `{"roots":{},"sampling":{}}`},
		{`{"roots":{"listChanged":false,"more":1e400}}`, `{"roots":{"more":1e400}}`},
		{`{"tasks":{"list":{},"requests":{"sampling":{"createMessage":{}}}},"sampling":{}}`, `{"sampling":{}}`},
		{`{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]},"io.modelcontextprotocol/tasks":{}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]}}}`},
		{`{"roots":null,"sampling":null,"elicitation":{},"vendor":null}`, `{"elicitation":{}}`},
		{`{"experimental":{"tasks":{},"x":{"listChanged":true}},"vendor":7}`, `{"experimental":{"tasks":{},"x":{"listChanged":true}},"vendor":7}`},
	} {
		d := newDialect(wire.Modern, wire.RevisionModern, nil)
		for range 2 { // the second time it is remembered
			if got := d.capabilities(wire.Legacy, []byte(tt.legacy)); string(got) != tt.want {
				t.Errorf("%s became %s, want %s", tt.legacy, got, tt.want)
			}
		}
		if got := d.capabilities(wire.Legacy, []byte(`{"other":{}}`)); string(got) != `{"other":{}}` {
			t.Errorf("another client's became %s", got)
		}
	}
}

func TestAModernClientsCapabilitiesStayAsTheyAre(t *testing.T) {
	const declared = `{ "roots":{"listChanged":true}, "extensions":{"io.modelcontextprotocol/tasks":{}}, "x":null }`
	d := newDialect(wire.Modern, wire.RevisionModern, nil)
	r := &exchange.Request{Method: wire.MethodToolsCall, Client: exchange.Client{Era: wire.Modern, Capabilities: []byte(declared)}}
	if got := d.appendCall(nil, 1, r); !bytes.Contains(got, []byte(declared)) {
		t.Errorf("sent %s", got)
	}
}

func FuzzCapabilities(f *testing.F) {
	for _, seed := range []string{`{}`, `{"roots":{"listChanged":true},"tasks":{}}`, `{"extensions":{"io.modelcontextprotocol/tasks":{}},"a":null}`, `[]`, `{"roots":{"a":"\"","listChanged":[{}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, legacy []byte) {
		var p wire.Params // clients' objects were checked when they came in
		if wire.ParseParams(legacy, &p) != nil {
			return
		}
		got := newDialect(wire.Modern, wire.RevisionModern, nil).capabilities(wire.Legacy, legacy)
		switch {
		case !wire.Valid(got):
			t.Fatalf("%s became %s", legacy, got)
		case wire.Lookup(got, "tasks").Present(), wire.Lookup(wire.Get(got, "roots"), "listChanged").Present(),
			wire.Lookup(wire.Get(got, "extensions"), wire.ExtensionTasks).Present():
			t.Fatalf("%s became %s", legacy, got)
		}
		for _, kept := range []string{"elicitation", "sampling", "experimental"} {
			if was, is := wire.Get(legacy, kept), wire.Get(got, kept); string(was) != "null" && !bytes.Equal(was, is) {
				t.Fatalf("%s: %s became %s", kept, was, is)
			}
		}
	})
}
