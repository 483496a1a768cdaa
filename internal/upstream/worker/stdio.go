package worker

import (
	"io"

	"durward/internal/exchange"
)

// OpenStdio opens a connection to a server that reads JSON lines from in and
// writes them to out (2026-07-28 and legacy, basic/transports/stdio). It returns
// at once; *exchange.Opened or *exchange.Closed follows on the sink. Calls before
// Opened are refused.
//
// in and out belong to the connection, which closes both. Closing them must end a
// Write or Read that is under way, as it does for files, pipes and sockets. When in
// is a descriptor that the runtime polls, most messages are written on the
// goroutine that sends them. Nobody is ever blocked by a server that does not read.
//
// Bounds: a line spec.MaxMessage (default 32 MiB), the queue of what the server did
// not read yet twice that and at least 64 MiB, 64 requests of the server that
// wait for the client.
func OpenStdio(spec exchange.LinkSpec, in io.WriteCloser, out io.ReadCloser, sink exchange.Sink) exchange.Link {
	return openConn(spec, in, out, sink)
}
