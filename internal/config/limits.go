package config

import (
	"time"

	"durward/internal/yamlx"
)

// Limits bound what callers and servers can use up. Sizes are in bytes. What
// each means, its bounds and its default are said at the field of the same name
// in limitsFile. Those of the ledger are in [Ledger], those of approvals in
// [ApprovalLimits], those of rules in [PolicyLimits].
type Limits struct {
	Message           int
	Header            int
	Headers           int
	Requests          int
	Streams           int
	StreamQueue       int
	StreamQueueEvents int
	KeepAlive         time.Duration

	Sessions             int
	SessionIdle          time.Duration
	InFlight             int
	SessionSubscriptions int
	Asks                 int
	AskTimeout           time.Duration
	Resume               int
	ResumeEvents         int
	ResumeTotal          int
	ResumeFor            time.Duration

	Holds    int
	HoldLife time.Duration
	Rounds   int

	StartParallel int
	Instances     int
	Subscriptions int
	ServerAsks    int
	BackoffFirst  time.Duration
	BackoffMost   time.Duration
	Stderr        int

	Items        int
	Templates    int
	Pages        int
	List         int
	Item         int
	Schema       int
	Description  int
	Instructions int
}

// PolicyLimits bound what rules count and know.
type PolicyLimits struct {
	Counters int // limits.policy_counters
	Sessions int // limits.policy_sessions
}

// ApprovalLimits bound what waits for people, and what is remembered of their
// answers.
type ApprovalLimits struct {
	Most   int           // limits.approvals
	Life   time.Duration // limits.approval_life
	Grants int           // limits.grants
}

