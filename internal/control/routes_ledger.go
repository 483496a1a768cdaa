package control

import "durward/client"

// callQuery are the parameters that choose calls.
func callQuery() []query {
	return []query{
		{"since", "Only calls taken at or after this: a time (RFC 3339), a date, or how long ago (90s, 1h, 2d)."},
		{"until", "Only calls taken before this."},
		{"principal", "Only of this principal."},
		{"session", "Only of this session."},
		{"server", "Only to this server."},
		{"tool", "Only of this tool, by its own or its offered name."},
		{"method", "Only of this method, such as tools/call."},
		{"status", "Only with this status: dispatched (under way), ok, tool_error, error, refused (by a rule), denied (by a person, or nobody answered), cancelled, timeout, unknown, input."},
		{"decision", "Only with this decision: allow, ask, block."},
		{"rule", "Only what this rule decided."},
		{"trace", "Only of this trace: 32 hex digits."},
		{"entrance", "Only by this entrance: http, stdio, library, console."},
		{"origin", "Only of this origin: mcp, builtin, local, host, library, console, native."},
		{"min_duration", "Only calls that took at least so long (100ms, 5s)."},
	}
}

// page are the parameters of a list in pages.
func page(limit string) []query {
	return []query{{"cursor", "The member next of the page before."}, {"limit", limit}}
}

func ledgerRoutes() []route {
	return append(readingRoutes(), custodyRoutes()...)
}

// readingRoutes show what was recorded. Bodies take the scope operate: they are
// all that agents read and wrote, and who may not call a tool is not to have
// what it gave to others. What is in the lists is bounded: previews of 1 KiB.
func readingRoutes() []route {
	follow := []query{
		{"follow", "1: server-sent events, as calls end."},
		{"after", "With follow: go on after this cursor, from what is stored; default: now."},
	}
	timeline := []query{
		{"since", "Only what happened at or after this, as for calls."},
		{"until", "Only what happened before this."},
		{"session", "Only of this session."},
		{"sandbox", "Only of this sandbox."},
		{"trace", "Only of this trace: 32 hex digits."},
		{"layers", "Only these layers, with commas between them: tool, net, exec, fs, sandbox, security, change."},
	}
	return []route{
		{method: "GET", path: "/api/v1/calls", id: "listCalls", scope: Read, summary: "The calls that were recorded, newest first.",
			query:  append(append(callQuery(), page("Rows of a page, 1 to 1000; default 50.")...), follow...),
			stream: "With follow=1: an event call (Followed) when a call ends, or with status=dispatched when it begins. A reader that is too slow gets the event behind with a cursor to go on after, and the stream ends; so it does after an event error (Failure).",
			answer: client.CallList{}, also: true, serve: (*api).listCalls},
		{method: "GET", path: "/api/v1/calls/{id}", id: "showCall", scope: Read, summary: "Everything about one call. A prefix of the id that only one call has is enough.",
			answer: client.CallStory{}, serve: (*api).showCall},
		{method: "GET", path: "/api/v1/bodies/{digest}", id: "readBody", scope: Operate,
			summary: "The whole parameters or result of a call, redacted, by the digest that the call names. One that was cut has the header Durward-Body-Cut and is no JSON.",
			media:   "application/json", serve: (*api).readBody},
		{method: "GET", path: "/api/v1/timeline", id: "timeline", scope: Read, summary: "What happened, newest first: calls, decisions, flows, events, changes.",
			query: append(timeline, page("Rows of a page, 1 to 2000; default 200.")...), answer: client.MomentList{}, serve: (*api).timeline},
		{method: "GET", path: "/api/v1/stats", id: "stats", scope: Read, summary: "Counts over calls: by status, decision, server and tool.",
			query: callQuery(), answer: client.CallStats{}, serve: (*api).stats},
	}
}

// custodyRoutes look after the record itself. What is long tells how far it is
// and ends when its caller goes away.
func custodyRoutes() []route {
	const stream = "With Accept: text/event-stream: events progress (Work), then result or error (Failure). It is given up when the connection is closed."
	return []route{
		{method: "GET", path: "/api/v1/ledger", id: "ledger", scope: Read, summary: "How the ledger is.",
			answer: client.LedgerInfo{}, serve: (*api).ledger},
		{method: "POST", path: "/api/v1/ledger/rotate-key", id: "rotateLedgerKey", scope: Operate,
			summary: "Have a new key sign the checkpoints. That it took over is recorded, and signed by both keys; the old one is not kept.",
			answer:  client.LedgerInfo{}, serve: (*api).rotateLedgerKey},
		{method: "POST", path: "/api/v1/ledger/verify", id: "verifyLedger", scope: Operate, stream: stream, also: true,
			summary: "Look whether the ledger is as it was written. One that is damaged is an answer, not a failure.",
			answer:  client.Verified{}, serve: (*api).verifyLedger},
		{method: "POST", path: "/api/v1/ledger/prune", id: "pruneLedger", scope: Operate, stream: stream,
			summary: "Remove what is old. The removal is recorded and signed.",
			body:    client.PruneRequest{}, answer: client.Pruned{}, serve: (*api).pruneLedger},
		{method: "POST", path: "/api/v1/ledger/backup", id: "backupLedger", scope: Operate, stream: stream,
			summary: "Write a consistent copy of the ledger to a new file (0600), which the service can write.",
			body:    client.BackupRequest{}, answer: client.Backup{}, serve: (*api).backupLedger},
	}
}
