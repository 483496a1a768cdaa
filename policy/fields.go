package policy

import (
	"cel.dev/cel-go/common/types"
)

// field is one value that conditions may name; its place in the table.
type field uint8

// The fields, in the order of the reference.
const (
	fieldEventType field = iota
	fieldEventID
	fieldEventTime
	fieldNow
	fieldMethod
	fieldRequestID
	fieldServerName
	fieldServerTransport
	fieldServerRisk
	fieldToolName
	fieldToolFullName
	fieldToolArguments
	fieldToolRisk
	fieldToolAnnotations
	fieldToolPinned
	fieldToolDrifted
	fieldToolSchemaHash
	fieldToolList
	fieldResourceURI
	fieldPromptName
	fieldPromptArguments
	fieldInputMethod
	fieldInputMode
	fieldInputURL
	fieldResultIsError
	fieldResultText
	fieldResultStructured
	fieldResultSize
	fieldResultScore
	fieldPrincipal
	fieldGroups
	fieldClientName
	fieldClientVersion
	fieldEntrance
	fieldSandboxID
	fieldSandboxName
	fieldProcess
	fieldHTTPMethod
	fieldHTTPURL
	fieldHTTPHost
	fieldHTTPPort
	fieldHTTPPath
	fieldHTTPIP
	fieldHTTPIPPublic
	fieldOp
	fieldOpName
	fieldOpImage
	fieldSessionID
	fieldSessionLabels
	fieldSessionCalls
	fieldSessionStarted
	numFields
)

// needs says what a condition looks at, as a set.
type needs uint16

// What a condition may need.
const (
	needArguments needs = 1 << iota // of a tool or a prompt
	needResult                      // exists in the response phase only
	needLabels                      // of the session
	needSession                     // anything of the session, labels included
	needHTTP
	needSandbox // operations of the host tools
	needTime    // now, event.time or session.started: another answer at another time
	needPins    // mcp.tool.pinned, mcp.tool.drifted
	needInput   // what a server asks the client for
	needScore   // mcp.result.injection_score
	needText    // mcp.result.text
)

// The kinds of values, as the reference calls them.
const (
	kindText   = "text"
	kindBool   = "bool"
	kindInt    = "int"
	kindNumber = "number"
	kindTime   = "time"
	kindTexts  = "list of text"
	kindObject = "object"
	kindAny    = "any"
)

// fieldInfo describes a field.
type fieldInfo struct {
	name   string
	kind   string
	listed bool  // known when it is decided what is listed
	needs  needs // what a condition that names it needs
	doc    string
	values []string // all values there are; nil: any
}

func risks() []string { return []string{"low", "medium", "high", "critical"} }

