package wire

// classify decides the kind from the members there are (JSON-RPC 2.0 §4 and §5).
// It returns -1 after fail, else 0.
func (s *scanner) classify(m *Message, t *target) int {
	if string(t.version.Of(s.data)) != `"2.0"` {
		return s.fail(int(t.version.Start), `a message needs "jsonrpc":"2.0"`)
	}
	id := t.id.Of(s.data)
	null := string(id) == "null"
	if null {
		id = nil
	}
	if id != nil && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return s.fail(int(t.id.Start), "an id is a string or a number")
	}
	m.ID, m.Result, m.Error = id, t.result.Of(s.data), t.failure.Of(s.data)
	hasResult, hasError := t.result.Present(), t.failure.Present()
	switch {
	case t.method.Present() && (hasResult || hasError):
		return s.fail(0, `a message has either "method", or "result" or "error"`)
	case t.method.Present() && null:
		return s.fail(int(t.id.Start), `the id of a request must not be null; leave "id" out of a notification`)
	case t.method.Present():
		return s.classifyCall(m, t)
	case hasResult && hasError:
		return s.fail(0, `a response has either "result" or "error", not both`)
	case hasError:
		m.Kind = Failure // without id when the request could not be read
	case hasResult && id != nil:
		m.Kind = Result
	case hasResult:
		return s.fail(0, `a response with a result needs the "id" of its request`)
	default:
		return s.fail(0, `a message needs "method", "result" or "error"`)
	}
	return 0
}

func (s *scanner) classifyCall(m *Message, t *target) int {
	raw := t.method.Of(s.data)
	if raw[0] != '"' || len(raw) == 2 {
		return s.fail(int(t.method.Start), `"method" must be a string that is not empty`)
	}
	if m.Method = internMethod(raw[1 : len(raw)-1]); m.Method == "" {
		m.Method, _ = Unquote(raw)
	}
	m.Kind = Notification
	if m.ID != nil {
		m.Kind = Request
	}
	return 0
}
