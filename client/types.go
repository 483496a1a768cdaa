package client

import (
	"encoding/json"
	"time"

	"durward"
)

// Status is what a service says of itself.
type Status struct {
	Version    string    `json:"version"`
	PID        int       `json:"pid"`
	Address    string    `json:"address"`               // of HTTP; empty when it does not listen
	APIAddress string    `json:"api_address,omitempty"` // of the service API by TCP; empty when it is on the unix socket only
	Started    time.Time `json:"started"`
	Policy     string    `json:"policy"` // what decides calls
	Ledger     string    `json:"ledger"` // where calls are recorded
	// LedgerProblem says why no call can be recorded, so that all are refused; empty
	// when they can.
	LedgerProblem string                 `json:"ledger_problem,omitempty"`
	Sessions      int                    `json:"sessions"`
	Config        ConfigStatus           `json:"config"`
	Servers       []durward.ServerStatus `json:"servers"`
}

// ConfigStatus says which configuration runs.
type ConfigStatus struct {
	File    string    `json:"file"`
	Loaded  time.Time `json:"loaded"`
	Problem string    `json:"problem,omitempty"` // of the file as it is now, when it is not what runs
}

// ServerList are all servers, in the order of status.
type ServerList struct {
	Servers []durward.ServerStatus `json:"servers"`
}

// Server is all there is to say of one server.
type Server struct {
	Status   durward.ServerStatus `json:"status"`
	Settings []Setting            `json:"settings"` // what the configuration says of it
	Tools    []Item               `json:"tools"`
}

// NewServer is a server to be added to the user's configuration file. Texts are
// written as they are: references such as ${env:NAME} may stand in Args, Env, URL
// and Headers.
type NewServer struct {
	Name      string            `json:"name"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Dir       string            `json:"dir,omitempty"`
	URL       string            `json:"url,omitempty"`
	Transport string            `json:"transport,omitempty"` // default: stdio with Command, http with URL
	Headers   map[string]string `json:"headers,omitempty"`
	// Keep keeps the server in the file even if it does not come up now.
	Keep bool `json:"keep,omitempty"`
}

// Logs is what a server wrote to its stderr.
type Logs struct {
	Server string `json:"server"`
	Stderr string `json:"stderr"` // its end, at most limits.stderr bytes
}

// Item is a tool, prompt, resource or resource template that is offered.
type Item struct {
	Kind   string          `json:"kind"` // tool, prompt, resource or template
	Name   string          `json:"name"` // as it is offered: a name or a URI
	Server string          `json:"server"`
	Native string          `json:"native"`         // the server's own name or URI for it
	Risk   string          `json:"risk,omitempty"` // of a tool: low, medium, high or critical
	Raw    json.RawMessage `json:"raw"`            // the MCP object as it is listed, schema included
}

// ItemList is what is offered of one kind.
type ItemList struct {
	Items []Item `json:"items"`
}

// Filter chooses items; its zero value chooses all that /mcp offers.
type Filter struct {
	Server  string // of this server only
	Toolset string // of this toolset only
}

// CallRequest calls a tool, or gets a prompt.
type CallRequest struct {
	Name      string          `json:"name"`                // as it is offered
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object; default {}
}

// ReadRequest reads a resource.
type ReadRequest struct {
	URI string `json:"uri"` // as it is offered, or the server's own if only one server lists it
}

// Result is what a server answered.
type Result struct {
	IsError bool            `json:"is_error"` // the tool says that it failed
	Result  json.RawMessage `json:"result"`   // the MCP result; unknown members and big numbers are kept
}

// Progress is what a call says while it is under way.
type Progress struct {
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"` // 0: unknown
	Message  string          `json:"message,omitempty"`
	Level    string          `json:"level,omitempty"` // of a log message
	Log      json.RawMessage `json:"log,omitempty"`   // a log message, which may be any JSON
}

// Event types.
const (
	EventServer = "server" // a server's state changed
	EventLists  = "lists"  // what is offered changed
	EventPins   = "pins"   // a server changed what it offers, and the change is held
	EventReload = "reload" // the configuration was read anew, or could not be
	EventLost   = "lost"   // events were lost, because the reader was slow
)

// Event is something that happened in the service.
type Event struct {
	Type   string                `json:"type"`
	At     time.Time             `json:"at"`
	Server *durward.ServerStatus `json:"server,omitempty"` // of server events
	List   string                `json:"list,omitempty"`   // of lists events: tools, prompts or resources
	Pins   *PinsHeld             `json:"pins,omitempty"`   // of pins events
	Reload *Reloaded             `json:"reload,omitempty"` // of reload events
	Lost   int                   `json:"lost,omitempty"`   // of lost events: how many
}

// Reloaded says how a reload went.
type Reloaded struct {
	File    string `json:"file"`
	Servers int    `json:"servers"`           // how many are configured now
	Problem string `json:"problem,omitempty"` // why the old configuration runs on; empty on success
}

// Setting is a value of the configuration and where it comes from. Of what may
// hold a secret only the references are shown.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Layer string `json:"layer"`          // default, user or corp
	File  string `json:"file,omitempty"` // of the layer
	Line  int    `json:"line,omitempty"`
}

// Config is the configuration that runs.
type Config struct {
	ConfigStatus
	Settings []Setting `json:"settings"`
}

// Where the keys of a service are from.
const (
	KeysFromFile          = "file"          // of the state directory
	KeysFromConfiguration = "configuration" // seal_keys
)

// Keys are the keys that seal what clients carry for the service. The keys
// themselves are never shown.
type Keys struct {
	Source string `json:"source"`         // file or configuration
	File   string `json:"file,omitempty"` // of source file
	Keys   []Key  `json:"keys"`           // the one that seals is the first
}

// Key is one of them.
type Key struct {
	ID      string    `json:"id"` // 8 hex digits, the same on every replica
	Created time.Time `json:"created,omitzero"`
	Seals   bool      `json:"seals"` // every key opens, one seals
}

// ValidateRequest asks whether a text would be a valid user's configuration file.
type ValidateRequest struct {
	Text string `json:"text"`
}

// Problem is one thing that is wrong with a configuration file.
type Problem struct {
	Code    string `json:"code"`
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // from 1, in characters
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Validated says what is wrong with a configuration; nothing if Problems is empty.
type Validated struct {
	Problems []Problem `json:"problems"`
}

// Failure is the body of every answer that is an error.
type Failure struct {
	Error FailureDetail `json:"error"`
}

// FailureDetail says what went wrong.
type FailureDetail struct {
	Kind    string `json:"kind"` // invalid, unauthenticated, denied, not_found, conflict, unavailable, timeout, unknown or internal
	Message string `json:"message"`
	// Raw is the JSON-RPC error object, if a server or the gateway answered with one.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Runtime are figures of the Go runtime.
type Runtime struct {
	Mallocs    uint64 `json:"mallocs"`
	AllocBytes uint64 `json:"alloc_bytes"`
	HeapBytes  uint64 `json:"heap_bytes"`
	SysBytes   uint64 `json:"sys_bytes"`
	GC         uint64 `json:"gc"`
	Goroutines uint64 `json:"goroutines"`
}
