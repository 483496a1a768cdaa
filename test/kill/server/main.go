// Command server is the MCP server that counts: the first thing it does with a
// call is to write the call's id to the journal of the run, before it looks at
// anything else. What the journal has, reached a server; the ledger must have it,
// too. It speaks both eras, over stdio or as HTTP, with nothing but the standard
// library.
//
// Its tools also tell what they were given (environment, arguments, headers), in
// every way a careless server might, for the test that looks for secrets.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"durward/test/chaos/journal"
)

func main() {
	s := &server{}
	listen := flag.String("http", "", "serve HTTP on this address and print it; default: stdio")
	dir := flag.String("dir", "", "folder of the journal")
	flag.StringVar(&s.name, "name", "", "name in the journal")
	flag.StringVar(&s.token, "token", "", "a secret that came in the arguments")
	flag.Parse()
	if err := s.run(*listen, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

type server struct {
	name, token string
	journal     *journal.Writer
}

func (s *server) run(listen, dir string) (err error) {
	if s.journal, err = journal.Open(dir); err != nil {
		return err
	}
	if listen == "" {
		s.serveLines()
		return s.journal.Close()
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return (&http.Server{Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: time.Minute}).Serve(l)
}

// request is one request with the way back.
type request struct {
	message
	header http.Header               // nil over stdio
	say    func(notification string) // sends a notification; does nothing over HTTP
}

func (s *server) serveLines() {
	var mu sync.Mutex // held while a line is written
	write := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if _, err := os.Stdout.WriteString(line + "\n"); err != nil {
			os.Exit(0) // nobody reads
		}
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		r := &request{say: write}
		if json.Unmarshal(line, &r.message) != nil || len(r.ID) == 0 || r.Method == "" {
			continue
		}
		s.see(&r.message)
		go func() { write(s.answer(r)) }() // the process outlives nobody who would wait for it
	}
}

func (s *server) serveHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(q.Body)
	r := &request{header: q.Header, say: func(string) {}}
	if err != nil || json.Unmarshal(body, &r.message) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if len(r.ID) == 0 || r.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.see(&r.message)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, s.answer(r)) // who does not read it is gone
}

// see notes a call, before anything else.
func (s *server) see(m *message) {
	if id := m.call(); id != "" {
		s.journal.Write(journal.Entry{Kind: journal.Execution, Server: s.name, Call: id})
	}
}
