package ledger

import (
	"time"

	"durward"
)

// Filter chooses calls. Empty fields choose all; several must all hold.
//
// Calls are in the order in which they were received ([Intent].At), the newest first;
// of two of the same microsecond the one that was recorded last. A cursor stays good
// while calls are recorded and pruned: what was there when the first page was read is on
// one page, and only one, as long as it is there.
type Filter struct {
	Since, Until time.Time // of the intent; Until is exclusive
	Principal    string
	Session      durward.SessionID
	Server       string
	Tool         string // own or offered name
	Method       string
	Status       durward.Status // "dispatched": without an outcome yet
	Action       string         // allow, ask, block
	Rule         string
	TraceID      string // 32 hex digits
	Entrance     durward.Entrance
	Origin       Origin
	MinDuration  time.Duration

	Cursor string // of the page before; empty: the newest
	Limit  int    // rows of a page; default 50, at most 1,000
}

// Row is one call as lists show it: its intent, and its outcome if there is one.
type Row struct {
	Intent
	Outcome *Outcome // nil: it is under way
}

// Page is a part of the calls, newest first.
type Page struct {
	Rows []Row
	Next string // cursor of the older rows; empty: there are none
}

// Story is everything about one call.
type Story struct {
	Row
	Decisions []Decision
	Approvals []Approval
	Flows     []Flow
	Link      Link // that the intent is in
}

// StoryPage is a part of the calls, newest first, with everything about each.
type StoryPage struct {
	Stories []*Story
	Next    string // cursor of the older ones; empty: there are none
}

// TimelineFilter chooses what a timeline shows. With a session, a sandbox or a trace
// only what belongs to it: calls, events, and what belongs to such calls.
type TimelineFilter struct {
	Since, Until time.Time
	Session      durward.SessionID
	Sandbox      string
	TraceID      string
	Layers       []string // tool, net, exec, fs, sandbox, security, change; empty: all
	Cursor       string
	Limit        int // default 200, at most 2,000
}

// Moment is one thing in a timeline.
type Moment struct {
	At       time.Time
	Layer    string
	Ref      string // id of the call, or of what else it is
	Summary  string
	Status   string
	Duration time.Duration
	TraceID  string
}

// TimelinePage is a part of a timeline, newest first.
type TimelinePage struct {
	Moments []Moment
	Next    string
}

// Stats are counts over the calls that a filter chooses. They are exact, except for
// quantiles, which are at most 1.6 % off, and for the lists of servers and tools where
// there are more than 8,192 of them.
type Stats struct {
	Calls    int64
	ByStatus map[durward.Status]int64
	ByAction map[string]int64
	ByServer []ServerStats // the busiest first, at most 100
	ByTool   []ToolStats   // the busiest first, at most 100
	BytesIn  int64
	BytesOut int64
	Duration Quantiles // of calls that have an outcome, from when they were received
}

// ServerStats are counts of one server. NotOK are the calls that ended otherwise than
// ok or with a question to the caller.
type ServerStats struct {
	Server            string
	Calls, NotOK      int64
	BytesIn, BytesOut int64
}

// ToolStats are counts of the calls (tools/call) of one tool.
type ToolStats struct {
	Server, Tool string
	Calls, NotOK int64
	Duration     Quantiles
}

// Quantiles of durations.
type Quantiles struct{ P50, P95, P99 time.Duration }
