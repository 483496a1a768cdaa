package ledger

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"durward"
)

// Exported is one line of an export as NDJSON: one call. Names of fields are those of
// `durward calls --json`. Fields that are empty are left out. Times are RFC 3339 in UTC
// with microseconds.
type Exported struct {
	ID           string         `json:"id"`
	At           string         `json:"intent_at"`
	Status       string         `json:"status"`
	Session      string         `json:"session,omitempty"`
	Parent       string         `json:"parent,omitempty"`
	TraceID      string         `json:"trace_id,omitempty"`
	SpanID       string         `json:"span_id,omitempty"`
	Principal    string         `json:"principal,omitempty"`
	Entrance     string         `json:"entrance,omitempty"`
	Process      string         `json:"process,omitempty"`
	Client       ExportedClient `json:"client,omitzero"`
	Route        string         `json:"route,omitempty"`
	Era          string         `json:"era,omitempty"`
	Origin       string         `json:"origin,omitempty"`
	Transport    string         `json:"transport,omitempty"`
	Server       string         `json:"server,omitempty"`
	Method       string         `json:"method,omitempty"`
	Tool         string         `json:"tool,omitempty"`
	FullName     string         `json:"full_name,omitempty"`
	RequestID    string         `json:"request_id,omitempty"` // raw JSON text
	Risk         string         `json:"risk,omitempty"`
	Action       string         `json:"decision"`
	Rule         string         `json:"deciding_rule,omitempty"`
	Layer        string         `json:"layer,omitempty"`
	Reason       string         `json:"policy_reason,omitempty"`
	Dispatched   string         `json:"dispatched_at,omitempty"`
	Finished     string         `json:"outcome_at,omitempty"`
	DurationUS   int64          `json:"duration_us,omitempty"`
	Attempts     int            `json:"attempts,omitempty"`
	BytesIn      int            `json:"bytes_in"`
	BytesOut     int            `json:"bytes_out"`
	Error        string         `json:"error,omitempty"`
	Request      string         `json:"request_preview,omitempty"`
	Response     string         `json:"response_preview,omitempty"`
	RequestBody  string         `json:"request_body,omitempty"` // SHA-256, hex
	ResponseBody string         `json:"response_body,omitempty"`
	Link         uint64         `json:"link"` // of the chain, that the intent is in

	Decisions []ExportedDecision `json:"decisions,omitempty"`
	Approvals []ExportedApproval `json:"approvals,omitempty"`
	Flows     []ExportedFlow     `json:"http_requests,omitempty"`
	// Bodies are there with ExportOptions.Bodies only.
	Bodies *ExportedBodies `json:"bodies,omitempty"`
}

// ExportedClient is what a client says of itself.
type ExportedClient struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// ExportedDecision is a [Decision].
type ExportedDecision struct {
	At        string `json:"at"`
	Stage     string `json:"stage,omitempty"`
	Layer     string `json:"layer,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Action    string `json:"action,omitempty"`
	Effective string `json:"effective,omitempty"`
	Detection string `json:"detection,omitempty"`
	Detail    string `json:"detail,omitempty"`
}

// ExportedApproval is an [Approval].
type ExportedApproval struct {
	ID     string `json:"id"`
	At     string `json:"at"`
	Status string `json:"status"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	Scope  string `json:"scope,omitempty"`
}

// ExportedFlow is a [Flow].
type ExportedFlow struct {
	At       string `json:"at"`
	Server   string `json:"server,omitempty"`
	Method   string `json:"method,omitempty"`
	Host     string `json:"host,omitempty"`
	IP       string `json:"ip,omitempty"`
	Port     int    `json:"port,omitempty"`
	Path     string `json:"path,omitempty"`
	Status   int    `json:"status,omitempty"`
	BytesOut int64  `json:"bytes_out"`
	BytesIn  int64  `json:"bytes_in"`
	Decision string `json:"decision,omitempty"`
}

// ExportedBodies are the bodies of a call.
type ExportedBodies struct {
	Request  *ExportedBody `json:"request,omitempty"`
	Response *ExportedBody `json:"response,omitempty"`
}

// ExportedBody is a whole request or response.
type ExportedBody struct {
	Original  int    `json:"original_bytes"`
	Truncated bool   `json:"truncated,omitempty"` // the text ends with a marker that says so
	Text      string `json:"text,omitempty"`
	Base64    string `json:"base64,omitempty"` // instead of Text when that is no UTF-8
	Gone      bool   `json:"gone,omitempty"`   // it was removed for its age
	// Damaged says why there is neither Text nor Base64: what is stored is not what was
	// recorded. Verify names it, too; all others are exported.
	Damaged string `json:"damaged,omitempty"`
}

