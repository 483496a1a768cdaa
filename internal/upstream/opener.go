package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream/worker"
)

// Launcher starts the processes of stdio servers, each tree held together.
type Launcher interface {
	// Launch returns once the program runs; ctx bounds the start only.
	Launch(ctx context.Context, spec LaunchSpec) (Process, error)
}

// LaunchSpec says what to start. It has the fields of launch.Spec, in their
// order, so that one converts to the other.
type LaunchSpec struct {
	Server  string
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
}

// Process is a running server with its descendants. One that also has
// Confined() string says how they are held together.
type Process interface {
	Stdin() *os.File  // closing it asks the server to end
	Stdout() *os.File // whoever reads it closes it
	Stderr() []byte   // a copy of its last part
	Exit() string     // how it ended; "" while it runs
	// Stop ends the whole tree, gently until ctx ends, and returns when it is gone.
	Stop(ctx context.Context) error
}

// Dialer reaches remote servers.
type Dialer interface {
	// RoundTripper returns what does HTTP for one server: proxy, trust and
	// address rules are its matter. It may have CloseIdleConnections().
	RoundTripper(server durward.Server) (http.RoundTripper, error)
}

// OpenerOptions configure [NewOpener].
type OpenerOptions struct {
	Launcher   Launcher // required for stdio servers
	Dialer     Dialer   // required for http and sse servers
	MaxMessage int      // bytes of one message; default wire.MaxMessage (limits.message)
}

// NewOpener returns an Opener for stdio, http and sse servers.
func NewOpener(opt OpenerOptions) Opener { return &opener{opt} }

type opener struct{ opt OpenerOptions }

// Open implements Opener.
func (o *opener) Open(ctx context.Context, server durward.Server, spec exchange.LinkSpec, sink exchange.Sink) (Connection, error) {
	if spec.MaxMessage <= 0 {
		spec.MaxMessage = o.opt.MaxMessage
	}
	end := &endSink{Sink: sink, closed: make(chan struct{})}
	switch {
	case server.Transport == durward.TransportStdio && o.opt.Launcher != nil:
		return o.launch(ctx, server, spec, end)
	case server.Transport == durward.TransportHTTP && o.opt.Dialer != nil:
		return o.dial(server, spec, end, worker.OpenHTTP)
	case server.Transport == durward.TransportSSE && o.opt.Dialer != nil:
		return o.dial(server, spec, end, worker.OpenSSE)
	default:
		return nil, durward.Errorf(durward.Invalid, "upstream "+server.Name, "the transport %q cannot be used here", server.Transport)
	}
}

func (o *opener) launch(ctx context.Context, server durward.Server, spec exchange.LinkSpec, end *endSink) (Connection, error) {
	process, err := o.opt.Launcher.Launch(ctx, LaunchSpec{
		Server: server.Name, Command: server.Command, Args: server.Args, Env: server.Env, Dir: server.Dir,
	})
	if err != nil {
		return nil, err
	}
	link := worker.OpenStdio(spec, process.Stdin(), process.Stdout(), end)
	return &child{Link: link, process: process, closed: end.closed}, nil
}

type openWeb func(exchange.LinkSpec, http.RoundTripper, exchange.Sink) exchange.Link

func (o *opener) dial(server durward.Server, spec exchange.LinkSpec, end *endSink, open openWeb) (Connection, error) {
	rt, err := o.opt.Dialer.RoundTripper(server)
	if err != nil {
		return nil, err
	}
	return &remote{Link: open(spec, rt, end), rt: rt, closed: end.closed}, nil
}

// endSink notes when the last message of a connection has passed.
type endSink struct {
	exchange.Sink
	closed chan struct{}
}

// Receive passes m on.
func (s *endSink) Receive(m exchange.Message) {
	s.Sink.Receive(m)
	if _, last := m.(*exchange.Closed); last {
		close(s.closed)
	}
}

// child is a connection to a process of ours.
type child struct {
	exchange.Link
	process Process
	closed  <-chan struct{}
}

// Confined implements Connection.
func (c *child) Confined() string {
	if held, ok := c.process.(interface{ Confined() string }); ok {
		return held.Confined()
	}
	return ""
}

// Stop implements Connection.
func (c *child) Stop(ctx context.Context) error {
	c.Link.Close()
	err := c.process.Stop(ctx)
	if !within(c.closed, time.Second) { // a descendant got away and holds the pipe open
		c.process.Stdout().Close()
		<-c.closed
	}
	return err
}

// Diagnose implements Connection.
func (c *child) Diagnose() string {
	said := lastLines(c.process.Stderr())
	switch exit := c.process.Exit(); {
	case exit == "" && said == "":
		return ""
	case exit == "":
		return "its stderr ends with:\n" + said
	case said == "":
		return exit + ", and nothing on stderr"
	default:
		return exit + ", and its stderr ends with:\n" + said
	}
}

// lastLines returns at most 20 lines and 2 KiB from the end of a server's
// stderr, without control characters.
func lastLines(stderr []byte) string {
	const lines, size = 20, 2 << 10
	stderr = bytes.TrimRight(stderr, "\r\n\t ")
	if cut := len(stderr) - size; cut > 0 {
		stderr = stderr[cut:]
		if i := bytes.IndexByte(stderr, '\n'); i >= 0 {
			stderr = stderr[i+1:]
		}
	}
	all := strings.Split(string(stderr), "\n")
	all = all[max(0, len(all)-lines):]
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(strings.Join(all, "\n"), "�"))
}

// remote is a connection over HTTP.
type remote struct {
	exchange.Link
	rt     http.RoundTripper
	closed <-chan struct{}
}

// Diagnose implements Connection: the faults of HTTP say all there is.
func (*remote) Diagnose() string { return "" }

// Confined implements Connection.
func (*remote) Confined() string { return "" }

// Stop implements Connection.
func (r *remote) Stop(ctx context.Context) error {
	r.Link.Close()
	var err error
	select {
	case <-r.closed:
	case <-ctx.Done():
		// It ends by itself: what it still does is bounded by its own time-outs.
		if !within(r.closed, 3*time.Second) {
			err = durward.Errorf(durward.Timeout, "", "an HTTP connection did not end in time")
		}
	}
	if idle, ok := r.rt.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
	if closer, ok := r.rt.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	return err
}

func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
