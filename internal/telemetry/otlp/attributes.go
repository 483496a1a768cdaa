package otlp

import (
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// Attribute is a property of a span or a log record. A value of "" or nil is left out.
type Attribute struct {
	Key   string
	Value any // string, Word, int64, float64 or bool
}

// Word is a text of ours that comes from nobody else: it is not searched for secrets.
type Word string

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

// attributes makes the attributes of one message, in few pieces of memory.
func (e *encoder) attributes(most int, list ...Attribute) []*commonpb.KeyValue {
	out := make([]*commonpb.KeyValue, 0, len(list))
	pairs := make([]commonpb.KeyValue, len(list))
	values := make([]commonpb.AnyValue, len(list))
	texts := make([]commonpb.AnyValue_StringValue, len(list))
	for i, a := range list {
		v := &values[i]
		switch value := a.Value.(type) {
		case string:
			texts[i].StringValue = e.text(value, most)
			v.Value = &texts[i]
		case Word:
			texts[i].StringValue = string(value)
			v.Value = &texts[i]
		case int64:
			v.Value = &commonpb.AnyValue_IntValue{IntValue: value}
		case float64:
			v.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: value}
		case bool:
			v.Value = &commonpb.AnyValue_BoolValue{BoolValue: value}
		default:
			continue
		}
		if v.Value == &texts[i] && texts[i].StringValue == "" {
			continue
		}
		pairs[i].Key, pairs[i].Value = a.Key, v
		out = append(out, &pairs[i])
	}
	return out
}
