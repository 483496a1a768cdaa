package federation

import (
	"context"

	"durward"
	"durward/internal/builtin"
	"durward/internal/egress"
	"durward/internal/exchange"
	"durward/internal/launch"
	"durward/internal/upstream"
)

// OpenerOptions bound what one connection can make us keep. Zero fields mean
// the defaults.
type OpenerOptions struct {
	MaxMessage int // bytes of one message of a server (limits.message); default 32 MiB
	Stderr     int // bytes kept of the end of a server's stderr (limits.stderr); default 256 KiB

	Dials *egress.Counts // counts connections that are dialled; nil: nobody does
}

// NewOpener assembles the parts that reach servers: the launcher of processes,
// the dialler, and the built-in tools. Close the Launcher after the Set.
func NewOpener(opt OpenerOptions) (upstream.Opener, *launch.Launcher) {
	launcher := launch.New(launch.Options{Stderr: opt.Stderr})
	reach := upstream.NewOpener(upstream.OpenerOptions{Launcher: processes{launcher}, Dialer: egress.Dialer{Counts: opt.Dials}, MaxMessage: opt.MaxMessage})
	return opener{reach}, launcher
}

// opener serves the built-in tools itself and leaves the rest to upstream's opener.
type opener struct{ upstream.Opener }

// Open opens a connection.
func (o opener) Open(ctx context.Context, s durward.Server, spec exchange.LinkSpec, sink exchange.Sink) (upstream.Connection, error) {
	if s.Transport == durward.TransportBuiltin {
		return local{builtin.Open(spec, sink)}, nil
	}
	return o.Opener.Open(ctx, s, spec, sink)
}

// local is a connection without a process behind it.
type local struct{ exchange.Link }

func (local) Diagnose() string             { return "" }
func (local) Confined() string             { return "" }
func (l local) Stop(context.Context) error { l.Close(); return nil }

// processes is the launcher as upstream wants it.
type processes struct{ launcher *launch.Launcher }

// Launch starts a server.
func (p processes) Launch(ctx context.Context, spec upstream.LaunchSpec) (upstream.Process, error) {
	process, err := p.launcher.Launch(ctx, launch.Spec(spec))
	if err != nil {
		return nil, err
	}
	return process, nil
}
