package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"durward/internal/wire"

	"github.com/go-json-experiment/json/jsontext"
)

// The oracle: a slow and simple reading of the same rules on top of jsontext,
// which is strict by default as Parse is towards clients.

var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// member is a member of an object as jsontext sees it.
type member struct {
	rawName, name string
	value         string
}

// isJSON reports whether data is one JSON value under opts and not too deep.
func isJSON(data []byte, opts ...jsontext.Options) bool {
	return jsontext.Value(data).IsValid(opts...) && depthOf(data) <= wire.MaxDepth
}

func depthOf(data []byte) int {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	depth, deepest := 0, 0
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return deepest
		}
		switch tok.Kind() {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
}

// membersOf lists the members of an object; false if data is no object.
func membersOf(data []byte) ([]member, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	if d.PeekKind() != '{' || !jsontext.Value(data).IsValid(lenient...) {
		return nil, false
	}
	var list []member
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		m := member{rawName: string(name)}
		decoded, _ := jsontext.AppendUnquote(nil, name)
		m.name = string(decoded)
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		m.value = string(value)
		list = append(list, m)
	}
	return list, true
}

func elementsOf(data []byte) ([]string, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	if d.PeekKind() != '[' || !jsontext.Value(data).IsValid(lenient...) {
		return nil, false
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	list := []string{}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		list = append(list, string(value))
	}
	return list, true
}

// valueOf returns the value of the first member called name, "" if there is none.
func valueOf(list []member, name string) string {
	for _, m := range list {
		if m.name == name {
			return m.value
		}
	}
	return ""
}

var (
	envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsNames   = []string{
		"name", "uri", "taskId", "ref", "arguments", "cursor", "requestState", "inputResponses", "progressToken", "requestId",
		"_meta", "argument", "level", "task", "protocolVersion", "capabilities", "clientInfo",
	}
	metaNames = []string{
		wire.MetaProtocolVersion, wire.MetaClientCapabilities, wire.MetaClientInfo, wire.MetaLogLevel, wire.MetaSubscriptionID,
		wire.MetaProgressToken, "traceparent", "tracestate", "baggage",
	}
	refNames = []string{"type", "name", "uri"}
)

// caseClean reports whether no name differs in case only from another or from a protocol name.
func caseClean(list []member, protocol []string) bool {
	for i, m := range list {
		for _, known := range protocol {
			if m.name != known && strings.EqualFold(m.name, known) {
				return false
			}
		}
		for _, other := range list[:i] {
			if strings.EqualFold(m.name, other.name) {
				return false
			}
		}
	}
	return true
}

// paramsClean is the rule for params beyond being clean JSON.
func paramsClean(params []byte) bool {
	list, ok := membersOf(params)
	if !ok || !isJSON(params) || !caseClean(list, paramsNames) {
		return false
	}
	if meta := valueOf(list, "_meta"); meta != "" && meta != "null" {
		inner, ok := membersOf([]byte(meta))
		if !ok || !caseClean(inner, metaNames) {
			return false
		}
	}
	inner, ok := membersOf([]byte(valueOf(list, "ref")))
	return !ok || caseClean(inner, refNames)
}

// oracle reads a message.
func oracle(data []byte, from wire.Origin) (envelope map[string]string, kind wire.Kind, ok bool) {
	if !isJSON(data, lenient...) {
		return nil, 0, false
	}
	list, ok := membersOf(data)
	if !ok || !caseClean(list, envelopeNames) {
		return nil, 0, false
	}
	envelope = map[string]string{}
	for _, m := range list {
		tolerant := from == wire.FromServer && (m.name == "result" || m.name == "error")
		if !jsontext.Value(m.rawName).IsValid() || !tolerant && !jsontext.Value(m.value).IsValid() {
			return nil, 0, false
		}
		envelope[m.name] = m.value
	}
	if params, there := envelope["params"]; there && !paramsClean([]byte(params)) {
		return nil, 0, false
	}
	kind = oracleKind(envelope)
	return envelope, kind, kind != 0
}

func oracleKind(e map[string]string) wire.Kind {
	id, hasID := e["id"]
	method, hasMethod := e["method"]
	_, hasResult := e["result"]
	failure, hasError := e["error"]
	goodID := hasID && id[0] != '{' && id[0] != '[' && id[0] != 't' && id[0] != 'f' && id != "null"
	version, _ := jsontext.AppendUnquote(nil, e["jsonrpc"])
	switch {
	case e["jsonrpc"] != `"2.0"` || len(version) == 0, hasID && !goodID && id != "null", hasError && failure[0] != '{':
		return 0
	case hasMethod:
		if hasResult || hasError || method[0] != '"' || method == `""` || hasID && !goodID {
			return 0
		}
		if hasID {
			return wire.Request
		}
		return wire.Notification
	case hasResult == hasError:
		return 0
	case hasError:
		return wire.Failure
	case goodID:
		return wire.Result
	}
	return 0
}

