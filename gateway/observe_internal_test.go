package gateway

import (
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceParentIsReadStrictly(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		ok       bool
		flags    byte
	}{
		{"as it should be", parent, true, 1},
		{"not sampled", parent[:53] + "00", true, 0},
		{"flags that are not known", parent[:53] + "ff", true, 3},
		{"a later version", "01" + parent[2:], true, 1},
		{"a later version with more", "cc" + parent[2:] + "-what-comes", true, 1},
		{"a later version that goes on without a dash", "cc" + parent[2:] + ".x", false, 0},
		{"version 00 with more", parent + "-00", false, 0},
		{"version ff", "ff" + parent[2:], false, 0},
		{"upper case", strings.ToUpper(parent), false, 0},
		{"no trace id", "00-00000000000000000000000000000000-b7ad6b7169203331-01", false, 0},
		{"no parent id", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false, 0},
		{"short", parent[:54], false, 0},
		{"other separators", strings.ReplaceAll(parent, "-", "_"), false, 0},
		{"no hex", strings.Replace(parent, "0af7", "0ag7", 1), false, 0},
		{"a space in front", " " + parent, false, 0},
		{"empty", "", false, 0},
	} {
		got, ok := parseTraceParent(tt.in)
		if ok != tt.ok || got.Flags != tt.flags || !ok && got != (durward.Trace{}) {
			t.Errorf("%s: %v %+v", tt.name, ok, got)
		}
		if ok && hex.EncodeToString(got.TraceID[:]) != tt.in[3:35] || ok && hex.EncodeToString(got.Caller[:]) != tt.in[36:52] {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

// FuzzTraceParent compares with the grammar of the specification, written down as
// such; what is accepted can be written and read again.
func FuzzTraceParent(f *testing.F) {
	grammar := regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\s\S]*)?$`)
	for _, seed := range []string{parent, "", parent + "-", "01" + parent[2:] + "-x", parent[:53] + "zz", strings.Repeat("-", 60), strings.Repeat("0", 55)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseTraceParent(s)
		m := grammar.FindStringSubmatch(s)
		want := m != nil && m[1] != "ff" && strings.Trim(m[2], "0") != "" && strings.Trim(m[3], "0") != "" && (m[1] != "00" || m[5] == "" && len(s) == 55)
		if ok != want {
			t.Fatalf("%q: %v, the grammar says %v", s, ok, want)
		}
		if !ok {
			return
		}
		if hex.EncodeToString(got.TraceID[:]) != m[2] || hex.EncodeToString(got.Caller[:]) != m[3] {
			t.Fatalf("%q gives %+v", s, got)
		}
		again, ok := parseTraceParent(traceParent(&got, got.Caller))
		if !ok || again != got {
			t.Fatalf("%+v is read back as %+v", got, again)
		}
	})
}

// FuzzCallerTrace: nothing a client says fails, and what is passed on may stand in a header.
func FuzzCallerTrace(f *testing.F) {
	f.Add(`{"_meta":{"traceparent":"`+parent+`","tracestate":"a=b","baggage":"k=v"}}`, "", "", "")
	f.Add(`{"_meta":{"traceparent":7,"tracestate":[]}}`, parent, "a=b", "k=v\r\nx: y")
	f.Add(`{"_meta":{"traceparent":"`+parent+`","tracestate":"\u0000","baggage":"ü"}}`, "", "", "")
	f.Add(`{"_meta":null}`, "x", "y", "z")
	f.Fuzz(func(t *testing.T, params, header, state, baggage string) {
		in := &exchange.Inbound{Trace: exchange.TraceContext{Parent: header, State: state, Baggage: baggage}}
		if wire.ParseParams([]byte(params), &in.Params) != nil {
			return
		}
		trace, carried := callerTrace(in)
		if (trace.TraceID == [16]byte{}) != (trace.Caller == [8]byte{}) {
			t.Fatalf("half a trace: %+v", trace)
		}
		if trace.TraceID == [16]byte{} && carried != (exchange.TraceContext{}) {
			t.Fatalf("no trace, and yet %+v", carried)
		}
		for _, text := range []string{carried.State, carried.Baggage} {
			if strings.ContainsFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) || len(text) > maxBaggage {
				t.Fatalf("passed on: %q", text)
			}
		}
		if len(carried.State) > maxTraceState {
			t.Fatalf("a state of %d bytes", len(carried.State))
		}
	})
}

func TestWhatTheCallerSaysOfItsTrace(t *testing.T) {
	other := "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-00"
	long := strings.Repeat("a", maxTraceState+1)
	for _, tt := range []struct {
		name, params string
		header       exchange.TraceContext
		trace        string
		carried      exchange.TraceContext
	}{
		{name: "nothing", params: `{}`},
		{name: "no meta at all", params: ``},
		{name: "meta", params: `{"_meta":{"tracestate":"a=b","traceparent":"` + parent + `","baggage":"k=v"}}`, trace: parent, carried: exchange.TraceContext{State: "a=b", Baggage: "k=v"}},
		{name: "meta before headers", params: `{"_meta":{"traceparent":"` + parent + `"}}`, header: exchange.TraceContext{Parent: other, State: "x=y"}, trace: parent},
		{name: "headers", params: `{}`, header: exchange.TraceContext{Parent: parent, State: "x=y", Baggage: "b"}, trace: parent, carried: exchange.TraceContext{State: "x=y", Baggage: "b"}},
		{name: "headers, when the meta is malformed", params: `{"_meta":{"traceparent":"nonsense","tracestate":"a=b"}}`, header: exchange.TraceContext{Parent: parent}, trace: parent},
		{name: "a parent that is no string", params: `{"_meta":{"traceparent":{"a":"` + parent + `"}}}`},
		{name: "a state without a parent", params: `{"_meta":{"tracestate":"a=b","baggage":"k=v"}}`},
		{name: "a state that is too long", params: `{"_meta":{"traceparent":"` + parent + `","tracestate":"` + long + `","baggage":"k=v"}}`, trace: parent, carried: exchange.TraceContext{Baggage: "k=v"}},
		{name: "a state that cannot be in a header", params: `{"_meta":{"traceparent":"` + parent + `","tracestate":"a=b\r\nx: y"}}`, trace: parent},
	} {
		in := &exchange.Inbound{Trace: tt.header}
		if tt.params != "" {
			if err := wire.ParseParams([]byte(tt.params), &in.Params); err != nil {
				t.Fatal(tt.name, err)
			}
		}
		got, carried := callerTrace(in)
		want, _ := parseTraceParent(tt.trace)
		if got != want || carried != tt.carried {
			t.Errorf("%s: %+v %+v", tt.name, got, carried)
		}
	}
}

func TestFreshIdsAreNeverZero(t *testing.T) {
	seen := map[[8]byte]bool{}
	for range 1000 {
		s := newSpan()
		if s == [8]byte{} || seen[s] {
			t.Fatalf("%x", s)
		}
		seen[s] = true
	}
}
