package client

import (
	"time"

	"durward"
)

// StatusDispatched is the status of a call that has no outcome yet.
const StatusDispatched = "dispatched"

// CallRecord is one call as it was written down before it acted, and how it
// ended. Texts of servers and clients are what they said.
type CallRecord struct {
	ID        durward.CallID    `json:"id"` // sorts by time
	Session   durward.SessionID `json:"session,omitempty"`
	Parent    durward.CallID    `json:"parent,omitempty"` // the call during which this one was made
	TraceID   string            `json:"trace_id,omitempty"`
	SpanID    string            `json:"span_id,omitempty"`
	IntentAt  time.Time         `json:"intent_at"` // when it was taken; UTC, microseconds
	Principal string            `json:"principal"`
	Entrance  durward.Entrance  `json:"entrance"`
	Process   string            `json:"process,omitempty"` // the calling process, where the entrance knows it
	Client    ClientSays        `json:"client"`            // what the client says of itself
	Route     string            `json:"route"`
	Era       string            `json:"era,omitempty"`

	Origin    string            `json:"origin"`
	Transport durward.Transport `json:"transport,omitempty"` // of the server
	Server    string            `json:"server,omitempty"`    // empty: Durward answered by itself
	Method    string            `json:"method"`
	Tool      string            `json:"tool,omitempty"`       // the server's own name
	FullName  string            `json:"full_name,omitempty"`  // the name offered, or asked for where nobody offers it
	RequestID string            `json:"request_id,omitempty"` // the caller's, as it was written
	Risk      string            `json:"risk,omitempty"`

	Decision string `json:"decision"` // allow, ask or block
	Rule     string `json:"deciding_rule,omitempty"`
	Layer    string `json:"layer,omitempty"`
	Reason   string `json:"policy_reason,omitempty"`

	BytesIn int    `json:"bytes_in"`
	Request string `json:"request_preview,omitempty"` // redacted, at most 1 KiB
	// RequestBody is the digest of the whole parameters; empty: the preview is all, or
	// it was not kept.
	RequestBody string `json:"request_body,omitempty"`

	Status       string    `json:"status"` // dispatched: it is under way
	DispatchedAt time.Time `json:"dispatched_at,omitzero"`
	OutcomeAt    time.Time `json:"outcome_at,omitzero"`
	DurationUS   int64     `json:"duration_us,omitempty"` // microseconds
	Attempts     int       `json:"attempts,omitempty"`
	BytesOut     int       `json:"bytes_out,omitempty"`
	Error        string    `json:"error,omitempty"`
	Response     string    `json:"response_preview,omitempty"`
	ResponseBody string    `json:"response_body,omitempty"`
}

// ClientSays is the name and version that a client gives of itself.
type ClientSays struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// CallList is a part of the calls, newest first.
type CallList struct {
	Calls []CallRecord `json:"calls"`
	Next  string       `json:"next,omitempty"` // cursor of the older ones; empty: there are none
}

// CallFilter chooses calls. Empty fields choose all; several must all hold.
type CallFilter struct {
	// Since and Until bound when a call was taken: a time (RFC 3339), a date, or how
	// long ago (90s, 1h, 2d). Until is exclusive.
	Since, Until string
	Principal    string
	Session      string
	Server       string
	Tool         string // own or offered name
	Method       string
	Status       string // ok, tool_error, error, refused, denied, cancelled, timeout, unknown, input, dispatched
	Decision     string // allow, ask, block
	Rule         string
	Trace        string // 32 hex digits
	Entrance     string // http, stdio, library, console
	Origin       string
	MinDuration  time.Duration
	Cursor       string // Next of the page before; empty: the newest
	Limit        int    // default 50, at most 1,000
}

// CallStory is everything about one call.
type CallStory struct {
	Call      CallRecord       `json:"call"`
	Decisions []DecisionRecord `json:"decisions"`
	Approvals []ApprovalRecord `json:"approvals"`
	Flows     []FlowRecord     `json:"flows"`
	Link      LinkRecord       `json:"link"` // of the chain, that the intent is in
}

// DecisionRecord is one rule that matched, or one thing a plugin did.
type DecisionRecord struct {
	At        time.Time `json:"at"`
	Stage     string    `json:"stage"`
	Layer     string    `json:"layer,omitempty"`
	Rule      string    `json:"rule,omitempty"`
	Action    string    `json:"action"`
	Effective string    `json:"effective"`
	Detection string    `json:"detection,omitempty"`
	Detail    string    `json:"detail,omitempty"`
}

