package hostile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// interview asks the client a.N times, each time a.K questions at once, and
// returns the answers, one a line. The questions say who is asked (a.Text), the
// round and their number, and are of the kinds that a.Name lists, in turn:
// form, url, sampling, roots.
func (s *server) interview(m *message, a arguments) {
	kinds := strings.Split(a.Name, ",")
	var said []string
	asked := 0
	for round := range max(a.N, 1) {
		var answers []chan json.RawMessage
		var questions strings.Builder // written at once: they come together
		for range max(a.K, 1) {
			id := fmt.Sprintf("%q", fmt.Sprintf("interview-%s-%d", strings.Trim(string(m.ID), `"`), asked))
			text := fmt.Sprintf("%s round %d question %d", a.Text, round+1, asked+1)
			answers = append(answers, s.expect(id))
			questions.WriteString(`{"jsonrpc":"2.0","id":` + id + `,` + question(kinds[asked%len(kinds)], text) + "}\n")
			asked++
		}
		s.raw(questions.String())
		for _, answer := range answers {
			said = append(said, string(<-answer))
		}
		s.raw(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + orZero(m.Params.Meta.ProgressToken) +
			`,"progress":` + strconv.Itoa(round+1) + "}}\n")
		time.Sleep(time.Duration(a.Milli) * time.Millisecond)
	}
	s.text(m.ID, strings.Join(said, "\n"))
}

func orZero(token json.RawMessage) string {
	if token == nil {
		return "0"
	}
	return string(token)
}

// expect notes a request to the client; its result, or error, arrives on the channel.
func (s *server) expect(id string) chan json.RawMessage {
	ch := make(chan json.RawMessage, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking == nil {
		s.asking = map[string]chan json.RawMessage{}
	}
	s.asking[id] = ch
	return ch
}

func question(kind, text string) string {
	quoted := strconv.Quote(text)
	switch kind {
	case "url":
		return `"method":"elicitation/create","params":{"mode":"url","elicitationId":"e1","url":"https://example.com/","message":` + quoted + `}`
	case "sampling":
		return `"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":` + quoted + `}}],"maxTokens":10}`
	case "roots":
		return `"method":"roots/list"`
	default:
		return `"method":"elicitation/create","params":{"message":` + quoted + `,"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`
	}
}

// gate wants a page to be visited before it lets a call pass: the first call is
// refused with the error for that, and every later one passes.
func (s *server) gate(m *message) {
	s.mu.Lock()
	visited := s.visited
	s.visited = true
	s.mu.Unlock()
	if visited {
		s.text(m.ID, "welcome")
		return
	}
	s.raw(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32042,"message":"visit a page first","data":{"elicitations":[` +
		`{"mode":"url","elicitationId":"g1","url":"https://example.com/consent","message":"Please consent."}]}}}` + "\n")
}

// subscribe notes what the client wants to hear of, after a while: it must wait
// for the answer before it can rely on that.
func (s *server) subscribe(m *message) {
	time.Sleep(20 * time.Millisecond)
	s.mu.Lock()
	if s.subscribed == nil {
		s.subscribed = map[string]bool{}
	}
	s.subscribed[m.Params.URI] = m.Method == "resources/subscribe"
	s.mu.Unlock()
	s.result(m.ID, "{}")
}

// touch says that a resource changed, if the client wants to hear of it.
func (s *server) touch(m *message, uri string) {
	s.mu.Lock()
	wanted := s.subscribed[uri]
	s.mu.Unlock()
	if wanted {
		s.raw(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":` + strconv.Quote(uri) + "}}\n")
	}
	s.text(m.ID, fmt.Sprint(wanted))
}
