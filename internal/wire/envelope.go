package wire

// target is where a scan puts what it finds. It lives on the stack of the
// parsing call: the scanner must not keep it.
type target struct {
	m      *Message
	p      *Params
	server bool // the message is a server's: faults inside result and error are counted
	origin int  // of params or result: spans count from there

	version, id, method, result, failure Span // of the envelope
}

// message scans the envelope.
func (s *scanner) message(from Origin, m *Message) int {
	*m = Message{}
	i := s.start()
	if i < 0 {
		return i
	}
	switch s.peek(i) {
	case '{':
	case '[':
		return s.fail(i, "batches are not supported; send each message by itself")
	default:
		return s.fail(i, "a message is a JSON object; it starts with '{'")
	}
	t := target{m: m, p: &m.Params, server: from == FromServer}
	if end := s.whole(s.known(envelopeObject, i, &t)); end < 0 {
		return end
	}
	m.Faults = s.faults
	return s.classify(m, &t)
}

// known scans an object some of whose names mean something to us.
func (s *scanner) known(kind objectKind, i int, t *target) int {
	if i = s.enter(i); i < 0 {
		return i
	}
	if s.peek(i) == '}' {
		s.depth--
		return i + 1
	}
	mark := s.names.open()
	seen := uint64(0)
	for {
		f, end := s.field(kind, i, mark.refs, &seen)
		if end < 0 {
			return end
		}
		if i = s.colon(end); i < 0 {
			return i
		}
		if i = s.member(kind, f, i, t); i < 0 {
			return i
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			s.names.close(mark)
			s.depth--
			return i + 1
		default:
			return s.unclosed(i, "an object", "'}'")
		}
	}
}

// field checks the name at i and returns which one it is. A name of the protocol
// needs a bit to tell whether it stood before; others go to the name stack.
func (s *scanner) field(kind objectKind, i, base int, seen *uint64) (f field, end int) {
	if s.peek(i) != '"' {
		return noField, s.noName(i)
	}
	end, coded := s.str(i)
	if end < 0 {
		return noField, end
	}
	ref := s.ref(i, end, coded)
	if f = fieldOf(kind, s.names.text(s.data, ref)); f == noField {
		return noField, s.foreignName(kind, i, end, base, ref)
	}
	if again := *seen&(1<<f) != 0; again && !s.duplicate(i, end) {
		return f, -1
	}
	*seen |= 1 << f
	return f, end
}

// foreignName checks a name that is not the protocol's, from i to end.
func (s *scanner) foreignName(kind objectKind, i, end, base int, ref nameRef) int {
	if kind.folds() {
		name := ref
		ref = s.names.folded(s.data, name)
		if known, yes := misspelt(kind, s.names.text(s.data, name), s.names.text(s.data, ref)); yes {
			return s.fail(i, "member name "+excerpt(s.data[i:end])+" differs from "+Quote(known)+" in case only; names are case-sensitive")
		}
	}
	if s.names.add(s.data, base, ref) && !s.duplicate(i, end) {
		return -1
	}
	return end
}

// member checks the value at i and notes what it is.
func (s *scanner) member(kind objectKind, f field, i int, t *target) int {
	switch {
	case f == noField:
		return s.value(i)
	case kind == envelopeObject:
		return s.envelopeMember(f, i, t)
	case kind == paramsObject && f == fieldRef && s.peek(i) == '{':
		return s.note(&t.p.Ref, i, s.known(refObject, i, t), t)
	case kind == paramsObject && f == fieldMeta:
		return s.meta(i, t)
	case kind == resultObject && f == fieldIsError:
		end := s.value(i)
		t.m.IsError = end >= 0 && string(s.data[i:end]) == "true"
		return end
	default:
		return s.note(t.at(kind, f), i, s.value(i), t)
	}
}

// note sets at to the value from start to end, relative to the object that is scanned.
func (s *scanner) note(at *Span, start, end int, t *target) int {
	if end >= 0 {
		*at = span(start-t.origin, end-t.origin)
	}
	return end
}

func (s *scanner) envelopeMember(f field, i int, t *target) int {
	var end int
	switch f {
	case fieldVersion:
		end = s.value(i)
		t.version = span(i, end)
	case fieldID:
		end = s.value(i)
		t.id = span(i, end)
	case fieldMethod:
		end = s.value(i)
		t.method = span(i, end)
	case fieldParams:
		end = s.params(i, t)
	case fieldResult:
		s.lenient = t.server
		end = s.result(i, t)
		t.result = span(i, end)
	default:
		s.lenient = t.server
		end = s.failureObject(i)
		t.failure = span(i, end)
	}
	s.lenient = false
	return end
}

func (s *scanner) failureObject(i int) int {
	if s.peek(i) != '{' {
		return s.fail(i, `"error" must be an object`)
	}
	return s.object(i)
}

// result scans a result; what is known is noted of an object only.
func (s *scanner) result(i int, t *target) int {
	if s.peek(i) != '{' {
		return s.value(i)
	}
	t.origin = i
	return s.known(resultObject, i, t)
}

// params scans the params object at i; spans are relative to its first byte.
func (s *scanner) params(i int, t *target) int {
	if s.peek(i) != '{' {
		return s.fail(i, `"params" must be an object`)
	}
	t.origin = i
	end := s.known(paramsObject, i, t)
	if end >= 0 {
		t.p.Raw = s.data[i:end:end]
	}
	return end
}

// meta scans the value of `_meta`. A null is tolerated: it means what {} means.
func (s *scanner) meta(i int, t *target) int {
	var end int
	switch s.peek(i) {
	case '{':
		end = s.known(metaObject, i, t)
	case 'n':
		end = s.literal(i, "null")
	default:
		return s.fail(i, `"_meta" must be an object`)
	}
	return s.note(&t.p.Meta, i, end, t)
}

// at returns where the span of a field is kept.
func (t *target) at(kind objectKind, f field) *Span {
	switch kind {
	case metaObject:
		return t.p.InMeta.at(f)
	case resultObject:
		return &t.m.ResultType
	default:
		return t.p.at(f)
	}
}

func (p *Params) at(f field) *Span {
	switch f {
	case fieldName:
		return &p.Name
	case fieldURI:
		return &p.URI
	case fieldTaskID:
		return &p.TaskID
	case fieldRef:
		return &p.Ref
	case fieldArguments:
		return &p.Arguments
	case fieldCursor:
		return &p.Cursor
	case fieldRequestState:
		return &p.RequestState
	case fieldInputResponses:
		return &p.InputResponses
	case fieldTask:
		return &p.Task
	case fieldProgressToken:
		return &p.ProgressToken
	default:
		return &p.RequestID
	}
}

func (m *MetaSpans) at(f field) *Span {
	switch f {
	case fieldProtocolVersion:
		return &m.ProtocolVersion
	case fieldClientCapabilities:
		return &m.ClientCapabilities
	case fieldClientInfo:
		return &m.ClientInfo
	case fieldLogLevel:
		return &m.LogLevel
	case fieldSubscriptionID:
		return &m.SubscriptionID
	default:
		return &m.ProgressToken
	}
}
