// Command server is the MCP server that the chaos test torments the gateway
// with. It speaks the legacy era, the modern one or both, over stdio or as
// streamable HTTP, and it does on command what servers do on bad days: it dies
// at a chosen point of a call, hangs, forgets its sessions, answers twice.
//
// What counts is written to a file before anything else can happen: an execution
// of a tool, a fault that was injected, an answer of a person that came to the
// wrong call. A server that dies the moment after has told it nevertheless.
//
// It is written with nothing but the standard library, so that it shares no
// mistake with the gateway.
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"durward/test/chaos/journal"
)

func main() {
	s := &server{pending: map[string]chan []byte{}, sessions: map[string]*session{}}
	listen := flag.String("http", "", "serve streamable HTTP on this address and print it; default: stdio")
	flag.StringVar(&s.name, "name", "", "name of the server in the journal")
	flag.StringVar(&s.era, "era", eraBoth, "legacy, modern or both")
	flag.StringVar(&s.dir, "dir", "", "folder of the run: journal, marks, control socket")
	flag.Parse()
	if err := s.run(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

const (
	eraLegacy = "legacy"
	eraModern = "modern"
	eraBoth   = "both"
)

// server is one process of a server.
type server struct {
	name, era, dir string
	http           bool
	journal        *journal.Writer

	// alive is held for writing while the process plays dead: everything that
	// reads or answers takes it for reading.
	alive sync.RWMutex

	mu       sync.Mutex // guards the fields below
	pending  map[string]chan []byte
	sessions map[string]*session
	asked    int // numbers the questions
	streams  int // numbers the streams
}

func (s *server) run(listen string) (err error) {
	s.http = listen != ""
	s.badStart()
	if s.journal, err = journal.Open(s.dir); err != nil {
		return err
	}
	go s.obey()
	if s.http {
		return s.serveHTTP(listen)
	}
	s.serveStdio()
	return s.journal.Close()
}

func (s *server) speaksLegacy() bool { return s.era != eraModern }
func (s *server) speaksModern() bool { return s.era != eraLegacy }

// die ends the process as a crash does: nothing is flushed, nobody is told.
func die() { os.Exit(9) }

// wedge makes the process hang: it lives, and neither reads nor answers any
// more. A stdio server stays so until somebody kills it; nobody but a supervisor
// would notice an HTTP server, so that one plays its own.
func (s *server) wedge() {
	if s.http {
		time.AfterFunc(wedgedHTTP, die)
	}
	s.alive.Lock()
	select {}
}

const wedgedHTTP = 3 * time.Second

// pause freezes the process for a while.
func (s *server) pause(d time.Duration) {
	s.alive.Lock()
	time.Sleep(d)
	s.alive.Unlock()
}

// breathe waits while the process plays dead.
func (s *server) breathe() {
	s.alive.RLock()
	s.alive.RUnlock() //nolint:staticcheck // an empty section: it is a gate
}
