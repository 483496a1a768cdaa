package rig_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/ledger"
	"durward/test/kill/rig"
)

// base is the time of a run.
func base() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func row(status durward.Status, attempts int) *rig.Row {
	return &rig.Row{
		Intent:   ledger.Intent{ID: "1", At: base()},
		Outcomes: []ledger.Outcome{{Call: "1", At: base().Add(time.Second), Dispatched: base(), Status: status, Attempts: attempts, Error: "why"}},
	}
}

func answered(result string) rig.Call {
	return rig.Call{ID: "a", Begun: base(), Ended: base().Add(time.Second), Answer: rig.Answer{Result: json.RawMessage(result)}}
}

func refused() rig.Call {
	return rig.Call{ID: "a", Begun: base(), Ended: base().Add(time.Second), Answer: rig.Answer{Code: 50301, Text: "no"}}
}

// good is a run of one call in which nothing is wrong.
func good() *rig.Evidence {
	return &rig.Evidence{
		Calls: []rig.Call{answered(`{"content":[]}`)}, Seen: map[string]int{"a": 1},
		Records: &rig.Records{Rows: map[string]*rig.Row{"a": row(durward.StatusOK, 1)}},
	}
}

func TestTheVerdictKnowsEveryPromise(t *testing.T) {
	cut := func(e *rig.Evidence) {
		e.Records.Rows["a"] = row(durward.StatusUnknown, 0)
		e.Records.Rows["a"].Recovered = true
		e.Kills = []time.Time{base().Add(1100 * time.Millisecond)}
	}
	for name, tt := range map[string]struct {
		change func(*rig.Evidence)
		want   string // in the problem; empty: none
	}{
		"all is well":                {func(*rig.Evidence) {}, ""},
		"no row":                     {func(e *rig.Evidence) { delete(e.Records.Rows, "a") }, "reached a server and has no row"},
		"no row, and not seen":       {func(e *rig.Evidence) { clear(e.Records.Rows); clear(e.Seen) }, "answered"},
		"never closed":               {func(e *rig.Evidence) { e.Records.Open = []string{"1"} }, "no outcome was ever written"},
		"the records are wrong":      {func(e *rig.Evidence) { e.Records.Problems = []string{"link 2"} }, "link 2"},
		"answered, and not ok":       {func(e *rig.Evidence) { e.Records.Rows["a"] = row(durward.StatusError, 1) }, "its row says error"},
		"cut off by a kill":          {cut, ""},
		"cut off by a kill, in full": {func(e *rig.Evidence) { cut(e); e.Full = true }, "its row says unknown"},
		"cut off by nothing":         {func(e *rig.Evidence) { cut(e); e.Kills = nil }, "its row says unknown"},
		"cut off long before":        {func(e *rig.Evidence) { cut(e); e.Kills[0] = base().Add(time.Minute) }, "its row says unknown"},
		"seen, and said not sent":    {func(e *rig.Evidence) { e.Records.Rows["a"] = row(durward.StatusOK, 0) }, "never was sent"},
		"seen, and said refused":     {func(e *rig.Evidence) { e.Records.Rows["a"] = row(durward.StatusRefused, 1) }, "that it was refused"},
		"sent before it came":        {func(e *rig.Evidence) { e.Records.Rows["a"].Outcomes[0].Dispatched = base().Add(-1) }, "before it came"},
		"refused":                    {func(e *rig.Evidence) { e.Calls[0] = refused(); clear(e.Seen); clear(e.Records.Rows) }, ""},
		"refused, and executed":      {func(e *rig.Evidence) { e.Calls[0] = refused() }, "was refused (no) and reached a server"},
		"a connection broke":         {func(e *rig.Evidence) { e.Calls[0].Answer = rig.Answer{Broke: errors.New("reset")} }, ""},
		"no answer for a minute": {func(e *rig.Evidence) {
			e.Calls[0].Answer, e.Calls[0].Ended = rig.Answer{Broke: errors.New("x")}, base().Add(time.Minute)
		}, "got no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			e := good()
			tt.change(e)
			v := rig.Judge(e)
			said := strings.Join(v.Problems, "\n")
			if (tt.want == "") != (said == "") || !strings.Contains(said, tt.want) {
				t.Errorf("want %q, got:\n%s", tt.want, said)
			}
			if v.Missing > 0 != (tt.want == "reached a server and has no row") || v.Cut > 0 != (name == "cut off by a kill") {
				t.Errorf("%d missing, %d cut", v.Missing, v.Cut)
			}
		})
	}
}
