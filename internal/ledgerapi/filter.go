package ledgerapi

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/internal/yamlx"
	"durward/ledger"
)

// CallFilter reads a filter; what cannot be read is an error, so that none is overlooked.
// A date is one where now is.
func CallFilter(f *client.CallFilter, now time.Time) (ledger.Filter, error) {
	out := ledger.Filter{
		Principal: f.Principal, Session: durward.SessionID(f.Session), Server: f.Server, Tool: f.Tool, Method: f.Method,
		Status: durward.Status(f.Status), Action: f.Decision, Rule: f.Rule, TraceID: f.Trace, Entrance: durward.Entrance(f.Entrance),
		Origin: ledger.Origin(f.Origin), MinDuration: f.MinDuration, Cursor: f.Cursor, Limit: f.Limit,
	}
	var err error
	if out.Since, err = when("since", f.Since, now); err != nil {
		return out, err
	}
	if out.Until, err = when("until", f.Until, now); err != nil {
		return out, err
	}
	for _, word := range []struct {
		name, text string
		known      []string
	}{
		{"status", f.Status, Statuses()}, {"decision", f.Decision, Decisions()}, {"entrance", f.Entrance, Entrances()}, {"origin", f.Origin, Origins()},
	} {
		if err := oneOf(word.name, word.text, word.known); err != nil {
			return out, err
		}
	}
	if f.MinDuration < 0 {
		return out, durward.Errorf(durward.Invalid, "", "min_duration must not be less than nothing")
	}
	return out, isTrace(f.Trace)
}

// Statuses are what calls are asked for by: how they ended, or that they have not.
func Statuses() []string {
	words := []string{client.StatusDispatched}
	for _, s := range []durward.Status{
		durward.StatusOK, durward.StatusToolError, durward.StatusError, durward.StatusRefused, durward.StatusDenied,
		durward.StatusCancelled, durward.StatusTimeout, durward.StatusUnknown, durward.StatusInput,
	} {
		words = append(words, string(s))
	}
	return words
}

// Decisions are what rules decide.
func Decisions() []string { return []string{"allow", "ask", "block"} }

// Entrances are the doors by which calls come in.
func Entrances() []string { return []string{"http", "stdio", "library", "console"} }

// Origins are where calls come from.
func Origins() []string {
	return []string{"mcp", "builtin", "local", "host", "library", "console", "native"}
}

// Layers are those of a timeline.
func Layers() []string {
	return []string{"tool", "net", "exec", "fs", "sandbox", "security", "change"}
}

func oneOf(name, text string, known []string) error {
	if text == "" || slices.Contains(known, text) {
		return nil
	}
	return durward.Errorf(durward.Invalid, "", "%s must be one of %s", name, strings.Join(known, ", "))
}

func isTrace(text string) error {
	if id, err := hex.DecodeString(text); text != "" && (err != nil || len(id) != 16 || strings.ToLower(text) != text) {
		return durward.Errorf(durward.Invalid, "", "trace must be 32 hex digits in lower case, the id of a W3C trace")
	}
	return nil
}

// when reads a time: RFC 3339, a date, or how long ago; "" is no bound.
func when(name, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := yamlx.ParseDuration(text); ok && d >= 0 {
		return now.Add(-d).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, durward.Errorf(durward.Invalid, "", "%s must be a time such as 2026-07-28T09:00:00Z, a date such as 2026-07-28, or how long ago: 90s, 1h, 2d", name)
}

// TimelineFilter is CallFilter for timelines.
func TimelineFilter(f *client.TimelineFilter, now time.Time) (ledger.TimelineFilter, error) {
	out := ledger.TimelineFilter{
		Session: durward.SessionID(f.Session), Sandbox: f.Sandbox, TraceID: f.Trace, Layers: f.Layers, Cursor: f.Cursor, Limit: f.Limit,
	}
	var err error
	if out.Since, err = when("since", f.Since, now); err != nil {
		return out, err
	}
	if out.Until, err = when("until", f.Until, now); err != nil {
		return out, err
	}
	for _, layer := range f.Layers {
		if !slices.Contains(Layers(), layer) {
			return out, durward.Errorf(durward.Invalid, "", "layers must be of %s, with commas between them", strings.Join(Layers(), ", "))
		}
	}
	return out, isTrace(f.Trace)
}

// Matches is what a filter means, for a call that is not looked for in the store.
func Matches(f *ledger.Filter, r *ledger.Row) bool {
	status, took := durward.Status(client.StatusDispatched), time.Duration(0)
	if r.Outcome != nil {
		status, took = r.Outcome.Status, r.Outcome.Duration
	}
	return within(f, r) && took >= f.MinDuration &&
		same(f.Principal, r.Principal) && same(f.Session, r.Session) && same(f.Server, r.Server) &&
		(same(f.Tool, r.Tool) || same(f.Tool, r.FullName)) && same(f.Method, r.Method) && same(f.Status, status) &&
		same(f.Action, r.Action.String()) && same(f.Rule, r.Rule) && same(f.TraceID, Hex(r.TraceID[:])) &&
		same(f.Entrance, r.Entrance) && same(f.Origin, r.Origin)
}

func within(f *ledger.Filter, r *ledger.Row) bool {
	return (f.Since.IsZero() || !r.Intent.At.Before(f.Since)) && (f.Until.IsZero() || r.Intent.At.Before(f.Until))
}

func same[T ~string](wanted, is T) bool { return wanted == "" || wanted == is }