// oracleFaults counts what is tolerated in a server's value.
func oracleFaults(value string) (f wire.Faults) {
	f.BadUTF8 = !jsontext.Value(value).IsValid(jsontext.AllowDuplicateNames(true))
	var visit func(v []byte)
	visit = func(v []byte) {
		seen := map[string]bool{}
		list, _ := membersOf(v)
		for _, m := range list {
			if seen[m.name] {
				f.Duplicates++
			}
			seen[m.name] = true
			visit([]byte(m.value))
		}
		elements, _ := elementsOf(v)
		for _, e := range elements {
			visit([]byte(e))
		}
	}
	visit([]byte(value))
	return f
}

// compareToOracle fails the test where Parse and the oracle differ about data.
func compareToOracle(t testing.TB, data []byte, from wire.Origin) {
	t.Helper()
	if problem := differs(data, from); problem != "" {
		t.Fatal(problem)
	}
}

// differs returns where Parse and the oracle differ about data, "" if nowhere.
func differs(data []byte, from wire.Origin) string {
	var m wire.Message
	err := wire.Parse(data, from, &m)
	want, kind, ok := oracle(data, from)
	if (err == nil) != ok {
		return fmt.Sprintf("Parse(%q, %d) = %v, oracle accepts: %v", data, from, err, ok)
	}
	if !ok {
		return ""
	}
	id := want["id"]
	if id == "null" {
		id = ""
	}
	if m.Kind != kind || string(m.ID) != id || string(m.Result) != want["result"] || string(m.Error) != want["error"] || string(m.Params.Raw) != want["params"] {
		return fmt.Sprintf("Parse(%q) = %+v, oracle: %v", data, m, want)
	}
	if method, _ := jsontext.AppendUnquote(nil, want["method"]); m.Method != string(method) {
		return fmt.Sprintf("method of %q: %q, oracle: %q", data, m.Method, method)
	}
	if problem := paramsDiffer(&m.Params); problem != "" {
		return problem
	}
	return resultDiffers(&m, from)
}

// paramsDiffer compares the spans of p.
func paramsDiffer(p *wire.Params) string {
	list, _ := membersOf(p.Raw)
	meta, _ := membersOf([]byte(valueOf(list, "_meta")))
	for _, c := range []struct {
		list []member
		name string
		span wire.Span
	}{
		{list, "name", p.Name}, {list, "uri", p.URI}, {list, "taskId", p.TaskID}, {list, "ref", p.Ref},
		{list, "arguments", p.Arguments}, {list, "cursor", p.Cursor}, {list, "requestState", p.RequestState},
		{list, "inputResponses", p.InputResponses}, {list, "progressToken", p.ProgressToken}, {list, "requestId", p.RequestID},
		{list, "_meta", p.Meta},
		{meta, wire.MetaProtocolVersion, p.InMeta.ProtocolVersion}, {meta, wire.MetaClientCapabilities, p.InMeta.ClientCapabilities},
		{meta, wire.MetaClientInfo, p.InMeta.ClientInfo}, {meta, wire.MetaLogLevel, p.InMeta.LogLevel},
		{meta, wire.MetaSubscriptionID, p.InMeta.SubscriptionID}, {meta, wire.MetaProgressToken, p.InMeta.ProgressToken},
	} {
		if got, want := string(c.span.Of(p.Raw)), valueOf(c.list, c.name); got != want {
			return fmt.Sprintf("%s of %q: %q, oracle: %q", c.name, p.Raw, got, want)
		}
	}
	return ""
}

// resultDiffers compares what is noted of a result or error.
func resultDiffers(m *wire.Message, from wire.Origin) string {
	var want wire.Faults
	if from == wire.FromServer {
		for _, v := range [][]byte{m.Result, m.Error} {
			if v != nil {
				f := oracleFaults(string(v))
				want.Duplicates += f.Duplicates
				want.BadUTF8 = want.BadUTF8 || f.BadUTF8
			}
		}
	}
	if m.Faults != want {
		return fmt.Sprintf("faults of %q %q: %+v, oracle: %+v", m.Result, m.Error, m.Faults, want)
	}
	resultType, isError := "", false
	list, _ := membersOf(m.Result)
	for _, member := range list { // the last one counts, as for most readers
		switch member.name {
		case "resultType":
			resultType = member.value
		case "isError":
			isError = member.value == "true"
		}
	}
	if string(m.ResultType.Of(m.Result)) != resultType || m.IsError != isError {
		return fmt.Sprintf("resultType %q isError %v of %q, oracle: %q %v", m.ResultType.Of(m.Result), m.IsError, m.Result, resultType, isError)
	}
	return ""
}