// fieldTable is the one table of fields: the environment, the reference and "durward
// rule fields" come from it. The index is the field.
func fieldTable() [numFields]fieldInfo {
	return [numFields]fieldInfo{
		fieldEventType: {"event.type", kindText, true, 0, "What happens: a request of a client or its result, a connection, an operation of the host tools.",
			[]string{EventMCP, EventHTTP, EventSandbox}},
		fieldEventID:   {"event.id", kindText, false, 0, "The id of the call in the ledger.", nil},
		fieldEventTime: {"event.time", kindTime, false, needTime, "When the request came.", nil},
		fieldNow:       {"now", kindTime, false, needTime, "The time at which the rule is evaluated.", nil},

		fieldMethod:          {"mcp.method", kindText, true, 0, "The method: `tools/call`, `prompts/get`, `resources/read`, …", nil},
		fieldServerName:      {"mcp.server.name", kindText, true, 0, "The server as the configuration calls it; absent where Durward answers by itself.", nil},
		fieldServerTransport: {"mcp.server.transport", kindText, true, 0, "How the server is reached.", []string{"stdio", "http", "sse", "builtin"}},
		fieldServerRisk:      {"mcp.server.risk", kindText, true, 0, "The least risk of the server's tools, as the operator set it.", risks()},
		fieldRequestID:       {"mcp.request.id", kindAny, false, 0, "The id that the client gave the request: text or a number.", nil},

		fieldToolName:        {"mcp.tool.name", kindText, true, 0, "The server's own name of the tool.", nil},
		fieldToolFullName:    {"mcp.tool.full_name", kindText, true, 0, "The name by which the caller called it: `github__push`, or the server's own on a route of one server.", nil},
		fieldToolArguments:   {"mcp.tool.arguments", kindObject, false, needArguments, "The arguments, whole, whatever their size.", nil},
		fieldToolRisk:        {"mcp.tool.risk", kindText, true, 0, "The risk of the tool. Compare with `risk_at_least`.", risks()},
		fieldToolAnnotations: {"mcp.tool.annotations", kindObject, true, 0, "What the server says of the tool: `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint`, `title`. Claims, not facts.", nil},
		fieldToolPinned:      {"mcp.tool.pinned", kindBool, true, needPins, "Exactly this definition of the tool was accepted.", nil},
		fieldToolDrifted:     {"mcp.tool.drifted", kindBool, true, needPins, "Another definition was accepted, or was there when the server was seen first.", nil},
		fieldToolSchemaHash:  {"mcp.tool.schema_hash", kindText, true, 0, "SHA-256 of the tool's definition, in hex.", nil},
		fieldToolList:        {"mcp.tool_list", kindBool, true, 0, "The request lists tools (`tools/list`).", nil},

		fieldResourceURI:     {"mcp.resource.uri", kindText, true, 0, "The URI of the resource that is read, as its server calls it.", nil},
		fieldPromptName:      {"mcp.prompt.name", kindText, true, 0, "The server's own name of the prompt.", nil},
		fieldPromptArguments: {"mcp.prompt.arguments", kindObject, false, needArguments, "The arguments of the prompt.", nil},
		fieldInputMethod:     {"mcp.input_request.method", kindText, false, needInput, "What a server asks the client for: `elicitation/create`, `sampling/createMessage`, `roots/list`.", nil},
		fieldInputMode:       {"mcp.input_request.mode", kindText, false, needInput, "The mode of an elicitation.", []string{"form", "url"}},
		fieldInputURL:        {"mcp.input_request.url", kindText, false, needInput, "The address that an elicitation wants opened.", nil},

		fieldResultIsError:    {"mcp.result.is_error", kindBool, false, needResult, "The tool says that it failed.", nil},
		fieldResultText:       {"mcp.result.text", kindText, false, needResult | needText, "All text of the result: content, contents of resources, messages of prompts, joined by line breaks.", nil},
		fieldResultStructured: {"mcp.result.structured", kindAny, false, needResult, "The structured content of the result.", nil},
		fieldResultSize:       {"mcp.result.size", kindInt, false, needResult, "The size of the whole result in bytes of JSON.", nil},
		fieldResultScore:      {"mcp.result.injection_score", kindNumber, false, needResult | needScore, "How much the result looks like an attempt to instruct the model, from 0 to 1; absent unless the plugin `injection` ran.", nil},

		fieldPrincipal:     {"caller.principal", kindText, true, 0, "Whose rights the caller has: `local`, or the name bound to its token.", nil},
		fieldGroups:        {"caller.groups", kindTexts, true, 0, "The groups of the principal, from `policy.groups`.", nil},
		fieldClientName:    {"caller.client.name", kindText, true, 0, "What the client calls itself: a claim, never a proof.", nil},
		fieldClientVersion: {"caller.client.version", kindText, true, 0, "The version that the client claims.", nil},
		fieldEntrance:      {"caller.entrance", kindText, true, 0, "The door: `http`, `stdio`, `library`, `console`, `sandbox`.", nil},
		fieldSandboxID:     {"caller.sandbox.id", kindText, true, 0, "The sandbox that the caller runs in; absent outside.", nil},
		fieldSandboxName:   {"caller.sandbox.name", kindText, true, 0, "The name of that sandbox.", nil},
		fieldProcess:       {"caller.process", kindText, true, 0, "The calling process where the entrance knows it (`pid 4711`).", nil},

		fieldHTTPMethod:   {"http.method", kindText, false, needHTTP, "The HTTP method of a built-in fetch or a connection to a server.", nil},
		fieldHTTPURL:      {"http.url", kindText, false, needHTTP, "The whole URL.", nil},
		fieldHTTPHost:     {"http.host", kindText, false, needHTTP, "The host in its one spelling, as `host()` gives it.", nil},
		fieldHTTPPort:     {"http.port", kindInt, false, needHTTP, "The port, the scheme's own included.", nil},
		fieldHTTPPath:     {"http.path", kindText, false, needHTTP, "The path.", nil},
		fieldHTTPIP:       {"http.ip", kindText, false, needHTTP, "The address that is connected to.", nil},
		fieldHTTPIPPublic: {"http.ip_public", kindBool, false, needHTTP, "That address belongs to the public internet.", nil},

		fieldOp:      {"sandbox.op", kindText, false, needSandbox, "What a host tool does: `create`, `exec`, …", nil},
		fieldOpName:  {"sandbox.name", kindText, false, needSandbox, "The sandbox it does that to.", nil},
		fieldOpImage: {"sandbox.image", kindText, false, needSandbox, "The image of a sandbox to be created.", nil},

		fieldSessionID:      {"session.id", kindText, true, needSession, "The session; absent for callers without one.", nil},
		fieldSessionLabels:  {"session.labels", kindTexts, false, needSession | needLabels, "What plugins marked the session with, such as `untrusted-content`, `private-data`.", nil},
		fieldSessionCalls:   {"session.calls", kindInt, false, needSession, "How many calls of the session were allowed so far.", nil},
		fieldSessionStarted: {"session.started", kindTime, false, needSession | needTime, "When the session began.", nil},
	}
}

// celType returns the type of a kind in conditions.
func celType(kind string) *types.Type {
	switch kind {
	case kindText:
		return types.StringType
	case kindBool:
		return types.BoolType
	case kindInt:
		return types.IntType
	case kindNumber:
		return types.DoubleType
	case kindTime:
		return types.TimestampType
	case kindTexts:
		return types.NewListType(types.StringType)
	case kindObject:
		return types.NewMapType(types.StringType, types.DynType)
	default:
		return types.DynType
	}
}

// fieldAliases are other names of fields: what other gateways call them.
func fieldAliases() map[string]field {
	return map[string]field{
		"mcp.tool_call.name": fieldToolName, "mcp.tool_call.full_name": fieldToolFullName,
		"mcp.tool_call.arguments": fieldToolArguments, "mcp.tool_call.risk": fieldToolRisk,
		"mcp.tool_call.annotations": fieldToolAnnotations, "mcp.tool_call.pinned": fieldToolPinned,
		"mcp.tool_call.drifted": fieldToolDrifted, "mcp.tool_call.schema_hash": fieldToolSchemaHash,
	}
}
