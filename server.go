package durward

import (
	"regexp"
	"time"
)

// Transport is how an upstream server is reached.
type Transport string

// The transports.
const (
	TransportStdio   Transport = "stdio"   // a child process, JSON lines on its stdin and stdout
	TransportHTTP    Transport = "http"    // streamable HTTP, both eras
	TransportSSE     Transport = "sse"     // the deprecated HTTP+SSE of revision 2024-11-05
	TransportBuiltin Transport = "builtin" // Durward's own tools
)

// Instances says how many connections a server gets.
type Instances string

// The choices. A shared legacy stdio server that sends requests of its own is
// switched to one instance per principal, so that nobody is asked for another.
const (
	InstancesShared    Instances = "shared"
	InstancesPrincipal Instances = "principal"
	InstancesSession   Instances = "session"
)

// Retry says when a call that got no answer is sent a second time.
type Retry string

// The choices. Undelivered is only what provably never reached the server.
// Idempotent says that every tool of the server may be called twice.
const (
	RetryUndelivered Retry = "undelivered"
	RetryIdempotent  Retry = "idempotent"
)

// Server is how one upstream MCP server is reached and bounded. The zero value
// of every optional field means its default.
type Server struct {
	Name      string    // ^[a-z][a-z0-9-]{0,31}$, not reserved
	Transport Transport // default: stdio with Command, http with URL
	Disabled  bool

	Command string            // stdio: the program, looked up in PATH
	Args    []string          // passed exactly, never through a shell
	Env     map[string]string // the whole environment besides PATH, HOME, LANG, TMPDIR and USER
	Dir     string            // working directory; default: the service's

	URL     string            // http, sse
	Headers map[string]string // sent with every request
	Proxy   string            // HTTP proxy URL; default: from the environment; "none" for none
	CAFile  string            // PEM bundle that is trusted besides the system's

	Era       string    // auto (default), legacy or modern
	Retry     Retry     // default undelivered
	Instances Instances // default shared
	Risk      Risk      // floor for its tools; default high
	// TrustHints believes what the server says of its tools, so that one that calls
	// itself read-only has a low risk, whether or not somebody accepted it.
	TrustHints bool

	StartTimeout time.Duration // launch and handshake; default 30 s
	CallTimeout  time.Duration // tools/call; default none
	Timeout      time.Duration // every other method; default 60 s
	Concurrency  int           // calls in flight; default 128, then a queue of the same length
	IdleStop     time.Duration // stdio: stop after so long without use; default 10 min; negative: never
	HealthEvery  time.Duration // probe of a silent connection with calls in flight; default 30 s

	Tools ToolRules
}

// ToolRules choose and re-label what of a server's tools is offered. Names and
// globs (path.Match) are the server's own names.
type ToolRules struct {
	Allow    []string          // offer only these; empty: all
	Deny     []string          // never offer these; beats Allow
	Rename   map[string]string // own name -> name offered (before the server prefix)
	Describe map[string]string // own name -> description offered
	// Risk says how risky tools are, by name or glob, whatever they say of themselves
	// and whatever the server's floor is. Of several that fit the highest counts.
	Risk map[string]Risk

	// Idempotent tools may be called twice when the first call got no answer.
	Idempotent []string
}

// Toolset is a named subset of the federation's tools with a route of its own.
type Toolset struct {
	Name  string
	Tools []string // globs over offered names ("github__*")

	// Lazy lists only the tools that find and call the others, and Pinned. What
	// is not listed can still be called by its name.
	Lazy   bool
	Pinned []string // globs over offered names: listed though the toolset is lazy
}

// ServerState is the state of an upstream server.
type ServerState string

// The states.
const (
	StateConfigured ServerState = "configured" // known, not started; starts on demand
	StateConnecting ServerState = "connecting"
	StateReady      ServerState = "ready"
	StateDegraded   ServerState = "degraded" // connected, but a part of its catalog could not be read
	StateBackoff    ServerState = "back-off" // failed; the next attempt is scheduled
	StateDisabled   ServerState = "disabled"
)

// ServerStatus is what status shows of one server.
type ServerStatus struct {
	Name      string      `json:"name"`
	Transport Transport   `json:"transport"`
	State     ServerState `json:"state"`
	Reason    string      `json:"reason,omitempty"`   // why it is not ready, with the end of its stderr
	Era       string      `json:"era,omitempty"`      // legacy or modern; empty before the first handshake
	Revision  string      `json:"revision,omitempty"` // protocol revision agreed on
	NextTry   time.Time   `json:"next_try,omitzero"`
	Since     time.Time   `json:"since"` // of State
	Restarts  int         `json:"restarts"`
	InFlight  int         `json:"in_flight"`
	Queued    int         `json:"queued"`
	Tools     int         `json:"tools"`
	Prompts   int         `json:"prompts"`
	Resources int         `json:"resources"`
	Templates int         `json:"templates"`

	// Confined is how its processes are kept: "pid-namespace", "subreaper", "process-group", "process", or empty.
	Confined string `json:"confined,omitempty"`
	// Anomalies counts what it did that it should not have, by kind.
	Anomalies map[string]int `json:"anomalies,omitempty"`
	// Problems of its catalog: collisions, dropped tools.
	Problems []string `json:"problems,omitempty"`
}

var serverName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// CheckServerName says why name cannot name an upstream server; nil if it can.
func CheckServerName(name string) error {
	switch name {
	case "local", "builtin", "durward", "host":
		return Errorf(Invalid, "server "+name, "the name %q is reserved; choose another", name)
	}
	if !serverName.MatchString(name) {
		return Errorf(Invalid, "server", "the name %q must match %s", name, serverName)
	}
	return nil
}
