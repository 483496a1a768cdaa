package builtin

// The tools with which a model finds and calls the tools that a lazy route does
// not list. They are listed here and answered by the gateway, since what they
// say and do depends on the caller's route.
const (
	SearchTools  = "search_tools"
	DescribeTool = "describe_tool"
	CallTool     = "call_tool"
)

// SearchTools asks for both arguments, and CallTool takes the arguments of the
// tool as text, because vendors' strict subsets have neither optional properties
// nor objects of any shape (behaviour B14).

const searchListing = `{"name":"search_tools","title":"Search tools",` +
	`"description":"Finds tools by what they do. Most tools here are not listed: search for one before you say that something cannot be done. Returns names, best match first.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"query":{"type":"string","description":"What the tool should do, in a few words: create github issue."},` +
	`"limit":{"type":"integer","description":"How many tools to return, 1 to 50. Use 5 when in doubt."}},` +
	`"required":["query","limit"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

const describeListing = `{"name":"describe_tool","title":"Describe tool",` +
	`"description":"Returns the whole definition of a tool that was found, with the schema of its arguments. Read it before you call the tool.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The name as search returned it."}},` +
	`"required":["name"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

const callListing = `{"name":"call_tool","title":"Call tool",` +
	`"description":"Calls a tool that was found and returns its result.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The name as search returned it."},` +
	`"arguments":{"type":"string","description":"The arguments as the text of one JSON object that fits the tool's inputSchema: {\"title\":\"Bug\"}. Without arguments: {}"}},` +
	`"required":["name","arguments"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":false}}`

// FinderTools returns the names of the tools that find and call others.
func FinderTools() []string { return []string{SearchTools, DescribeTool, CallTool} }

func finders() []tool {
	return []tool{
		{SearchTools, searchListing, elsewhere}, {DescribeTool, describeListing, elsewhere}, {CallTool, callListing, elsewhere},
	}
}