// ApprovalRecord is one step in the life of a question to a person.
type ApprovalRecord struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	Status string    `json:"status"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Scope  string    `json:"scope,omitempty"`
}

// FlowRecord is a connection or request that Durward made for a call.
type FlowRecord struct {
	At       time.Time `json:"at"`
	Server   string    `json:"server,omitempty"`
	Method   string    `json:"method,omitempty"`
	Host     string    `json:"host"`
	IP       string    `json:"ip,omitempty"`
	Port     int       `json:"port,omitempty"`
	Path     string    `json:"path,omitempty"`
	Status   int       `json:"status,omitempty"`
	BytesIn  int64     `json:"bytes_in,omitempty"`
	BytesOut int64     `json:"bytes_out,omitempty"`
	Decision string    `json:"decision,omitempty"`
}

// LinkRecord is a link of the chain: the records that were committed together.
type LinkRecord struct {
	Seq     uint64    `json:"seq"`
	At      time.Time `json:"at"`
	Records int       `json:"records"`
	Hash    string    `json:"hash"` // hex
}

// BodyInfo describes a stored body.
type BodyInfo struct {
	Digest    string `json:"digest"`    // SHA-256 in hex, of the whole
	Original  int    `json:"original"`  // bytes it had
	Truncated bool   `json:"truncated"` // it was longer than limits.ledger_body, and its end is missing
}

// Moment is one thing in a timeline.
type Moment struct {
	At         time.Time `json:"at"`
	Layer      string    `json:"layer"` // tool, net, exec, fs, sandbox, security, change
	Ref        string    `json:"ref,omitempty"`
	Summary    string    `json:"summary"`
	Status     string    `json:"status,omitempty"`
	DurationUS int64     `json:"duration_us,omitempty"`
	TraceID    string    `json:"trace_id,omitempty"`
}

// MomentList is a part of a timeline, newest first.
type MomentList struct {
	Moments []Moment `json:"moments"`
	Next    string   `json:"next,omitempty"` // cursor of the older ones; empty: there are none
}

// TimelineFilter chooses what a timeline shows. Times are as in [CallFilter].
type TimelineFilter struct {
	Since, Until string
	Session      string
	Sandbox      string
	Trace        string
	Layers       []string // empty: all
	Cursor       string
	Limit        int // default 200, at most 2,000
}

// CallStats are counts over the calls that a filter chooses.
type CallStats struct {
	Calls    int64            `json:"calls"`
	ByStatus map[string]int64 `json:"by_status"`
	ByAction map[string]int64 `json:"by_decision"`
	ByServer []ServerCalls    `json:"by_server"` // the busiest first, at most 100
	ByTool   []ToolCalls      `json:"by_tool"`   // the busiest first, at most 100
	BytesIn  int64            `json:"bytes_in"`
	BytesOut int64            `json:"bytes_out"`
	Duration Quantiles        `json:"duration"`
}

// ServerCalls are counts of one server.
type ServerCalls struct {
	Server   string `json:"server"` // empty: what Durward answered by itself
	Calls    int64  `json:"calls"`
	NotOK    int64  `json:"not_ok"`
	BytesIn  int64  `json:"bytes_in"`
	BytesOut int64  `json:"bytes_out"`
}

// ToolCalls are counts of one tool.
type ToolCalls struct {
	Server   string    `json:"server"`
	Tool     string    `json:"tool"`
	Calls    int64     `json:"calls"`
	NotOK    int64     `json:"not_ok"`
	Duration Quantiles `json:"duration"`
}

// Quantiles of durations, in microseconds.
type Quantiles struct {
	P50 int64 `json:"p50_us"`
	P95 int64 `json:"p95_us"`
	P99 int64 `json:"p99_us"`
}

// Followed is what a follower of the calls is told.
type Followed struct {
	// Cursor is where to go on after this: a link of the chain.
	Cursor string `json:"cursor"`
	// Call is a call that ended, or that began, if the filter asks for calls that are
	// dispatched. nil: the follower was too slow and is cut off.
	Call *CallRecord `json:"call,omitempty"`
}

// LedgerInfo says how the ledger is.
type LedgerInfo struct {
	File    string    `json:"file"`
	Problem string    `json:"problem,omitempty"` // why nothing can be recorded; calls are refused until it can
	Since   time.Time `json:"since,omitzero"`    // of the problem

	Sync   string `json:"sync,omitempty"` // normal or full
	Bodies bool   `json:"bodies"`
	Keep   Keep   `json:"keep"`

	Bytes int64      `json:"bytes"` // on disk
	Head  LinkRecord `json:"head"`  // the last link of the chain; seq 0: nothing is recorded yet

	Checkpoints string       `json:"checkpoints"` // the file
	Key         string       `json:"key"`         // the public half of the key that signs them
	Checkpoint  LedgerAnchor `json:"checkpoint"`  // the last one; seq 0: none
	Truncated   uint64       `json:"truncated"`   // links up to this one are removed; 0: none
	BodiesGone  uint64       `json:"bodies_gone"` // bodies that only links up to this one name are removed
}

// Keep is what the ledger keeps, in the words of the configuration.
type Keep struct {
	Rows    string `json:"rows"`
	Bodies  string `json:"bodies"`
	MaxSize string `json:"max_size"`
}

// Work says how far a long task is.
type Work struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total"` // 0: unknown
}

