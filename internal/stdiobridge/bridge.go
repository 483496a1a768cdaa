package stdiobridge

import (
	"context"
	"crypto/rand"
	"io"
	"sync"

	"durward"
)

// Options make a Bridge.
type Options struct {
	In  io.Reader // lines of the client; required
	Out io.Writer // to the client: protocol only, in whole lines; required
	// Dial opens a connection to the service; required. Down is how long there has
	// been none, 0 the first time. An error ends Run the first time, and is tried
	// again later in an outage. If the connection has a method CloseWrite() error,
	// that passes on the end of In.
	Dial Dialer
	// Say tells a person, in one line, what happens to the connection. Default: nobody.
	Say func(text string)
}

// Bridge is one client's way to the service. It is used once.
type Bridge struct {
	opt    Options
	out    *output
	mark   string // begins the ids of our own requests; nobody else can guess it
	outage outage // of the goroutine of Run

	mu    sync.Mutex // guards all below, and the fields of links and entries that say so
	work  sync.Cond  // there may be something to write, or nothing ever more
	room  sync.Cond  // more of the client's lines may be read
	ended bool       // In has ended
	over  bool       // Run has returned
	leave func()     // ends an outage early; nil when there is none
	link  *link      // the connection; nil when there is none

	queue  []*entry // lines of the client, not handed over
	load   int      // how many were read and are not handed over: those in queue, and those being written
	weight int      // their bytes

	flights flights
	asks    asks
	session session
}

// New checks the options. It starts nothing.
func New(opt Options) (*Bridge, error) {
	if opt.In == nil || opt.Out == nil || opt.Dial == nil {
		return nil, durward.Errorf(durward.Internal, "stdiobridge", "In, Out and Dial are required")
	}
	if opt.Say == nil {
		opt.Say = func(string) {}
	}
	b := &Bridge{opt: opt, out: newOutput(opt.Out), mark: `"durward-` + rand.Text() + `-`}
	b.work.L, b.room.L = &b.mu, &b.mu
	b.flights.byID = map[string]*entry{}
	b.asks.open = map[string]ask{}
	b.session = newSession()
	return b, nil
}

// Run carries lines until the client has closed its side and has had its answers,
// until ctx ends, which is no error, or until there is no service to be had: then
// the error is that of the first Dial, or of kind Unavailable after an outage of
// two minutes. It does not wait for a Read of In, which nothing can interrupt;
// who reads there ends with In, or with the next line.
func (b *Bridge) Run(ctx context.Context) error {
	defer b.finish()
	conn, err := b.opt.Dial(ctx, 0)
	if err != nil {
		return err
	}
	go b.readInput()
	for conn != nil {
		failed := b.serve(ctx, conn)
		if failed != nil || ctx.Err() != nil {
			return failed
		}
		if conn, err = b.redial(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finish lets go of who waits for the bridge.
func (b *Bridge) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.room.Broadcast()
}

// serve carries lines over one connection until that ends. An error is final.
func (b *Bridge) serve(ctx context.Context, conn io.ReadWriteCloser) error {
	l := newLink(b, conn)
	unblock := context.AfterFunc(ctx, func() { conn.Close() })
	defer unblock()
	l.run()
	if ctx.Err() != nil {
		return nil
	}
	if err := b.settle(l); err != nil {
		return err
	}
	return b.out.flush() // an error: nobody is there to be served
}
