package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"durward/test/chaos/fault"
)

// session is one legacy session.
type session struct {
	mu      sync.Mutex // guards the fields below
	on      map[string]context.CancelFunc
	streams map[int]*stream
}

func (s *server) serveHTTP(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return (&http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: time.Minute}).Serve(listener)
}

// forget loses all sessions.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = map[string]*session{}
}

func (s *server) session(r *http.Request) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[r.Header.Get("Mcp-Session-Id")]
}

func (s *server) handle(w http.ResponseWriter, r *http.Request) {
	s.breathe()
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case r.Header.Get("Mcp-Session-Id") == "" || !s.speaksLegacy():
		w.WriteHeader(http.StatusMethodNotAllowed)
	case s.session(r) == nil:
		unknownSession(w, nil)
	case r.Method == http.MethodGet:
		s.get(w, r)
	default:
		s.mu.Lock()
		delete(s.sessions, r.Header.Get("Mcp-Session-Id"))
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}
}

func unknownSession(w http.ResponseWriter, id json.RawMessage) {
	writeJSON(w, http.StatusNotFound, errorLine(id, -32001, "session not found", ""))
}

func writeJSON(w http.ResponseWriter, status int, line []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	w.WriteHeader(status)
	_, _ = w.Write(line) // who does not read it is gone
}

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it broke off
	}
	m := new(message)
	if err := json.Unmarshal(body, m); err != nil {
		writeJSON(w, http.StatusBadRequest, errorLine(nil, -32700, err.Error(), ""))
		return
	}
	s.breathe()
	switch {
	case m.modern() && s.speaksModern():
		s.serve(r.Context(), w, m, newStream(s, nil))
	case m.modern() || !s.speaksLegacy():
		writeJSON(w, http.StatusBadRequest, s.refusal(m))
	case m.Method == "initialize":
		s.open(w, m)
	default:
		s.legacy(w, r, m)
	}
}

// open begins a session.
func (s *server) open(w http.ResponseWriter, m *message) {
	s.mu.Lock()
	s.asked++
	id := fmt.Sprintf("session-%d-%d", time.Now().UnixNano(), s.asked)
	s.sessions[id] = &session{on: map[string]context.CancelFunc{}, streams: map[int]*stream{}}
	s.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", id)
	s.serve(context.Background(), w, m, newStream(s, nil))
}

func (s *server) legacy(w http.ResponseWriter, r *http.Request, m *message) {
	if s.wants(m, fault.LoseSession) {
		s.forget()
	}
	at := s.session(r)
	switch {
	case at == nil:
		unknownSession(w, m.ID)
	case m.kind() == "response":
		s.answered(m)
		w.WriteHeader(http.StatusAccepted)
	case m.kind() == "notification":
		if m.Method == "notifications/cancelled" {
			at.end(string(m.Params.RequestID))
		}
		w.WriteHeader(http.StatusAccepted)
	default:
		ctx, cancel := context.WithCancel(context.Background()) // a broken connection cancels nothing
		at.mu.Lock()
		at.on[string(m.ID)] = cancel
		at.mu.Unlock()
		defer at.end(string(m.ID))
		s.serve(ctx, w, m, newStream(s, at))
	}
}

func (at *session) end(id string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if cancel := at.on[id]; cancel != nil {
		cancel()
		delete(at.on, id)
	}
}

// wants reports whether a call is to meet a fault that strikes before it is looked at.
func (s *server) wants(m *message, kind string) bool {
	a := &m.Params.Arguments
	return m.Method == "tools/call" && a.Fault == kind && s.fault(a) != ""
}

// serve answers a request: with one message, or with a stream when there is more to say.
func (s *server) serve(ctx context.Context, w http.ResponseWriter, m *message, to *stream) {
	if s.wants(m, fault.Busy) {
		if id := m.Params.Arguments.ID; id[len(id)-1]%2 == 0 {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "come back later", http.StatusServiceUnavailable)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.answer(ctx, m, to)
		to.finish()
	}()
	if !streams(m) {
		<-done
		s.breathe()
		to.whole(w)
		return
	}
	to.pump(ctx, w, 0)
	<-done
}

// streams reports whether a request is answered with events.
func streams(m *message) bool {
	a := &m.Params.Arguments
	switch {
	case m.Method == "subscriptions/listen":
		return true
	case m.Method != "tools/call":
		return false
	}
	return a.Stream || m.Params.Name == "progress" || m.Params.Name == "ask" && !m.modern() ||
		a.Fault == fault.Noise || a.Fault == fault.Twice || a.Fault == fault.CrashMid
}

// get opens the stream of a session, or takes up one that broke off.
func (s *server) get(w http.ResponseWriter, r *http.Request) {
	at := s.session(r)
	last := r.Header.Get("Last-Event-Id")
	if at == nil || last == "" {
		beginStream(w)
		<-r.Context().Done() // this server has nothing to say by itself
		return
	}
	number, seq, _ := strings.Cut(last, "-")
	n, err := strconv.Atoi(number)
	from, err2 := strconv.Atoi(seq)
	at.mu.Lock()
	to := at.streams[n]
	at.mu.Unlock()
	if err != nil || err2 != nil || to == nil {
		http.Error(w, "cannot be resumed", http.StatusBadRequest)
		return
	}
	to.pump(r.Context(), w, from)
}
