package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// message is a JSON-RPC message as far as the clients look at it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Message string `json:"message"` // of a question, or of a notification about progress
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (m *message) isResponse() bool { return m.Method == "" && (m.Result != nil || m.Error != nil) }

// result is the result of a call of a tool.
type result struct {
	ResultType string `json:"resultType"`
	IsError    bool   `json:"isError"`
	Content    []struct {
		Text string `json:"text"`
	} `json:"content"`
	InputRequests map[string]struct {
		Method string `json:"method"`
		Params struct {
			Message string `json:"message"`
		} `json:"params"`
	} `json:"inputRequests"`
	RequestState *string `json:"requestState"`
}

func (r *result) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// Error codes of the gateway.
const (
	codeRateLimited = 40304
	codeUnavailable = 50301
	codeTimeout     = 50401
	codeUnknown     = 50402
)

// judgeError says what an error promises of the call.
func judgeError(e *rpcError) outcome {
	switch e.Code {
	case codeTimeout, codeUnknown:
		return unknown
	case codeUnavailable, codeRateLimited, -32600, -32601, -32602:
		return refused
	default:
		return broken
	}
}

// answerOf says what a response that is no question means for call id.
func answerOf(m *message, id string) (outcome, string) {
	if m.Error != nil {
		return judgeError(m.Error), fmt.Sprintf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	var r result
	switch err := json.Unmarshal(m.Result, &r); {
	case err != nil:
		return broken, fmt.Sprintf("the result cannot be read (%v): %s", err, m.Result)
	case r.IsError:
		return toolError, r.text()
	case r.text() != "did "+id:
		return broken, "the answer is not to this call: " + string(m.Result)
	default:
		return ok, r.text()
	}
}

// question is what a server asks a person.
type question struct{ owner, call string }

func readQuestion(text string) (q question, valid bool) {
	var round int
	_, err := fmt.Sscanf(text, "owner=%s call=%s round=%d", &q.owner, &q.call, &round)
	return q, err == nil
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return string(b)
}

// event is one server-sent event.
type event struct{ id, data string }

// events reads server-sent events.
type events struct{ in *bufio.Reader }

func newEvents(r io.Reader) *events { return &events{bufio.NewReader(r)} }

// next returns the next event that is complete.
func (e *events) next() (event, error) {
	var ev event
	var data [][]byte
	for {
		line, err := e.in.ReadBytes('\n')
		if err != nil {
			return event{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case len(line) == 0 && (data != nil || ev.id != ""):
			ev.data = string(bytes.Join(data, []byte("\n")))
			return ev, nil
		case name == "id":
			ev.id = value
		case name == "data":
			data = append(data, []byte(value))
		}
	}
}
