package control

import (
	"net/http"
	"slices"

	"durward/client"
)

// route is one route of the service API: what it does, and what the OpenAPI
// document says of it.
type route struct {
	method, path string
	id           string // operationId
	scope        Scope  // what the caller must be allowed to do
	or           Scope  // another scope that will do; empty: none
	summary      string
	query        []query
	body         any // zero value of the JSON body's type; nil: none
	answer       any // zero value of the JSON answer's type; nil: none
	status       int // on success; default 200
	stream       string
	also         bool   // it answers with JSON too, unless a stream is asked for
	media        string // of the answer, if it is not JSON
	serve        func(*api, http.ResponseWriter, *request) error
}

// query is a parameter in the query.
type query struct{ name, doc string }

// routes is the whole service API. What only shows needs [Read]; what changes,
// calls, reads what the caller names, or keeps the service busy needs [Operate].
// What answers for people, or changes what people are asked, needs [Approve].
func routes() []route {
	return slices.Concat(serviceRoutes(), serverRoutes(), offerRoutes(), ledgerRoutes(), approvalRoutes(), pinRoutes(), policyRoutes(), labelRoutes())
}

func serviceRoutes() []route {
	return []route{
		{method: "GET", path: "/api/v1/status", id: "status", scope: Read, summary: "The state of the service and of its servers.",
			answer: client.Status{}, serve: (*api).status},
		{method: "GET", path: "/api/v1/events", id: "events", scope: Read, stream: "An event per change, of type Event; its name is the type.",
			summary: "Server-sent events: states of servers, changed lists, definitions that are held, reloads.", answer: client.Event{}, serve: (*api).events},
		{method: "GET", path: "/api/v1/config", id: "config", scope: Read, summary: "The configuration that runs, and where each value comes from.",
			answer: client.Config{}, serve: (*api).config},
		{method: "POST", path: "/api/v1/config/validate", id: "validate", scope: Operate, summary: "What would be wrong with a text as the user's configuration file.",
			body: client.ValidateRequest{}, answer: client.Validated{}, serve: (*api).validate},
		{method: "POST", path: "/api/v1/config/reload", id: "reload", scope: Operate, summary: "Read the configuration anew; a broken file changes nothing.",
			answer: client.Reloaded{}, serve: (*api).reload},
		{method: "GET", path: "/api/v1/keys", id: "listKeys", scope: Read, summary: "The keys that seal what clients carry, by their ids.",
			answer: client.Keys{}, serve: (*api).listKeys},
		{method: "POST", path: "/api/v1/keys/rotate", id: "rotateKeys", scope: Operate,
			summary: "Have a new key seal; the one before it still opens, older ones are gone. 409 if the keys stand in the configuration.",
			answer:  client.Keys{}, serve: (*api).rotateKeys},
		{method: "GET", path: "/api/v1/runtime", id: "runtime", scope: Read, summary: "Figures of the Go runtime.",
			answer: client.Runtime{}, serve: (*api).runtimeStats},
		{method: "GET", path: "/api/v1/runtime/profile", id: "profile", scope: Operate, summary: "Record a CPU profile and send it.",
			query: []query{{"seconds", "How long to record, 1 to 300; default 10."}}, media: "application/octet-stream", serve: (*api).cpuProfile},
		{method: "GET", path: "/api/v1/openapi.json", id: "openapi", scope: Read, summary: "This document.", media: "application/json", serve: (*api).openapi},
	}
}

func serverRoutes() []route {
	const one = "/api/v1/servers/{name}"
	return []route{
		{method: "GET", path: "/api/v1/servers", id: "listServers", scope: Read, summary: "The servers and their states.",
			answer: client.ServerList{}, serve: (*api).listServers},
		{method: "POST", path: "/api/v1/servers", id: "addServer", scope: Operate, status: http.StatusCreated,
			summary: "Write a server into the user's configuration file and try it. Unless keep is set, one that fails is taken out again.",
			body:    client.NewServer{}, answer: client.Server{}, serve: (*api).addServer},
		{method: "GET", path: one, id: "showServer", scope: Read, summary: "A server: state, settings and tools.",
			answer: client.Server{}, serve: (*api).showServer},
		{method: "DELETE", path: one, id: "removeServer", scope: Operate, status: http.StatusNoContent,
			summary: "Take a server out of the user's configuration file and stop it.", serve: (*api).removeServer},
		{method: "POST", path: one + "/enable", id: "enableServer", scope: Operate, summary: "Enable a server in the configuration file and try it.",
			answer: client.Server{}, serve: (*api).enableServer},
		{method: "POST", path: one + "/disable", id: "disableServer", scope: Operate, summary: "Disable a server in the configuration file and stop it.",
			answer: client.Server{}, serve: (*api).disableServer},
		{method: "POST", path: one + "/refresh", id: "refreshServer", scope: Operate, summary: "Read anew what a server offers.",
			answer: client.Server{}, serve: (*api).refreshServer},
		{method: "POST", path: one + "/restart", id: "restartServer", scope: Operate, summary: "Stop a server and start it anew.",
			answer: client.Server{}, serve: (*api).restartServer},
		{method: "GET", path: one + "/logs", id: "serverLogs", scope: Read, summary: "The end of what a server wrote to its stderr.",
			answer: client.Logs{}, serve: (*api).serverLogs},
	}
}

func offerRoutes() []route {
	filter := []query{{"server", "Only what this server offers."}, {"toolset", "Only what this toolset offers."}}
	return []route{
		{method: "GET", path: "/api/v1/tools", id: "listTools", scope: Read, summary: "The tools that are offered, with their schemas.",
			query: filter, answer: client.ItemList{}, serve: items("tools")},
		{method: "GET", path: "/api/v1/prompts", id: "listPrompts", scope: Read, summary: "The prompts that are offered.",
			query: filter, answer: client.ItemList{}, serve: items("prompts")},
		{method: "GET", path: "/api/v1/resources", id: "listResources", scope: Read, summary: "The resources and resource templates that are offered.",
			query: filter, answer: client.ItemList{}, serve: items("resources", "templates")},
		{method: "POST", path: "/api/v1/call", id: "callTool", scope: Operate,
			summary: "Call a tool, by the same gate as every other call.",
			stream:  "With Accept: text/event-stream: events progress (Progress), then result (Result) or error (Failure).",
			body:    client.CallRequest{}, answer: client.Result{}, serve: (*api).call},
		{method: "POST", path: "/api/v1/prompts/get", id: "getPrompt", scope: Operate, summary: "Get a prompt with its arguments filled in.",
			body: client.CallRequest{}, answer: client.Result{}, serve: (*api).getPrompt},
		{method: "POST", path: "/api/v1/resources/read", id: "readResource", scope: Operate, summary: "Read a resource.",
			body: client.ReadRequest{}, answer: client.Result{}, serve: (*api).readResource},
	}
}
