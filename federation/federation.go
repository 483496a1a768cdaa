// Package federation makes the tools of foreign MCP servers native to a Go
// program: each with its name, its schema and its risk, and a function to call
// it. It reaches the servers in the same way as package gateway does, without
// listening anywhere.
//
// A federation allows every call: the program that embeds it decides, by
// [Tool.Risk] or otherwise. Start at [New].
package federation

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/federation"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// Options configure a Federation.
type Options struct {
	Servers []durward.Server
	Name    string       // what to call the program towards servers; default "durward"
	Version string       // and its version; default "dev"
	Log     *slog.Logger // default: discard
}

// Federation is a set of MCP servers. It is safe for concurrent use.
type Federation struct {
	set      *federation.Set
	launcher interface{ Close() error }
	info     []byte
	once     sync.Once
}

// Tool is a tool of one of the servers.
type Tool struct {
	Name   string // how it is called here: <server>__<tool>, at most 64 of [A-Za-z0-9_-]
	Server string
	Native string // the server's own name for it
	Risk   durward.Risk
	Raw    json.RawMessage // the Tool object exactly as the server listed it, schema included
}

// Result is what a tool answered.
type Result struct {
	Raw     json.RawMessage // the whole result, as the server sent it
	IsError bool            // the tool says that it failed
}

// New starts a federation. Servers connect in the background: New does not wait
// for them, and a server that fails does not make it fail.
func New(opt Options) (*Federation, error) {
	if opt.Name == "" {
		opt.Name = "durward"
	}
	if opt.Version == "" {
		opt.Version = "dev"
	}
	info := []byte(`{"name":` + wire.Quote(opt.Name) + `,"version":` + wire.Quote(opt.Version) + `}`)
	opener, launcher := federation.NewOpener(federation.OpenerOptions{})
	f := &Federation{launcher: launcher, info: info}
	f.set = federation.New(federation.Options{Opener: opener, ClientInfo: info, Log: opt.Log})
	if err := f.set.Apply(opt.Servers, nil); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Add adds a server and starts connecting to it.
func (f *Federation) Add(s durward.Server) error {
	if err := durward.CheckServerName(s.Name); err != nil {
		return err
	}
	return f.set.Add(s)
}

// Remove stops a server; it returns when its processes are gone.
func (f *Federation) Remove(name string) error { return f.set.Remove(name) }

// Servers returns the state of every server.
func (f *Federation) Servers() []durward.ServerStatus { return f.set.Status() }

// Tools returns the tools that are offered now, in a stable order. It waits,
// until ctx ends, for servers that are coming up for the first time.
func (f *Federation) Tools(ctx context.Context) []Tool {
	f.set.Await(ctx)
	view, ok := f.set.View(durward.Route{}, wire.Modern)
	if !ok {
		return nil
	}
	var tools []Tool
	for e := range view.Entries(catalog.Tool) {
		tools = append(tools, Tool{Name: e.Offered, Server: e.Server, Native: e.Name, Risk: e.Risk, Raw: e.Raw})
	}
	return tools
}

// firstStart bounds how long a call waits for a server that comes up for the first time.
const firstStart = 30 * time.Second

// Call calls a tool with raw JSON arguments, an object; nil means {}. The error
// is of kind NotFound for an unknown tool, Unavailable when nothing was
// executed, Unknown when it may have been, and Invalid or a JSON-RPC error of
// the server otherwise.
func (f *Federation) Call(ctx context.Context, tool string, arguments json.RawMessage) (Result, error) {
	entry, err := f.lookup(ctx, tool)
	if err != nil {
		return Result{}, err
	}
	server, ok := f.set.Server(entry.Server)
	if !ok {
		return Result{}, durward.Errorf(durward.NotFound, "server "+entry.Server, "it was removed")
	}
	req, err := f.request(entry, arguments)
	if err != nil {
		return Result{}, err
	}
	reply := server.Do(ctx, upstream.Key{Principal: "library"}, req, silent{})
	if reply.Error != nil {
		return Result{}, &CallError{Tool: tool, Raw: reply.Error}
	}
	return Result{Raw: reply.Result, IsError: reply.IsError}, nil
}

func (f *Federation) lookup(ctx context.Context, tool string) (*catalog.Entry, error) {
	for _, wait := range []bool{false, true} {
		if wait {
			f.set.AwaitServer(ctx, catalog.ServerOf(tool), firstStart)
		}
		if view, ok := f.set.View(durward.Route{}, wire.Modern); ok {
			if entry, ok := view.Tool(tool); ok {
				return entry, nil
			}
		}
	}
	return nil, durward.Errorf(durward.NotFound, "federation", "no server offers a tool %q", tool)
}

func (f *Federation) request(entry *catalog.Entry, arguments json.RawMessage) (*exchange.Request, error) {
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	raw := append([]byte(`{"name":`), wire.AppendQuote(nil, entry.Name)...)
	raw = append(append(raw, `,"arguments":`...), arguments...)
	req := &exchange.Request{Method: wire.MethodToolsCall, Client: exchange.Client{
		Era: wire.Modern, Revision: wire.RevisionModern, Info: f.info,
	}}
	if err := wire.ParseParams(append(raw, '}'), &req.Params); err != nil {
		return nil, durward.Errorf(durward.Invalid, "tool "+entry.Offered, "arguments: %w", err)
	}
	for _, h := range wire.HeaderValues(entry.HeaderParams, arguments) {
		req.Headers = append(req.Headers, exchange.Header(h))
	}
	return req, nil
}

// OnChange has f called after the tools changed, until stop is called. It must not block.
func (f *Federation) OnChange(changed func()) (stop func()) {
	return f.set.Listen(durward.Route{}, wire.Modern, federation.Filter{Tools: true}, onChange(changed))
}

// Close stops all servers and returns when their processes are gone.
func (f *Federation) Close() error {
	var err error
	f.once.Do(func() { err = errors.Join(f.set.Close(), f.launcher.Close()) })
	return err
}

// CallError is the JSON-RPC error that a call came to.
type CallError struct {
	Tool string
	Raw  json.RawMessage // the error object
}

// Error returns the message of the error object.
func (e *CallError) Error() string {
	message, _ := wire.Unquote(wire.Get(e.Raw, "message"))
	return "tool " + e.Tool + ": " + message
}

// Code returns the code of the error object.
func (e *CallError) Code() int {
	code, _ := wire.ErrorCode(e.Raw)
	return code
}

// silent is a requester that wants no notifications and cannot be asked.
type silent struct{}

func (silent) Notify(string, []byte) {}

func (silent) Ask(_ context.Context, method string, _ []byte) exchange.Reply {
	return exchange.Fail(&wire.CodeError{Code: wire.CodeMethodNotFound, Message: "this client does not answer " + method})
}

type onChange func()

func (f onChange) Notify(string, []byte) { f() }
