package ledgerfile

import (
	"context"
	"fmt"
	"time"

	"durward"
	"durward/ledger"
)

// View is a question to a made ledger.
type View struct {
	Name string
	Most time.Duration // how long it may take
	Ask  func(ctx context.Context, r ledger.Reader) (rows int, err error)
}

// What a question may take.
const (
	mostPage  = 50 * time.Millisecond
	mostDay   = 300 * time.Millisecond
	mostMonth = 3 * time.Second
)

// Views are the questions that are measured: first pages of everything that can be
// filtered, common, rare and absent, pairs that never occur together, and statistics.
func Views(ctx context.Context, r ledger.Reader, s Shape) ([]View, error) {
	s.check()
	newest, err := r.Calls(ctx, ledger.Filter{Limit: 1000})
	if err != nil {
		return nil, err
	}
	some, err := sample(newest.Rows)
	if err != nil {
		return nil, err
	}
	middle := s.Until.Add(-time.Duration(s.Days) * 12 * time.Hour)
	old, err := r.Calls(ctx, ledger.Filter{Until: middle, Limit: 1000})
	if err != nil {
		return nil, err
	}
	past, err := sample(old.Rows)
	if err != nil {
		return nil, err
	}
	views := []View{
		page("none", ledger.Filter{}),
		page("limit-1000", ledger.Filter{Limit: 1000}),
		page("until-middle", ledger.Filter{Until: middle}),
		page("hour-in-the-middle", ledger.Filter{Since: middle.Add(-time.Hour), Until: middle}),
		page("principal", ledger.Filter{Principal: "p0"}),
		page("principal-rare", ledger.Filter{Principal: RarePrincipal}),
		page("principal-absent", ledger.Filter{Principal: "nobody"}),
		page("session", ledger.Filter{Session: some.Session}),
		page("session-old", ledger.Filter{Session: past.Session}),
		page("session-absent", ledger.Filter{Session: "019b0000-0000-7000-8000-000000000000"}),
		page("server", ledger.Filter{Server: "server0"}),
		page("server-seldom", ledger.Filter{Server: "server11"}),
		page("server-absent", ledger.Filter{Server: "nowhere"}),
		page("tool", ledger.Filter{Tool: "server0__tool0"}),
		page("tool-own-name", ledger.Filter{Tool: "tool19"}),
		page("tool-rare", ledger.Filter{Tool: RareTool}),
		page("tool-absent", ledger.Filter{Tool: "nothing"}),
		page("method", ledger.Filter{Method: "tools/list"}),
		page("status-ok", ledger.Filter{Status: durward.StatusOK}),
		page("status-timeout", ledger.Filter{Status: durward.StatusTimeout}),
		page("status-unknown", ledger.Filter{Status: durward.StatusUnknown}),
		page("status-dispatched", ledger.Filter{Status: "dispatched"}),
		page("status-absent", ledger.Filter{Status: "strange"}),
		page("action-ask", ledger.Filter{Action: "ask"}),
		page("action-block", ledger.Filter{Action: "block"}),
		page("rule", ledger.Filter{Rule: "rule29"}),
		page("rule-rare", ledger.Filter{Rule: RareRule}),
		page("trace", ledger.Filter{TraceID: fmt.Sprintf("%x", some.TraceID)}),
		page("trace-old", ledger.Filter{TraceID: fmt.Sprintf("%x", past.TraceID)}),
		page("trace-absent", ledger.Filter{TraceID: "00000000000000000000000000000001"}),
		page("entrance", ledger.Filter{Entrance: durward.EntranceStdio}),
		page("origin", ledger.Filter{Origin: ledger.OriginLocal}),
		page("origin-absent", ledger.Filter{Origin: ledger.OriginConsole}),
		page("longer-than-1s", ledger.Filter{MinDuration: time.Second}),
		page("longer-than-1m", ledger.Filter{MinDuration: time.Minute}),
		page("longer-than-1h", ledger.Filter{MinDuration: time.Hour}),
	}
	views = append(views, pairs(middle)...)
	return append(views, others(s, some, past)...), nil
}