// ExportNDJSON writes the calls that a filter chooses, newest first, one JSON
// object a line. It needs memory for a page of calls and, with bodies, for those of
// one call.
func ExportNDJSON(ctx context.Context, w io.Writer, r Reader, opt ExportOptions) error {
	out := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err := export(ctx, r, opt, func(s *Story) error {
		e := ExportedCall(s)
		if opt.Bodies {
			var err error
			if e.Bodies, err = exportBodies(ctx, r, s); err != nil {
				return err
			}
		}
		if err := encoder.Encode(e); err != nil {
			return writeError(err)
		}
		return nil
	})
	return finishLines(out, err)
}

// finishLines writes what is buffered, also of an export that was ended.
func finishLines(w *bufio.Writer, err error) error {
	if flushed := w.Flush(); err == nil && flushed != nil {
		return writeError(flushed)
	}
	return err
}

// ExportedCall returns a call as it is exported, without bodies.
func ExportedCall(s *Story) *Exported {
	i := &s.Intent
	e := &Exported{
		ID: string(i.ID), At: microStamp(i.At), Status: "dispatched", Session: string(i.Session), Parent: string(i.Parent),
		TraceID: hexOf(i.TraceID[:]), SpanID: hexOf(i.SpanID[:]), Principal: i.Principal, Entrance: string(i.Entrance), Process: i.Process,
		Client: ExportedClient(i.Client), Route: i.Route, Era: i.Era, Origin: string(i.Origin), Transport: string(i.Transport),
		Server: i.Server, Method: i.Method, Tool: i.Tool, FullName: i.FullName, RequestID: i.RequestID, Risk: i.Risk.String(),
		Action: i.Action.String(), Rule: i.Rule, Layer: i.Layer, Reason: i.Reason, BytesIn: i.BytesIn, Request: i.Preview, RequestBody: hexOf(i.Body[:]), Link: s.Link.Seq,
	}
	if o := s.Outcome; o != nil {
		e.Status, e.Dispatched, e.Finished, e.DurationUS = string(o.Status), microStamp(o.Dispatched), microStamp(o.At), o.Duration.Microseconds()
		e.Attempts, e.BytesOut, e.Error, e.Response, e.ResponseBody = o.Attempts, o.BytesOut, o.Error, o.Preview, hexOf(o.Body[:])
	}
	for _, d := range s.Decisions {
		e.Decisions = append(e.Decisions, ExportedDecision{microStamp(d.At), d.Stage, d.Layer, d.Rule, d.Action, d.Effective, d.Detection, d.Detail})
	}
	for _, a := range s.Approvals {
		e.Approvals = append(e.Approvals, ExportedApproval{a.ID, microStamp(a.At), a.Status, a.By, a.Reason, a.Scope})
	}
	for _, f := range s.Flows {
		e.Flows = append(e.Flows, ExportedFlow{microStamp(f.At), f.Server, f.Method, f.Host, f.IP, f.Port, f.Path, f.Status, f.BytesOut, f.BytesIn, f.Decision})
	}
	return e
}

func exportBodies(ctx context.Context, r Reader, s *Story) (*ExportedBodies, error) {
	b := &ExportedBodies{}
	var err error
	if b.Request, err = exportBody(ctx, r, s.Body); err != nil {
		return nil, err
	}
	if s.Outcome != nil {
		if b.Response, err = exportBody(ctx, r, s.Outcome.Body); err != nil {
			return nil, err
		}
	}
	if *b == (ExportedBodies{}) {
		return nil, nil
	}
	return b, nil
}

// exportBody reads one body; nil if there is none because the preview is all of it.
func exportBody(ctx context.Context, r Reader, d Digest) (_ *ExportedBody, err error) {
	if d == (Digest{}) {
		return nil, nil
	}
	content, info, err := r.Body(ctx, d)
	if durward.KindOf(err) == durward.NotFound {
		return &ExportedBody{Gone: true}, nil
	}
	if err != nil {
		return nil, exportError(ctx, err)
	}
	defer content.Close()
	// What is kept of a body is never longer than it was, but for the marker.
	data, err := io.ReadAll(io.LimitReader(content, int64(info.Original)+cutMarkerMost))
	e := &ExportedBody{Original: info.Original, Truncated: info.Truncated}
	switch {
	case ctx.Err() != nil:
		return nil, exportError(ctx, ctx.Err())
	case err != nil:
		e.Damaged = bare(err).Error()
	case utf8.Valid(data):
		e.Text = string(data)
	default:
		e.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	return e, nil
}

// microStamp is a time of an export; empty for none.
func microStamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampForm)
}

// hexOf is an identifier or digest in hex; empty if it is all zeros.
func hexOf(b []byte) string {
	for _, c := range b {
		if c != 0 {
			return hex.EncodeToString(b)
		}
	}
	return ""
}
