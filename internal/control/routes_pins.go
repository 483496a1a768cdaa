package control

import "durward/client"

// pinRoutes show what servers offer and what of it waits. To accept it takes the
// approver credential: who calls tools does not say which ones are to be trusted.
func pinRoutes() []route {
	return []route{
		{method: "GET", path: "/api/v1/pins", id: "listPins", scope: Read, summary: "The definitions of tools, prompts, resource templates and instructions, and what is known of them.",
			query: []query{{"server", "Only of this server."}}, answer: client.PinList{}, serve: (*api).listPins},
		{method: "GET", path: "/api/v1/pins/diff", id: "diffPins", scope: Read, summary: "In words, what is new in definitions that nobody accepted yet, at most 100.",
			query:  []query{{"server", "Of this server; default: of all."}, {"name", "Of what is called so, accepted or not; instructions: of those."}},
			answer: client.PinDiffs{}, serve: (*api).diffPins},
		{method: "POST", path: "/api/v1/pins/decide", id: "decidePins", scope: Approve,
			summary: "Accept or reject definitions, by the hashes of those that were looked at. 409 if one changed since, and then nothing is changed.",
			body:    client.PinVerdict{}, answer: client.PinList{}, serve: (*api).decidePins},
	}
}