// pairs are filters of two common values or more that never, or seldom, occur together.
func pairs(middle time.Time) []View {
	return []View{
		page("empty-principal-server", ledger.Filter{Principal: "p11", Server: "server0"}),
		page("empty-refused-longer-than-1s", ledger.Filter{Status: durward.StatusRefused, MinDuration: time.Second}),
		page("empty-ok-longer-than-1m", ledger.Filter{Status: durward.StatusOK, MinDuration: time.Minute}),
		page("empty-list-toolerror", ledger.Filter{Method: "tools/list", Status: durward.StatusToolError}),
		page("empty-local-server", ledger.Filter{Origin: ledger.OriginLocal, Server: "server1"}),
		page("empty-block-ok", ledger.Filter{Action: "block", Status: durward.StatusOK}),
		page("empty-raretool-unknown", ledger.Filter{Tool: RareTool, Status: durward.StatusUnknown}),
		page("empty-five-common", ledger.Filter{Principal: "p11", Server: "server0", Method: "tools/call", Action: "allow", Status: durward.StatusOK}),
		page("seldom-server-timeout", ledger.Filter{Server: "server11", Status: durward.StatusTimeout}),
		page("seldom-old-principal-rule", ledger.Filter{Principal: "p9", Rule: "rule28", Until: middle}),
	}
}

func others(s Shape, some, past *ledger.Row) []View {
	day := s.Until.Add(-time.Duration(s.Days) * 12 * time.Hour)
	in := func(f ledger.Filter) ledger.Filter { f.Since, f.Until = day.Add(-24*time.Hour), day; return f }
	return []View{
		{"next-page", mostPage, func(ctx context.Context, r ledger.Reader) (int, error) {
			p, err := r.Calls(ctx, ledger.Filter{Status: durward.StatusTimeout, Until: day, Limit: 1})
			if err != nil {
				return 0, err
			}
			p, err = r.Calls(ctx, ledger.Filter{Status: durward.StatusTimeout, Cursor: p.Next})
			return len(p.Rows), err
		}},
		{"show", mostPage, func(ctx context.Context, r ledger.Reader) (int, error) {
			_, err := r.Call(ctx, string(past.ID))
			return 1, err
		}},
		{"show-prefix", mostPage, func(ctx context.Context, r ledger.Reader) (int, error) {
			_, err := r.Call(ctx, string(past.ID)[:30])
			return 1, err
		}},
		timeline("timeline", ledger.TimelineFilter{}),
		timeline("timeline-until-middle", ledger.TimelineFilter{Until: day}),
		timeline("timeline-session-old", ledger.TimelineFilter{Session: past.Session}),
		timeline("timeline-trace-old", ledger.TimelineFilter{TraceID: fmt.Sprintf("%x", past.TraceID)}),
		timeline("timeline-sandbox", ledger.TimelineFilter{Sandbox: "box7"}),
		timeline("timeline-sandbox-absent", ledger.TimelineFilter{Sandbox: "elsewhere"}),
		timeline("timeline-security", ledger.TimelineFilter{Layers: []string{"security"}}),
		stats("stats-day", mostDay, in(ledger.Filter{})),
		stats("stats-day-server", mostDay, in(ledger.Filter{Server: "server0"})),
		stats("stats-day-status", mostDay, in(ledger.Filter{Status: durward.StatusToolError})),
		stats("stats-last-day", mostDay, ledger.Filter{Since: s.Until.Add(-24 * time.Hour)}),
		stats("stats-month", mostMonth, ledger.Filter{}),
		stats("stats-month-principal", mostMonth, ledger.Filter{Principal: "p5"}),
	}
}

// sample returns a call that has a session and a trace.
func sample(rows []ledger.Row) (*ledger.Row, error) {
	for i := range rows {
		if rows[i].Session != "" && rows[i].TraceID != [16]byte{} {
			return &rows[i], nil
		}
	}
	return nil, durward.Errorf(durward.NotFound, "ledger", "the ledger is too small to be measured; make one of 10,000 calls or more")
}

func page(name string, f ledger.Filter) View {
	return View{name, mostPage, func(ctx context.Context, r ledger.Reader) (int, error) {
		p, err := r.Calls(ctx, f)
		return len(p.Rows), err
	}}
}

func timeline(name string, f ledger.TimelineFilter) View {
	return View{name, mostPage, func(ctx context.Context, r ledger.Reader) (int, error) {
		p, err := r.Timeline(ctx, f)
		return len(p.Moments), err
	}}
}

func stats(name string, most time.Duration, f ledger.Filter) View {
	return View{name, most, func(ctx context.Context, r ledger.Reader) (int, error) {
		s, err := r.Stats(ctx, f)
		if err != nil {
			return 0, err
		}
		return int(s.Calls), nil
	}}
}
