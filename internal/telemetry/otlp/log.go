package otlp

import (
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
)

// Record is one line of a log, or one row of the ledger.
type Record struct {
	At      time.Time
	Level   slog.Level
	Event   string // name of the kind of event; "" for a line of text
	Body    string
	TraceID [16]byte // zero: none
	SpanID  [8]byte

	Attributes []Attribute
}

// logs makes the message of a batch of records.
func (e *encoder) logs(batch []*Record) proto.Message {
	records := make([]*logspb.LogRecord, len(batch))
	observed := nanos(time.Now())
	for i, r := range batch {
		records[i] = e.record(r, observed)
	}
	return &logspb.LogsData{ResourceLogs: []*logspb.ResourceLogs{{
		Resource: e.resource, ScopeLogs: []*logspb.ScopeLogs{{Scope: e.scope, LogRecords: records}},
	}}}
}

func (e *encoder) record(r *Record, observed uint64) *logspb.LogRecord {
	out := &logspb.LogRecord{
		TimeUnixNano: nanos(r.At), ObservedTimeUnixNano: observed, SeverityNumber: severity(r.Level), SeverityText: r.Level.String(),
		EventName: r.Event, Attributes: e.attributes(maxBody, r.Attributes...),
		Body: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: e.text(r.Body, maxBody)}},
	}
	if r.TraceID != [16]byte{} {
		out.TraceId = r.TraceID[:]
	}
	if r.SpanID != [8]byte{} {
		out.SpanId = r.SpanID[:]
	}
	return out
}

// severity is the number of a level (opentelemetry/proto/logs/v1, SeverityNumber):
// levels of slog are four apart, as these are.
func severity(l slog.Level) logspb.SeverityNumber {
	return logspb.SeverityNumber(min(max(int(l)+9, 1), 24))
}
