package ledger

import (
	"time"

	"durward"
)

// Filter chooses calls. Empty fields choose all; several must all hold.
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

// TimelineFilter chooses what a timeline shows.
type TimelineFilter struct {
	Since, Until time.Time
	Session      durward.SessionID
	Sandbox      string
	TraceID      string
	Layers       []string // tool, net, exec, fs, security, change; empty: all
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

// Stats are counts over the calls that a filter chooses.
type Stats struct {
	Calls    int64
	ByStatus map[durward.Status]int64
	ByAction map[string]int64
	ByServer []ServerStats // the busiest first, at most 100
	ByTool   []ToolStats   // the busiest first, at most 100
	BytesIn  int64
	BytesOut int64
	Duration Quantiles
}

// ServerStats and ToolStats are counts of one server or tool.
type ServerStats struct {
	Server            string
	Calls, NotOK      int64
	BytesIn, BytesOut int64
}

// ToolStats are counts of one tool.
type ToolStats struct {
	Server, Tool string
	Calls, NotOK int64
	Duration     Quantiles
}

// Quantiles of durations.
type Quantiles struct{ P50, P95, P99 time.Duration }
