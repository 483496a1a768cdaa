package otlp_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"durward"
	"durward/internal/telemetry/otlp"
)

// choosy takes all but some of what it is sent, and says so.
type choosy struct {
	refused uint64
	reason  string
	kind    string // of the answer
	asked   atomic.Int64
}

func (c *choosy) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.asked.Add(1)
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), c.refused)
	inner = protowire.AppendString(protowire.AppendTag(inner, 2, protowire.BytesType), c.reason)
	w.Header().Set("Content-Type", c.kind)
	_, _ = w.Write(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
}

// What a collector throws away is not said to be there, and is not sent again.
func TestACollectorThatTakesOnlyAPart(t *testing.T) {
	const protobuf = "application/x-protobuf"
	for name, tt := range map[string]struct {
		of    *choosy
		calls int
		taken int64
		err   string // "": none
	}{
		"some":            {&choosy{refused: 3, reason: "too\nold", kind: protobuf}, 10, 7, "did not take 3 of those that it was sent at once: too old"},
		"of many":         {&choosy{refused: 12, kind: protobuf}, 600, 500, "did not take 12 of"},
		"all, and more":   {&choosy{refused: 1 << 40, kind: protobuf}, 5, 0, "did not take"},
		"less than none":  {&choosy{refused: 1<<64 - 1, kind: protobuf}, 5, 5, ""},
		"only a warning":  {&choosy{reason: "slow down", kind: protobuf}, 5, 5, ""},
		"something other": {&choosy{refused: 3, kind: "text/html"}, 5, 5, ""},
	} {
		taken, err := otlp.ExportLogs(t.Context(), otlp.ExportOptions{Endpoint: otlp.Endpoint{URL: sink(t, tt.of)}, Redact: same}, rows(tt.calls, nil))
		if taken != tt.taken || (err != nil) != (tt.err != "") || err != nil && (durward.KindOf(err) != durward.Unavailable || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %d, %v", name, taken, err)
		}
		if tt.of.asked.Load() != 1 && tt.err != "" {
			t.Errorf("%s: sent %d times", name, tt.of.asked.Load())
		}
	}
	x := exporter(t, otlp.Options{Endpoint: otlp.Endpoint{URL: sink(t, &choosy{refused: 3, kind: protobuf})}})
	for i := range 10 {
		x.Span(span(i))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if got := x.Counts(otlp.Traces); got.Sent+got.Dropped != 10 || got.Dropped < 3 {
		t.Errorf("%+v", got)
	}
}

// Whatever a collector answers, it is read or passed over.
func TestAnswersThatAreNoMessages(t *testing.T) {
	for _, answer := range []string{"", "\x0a", "\x0a\xff", "\x0a\x02\x08", "\x0b\x08\x01", "\x00\x00", "\x0a\x03\x08\xff\xff", strings.Repeat("\xff", 70_000)} {
		web := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte(answer))
		})
		if taken, err := otlp.ExportLogs(t.Context(), otlp.ExportOptions{Endpoint: otlp.Endpoint{URL: sink(t, web)}, Redact: same}, rows(2, nil)); taken != 2 || err != nil {
			t.Errorf("%.20q: %d, %v", answer, taken, err)
		}
	}
}
