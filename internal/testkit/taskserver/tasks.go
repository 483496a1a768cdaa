package taskserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// begin makes a task, which waits for input if it is to ask.
func (s *Server) begin(text string, ask bool) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks == nil {
		s.tasks = map[string]*task{}
	}
	t := &task{id: fmt.Sprintf("task-%d", len(s.tasks)+1), status: "working", text: text, done: make(chan struct{})}
	if ask {
		t.status = "input_required"
	}
	s.tasks[t.id] = t
	s.order = append(s.order, t.id)
	return t
}

// state renders a task; a modern one with all that is known of it.
func (s *Server) state(t *task) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.render(t)
}

// render needs mu.
func (s *Server) render(t *task) string {
	base := fmt.Sprintf(`{"taskId":%q,"status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"`, t.id, t.status)
	switch {
	case s.Legacy:
		return base + `,"ttl":60000}`
	case t.status == "completed":
		base += fmt.Sprintf(`,"result":%s`, content(t.text))
	case t.status == "input_required":
		base += `,"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}`
	}
	return base + `,"ttlMs":null}`
}

// Finish ends a task and tells who listens.
func (s *Server) Finish(id, text string) { s.finish(id, "completed", text, nil) }

func (s *Server) finish(id, status, text string, say func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil || t.status == "completed" || t.status == "cancelled" {
		return
	}
	t.status = status
	if text != "" {
		t.text = text
	}
	close(t.done)
	if s.Legacy && say != nil {
		say(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + s.render(t) + `}`)
	}
	for l := range s.listens {
		if l.tasks[id] {
			l.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},%s}`, l.id, s.render(t)[1:]))
		}
	}
}

// listen serves subscriptions/listen until leave is called.
func (s *Server) listen(m *message, say func(string)) (leave func()) {
	l := &listen{id: string(m.ID), tasks: map[string]bool{}, say: say}
	_, declared := m.Params.Meta.Capabilities.Extensions[extension]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(m.Params.Notifications.TaskIDs) > 0 && !declared {
		say(failure(m, -32021, "declare tasks"))
		return func() {}
	}
	var agreed []string
	for _, id := range m.Params.Notifications.TaskIDs {
		if s.tasks[id] != nil && !s.Deaf {
			l.tasks[id] = true
			agreed = append(agreed, strconv.Quote(id))
		}
	}
	if s.listens == nil {
		s.listens = map[*listen]struct{}{}
	}
	s.listens[l] = struct{}{}
	say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"taskIds":[%s]}}}`,
		m.ID, strings.Join(agreed, ",")))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listens, l)
	}
}

// about serves a request about a task.
func (s *Server) about(m *message, say func(string)) {
	if m.Method == "tasks/list" {
		say(result(m, s.list()))
		return
	}
	s.mu.Lock()
	t := s.tasks[m.Params.TaskID]
	s.mu.Unlock()
	if t == nil {
		say(failure(m, -32602, "no task "+m.Params.TaskID))
		return
	}
	switch m.Method {
	case "tasks/cancel":
		s.finish(t.id, "cancelled", "", say)
	case "tasks/update":
		s.finish(t.id, "completed", string(m.Params.InputResponses["who"]), say)
	case "tasks/result":
		s.outcome(m, t, say)
		return
	}
	if !s.Legacy && m.Method != "tasks/get" {
		say(result(m, `{"resultType":"complete"}`))
		return
	}
	text := s.state(t)
	if !s.Legacy {
		text = `{"resultType":"complete",` + text[1:]
	}
	say(result(m, text))
}

func (s *Server) list() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, id := range slices.Sorted(slices.Values(s.order)) {
		all = append(all, s.render(s.tasks[id]))
	}
	return `{"tasks":[` + strings.Join(all, ",") + `]}`
}

// outcome answers tasks/result: it waits for the end of the task, and asks first
// if that needs an answer.
func (s *Server) outcome(m *message, t *task, say func(string)) {
	related := fmt.Sprintf(`"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%q}}`, t.id)
	s.mu.Lock()
	ask := t.status == "input_required"
	s.mu.Unlock()
	if ask {
		say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"waiting",%s}}`, related))
		s.finish(t.id, "completed", string(s.ask(m, related, say)), say)
	}
	<-t.done
	s.mu.Lock()
	text := t.text
	s.mu.Unlock()
	say(result(m, content(text)[:len(content(text))-1]+`,`+related+`}`))
}

// ask asks the client, and returns its whole answer.
func (s *Server) ask(m *message, related string, say func(string)) json.RawMessage {
	id := strconv.Quote("ask-" + string(m.ID))
	ch := make(chan json.RawMessage, 1)
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]chan json.RawMessage{}
	}
	s.asked[id] = ch
	s.mu.Unlock()
	say(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}},` + related + `}}`)
	return <-ch
}
