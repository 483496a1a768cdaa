package telemetry

import (
	"context"
	"encoding/hex"
	"log/slog"
	"slices"

	"durward/gateway"
	"durward/internal/telemetry/otlp"
)

// tracing adds the trace to the lines that are about a request which has one.
type tracing struct{ slog.Handler }

// Handle implements slog.Handler.
func (h tracing) Handle(ctx context.Context, r slog.Record) error {
	if t, ok := gateway.TraceOf(ctx); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", hex.EncodeToString(t.TraceID[:])), slog.String("span_id", hex.EncodeToString(t.SpanID[:])))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h tracing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracing{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h tracing) WithGroup(name string) slog.Handler { return tracing{h.Handler.WithGroup(name)} }

// sending hands lines to an exporter as well.
type sending struct {
	next   slog.Handler
	to     *otlp.Exporter
	group  string // "a.b." in front of keys
	preset []otlp.Attribute
}

// Enabled implements slog.Handler.
func (h sending) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h sending) Handle(ctx context.Context, r slog.Record) error {
	out := &otlp.Record{At: r.Time, Level: r.Level, Body: r.Message, Attributes: slices.Clone(h.preset)}
	if t, ok := gateway.TraceOf(ctx); ok {
		out.TraceID, out.SpanID = t.TraceID, t.SpanID
	}
	r.Attrs(func(a slog.Attr) bool {
		out.Attributes = flatten(out.Attributes, h.group, a)
		return true
	})
	h.to.Record(out)
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sending) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.next, h.preset = h.next.WithAttrs(attrs), slices.Clone(h.preset)
	for _, a := range attrs {
		h.preset = flatten(h.preset, h.group, a)
	}
	return h
}

// WithGroup implements slog.Handler.
func (h sending) WithGroup(name string) slog.Handler {
	h.next = h.next.WithGroup(name)
	if name != "" {
		h.group += name + "."
	}
	return h
}

// flatten adds an attribute as text, groups as names with dots.
func flatten(list []otlp.Attribute, group string, a slog.Attr) []otlp.Attribute {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		return append(list, otlp.Attribute{Key: group + a.Key, Value: value.String()})
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	for _, inner := range value.Group() {
		list = flatten(list, group, inner)
	}
	return list
}
