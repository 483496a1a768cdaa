// Package control is the server of the service API: HTTP and JSON under
// /api/v1 for the owner of the service and for whom the owner gives a [Scope],
// and the health checks for everybody.
// Package client is its other end and declares its vocabulary.
//
// All routes stand in one table: see routes. The OpenAPI document is made of it.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"durward"
	"durward/client"
)

// Service says how the service is.
type Service interface {
	Status() client.Status
	// Ready reports why the service should not get traffic; nil when it may.
	Ready() error
}

// Servers changes which servers there are, in the user's configuration file. What
// changes something here is told by whom, for the record.
type Servers interface {
	Add(ctx context.Context, by durward.Caller, s client.NewServer) (*client.Server, error)
	Remove(ctx context.Context, by durward.Caller, name string) error
	// Enable writes whether a server is enabled; then its state is returned.
	Enable(ctx context.Context, by durward.Caller, name string, enabled bool) (*client.Server, error)
}

// Steering looks at servers and steers them.
type Steering interface {
	Show(ctx context.Context, name string) (*client.Server, error)
	Refresh(ctx context.Context, name string) error
	Restart(ctx context.Context, name string) error
	Stderr(name string) (string, error)
}

// Offer is what clients are offered, and calls of it.
type Offer interface {
	// Items lists what is offered of one kind: tools, prompts, resources, templates.
	Items(ctx context.Context, caller durward.Caller, kind string, f client.Filter) ([]client.Item, error)
	// Do makes an MCP request; notify, which may be nil, gets its notifications.
	Do(ctx context.Context, caller durward.Caller, method string, params json.RawMessage, notify func(string, json.RawMessage)) (json.RawMessage, error)
}

// Configuration reads and checks the configuration.
type Configuration interface {
	Config() client.Config
	Validate(text string) client.Validated
	// ReloadBy reads the configuration anew.
	ReloadBy(by durward.Caller) error
}

// Keys looks at and rotates keys: those that seal what clients carry, and the one
// that signs the ledger. No method gives a key away.
type Keys interface {
	List() client.Keys
	// Rotate has a new key seal and returns what List does then. The error is of
	// kind Conflict if the keys stand in the configuration.
	Rotate(by durward.Caller) (client.Keys, error)
	// RotateLedger has a new key sign the ledger's checkpoints.
	RotateLedger(ctx context.Context, by durward.Caller) (*client.LedgerInfo, error)
}

// Options configure the API. All are required but those that say otherwise.
type Options struct {
	Service       Service
	Servers       Servers
	Steering      Steering
	Offer         Offer
	Configuration Configuration
	Keys          Keys
	Ledger        Ledger
	Custody       Custody
	Approvals     Approvals    // default: the routes of approvals say that there is none
	Pins          Pins         // default: the routes of pins say that there are none
	Policy        Policy       // default: the routes of policy say that there is none
	Labels        Labels       // default: the routes of labels say that there is no policy
	Metrics       http.Handler // of /metrics, for who may read; default: there are none
	// Watch has f called with what happens until stop is called. f does not block.
	Watch func(f func(client.Event)) (stop func())
	// Authorize says who sends a request and what that caller may do, or why it may
	// do nothing.
	Authorize func(*http.Request) (durward.Caller, Scope, error)
	// Done ends event streams when it is closed. Default: they end with their readers.
	Done <-chan struct{}
	// KeepAlive is how long a stream may be silent; then a comment is sent. Default 15 s.
	KeepAlive time.Duration
	// Version of the service, for the OpenAPI document. Default "dev".
	Version string
}

// maxBody bounds the body of a request, in bytes. Calls may carry as much as an
// MCP message.
const maxBody = 32 << 20

// api is the server.
type api struct{ opt Options }

// New returns the handler of /api/v1, /metrics, /healthz and /readyz.
func New(opt Options) http.Handler {
	if opt.KeepAlive <= 0 {
		opt.KeepAlive = 15 * time.Second
	}
	if opt.Version == "" {
		opt.Version = "dev"
	}
	a := &api{opt: opt}
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.Handle(r.method+" "+r.path, a.handler(r))
	}
	mux.Handle("/api/v1/", a.handler(route{scope: Read, serve: func(*api, http.ResponseWriter, *request) error {
		return durward.Errorf(durward.NotFound, "", "the service API has no such route; see /api/v1/openapi.json")
	}}))
	if opt.Metrics != nil {
		mux.Handle("GET /metrics", a.handler(route{scope: Read, serve: func(_ *api, w http.ResponseWriter, r *request) error {
			opt.Metrics.ServeHTTP(w, r.Request)
			return nil
		}}))
	}
	// These two say yes or no and nothing else: anybody may ask.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := opt.Service.Ready(); err != nil {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(err.Error() + "\n")) // the client is gone if this fails
		}
	})
	return mux
}

// request is a request whose sender is known.
type request struct {
	*http.Request
	caller durward.Caller
}

func (a *api) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, granted, err := a.opt.Authorize(r)
		if err == nil {
			err = granted.opens(&rt)
		}
		if err == nil {
			caller.Entrance = durward.EntranceConsole
			caller.Client = durward.ClientInfo{Name: "service API"}
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			err = rt.serve(a, w, &request{r, caller})
		}
		if err != nil {
			challenge(w, err, rt.scope)
			WriteError(w, err)
		}
	})
}

// body reads a JSON body. What the route does not know is refused.
func (r *request) body(into any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return durward.Errorf(durward.Invalid, "", "the body is not the JSON that is wanted here: %w", err)
	}
	if dec.More() {
		return durward.Errorf(durward.Invalid, "", "the body holds more than one JSON value")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client is gone if this fails
	return nil
}

// encode is json.Marshal that leaves <, > and & as they are, and ends the line.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
