package wire

import "bytes"

// message scans the envelope.
func (s *scanner) message(m *Message) error {
	*m = Message{}
	s.space()
	switch s.peek() {
	case '{':
	case '[':
		return s.fail("batches are not supported; send each message by itself")
	default:
		return s.fail("a message is a JSON object")
	}
	var e envelope
	err := s.object(envelopeObject, func(name []byte, start int) error { return s.envelopeMember(m, &e, name, start) })
	if err != nil {
		return err
	}
	s.space()
	if s.pos != len(s.data) {
		return s.fail("text after the message")
	}
	m.Faults = s.faults
	return s.classify(m, &e)
}

// envelope notes what the envelope held besides what is kept in the Message.
type envelope struct {
	version, id, method, params, result, error Span
}

func (s *scanner) envelopeMember(m *Message, e *envelope, name []byte, start int) error {
	var err error
	switch string(name) {
	case "jsonrpc":
		err = s.value()
		e.version = s.span(start)
	case "id":
		err = s.value()
		e.id = s.span(start)
	case "method":
		err = s.value()
		e.method = s.span(start)
	case "params":
		if s.peek() != '{' {
			return s.fail("params must be an object")
		}
		err = s.params(&m.Params)
		e.params = s.span(start)
	case "result":
		err = s.result(m)
		e.result = s.span(start)
	case "error":
		s.lenient = s.from == FromServer
		if s.peek() != '{' {
			return s.fail("error must be an object")
		}
		err = s.value()
		s.lenient = false
		e.error = s.span(start)
	default:
		err = s.value()
	}
	return err
}

// classify decides the kind from the members there are (JSON-RPC 2.0 §4 and §5).
func (s *scanner) classify(m *Message, e *envelope) error {
	s.pos = int(e.version.Start)
	if string(e.version.Of(s.data)) != `"2.0"` {
		return s.fail(`"jsonrpc" must be "2.0"`)
	}
	id := e.id.Of(s.data)
	if string(id) == "null" {
		id = nil
	}
	if id != nil && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		s.pos = int(e.id.Start)
		return s.fail("an id is a string or a number")
	}
	m.ID, m.Result, m.Error = id, e.result.Of(s.data), e.error.Of(s.data)
	s.pos = 0
	switch {
	case e.method.Present():
		return s.classifyCall(m, e)
	case e.result.Present() && e.error.Present():
		return s.fail("a response has either result or error, not both")
	case e.error.Present():
		m.Kind = Failure // without id when the request could not be read
	case e.result.Present() && id != nil:
		m.Kind = Result
	default:
		return s.fail("neither a request, a notification nor a response")
	}
	return nil
}

func (s *scanner) classifyCall(m *Message, e *envelope) error {
	if e.result.Present() || e.error.Present() {
		return s.fail("a message with a method has neither result nor error")
	}
	if e.id.Present() && m.ID == nil {
		s.pos = int(e.id.Start)
		return s.fail("the id of a request must not be null")
	}
	raw := e.method.Of(s.data)
	if raw[0] != '"' || len(raw) == 2 {
		s.pos = int(e.method.Start)
		return s.fail("method must be a string that is not empty")
	}
	if m.Method = internMethod(raw[1 : len(raw)-1]); m.Method == "" {
		m.Method, _ = Unquote(raw)
	}
	m.Kind = Notification
	if m.ID != nil {
		m.Kind = Request
	}
	return nil
}

// params scans the params object at pos; spans are relative to its first byte.
func (s *scanner) params(p *Params) error {
	if s.space(); s.peek() != '{' {
		return s.fail("params must be an object")
	}
	origin := s.pos
	err := s.object(paramsObject, func(name []byte, start int) error {
		if bytes.Equal(name, metaName) && s.peek() == '{' {
			err := s.meta(p, origin)
			p.Meta = s.relative(origin, start)
			return err
		}
		err := s.value()
		if at := p.member(name); at != nil {
			*at = s.relative(origin, start)
		}
		return err
	})
	p.Raw = s.data[origin:s.pos:s.pos]
	return err
}

//nolint:gochecknoglobals // constant
var metaName = []byte("_meta")

func (s *scanner) relative(origin, start int) Span {
	return Span{uint32(start - origin), uint32(s.pos - origin)} //nolint:gosec // bounded by the message
}

func (s *scanner) meta(p *Params, origin int) error {
	return s.object(metaObject, func(name []byte, start int) error {
		err := s.value()
		if at := p.InMeta.member(name); at != nil {
			*at = s.relative(origin, start)
		}
		return err
	})
}

// result scans a result and notes resultType and isError of an object.
func (s *scanner) result(m *Message) error {
	s.lenient = s.from == FromServer
	defer func() { s.lenient = false }()
	if s.peek() != '{' {
		return s.value()
	}
	origin := s.pos
	return s.object(anyObject, func(name []byte, start int) error {
		err := s.value()
		switch string(name) {
		case "resultType":
			m.ResultType = s.relative(origin, start)
		case "isError":
			m.IsError = string(s.data[start:s.pos]) == "true"
		}
		return err
	})
}

func (p *Params) member(name []byte) *Span {
	switch string(name) {
	case "name":
		return &p.Name
	case "uri":
		return &p.URI
	case "taskId":
		return &p.TaskID
	case "ref":
		return &p.Ref
	case "arguments":
		return &p.Arguments
	case "cursor":
		return &p.Cursor
	case "requestState":
		return &p.RequestState
	case "inputResponses":
		return &p.InputResponses
	case "progressToken":
		return &p.ProgressToken
	case "requestId":
		return &p.RequestID
	default:
		return nil
	}
}

func (m *MetaSpans) member(name []byte) *Span {
	switch string(name) {
	case MetaProtocolVersion:
		return &m.ProtocolVersion
	case MetaClientCapabilities:
		return &m.ClientCapabilities
	case MetaClientInfo:
		return &m.ClientInfo
	case MetaLogLevel:
		return &m.LogLevel
	case MetaSubscriptionID:
		return &m.SubscriptionID
	case MetaProgressToken:
		return &m.ProgressToken
	default:
		return nil
	}
}

// protocolNames are the names of each object that a reader which ignores case
// would take for the protocol's own.
func protocolNames(kind objectKind) []string {
	switch kind {
	case envelopeObject:
		return []string{"jsonrpc", "id", "method", "params", "result", "error"}
	case paramsObject:
		return []string{
			"name", "uri", "taskId", "ref", "arguments", "cursor", "requestState", "inputResponses", "progressToken", "requestId",
			"_meta", "argument", "level", "task", "protocolVersion", "capabilities", "clientInfo",
		}
	case metaObject:
		return []string{
			MetaProtocolVersion, MetaClientCapabilities, MetaClientInfo, MetaLogLevel, MetaSubscriptionID, MetaProgressToken,
			"traceparent", "tracestate", "baggage",
		}
	default:
		return nil
	}
}

// misspelt reports whether name is one of the protocol's in other case.
func misspelt(kind objectKind, name []byte) bool {
	for _, known := range protocolNames(kind) {
		if len(name) >= len(known) && string(name) != known && bytes.EqualFold(name, []byte(known)) {
			return true
		}
	}
	return false
}
