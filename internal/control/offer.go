package control

import (
	"encoding/json"
	"net/http"
	"strings"

	"durward"
	"durward/client"
)

// items lists what is offered of some kinds.
func items(kinds ...string) func(*api, http.ResponseWriter, *request) error {
	return func(a *api, w http.ResponseWriter, r *request) error {
		query := r.URL.Query()
		filter := client.Filter{Server: query.Get("server"), Toolset: query.Get("toolset")}
		list := client.ItemList{Items: []client.Item{}}
		for _, kind := range kinds {
			some, err := a.opt.Offer.Items(r.Context(), r.caller, kind, filter)
			if err != nil {
				return err
			}
			list.Items = append(list.Items, some...)
		}
		return writeJSON(w, http.StatusOK, list)
	}
}

// call calls a tool. A reader of events gets progress while it is under way.
func (a *api) call(w http.ResponseWriter, r *request) error {
	params, err := callParams(r)
	if err != nil {
		return err
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		raw, err := a.opt.Offer.Do(r.Context(), r.caller, "tools/call", params, nil)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, result(raw))
	}
	s := newStream(w, r, a.opt)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		raw, err := a.opt.Offer.Do(r.Context(), r.caller, "tools/call", params, func(method string, params json.RawMessage) {
			if p, ok := progressOf(method, params); ok {
				s.put("progress", p)
			}
		})
		if err != nil {
			s.last("error", failure(err))
			return
		}
		s.last("result", result(raw))
	}()
	s.run(nil)
	<-answered // the caller's context has ended, or the answer is sent
	return nil
}

func callParams(r *request) (json.RawMessage, error) {
	var in client.CallRequest
	if err := r.body(&in); err != nil {
		return nil, err
	}
	if in.Name == "" {
		return nil, durward.Errorf(durward.Invalid, "", "name is missing: what is to be called?")
	}
	name, err := json.Marshal(in.Name)
	if err != nil {
		return nil, err
	}
	if len(in.Arguments) == 0 {
		in.Arguments = json.RawMessage("{}")
	}
	// Spliced, not encoded: the arguments go to the server as they came.
	return json.RawMessage(`{"name":` + string(name) + `,"arguments":` + string(in.Arguments) + `}`), nil
}

func (a *api) getPrompt(w http.ResponseWriter, r *request) error {
	params, err := callParams(r)
	if err != nil {
		return err
	}
	return a.answer(w, r, "prompts/get", params)
}

func (a *api) readResource(w http.ResponseWriter, r *request) error {
	var in client.ReadRequest
	if err := r.body(&in); err != nil {
		return err
	}
	params, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return a.answer(w, r, "resources/read", params)
}

func (a *api) answer(w http.ResponseWriter, r *request, method string, params json.RawMessage) error {
	raw, err := a.opt.Offer.Do(r.Context(), r.caller, method, params, nil)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, result(raw))
}

func result(raw json.RawMessage) client.Result {
	var head struct {
		IsError bool `json:"isError"`
	}
	_ = json.Unmarshal(raw, &head) // it says false then, and Result shows what there is
	return client.Result{IsError: head.IsError, Result: raw}
}

// progressOf reads a notification that belongs to a call.
func progressOf(method string, params json.RawMessage) (client.Progress, bool) {
	var p struct {
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
		Level    string          `json:"level"`
		Data     json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &p) != nil {
		return client.Progress{}, false
	}
	switch method {
	case "notifications/progress":
		return client.Progress{Progress: p.Progress, Total: p.Total, Message: p.Message}, true
	case "notifications/message":
		return client.Progress{Level: p.Level, Log: p.Data}, true
	default:
		return client.Progress{}, false
	}
}
