package telemetry

// Names of labels. In OTLP they are attributes, see labels.
const (
	labelMethod    = "mcp_method_name"
	labelServer    = "server"
	labelTool      = "gen_ai_tool_name"
	labelPrompt    = "gen_ai_prompt_name"
	labelError     = "error_type"
	labelStatus    = "status"
	labelDecision  = "decision"
	labelEra       = "era"
	labelEntrance  = "entrance"
	labelTransport = "network_transport"
	labelRevision  = "mcp_protocol_version"
	labelState     = "state"
	labelKind      = "kind"
	labelResult    = "result"
	labelSignal    = "signal"
	labelVersion   = "version"
	labelGo        = "go_version"
)

// label is what there is to know of a label.
type label struct {
	name, otel string
	values     string // which there are
}

// labels are all labels of our metrics. Those that OpenTelemetry has a name for
// are called as its conventions for MCP say (docs/gen-ai/mcp.md of
// open-telemetry/semantic-conventions-genai); the others are ours.
func labels() []label {
	return []label{
		{labelMethod, "mcp.method.name", "the method, if it is one of the specification or of the tasks extension; else `other`"},
		{labelServer, "durward.server", "the server as the configuration calls it; empty when Durward answers by itself; `other` beyond 256 servers"},
		{labelTool, "gen_ai.tool.name", "of tools/call: the server's own name of the tool; `other` beyond 1,000 tools and prompts; empty for other methods and for tools that nobody offers"},
		{labelPrompt, "gen_ai.prompt.name", "of prompts/get: the same for prompts"},
		{labelError, "error.type", "empty for success; `tool_error` for a result with isError; else the JSON-RPC code if it is a known one, or `_OTHER`; of a session: `_OTHER` when the server or the connection ended it"},
		{labelStatus, "durward.status", "how the request ended: `ok`, `tool_error`, `error`, `refused`, `denied`, `cancelled`, `timeout`, `unknown`, `input`; `unrecorded` when the ledger could not record it, so that it was not made; `defect` when Durward failed"},
		{labelDecision, "durward.decision", "what policy decided: `allow`, `ask`, `block`"},
		{labelEra, "durward.era", "of the caller: `legacy`, `modern`, `unknown`"},
		{labelEntrance, "durward.entrance", "by which door it came in: `http`, `stdio`, `library`, `console`, `other`"},
		{labelTransport, "network.transport", "`tcp` for HTTP, `pipe` for stdio"},
		{labelRevision, "mcp.protocol.version", "the revision that was agreed on with the server, if it is a known one; else `other`"},
		{labelState, "durward.state", "`configured`, `connecting`, `ready`, `degraded`, `back-off`, `disabled`"},
		{labelKind, "durward.kind", "of a record or of an anomaly"},
		{labelResult, "durward.result", "`ok` or `failed`"},
		{labelSignal, "durward.signal", "`traces`, `metrics` or `logs`"},
		{labelVersion, "service.version", "of Durward"},
		{labelGo, "process.runtime.version", "of Go"},
	}
}

// kind is the type of a metric.
type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)

// String returns Prometheus' word.
func (k kind) String() string { return [...]string{"counter", "gauge", "histogram"}[k] }

// metric is one line of the table of metrics.
type metric struct {
	name, otel, unit string // of Prometheus; of OTLP; in OTLP's notation
	kind             kind
	help             string
	labels           []string
	buckets          []float64 // upper bounds; histograms only
}

// Names of metrics.
const (
	nameServerDuration  = "mcp_server_operation_duration_seconds"
	nameClientDuration  = "mcp_client_operation_duration_seconds"
	nameSessionDuration = "mcp_server_session_duration_seconds"
	nameClientSession   = "mcp_client_session_duration_seconds"

	nameRequests    = "durward_requests_total"
	namePassing     = "durward_requests_in_flight"
	nameServed      = "durward_connections"
	nameStreams     = "durward_streams"
	nameSessions    = "durward_sessions"
	nameHolds       = "durward_holds"
	nameState       = "durward_server_state"
	nameInFlight    = "durward_server_calls_in_flight"
	nameQueued      = "durward_server_calls_queued"
	nameRestarts    = "durward_server_restarts_total"
	nameAnomalies   = "durward_server_anomalies_total"
	nameTools       = "durward_server_tools"
	nameDials       = "durward_egress_dials_total"
	nameConnections = "durward_egress_connections"

	nameLedgerWait     = "durward_ledger_wait_seconds"
	nameLedgerCommit   = "durward_ledger_commit_seconds"
	nameLedgerBatch    = "durward_ledger_commit_records"
	nameLedgerRecords  = "durward_ledger_records_total"
	nameLedgerFailures = "durward_ledger_commit_failures_total"
	nameLedgerQueue    = "durward_ledger_queue_records"
	nameLedgerFailing  = "durward_ledger_failing"
	nameLedgerSize     = "durward_ledger_size_bytes"
	nameCheckpointAge  = "durward_ledger_checkpoint_age_seconds"

	nameExported = "durward_telemetry_sent_total"
	nameDropped  = "durward_telemetry_dropped_total"
	nameFailed   = "durward_telemetry_failures_total"
	nameBuild    = "durward_build_info"
)

