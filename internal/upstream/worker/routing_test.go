package worker

import (
	"testing"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// What a request is routed by is replaced, and nothing that only looks like it.
func TestTheRoutingValueIsReplacedByMethod(t *testing.T) {
	for _, tt := range []struct{ method, params, header, want string }{
		{wire.MethodToolsCall, `{"uri":"u","name":"s__n","taskId":"t"}`, "own", `{"uri":"u","name":"own","taskId":"t"}`},
		{wire.MethodPromptsGet, `{"name":"s__n"}`, "own", `{"name":"own"}`},
		{wire.MethodResourcesRead, `{"name":"n","uri":"u"}`, "own", `{"name":"n","uri":"own"}`},
		{wire.MethodSubscribe, `{"name":"n","uri":"u"}`, "", `{"name":"n","uri":"own"}`},
		{wire.MethodUnsubscribe, `{"uri":"u"}`, "", `{"uri":"own"}`},
		{wire.MethodComplete, `{"name":"n","ref":{"type":"ref/prompt","name":"s__n"}}`, "", `{"name":"n","ref":{"type":"ref/prompt","name":"own"}}`},
		{wire.MethodComplete, `{"ref":{"name":5,"uri":"u"}}`, "", `{"ref":{"name":5,"uri":"own"}}`},
		{wire.MethodTasksGet, `{"taskId":"sealed"}`, "own", `{"taskId":"own"}`},
		{wire.MethodTasksUpdate, `{"name":"n","uri":"u","inputResponses":{"a":{"taskId":"sealed"}},"taskId":"sealed"}`, "own",
			`{"name":"n","uri":"u","inputResponses":{"a":{"taskId":"sealed"}},"taskId":"own"}`},
		{wire.MethodTasksCancel, `{"taskId":"sealed"}`, "own", `{"taskId":"own"}`},
		{wire.MethodTasksResult, `{"taskId":"sealed"}`, "", `{"taskId":"own"}`},
		{"vendor/thing", `{"name":"n","taskId":"sealed","uri":"u"}`, "", `{"name":"n","taskId":"own","uri":"u"}`},
		{"vendor/thing", `{"name":"n","uri":"u"}`, "", `{"name":"n","uri":"own"}`},
		{"vendor/thing", `{"name":"s__n"}`, "", `{"name":"own"}`},
		{"vendor/thing", `{"ref":{"name":"s__n"}}`, "", `{"ref":{"name":"s__n"}}`},
	} {
		r := exchange.Request{Method: tt.method, Name: []byte(`"own"`)}
		if err := wire.ParseParams([]byte(tt.params), &r.Params); err != nil {
			t.Fatal(err)
		}
		var space [1]wire.Edit
		if got := wire.Splice(nil, r.Params.Raw, routingEdit(space[:0], r.Method, &r.Params, r.Name)...); string(got) != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.method, tt.params, got, tt.want)
		}
		if name, _ := sentName(&r); name != tt.header {
			t.Errorf("%s %s: Mcp-Name %q, want %q", tt.method, tt.params, name, tt.header)
		}
		r.Name = nil // as the caller wrote it
		if got := routingEdit(space[:0], r.Method, &r.Params, r.Name); len(got) != 0 {
			t.Errorf("%s: %v without a name to put in", tt.method, got)
		}
	}
}
