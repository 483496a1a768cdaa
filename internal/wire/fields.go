package wire

// objectKind says which names of an object mean something to us.
type objectKind uint8

const (
	anyObject      objectKind = iota
	envelopeObject            // the message itself
	paramsObject
	metaObject // `_meta` in params
	refObject  // `ref` in the params of completion/complete: holds a routing key
	resultObject
)

// folds reports whether names of the object that differ in case only are refused.
func (k objectKind) folds() bool { return k != anyObject && k != resultObject }

// field is a name of the protocol. The values are below 64, so that a set of
// them is a bit mask.
type field uint8

const (
	noField field = iota

	fieldVersion // of the envelope
	fieldID
	fieldMethod
	fieldParams
	fieldResult
	fieldError

	fieldName // of params
	fieldURI
	fieldTaskID
	fieldRef
	fieldArguments
	fieldCursor
	fieldRequestState
	fieldInputResponses
	fieldTask
	fieldProgressToken // also of `_meta`
	fieldRequestID
	fieldMeta

	fieldProtocolVersion // of `_meta`
	fieldClientCapabilities
	fieldClientInfo
	fieldLogLevel
	fieldSubscriptionID

	fieldResultType // of a result
	fieldIsError
)

// fieldOf returns the field that name is in an object of that kind, noField for foreign names.
func fieldOf(kind objectKind, name []byte) field {
	switch kind {
	case envelopeObject:
		return envelopeField(name)
	case paramsObject:
		return paramsField(name)
	case metaObject:
		return metaField(name)
	case resultObject:
		switch string(name) {
		case "resultType":
			return fieldResultType
		case "isError":
			return fieldIsError
		}
	}
	return noField
}

func envelopeField(name []byte) field {
	switch string(name) {
	case "jsonrpc":
		return fieldVersion
	case "id":
		return fieldID
	case "method":
		return fieldMethod
	case "params":
		return fieldParams
	case "result":
		return fieldResult
	case "error":
		return fieldError
	default:
		return noField
	}
}

func paramsField(name []byte) field {
	switch string(name) {
	case "name":
		return fieldName
	case "uri":
		return fieldURI
	case "taskId":
		return fieldTaskID
	case "ref":
		return fieldRef
	case "arguments":
		return fieldArguments
	case "cursor":
		return fieldCursor
	case "requestState":
		return fieldRequestState
	case "inputResponses":
		return fieldInputResponses
	case "task":
		return fieldTask
	case "progressToken":
		return fieldProgressToken
	case "requestId":
		return fieldRequestID
	case "_meta":
		return fieldMeta
	default:
		return noField
	}
}

func metaField(name []byte) field {
	switch string(name) {
	case MetaProtocolVersion:
		return fieldProtocolVersion
	case MetaClientCapabilities:
		return fieldClientCapabilities
	case MetaClientInfo:
		return fieldClientInfo
	case MetaLogLevel:
		return fieldLogLevel
	case MetaSubscriptionID:
		return fieldSubscriptionID
	case MetaProgressToken:
		return fieldProgressToken
	default:
		return noField
	}
}

// knownNames are the names of each kind of object that a reader which ignores
// case would take for the protocol's own, those whose values are nothing to us included.
func knownNames(kind objectKind) []string {
	switch kind {
	case envelopeObject:
		return envelopeNames[:]
	case paramsObject:
		return paramsNames[:]
	case metaObject:
		return metaNames[:]
	case refObject:
		return refNames[:]
	default:
		return nil
	}
}

// The names, constants.
var (
	envelopeNames = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsNames   = [...]string{
		"name", "uri", "taskId", "ref", "arguments", "cursor", "requestState", "inputResponses", "progressToken", "requestId",
		"_meta", "argument", "level", "task", "protocolVersion", "capabilities", "clientInfo",
	}
	metaNames = [...]string{
		MetaProtocolVersion, MetaClientCapabilities, MetaClientInfo, MetaLogLevel, MetaSubscriptionID, MetaProgressToken,
		"traceparent", "tracestate", "baggage",
	}
	refNames = [...]string{"type", "name", "uri"}
)

// misspelt returns the name of the protocol that name is in other case; folded
// is name without case.
func misspelt(kind objectKind, name, folded []byte) (known string, yes bool) {
	for _, known := range knownNames(kind) {
		if len(known) == len(folded) && known != string(name) && equalLower(known, folded) {
			return known, true
		}
	}
	return "", false
}

// equalLower reports whether known in lower case is folded. Both have the same length, known is ASCII.
func equalLower(known string, folded []byte) bool {
	for i := range len(known) {
		c := known[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != folded[i] {
			return false
		}
	}
	return true
}
