package ledgerfile

import (
	"time"

	"durward"
	"durward/ledger"
)

// Shape is what a made ledger holds. The same shape makes the same records.
type Shape struct {
	Rows  int            // calls
	Days  int            // over which they are spread evenly; default 30
	Until time.Time      // when the last one came; default: now
	Batch int            // records of a link; default 2,000
	Only  string         // ask only questions with this in their name; "": all
	Done  func(rows int) // told how far it is, now and then; may be nil
}

func (s *Shape) check() {
	if s.Days <= 0 {
		s.Days = 30
	}
	if s.Until.IsZero() {
		s.Until = time.Now()
	}
	s.Until = s.Until.UTC().Truncate(time.Microsecond)
	if s.Batch <= 0 {
		s.Batch = 2000
	}
	if s.Done == nil {
		s.Done = func(int) {}
	}
}

// What occurs in a made ledger. Some values are common, some rare, and some never
// occur together: that is what searches are slow with.
const (
	Principals = 12 // "p0" … "p11"; the first are the busiest
	Servers    = 12 // "server0" …; principal p11 never calls server0
	Tools      = 20 // of each server: "tool0" …
	Rules      = 30 // "rule0" …

	RareTool      = "launch_rocket" // of server3, ten times in all
	RareRule      = "rule-of-thumb" // once a day
	RarePrincipal = "auditor"       // once a day, only for lists
)

// statuses of calls that are allowed, out of 10,000; the rest is ok.
func statuses() []share[durward.Status] {
	return []share[durward.Status]{
		{durward.StatusToolError, 200}, {durward.StatusError, 80}, {durward.StatusTimeout, 30}, {durward.StatusCancelled, 20},
		{durward.StatusInput, 10}, {durward.StatusUnknown, 1},
	}
}

// methods out of 10,000; the rest is tools/call.
func methods() []share[string] {
	return []share[string]{
		{"tools/list", 700}, {"resources/read", 300}, {"prompts/get", 60}, {"resources/list", 60}, {"completion/complete", 30},
		{"server/discover", 50}, {"prompts/list", 10},
	}
}

type share[T any] struct {
	value T
	of    int // in 10,000
}

// pick chooses by a number below 10,000.
func pick[T any](shares []share[T], n int, rest T) T {
	for _, s := range shares {
		if n < s.of {
			return s.value
		}
		n -= s.of
	}
	return rest
}

// originOf is where calls of a method come from.
func originOf(method string) ledger.Origin {
	switch method {
	case "tools/list", "prompts/list", "resources/list", "server/discover":
		return ledger.OriginLocal
	default:
		return ledger.OriginMCP
	}
}