// limitsFile is the shape of limits. Every error that reports one of these
// bounds names its key.
type limitsFile struct {
	// Requests and streams of clients.

	// Message bounds one JSON-RPC message, on either side, and one line of a stdio
	// server. 64KiB to 512MiB, default 32MiB.
	Message yamlx.Size `yaml:"message" min:"64KiB" max:"512MiB"`
	// Header bounds one value of a request's header. 256 to 1MiB, default 8KiB.
	Header yamlx.Size `yaml:"header" min:"256" max:"1MiB"`
	// Headers bounds all headers of a request together. 4KiB to 16MiB, default
	// 64KiB.
	Headers yamlx.Size `yaml:"headers" min:"4KiB" max:"16MiB"`
	// Requests bounds the HTTP requests and connections that are served at the same
	// time. 1 to 1000000, default 16384.
	Requests int `yaml:"requests" min:"1" max:"1000000"`
	// Streams bounds the streams one session has open with GET. 1 to 1000, default
	// 8.
	Streams int `yaml:"streams" min:"1" max:"1000"`
	// StreamQueue bounds what waits on one stream for a client that reads slowly.
	// 64KiB to 1GiB, default 8MiB.
	StreamQueue yamlx.Size `yaml:"stream_queue" min:"64KiB" max:"1GiB"`
	// StreamQueueEvents bounds how many messages wait on one stream. 16 to 1000000,
	// default 1024.
	StreamQueueEvents int `yaml:"stream_queue_events" min:"16" max:"1000000"`
	// KeepAlive is how long a stream is silent before a comment is sent on it. 100ms
	// to 5m, default 15s.
	KeepAlive time.Duration `yaml:"keep_alive" min:"100ms" max:"5m"`

	// Sessions of legacy clients.

	// Sessions bounds the sessions of legacy clients. 1 to 1000000, default 10000.
	Sessions int `yaml:"sessions" min:"1" max:"1000000"`
	// SessionIdle ends a legacy session that was not used for so long. 1s to 720h,
	// default 1h.
	SessionIdle time.Duration `yaml:"session_idle" min:"1s" max:"720h"`
	// InFlight bounds the calls of one session that run at the same time; as many
	// again wait, and then calls are refused. 1 to 100000, default 64.
	InFlight int `yaml:"in_flight" min:"1" max:"100000"`
	// SessionSubscriptions bounds the resources that one session, or one listen
	// request of a modern client, subscribes to. 1 to 1000000, default 1000.
	SessionSubscriptions int `yaml:"session_subscriptions" min:"1" max:"1000000"`
	// Asks bounds the questions of servers that one client has not answered yet. 1
	// to 10000, default 64.
	Asks int `yaml:"asks" min:"1" max:"10000"`
	// AskTimeout is how long a client, and the person before it, may take to answer
	// one. 1s to 24h, default 5m.
	AskTimeout time.Duration `yaml:"ask_timeout" min:"1s" max:"24h"`
	// Resume bounds what one session keeps for a client that lost its connection.
	// 1KiB to 1GiB, default 1MiB.
	Resume yamlx.Size `yaml:"resume" min:"1KiB" max:"1GiB"`
	// ResumeEvents bounds how many messages one session keeps for it. 1 to 1000000,
	// default 256.
	ResumeEvents int `yaml:"resume_events" min:"1" max:"1000000"`
	// ResumeTotal bounds what all sessions together keep for such clients. 1KiB to
	// 64GiB, default 64MiB.
	ResumeTotal yamlx.Size `yaml:"resume_total" min:"1KiB" max:"64GiB"`
	// ResumeFor is how long it is kept. 1s to 24h, default 5m.
	ResumeFor time.Duration `yaml:"resume_for" min:"1s" max:"24h"`

	// Holds bounds the calls of one principal to one server that wait for input
	// of a modern client. 1 to 10000, default 16.
	Holds int `yaml:"holds" min:"1" max:"10000"`
	// HoldLife is how long such a call waits for the input of one round. 1s to 1h,
	// default 5m.
	HoldLife time.Duration `yaml:"hold_life" min:"1s" max:"1h"`
	// Rounds bounds how often a server may ask for input in one call. 1 to 100,
	// default 10.
	Rounds int `yaml:"rounds" min:"1" max:"100"`

	// Connections to servers.

	// StartParallel bounds how many servers are started at the same time. 1 to 1000,
	// default 16.
	StartParallel int `yaml:"start_parallel" min:"1" max:"1000"`
	// Instances bounds the connections of one server besides the shared one. 1 to
	// 100000, default 128.
	Instances int `yaml:"instances" min:"1" max:"100000"`
	// Subscriptions bounds the resources of one server that are subscribed to. 1 to
	// 1000000, default 10000.
	Subscriptions int `yaml:"subscriptions" min:"1" max:"1000000"`
	// ServerAsks bounds the questions of one server that wait for an answer. 1 to
	// 64, default 16.
	ServerAsks int `yaml:"server_asks" min:"1" max:"64"`
	// BackoffFirst is how long is waited after a server failed; it is doubled with
	// each failure in a row, ±20 %. 10ms to 1h, default 500ms.
	BackoffFirst time.Duration `yaml:"backoff_first" min:"10ms" max:"1h"`
	// BackoffMost is the longest time between two attempts to connect. 10ms to 24h,
	// default 60s.
	BackoffMost time.Duration `yaml:"backoff_most" min:"10ms" max:"24h"`
	// Stderr is how much of the end of a server's stderr is kept. 4KiB to 64MiB,
	// default 256KiB.
	Stderr yamlx.Size `yaml:"stderr" min:"4KiB" max:"64MiB"`

	// What servers offer.

	// Items bounds the tools of one server, and its prompts, and its resources. 1 to
	// 1000000, default 10000.
	Items int `yaml:"items" min:"1" max:"1000000"`
	// Templates bounds the resource templates of one server. 1 to 100000, default
	// 1000.
	Templates int `yaml:"templates" min:"1" max:"100000"`
	// Pages bounds the pages of one list of a server. 1 to 100000, default 1000.
	Pages int `yaml:"pages" min:"1" max:"100000"`
	// List bounds one list of a server, all pages together. 64KiB to 4GiB, default
	// 64MiB.
	List yamlx.Size `yaml:"list" min:"64KiB" max:"4GiB"`
	// Item bounds one tool, prompt, resource or template. 1KiB to 512MiB, default
	// 4MiB.
	Item yamlx.Size `yaml:"item" min:"1KiB" max:"512MiB"`
	// Schema bounds one input or output schema of a tool. 1KiB to 512MiB, default
	// 1MiB.
	Schema yamlx.Size `yaml:"schema" min:"1KiB" max:"512MiB"`
	// Description bounds one description. 64 to 512MiB, default 64KiB.
	Description yamlx.Size `yaml:"description" min:"64" max:"512MiB"`
	// Instructions bounds the servers' instructions, which are merged into one text.
	// 1KiB to 64MiB, default 16KiB.
	Instructions yamlx.Size `yaml:"instructions" min:"1KiB" max:"64MiB"`

	// Rules.

	// PolicyCounters bounds the counters of rules with a limit, all rules together: one per
	// rule and caller, session, server or tool, as its key by says. Who gets none is over
	// the limit. 64 to 10000000, default 65536.
	PolicyCounters int `yaml:"policy_counters" min:"64" max:"10000000"`
	// PolicySessions bounds the sessions whose labels and calls are known to rules. Where
	// one has no room, because as many others are marked, rules that look at it block. 64
	// to 1000000, default 16384.
	PolicySessions int `yaml:"policy_sessions" min:"64" max:"1000000"`

	// Approvals.

	// Approvals bounds the calls of one principal that wait for a person's answer;
	// then calls that a rule asks about are denied. 1 to 10000, default 64.
	Approvals int `yaml:"approvals" min:"1" max:"10000"`
	// ApprovalLife is the longest that such a call waits, whatever its rule says. 1s
	// to 24h, default 5m.
	ApprovalLife time.Duration `yaml:"approval_life" min:"1s" max:"24h"`
	// Grants bounds the remembered answers for one principal, and those for one
	// session. 1 to 100000, default 1000.
	Grants int `yaml:"grants" min:"1" max:"100000"`

	// The ledger.

	// LedgerQueue bounds the records that wait to be written; then calls wait. 64 to
	// 1000000, default 8192.
	LedgerQueue int `yaml:"ledger_queue" min:"64" max:"1000000"`
	// LedgerWait is how long a call waits until it is recorded, and at most an eighth
	// longer; then it is refused, and nothing is executed. 100ms to 5m, default 5s.
	LedgerWait time.Duration `yaml:"ledger_wait" min:"100ms" max:"5m"`
	// LedgerBody bounds what is kept of one request or result; what is longer is cut,
	// and marked as cut. 4KiB to 512MiB, default 10MiB.
	LedgerBody yamlx.Size `yaml:"ledger_body" min:"4KiB" max:"512MiB"`
}

