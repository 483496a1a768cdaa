package otlp

import (
	"context"
	"iter"
	"log/slog"

	"durward"
	"durward/internal/wire"
	"durward/ledger"
)

// EventCall is the name of the event that a row of the ledger becomes.
const EventCall = "durward.call"

// ExportOptions configure [ExportLogs].
type ExportOptions struct {
	Endpoint Endpoint // required
	Resource Resource
	Redact   func([]byte) []byte // required, though what the ledger holds is redacted already
	// Content sends what calls said as well, as far as the row has it: the previews
	// of request and result, and the message of an error. Default: none of it
	// leaves the ledger.
	Content bool
	// Progress, if set, is called with the number of rows that the collector took so far.
	Progress func(rows int64)
}

// ExportLogs sends rows of the ledger as log records, in the order in which they
// come, and returns how many the collector took. It ends at the first error: of
// rows, of ctx, or of kind Unavailable when the collector does not take them, or not all.
func ExportLogs(ctx context.Context, opt ExportOptions, rows iter.Seq2[ledger.Row, error]) (taken int64, err error) {
	sender, err := newSender(opt.Endpoint)
	if err != nil {
		return 0, err
	}
	defer sender.close()
	enc := newEncoder(opt.Resource, opt.Redact)
	batch := make([]*Record, 0, together)
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := sender.send(ctx, Logs, enc.logs(batch))
		if taken += int64(len(batch)) - refusedOf(err, int64(len(batch))); err != nil {
			return err
		}
		batch = batch[:0]
		if opt.Progress != nil {
			opt.Progress(taken)
		}
		return nil
	}
	for row, err := range rows {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return taken, err
		}
		if batch = append(batch, recordOf(&row, opt.Content)); len(batch) == together {
			if err := send(); err != nil {
				return taken, err
			}
		}
	}
	return taken, send()
}

// recordOf makes the record of one call.
func recordOf(row *ledger.Row, content bool) *Record {
	r := &Record{
		At: row.At, Level: slog.LevelInfo, Event: EventCall, Body: row.Method,
		TraceID: row.TraceID, SpanID: row.SpanID, Attributes: callAttributes(&row.Intent),
	}
	switch row.Method {
	case wire.MethodToolsCall:
		r.Body += " " + row.FullName
		r.add("gen_ai.operation.name", "execute_tool")
		r.add("gen_ai.tool.name", row.Tool)
	case wire.MethodPromptsGet:
		r.Body += " " + row.FullName
		r.add("gen_ai.prompt.name", row.Tool)
	case wire.MethodResourcesRead:
		if content { // a URI can say as much as an argument
			r.add("mcp.resource.uri", row.Tool)
		}
	}
	if content {
		r.add("durward.request.preview", row.Preview)
	}
	o := row.Outcome
	if o == nil {
		r.add("durward.status", "dispatched")
		return r
	}
	if o.Status != durward.StatusOK && o.Status != durward.StatusInput {
		r.Level = slog.LevelWarn
	}
	r.add("durward.status", string(o.Status))
	r.add("durward.duration", o.Duration.Seconds())
	r.add("durward.attempts", int64(o.Attempts))
	r.add("durward.bytes_out", int64(o.BytesOut))
	if content {
		r.add("durward.response.preview", o.Preview)
		r.add("error.message", o.Error)
	}
	return r
}

func (r *Record) add(key string, value any) {
	r.Attributes = append(r.Attributes, Attribute{key, value})
}

func callAttributes(i *ledger.Intent) []Attribute {
	return []Attribute{
		{"durward.call.id", string(i.ID)}, {"mcp.method.name", i.Method}, {"durward.server", i.Server},
		{"durward.principal", i.Principal}, {"durward.entrance", string(i.Entrance)}, {"durward.era", i.Era},
		{"durward.route", i.Route}, {"durward.origin", string(i.Origin)}, {"durward.transport", string(i.Transport)},
		{"durward.process", i.Process}, {"durward.parent", string(i.Parent)},
		{"durward.client.name", i.Client.Name}, {"durward.client.version", i.Client.Version},
		{"durward.decision", i.Action.String()}, {"durward.rule", i.Rule}, {"durward.layer", i.Layer}, {"durward.reason", i.Reason},
		{"durward.bytes_in", int64(i.BytesIn)},
	}
}