// table lists all metrics that are ours. The reference docs/reference/metrics.md is
// made of it.
func table() []metric {
	return append(append(requestMetrics(), stateMetrics()...), ledgerMetrics()...)
}

func requestMetrics() []metric {
	operation := []string{labelMethod, labelServer, labelTool, labelPrompt, labelError}
	// The bounds are those of the conventions.
	durations := []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	return []metric{
		{nameServerDuration, "mcp.server.operation.duration", "s", histogram,
			"Duration of requests of clients, from their arrival to the answer.", operation, durations},
		{nameClientDuration, "mcp.client.operation.duration", "s", histogram,
			"Duration of requests to servers, from the moment they are handed over until the answer is there; a wait for the connection or for a free place is part of it.", operation, durations},
		{nameSessionDuration, "mcp.server.session.duration", "s", histogram,
			"Duration of the sessions of legacy clients, counted when they end.", []string{labelTransport}, durations},
		{nameClientSession, "mcp.client.session.duration", "s", histogram,
			"Duration of the sessions at legacy servers, counted when they end.", []string{labelServer, labelTransport, labelRevision, labelError}, durations},
		{nameRequests, "durward.requests", "{request}", counter,
			"Requests that were answered.", []string{labelMethod, labelStatus, labelDecision, labelEra, labelEntrance}, nil},
		{namePassing, "durward.requests.in_flight", "{request}", gauge,
			"Requests of clients that are under way.", nil, nil},
	}
}

func stateMetrics() []metric {
	server := []string{labelServer}
	signal := []string{labelSignal}
	return []metric{
		{nameServed, "durward.connections", "{connection}", gauge, "HTTP requests and stdio connections of clients that are served now.", nil, nil},
		{nameStreams, "durward.streams", "{stream}", gauge, "Of them, those that wait for what may happen: streams of sessions, subscriptions, stdio connections.", nil, nil},
		{nameSessions, "durward.sessions", "{session}", gauge, "Sessions of legacy clients that are open.", nil, nil},
		{nameHolds, "durward.holds", "{call}", gauge, "Calls that are held until their caller brings the input that the server asked for.", nil, nil},
		{nameState, "durward.server.state", "1", gauge, "1 for the state that a server is in, 0 for the others.", []string{labelServer, labelState}, nil},
		{nameInFlight, "durward.server.calls.in_flight", "{call}", gauge, "Calls that a server has not answered.", server, nil},
		{nameQueued, "durward.server.calls.queued", "{call}", gauge, "Calls that wait for a free place at a server.", server, nil},
		{nameRestarts, "durward.server.restarts", "{restart}", counter, "How often a server was connected to anew.", server, nil},
		{nameAnomalies, "durward.server.anomalies", "{anomaly}", counter, "What a server did that it should not have done, and that was dealt with.", []string{labelServer, labelKind}, nil},
		{nameTools, "durward.server.tools", "{tool}", gauge, "Tools that a server offers.", server, nil},
		{nameDials, "durward.egress.dials", "{connection}", counter, "Connections that Durward tried to make to other hosts.", []string{labelResult}, nil},
		{nameConnections, "durward.egress.connections", "{connection}", gauge, "Connections to other hosts that are open.", nil, nil},
		{nameExported, "durward.telemetry.sent", "{item}", counter, "Spans, metrics and log records that the collector took.", signal, nil},
		{nameDropped, "durward.telemetry.dropped", "{item}", counter, "Spans, metrics and log records that were lost: the queue was full, or the collector did not take them.", signal, nil},
		{nameFailed, "durward.telemetry.failures", "{request}", counter, "Requests to the collector that failed.", signal, nil},
		{nameBuild, "durward.build.info", "1", gauge, "Always 1; the labels say what runs.", []string{labelVersion, labelGo}, nil},
	}
}

func ledgerMetrics() []metric {
	short := []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}
	return []metric{
		{nameLedgerWait, "durward.ledger.wait", "s", histogram, "How long requests waited until their intent was committed.", nil, short},
		{nameLedgerCommit, "durward.ledger.commit.duration", "s", histogram, "How long the ledger took to write a batch of records down: into its journal, from which the database takes it a moment later.", nil, short},
		{nameLedgerBatch, "durward.ledger.commit.records", "{record}", histogram, "Records in one batch.", nil, []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}},
		{nameLedgerRecords, "durward.ledger.records", "{record}", counter, "Records that were committed since the service started.", []string{labelKind}, nil},
		{nameLedgerFailures, "durward.ledger.commit.failures", "{batch}", counter, "Batches that the ledger could not write down.", nil, nil},
		{nameLedgerQueue, "durward.ledger.queue", "{record}", gauge, "Records that wait to be committed.", nil, nil},
		{nameLedgerFailing, "durward.ledger.failing", "1", gauge, "1 while the ledger takes nothing, so that calls are refused.", nil, nil},
		{nameLedgerSize, "durward.ledger.size", "By", gauge, "Bytes that the ledger takes on disk.", nil, nil},
		{nameCheckpointAge, "durward.ledger.checkpoint.age", "s", gauge, "Time since the last signed checkpoint; what came after it could still be changed unseen.", nil, nil},
	}
}
