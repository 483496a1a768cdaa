package rawclient

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"durward/internal/wire"
)

// Question is what a server asks on the way to an answer.
type Question struct {
	Key    string // of a modern one
	Method string
	Params []byte
}

// Text returns what a person would read.
func (q Question) Text() string {
	if s, ok := wire.Unquote(wire.Get(q.Params, "message")); ok {
		return s
	}
	for at := range wire.Elements(wire.Get(q.Params, "messages")) {
		s, _ := wire.Unquote(wire.Get(wire.Get(at.Of(wire.Get(q.Params, "messages")), "content"), "text"))
		return s
	}
	return ""
}

// Converse sends a request with raw params, an object, and answers what it is
// asked: answer returns a raw result, or "" to leave a question unanswered. It
// gives up after 50 rounds.
func (c *Client) Converse(ctx context.Context, method, params string, answer func(Question) string) (*Answer, error) {
	if !c.Modern {
		return c.converseLegacy(ctx, method, params, answer)
	}
	retry := params
	for range 50 {
		a, err := c.Do(ctx, method, retry)
		if err != nil || a.Msg.Type() != "input_required" {
			return a, err
		}
		retry = Retry(params, a, answer)
	}
	return nil, errors.New("there is no end to the questions")
}

// Retry returns params with the answers to what a asks, and its requestState.
func Retry(params string, a *Answer, answer func(Question) string) string {
	questions := wire.Get(a.Msg.Result, "inputRequests")
	var answers []wire.Member
	for key, at := range wire.Members(questions) {
		method, _ := wire.Unquote(wire.Get(at.Of(questions), "method"))
		if said := answer(Question{Key: key, Method: method, Params: wire.Get(at.Of(questions), "params")}); said != "" {
			answers = append(answers, wire.Member{Name: key, Value: []byte(said)})
		}
	}
	members := []wire.Member{{Name: "inputResponses", Value: wire.AppendObject(nil, nil, nil, answers...)}}
	if state := wire.Get(a.Msg.Result, "requestState"); state != nil {
		members = append(members, wire.Member{Name: "requestState", Value: state})
	}
	return string(wire.AppendObject(nil, []byte(params), nil, members...))
}

// converseLegacy answers on the stream of the request.
func (c *Client) converseLegacy(ctx context.Context, method, params string, answer func(Question) string) (*Answer, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.next.Add(1), method, params)
	req, err := c.request(ctx, http.MethodPost, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		return c.read(resp)
	}
	defer resp.Body.Close() // read to its end
	a := &Answer{Status: resp.StatusCode, Header: resp.Header}
	var failed error
	err = readEvents(resp.Body, func(m wire.Message) bool {
		switch m.Kind {
		case wire.Result, wire.Failure:
			a.Msg = m
			return false
		case wire.Request:
			if said := answer(Question{Method: m.Method, Params: m.Params.Raw}); said != "" {
				_, failed = c.Send(ctx, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+said+`}`, "", "")
			}
		default:
			a.Notes = append(a.Notes, m)
		}
		return failed == nil
	})
	return a, errors.Join(err, failed)
}