// Verdicts on the ledger.
const (
	VerdictOK      = "ok"         // it is what was written
	VerdictUnclear = "cannot say" // nothing contradicts, but something that would prove it is missing
	VerdictDamaged = "damaged"    // something was changed, removed, put in or moved
)

// Verified says whether the ledger is as it was written.
type Verified struct {
	Verdict  string          `json:"verdict"`
	Findings []LedgerFinding `json:"findings"`       // at most 100
	More     int             `json:"more,omitempty"` // findings that are left out

	From    uint64 `json:"from"` // first and last link that were looked at
	To      uint64 `json:"to"`
	Links   int64  `json:"links"`
	Records int64  `json:"records"`
	Bodies  int64  `json:"bodies"`
	Open    int64  `json:"open"` // calls without an outcome

	Checkpoints int            `json:"checkpoints"`          // that known keys signed
	Keys        []string       `json:"keys"`                 // the public halves of those keys
	Anchored    *LedgerAnchor  `json:"anchored,omitempty"`   // the last checkpoint that agrees with the ledger
	Unanchored  *LedgerTail    `json:"unanchored,omitempty"` // what came after it
	Truncated   *LedgerRemoval `json:"truncated,omitempty"`  // what was removed, on record
	BodiesGone  *LedgerRemoval `json:"bodies_gone,omitempty"`
	Elapsed     float64        `json:"elapsed_seconds"`
}

// LedgerFinding is one thing that a check found.
type LedgerFinding struct {
	Verdict string `json:"verdict"`         // what it makes of the whole; ok: only good to know
	From    uint64 `json:"from,omitempty"`  // links that are concerned, both included; 0: none
	To      uint64 `json:"to,omitempty"`    //
	Where   string `json:"where,omitempty"` // record, body, or file and line
	Message string `json:"message"`
}

// LedgerAnchor is a checkpoint.
type LedgerAnchor struct {
	Seq  uint64    `json:"seq"` // of the link that it signs
	Time time.Time `json:"time"`
}

// LedgerTail is what came after the last checkpoint.
type LedgerTail struct {
	Links   int64     `json:"links"`
	Records int64     `json:"records"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
}

// LedgerRemoval says up to which link something was removed, when and why.
type LedgerRemoval struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Why  string    `json:"why"`
}

// PruneRequest removes what need not be kept. Empty bounds are those of the
// configuration (ledger.keep), in the words of which others are given.
type PruneRequest struct {
	Rows    string `json:"rows,omitempty"`     // how long records are kept, at least 1h: 90d, forever
	Bodies  string `json:"bodies,omitempty"`   // how long bodies are kept, at least 1h: 30d, forever
	MaxSize string `json:"max_size,omitempty"` // how much disk it may take, at least 16MiB: 5G, none
	// Damaged removes records that do not verify, too. Otherwise they are kept, with
	// everything after them, until somebody has looked at them.
	Damaged bool `json:"damaged,omitempty"`
}

// Pruned says what was removed. The last calls, and those that may be under way,
// are kept whatever the bounds are.
type Pruned struct {
	Rows   uint64 `json:"rows"`   // up to which link records were removed; 0: none were
	Bodies uint64 `json:"bodies"` // up to which link bodies were removed; 0: none were
	Bytes  int64  `json:"bytes"`  // on disk afterwards
	Over   bool   `json:"over"`   // that is more than it may be, and nothing more may be removed now
}

// BackupRequest makes a copy.
type BackupRequest struct {
	File string `json:"file"` // absolute; it must not exist yet
}

// Backup is a copy that was made.
type Backup struct {
	File        string `json:"file"`
	Checkpoints string `json:"checkpoints"` // the signed checkpoints that it is verified with
	Bytes       int64  `json:"bytes"`
}
