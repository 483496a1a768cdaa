package telemetry

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

//go:generate go run ./docgen

// Reference is docs/reference/metrics.md.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	for _, section := range []struct {
		title   string
		metrics []metric
	}{{"Requests", requestMetrics()}, {"State", stateMetrics()}, {"Ledger", ledgerMetrics()}} {
		fmt.Fprintf(&b, "\n## %s\n", section.title)
		for _, m := range section.metrics {
			writeMetric(&b, m)
		}
	}
	b.WriteString(referenceLabels)
	for _, l := range labels() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", l.name, l.otel, l.values)
	}
	b.WriteString(referenceTail)
	return b.Bytes()
}

func writeMetric(b *bytes.Buffer, m metric) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n\n*%s", m.name, m.help, m.kind)
	if len(m.labels) > 0 {
		fmt.Fprintf(b, " · labels `%s`", strings.Join(m.labels, "`, `"))
	}
	fmt.Fprintf(b, " · in OTLP `%s`, unit `%s`*\n", m.otel, m.unit)
	if len(m.buckets) > 0 {
		bounds := make([]string, len(m.buckets))
		for i, bound := range m.buckets {
			bounds[i] = strconv.FormatFloat(bound, 'g', -1, 64)
		}
		fmt.Fprintf(b, "\nBuckets: %s\n", strings.Join(bounds, ", "))
	}
}

const referenceHead = `<!-- Generated from the table in internal/telemetry; "make docs" writes it anew. -->

# Metrics

` + "`/metrics`" + ` writes them in the text format of Prometheus. Where OpenTelemetry's conventions for MCP have a name, it is used, as
Prometheus writes it; what is called ` + "`durward_…`" + ` is Durward's own. The metrics of the Go runtime (` + "`go_…`" + `) and of the process
(` + "`process_…`" + `) are there as well.

| where | who may read |
|---|---|
| the unix socket | the owner of the service |
| ` + "`api.listen`" + ` | who holds a token of the service API: ` + "`api-token-read`" + ` or ` + "`api-token`" + ` in the state directory |
| the HTTP entrance | the same tokens. The tokens of the entrance itself are in the hands of agents and do not open it. With ` + "`auth: none`" + `, everybody on this machine |

Metrics tell names of servers and tools, and how often what was called; never what a request or a result said.

With ` + "`telemetry.otlp`" + ` they are sent to an OpenTelemetry collector as well, once a minute.
`

const referenceLabels = `
## Labels

| label | attribute in OTLP | values |
|---|---|---|
`

const referenceTail = `
## Spans

With ` + "`telemetry.otlp.traces`" + ` each request becomes a span of kind server, named after its method and tool (` + "`tools/call github__search`" + `), and each
request to a server that it causes a span of kind client below it. The trace of the caller is continued: ` + "`traceparent`" + ` in ` + "`_meta`" + `, else the header.
The server is given the span of kind client as its parent, in ` + "`_meta`" + ` and, over HTTP, in the header too.

| attribute | span | value |
|---|---|---|
| ` + "`mcp.method.name`" + ` | both | the method |
| ` + "`gen_ai.operation.name`" + ` | both | ` + "`execute_tool`" + ` for tools/call |
| ` + "`gen_ai.tool.name`, `gen_ai.prompt.name`" + ` | both | server: the name that the caller used; client: the server's own |
| ` + "`mcp.protocol.version`" + ` | both | the revision that the caller speaks; that the server does |
| ` + "`jsonrpc.request.id`" + ` | both | the caller's id, at most 64 bytes; the one that the server was given |
| ` + "`network.transport`" + ` | both | ` + "`tcp` or `pipe`" + ` |
| ` + "`error.type`" + ` | both | ` + "`tool_error`" + `, or the JSON-RPC code; absent for success |
| ` + "`rpc.response.status_code`" + ` | both | the JSON-RPC code of an error |
| ` + "`durward.call.id`" + ` | both | the id of the call in the ledger |
| ` + "`durward.server`" + ` | both | the server as the configuration calls it |
| ` + "`durward.era`" + ` | both | of the caller; of the server |
| ` + "`durward.principal`, `durward.entrance`" + ` | server | whose rights the caller has, and by which door it came |
| ` + "`durward.status`, `durward.decision`" + ` | server | as the labels |
| ` + "`durward.ledger.wait`" + ` | server | seconds until the intent was committed |
| ` + "`durward.attempts`" + ` | client | how often the request was handed to the server |

Arguments, results, messages of errors, URIs of resources and ids of sessions are in no span. ` + "`telemetry.otlp.sample`" + ` is the part of the traces
that is recorded of those that begin at Durward; a caller decides about its own (W3C Trace Context, flag *sampled*).
`
