package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// lines is stdin and stdout, one message a line.
type lines struct {
	server *server

	mu  sync.Mutex // guards out and what is under way
	out io.Writer
	on  map[string]context.CancelFunc // requests under way, by raw id
}

// serveStdio returns when the client is gone, and what is under way ends with it.
func (s *server) serveStdio() {
	l := &lines{server: s, out: os.Stdout, on: map[string]context.CancelFunc{}}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		s.breathe()
		m := new(message)
		if json.Unmarshal(line, m) == nil {
			l.take(m)
		}
	}
}

func (l *lines) take(m *message) {
	switch m.kind() {
	case "response":
		l.server.answered(m)
	case "notification":
		if m.Method == "notifications/cancelled" {
			l.end(string(m.Params.RequestID))
		}
	default:
		ctx, cancel := context.WithCancel(context.Background())
		l.mu.Lock()
		l.on[string(m.ID)] = cancel
		l.mu.Unlock()
		go func() { // the process outlives nobody who would wait for it
			l.server.answer(ctx, m, l)
			l.end(string(m.ID))
		}()
	}
}

// end ends a request, which may be over already.
func (l *lines) end(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.on[id]; cancel != nil {
		cancel()
		delete(l.on, id)
	}
}

func (l *lines) send(line []byte) { l.write(append(line[:len(line):len(line)], '\n')) }

func (l *lines) half(line []byte) { l.write(line) }

func (l *lines) write(data []byte) {
	l.server.breathe()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.out.Write(data); err != nil {
		die() // nobody reads
	}
}

func (l *lines) ask(ctx context.Context, params []byte) (response, error) {
	id, answer := l.server.question()
	l.send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + string(params) + `}`))
	return l.server.await(ctx, id, answer)
}

// question numbers a question and makes room for its answer.
func (s *server) question() (id string, answer chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id = fmt.Sprintf(`"q%d"`, s.asked)
	answer = make(chan []byte, 1)
	s.pending[id] = answer
	return id, answer
}

// answered takes the answer to a question.
func (s *server) answered(m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := s.pending[string(m.ID)]
	delete(s.pending, string(m.ID))
	if answer == nil {
		return
	}
	if m.Result == nil {
		answer <- []byte(`{"action":` + quote("error "+string(m.Error)) + `}`)
		return
	}
	answer <- m.Result
}

// patience is how long a server waits for a person.
const patience = 20 * time.Second

func (s *server) await(ctx context.Context, id string, answer <-chan []byte) (r response, err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case raw := <-answer:
		return r, json.Unmarshal(raw, &r)
	case <-ctx.Done():
		err = errors.New("the call was cancelled")
	case <-timer.C:
		err = errors.New("nobody answered within " + patience.String())
	}
	s.mu.Lock()
	delete(s.pending, id)
	s.mu.Unlock()
	return r, err
}
