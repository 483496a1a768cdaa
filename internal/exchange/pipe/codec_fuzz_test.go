package pipe

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durward/internal/exchange"
)

// FuzzDecode: no bytes make the decoder panic or allocate beyond them, and what
// it accepts survives being packed and read again.
func FuzzDecode(f *testing.F) {
	seeds := []exchange.Message{
		&exchange.Call{ID: 1, Request: exchange.Request{Method: "m", Headers: []exchange.Header{{Name: "a", Value: "b"}}, Trace: &exchange.TraceContext{Parent: "p", Baggage: "b"}}},
		&exchange.Cancel{ID: 1, Reason: "r"}, &exchange.Response{ID: 1, Fault: &exchange.Fault{Message: "m"}},
		&exchange.Notification{Params: []byte("{}")}, &exchange.ServerRequest{ID: 2}, &exchange.Opened{Info: []byte("i")},
		&exchange.Anomaly{Count: -1}, &exchange.Closed{Phase: exchange.PhaseReady, RetryLegacy: true},
	}
	for _, m := range seeds {
		f.Add(packed(f, func(p *packer) { p.message(m) }))
	}
	f.Add(packed(f, func(p *packer) { p.spec(&exchange.LinkSpec{Headers: map[string]string{"a": "b"}}) }))
	f.Add(packed(f, func(p *packer) { p.begin(kindClose) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := decode(bytes.Clone(data))
		if err != nil {
			return
		}
		again, err := decode(packed(t, func(p *packer) { repack(p, first) }))
		if err != nil {
			t.Fatalf("%+v could be read once only: %v", first, err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func packed(t testing.TB, pack func(*packer)) []byte {
	t.Helper()
	p := newPacker()
	pack(p)
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.buf.Bytes()
}

func repack(p *packer, m any) {
	switch m := m.(type) {
	case *exchange.LinkSpec:
		p.spec(m)
	case closeLink:
		p.begin(kindClose)
	case exchange.Message:
		p.message(m)
	}
}
