package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// CSVColumns returns the columns of an export as CSV, in order: the fields of
// [Exported] that are single values, with the names they have there; client and
// client_version are what the client says of itself.
func CSVColumns() []string {
	var names []string
	for _, c := range csvColumns() {
		names = append(names, c.name)
	}
	return names
}

type csvColumn struct {
	name string
	of   func(*Exported) string
}

func csvColumns() []csvColumn {
	return []csvColumn{
		{"id", func(e *Exported) string { return e.ID }},
		{"intent_at", func(e *Exported) string { return e.At }},
		{"status", func(e *Exported) string { return e.Status }},
		{"server", func(e *Exported) string { return e.Server }},
		{"method", func(e *Exported) string { return e.Method }},
		{"tool", func(e *Exported) string { return e.Tool }},
		{"full_name", func(e *Exported) string { return e.FullName }},
		{"decision", func(e *Exported) string { return e.Action }},
		{"deciding_rule", func(e *Exported) string { return e.Rule }},
		{"layer", func(e *Exported) string { return e.Layer }},
		{"policy_reason", func(e *Exported) string { return e.Reason }},
		{"principal", func(e *Exported) string { return e.Principal }},
		{"entrance", func(e *Exported) string { return e.Entrance }},
		{"session", func(e *Exported) string { return e.Session }},
		{"process", func(e *Exported) string { return e.Process }},
		{"client", func(e *Exported) string { return e.Client.Name }},
		{"client_version", func(e *Exported) string { return e.Client.Version }},
		{"route", func(e *Exported) string { return e.Route }},
		{"era", func(e *Exported) string { return e.Era }},
		{"origin", func(e *Exported) string { return e.Origin }},
		{"transport", func(e *Exported) string { return e.Transport }},
		{"risk", func(e *Exported) string { return e.Risk }},
		{"request_id", func(e *Exported) string { return e.RequestID }},
		{"parent", func(e *Exported) string { return e.Parent }},
		{"trace_id", func(e *Exported) string { return e.TraceID }},
		{"span_id", func(e *Exported) string { return e.SpanID }},
		{"dispatched_at", func(e *Exported) string { return e.Dispatched }},
		{"outcome_at", func(e *Exported) string { return e.Finished }},
		{"duration_us", func(e *Exported) string { return strconv.FormatInt(e.DurationUS, 10) }},
		{"attempts", func(e *Exported) string { return strconv.Itoa(e.Attempts) }},
		{"bytes_in", func(e *Exported) string { return strconv.Itoa(e.BytesIn) }},
		{"bytes_out", func(e *Exported) string { return strconv.Itoa(e.BytesOut) }},
		{"error", func(e *Exported) string { return e.Error }},
		{"request_preview", func(e *Exported) string { return e.Request }},
		{"response_preview", func(e *Exported) string { return e.Response }},
		{"request_body", func(e *Exported) string { return e.RequestBody }},
		{"response_body", func(e *Exported) string { return e.ResponseBody }},
		{"link", func(e *Exported) string { return strconv.FormatUint(e.Link, 10) }},
	}
}

// ExportCSV writes the calls that a filter chooses, newest first, as CSV (RFC 4180,
// UTF-8) with a line of names ([CSVColumns]). What a spreadsheet would take for a
// formula begins with an apostrophe: a cell that begins with = + - @, a tab or a
// carriage return. Other than that cells are what was recorded, with their line ends.
func ExportCSV(ctx context.Context, w io.Writer, r Reader, opt ExportOptions) error {
	columns := csvColumns()
	out := newCSVLines(w)
	if err := out.write(CSVColumns()); err != nil {
		return err
	}
	cells := make([]string, len(columns))
	err := export(ctx, r, opt, func(s *Story) error {
		e := ExportedCall(s)
		for i, c := range columns {
			cells[i] = plainCell(c.of(e))
		}
		return out.write(cells)
	})
	return finishLines(out.out, err)
}

// csvLines ends lines as RFC 4180 says, and leaves those within cells alone, which a
// csv.Writer does not.
type csvLines struct {
	out  *bufio.Writer
	line bytes.Buffer
	row  *csv.Writer // writes to line
}

func newCSVLines(w io.Writer) *csvLines {
	l := &csvLines{out: bufio.NewWriterSize(w, 64<<10)}
	l.row = csv.NewWriter(&l.line)
	return l
}

func (l *csvLines) write(cells []string) error {
	l.line.Reset()
	err := l.row.Write(cells)
	if l.row.Flush(); err == nil {
		_, err = l.out.Write(append(bytes.TrimSuffix(l.line.Bytes(), []byte("\n")), "\r\n"...))
	}
	if err != nil {
		return writeError(err)
	}
	return nil
}

// plainCell makes a text one that no spreadsheet runs.
func plainCell(text string) string {
	if text != "" && strings.IndexByte("=+-@\t\r", text[0]) >= 0 {
		return "'" + text
	}
	return text
}
