package otlp

import (
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// Attribute is a property of a span or a log record. A value of "" or nil is left out.
type Attribute struct {
	Key   string
	Value any // string, int64, float64 or bool
}

// maxText bounds a text in bytes. Names are shorter; it keeps a server that gives
// its tools long ones from filling the queue.
const maxText = 256

// maxBody bounds the body of a log record and the texts of a record of the ledger.
const maxBody = 4 << 10

// clip cuts a text and makes it UTF-8, which protobuf insists on.
func clip(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// encoder makes the parts that messages share. All texts pass redact.
type encoder struct {
	redact   func([]byte) []byte
	resource *resourcepb.Resource
	scope    *commonpb.InstrumentationScope
}

// Resource says which service is observed.
type Resource struct {
	Version  string // of the service
	Instance string // tells processes apart
}

func newEncoder(r Resource, redact func([]byte) []byte) *encoder {
	e := &encoder{redact: redact, scope: &commonpb.InstrumentationScope{Name: "durward", Version: r.Version}}
	e.resource = &resourcepb.Resource{Attributes: e.attributes(maxText,
		Attribute{"service.name", "durward"}, Attribute{"service.version", r.Version}, Attribute{"service.instance.id", r.Instance})}
	return e
}

// text is what may be sent of a text.
func (e *encoder) text(s string, most int) string {
	if s == "" {
		return ""
	}
	return clip(string(e.redact([]byte(s))), most)
}

func (e *encoder) attributes(most int, list ...Attribute) []*commonpb.KeyValue {
	out := make([]*commonpb.KeyValue, 0, len(list))
	for _, a := range list {
		if v := e.value(a.Value, most); v != nil {
			out = append(out, &commonpb.KeyValue{Key: a.Key, Value: v})
		}
	}
	return out
}

func (e *encoder) value(v any, most int) *commonpb.AnyValue {
	switch v := v.(type) {
	case string:
		if v == "" {
			return nil
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: e.text(v, most)}}
	case int64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}
	case float64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v}}
	case bool:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v}}
	default:
		return nil
	}
}