func defaultLimits() limitsFile {
	return limitsFile{
		Message:           32 << 20,
		Header:            8 << 10,
		Headers:           64 << 10,
		Requests:          16_384,
		Streams:           8,
		StreamQueue:       8 << 20,
		StreamQueueEvents: 1024,
		KeepAlive:         15 * time.Second,

		Sessions:             10_000,
		SessionIdle:          time.Hour,
		InFlight:             64,
		SessionSubscriptions: 1000,
		Asks:                 64,
		AskTimeout:           5 * time.Minute,
		Resume:               1 << 20,
		ResumeEvents:         256,
		ResumeTotal:          64 << 20,
		ResumeFor:            5 * time.Minute,

		Holds:    16,
		HoldLife: 5 * time.Minute,
		Rounds:   10,

		StartParallel: 16,
		Instances:     128,
		Subscriptions: 10_000,
		ServerAsks:    16,
		BackoffFirst:  500 * time.Millisecond,
		BackoffMost:   time.Minute,
		Stderr:        256 << 10,

		Items:        10_000,
		Templates:    1000,
		Pages:        1000,
		List:         64 << 20,
		Item:         4 << 20,
		Schema:       1 << 20,
		Description:  64 << 10,
		Instructions: 16 << 10,

		PolicyCounters: 65_536,
		PolicySessions: 16_384,

		Approvals:    64,
		ApprovalLife: 5 * time.Minute,
		Grants:       1000,

		LedgerQueue: 8192,
		LedgerWait:  5 * time.Second,
		LedgerBody:  10 << 20,
	}
}

func (l *limitsFile) limits() Limits {
	return Limits{
		Message:           int(l.Message),
		Header:            int(l.Header),
		Headers:           int(l.Headers),
		Requests:          l.Requests,
		Streams:           l.Streams,
		StreamQueue:       int(l.StreamQueue),
		StreamQueueEvents: l.StreamQueueEvents,
		KeepAlive:         l.KeepAlive,

		Sessions:             l.Sessions,
		SessionIdle:          l.SessionIdle,
		InFlight:             l.InFlight,
		SessionSubscriptions: l.SessionSubscriptions,
		Asks:                 l.Asks,
		AskTimeout:           l.AskTimeout,
		Resume:               int(l.Resume),
		ResumeEvents:         l.ResumeEvents,
		ResumeTotal:          int(l.ResumeTotal),
		ResumeFor:            l.ResumeFor,

		Holds:    l.Holds,
		HoldLife: l.HoldLife,
		Rounds:   l.Rounds,

		StartParallel: l.StartParallel,
		Instances:     l.Instances,
		Subscriptions: l.Subscriptions,
		ServerAsks:    l.ServerAsks,
		BackoffFirst:  l.BackoffFirst,
		BackoffMost:   l.BackoffMost,
		Stderr:        int(l.Stderr),

		Items:        l.Items,
		Templates:    l.Templates,
		Pages:        l.Pages,
		List:         int(l.List),
		Item:         int(l.Item),
		Schema:       int(l.Schema),
		Description:  int(l.Description),
		Instructions: int(l.Instructions),
	}
}

func (l *limitsFile) policy() PolicyLimits {
	return PolicyLimits{Counters: l.PolicyCounters, Sessions: l.PolicySessions}
}

func (l *limitsFile) approvals() ApprovalLimits {
	return ApprovalLimits{Most: l.Approvals, Life: l.ApprovalLife, Grants: l.Grants}
}
