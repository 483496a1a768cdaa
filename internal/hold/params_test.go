package hold_test

import (
	"context"
	"testing"

	"durward/internal/exchange"
	"durward/internal/hold"
)

// TestWhatAModernClientIsShown: all bytes of the server's but for what 2026-07-28 does not have.
func TestWhatAModernClientIsShown(t *testing.T) {
	for _, c := range [][3]string{
		{"roots/list", ``, ``},
		{"roots/list", `{}`, `{}`},
		{"roots/list", `{ "_meta" : { "progressToken" : 1 } }`, `{  }`},
		{"roots/list", `{"_meta":{"traceparent":"x"}}`, `{"_meta":{"traceparent":"x"}}`},
		{"roots/list", `{"task":{}}`, `{"task":{}}`}, // never had one
		{"elicitation/create", `{"message":"a", "requestedSchema":{"elicitationId":1,"task":2}}`, `{"message":"a", "requestedSchema":{"elicitationId":1,"task":2}}`},
		{"elicitation/create", `{"mode":"url","elicitationId":"e","message":"a","url":"https://x"}`, `{"mode":"url","message":"a","url":"https://x"}`},
		{"elicitation/create", `{"m\u006fde":"\u0075rl","\u0065licitationId":"e","url":1.0}`, `{"m\u006fde":"\u0075rl","url":1.0}`},
		{"elicitation/create", `{"mode":"form","elicitationId":"e"}`, `{"mode":"form","elicitationId":"e"}`},
		{"elicitation/create", `{"task":{"ttl":1},"message":"a"}`, `{"message":"a"}`},
		{"sampling/createMessage", `{"messages":[ ],"task":{},"elicitationId":"e"}`, `{"messages":[ ],"elicitationId":"e"}`},
		{"sampling/createMessage", `{"messages":[{"_meta":{"progressToken":1}}],"includeContext":"thisServer"}`, `{"messages":[{"_meta":{"progressToken":1}}],"includeContext":"thisServer"}`},
		{
			"sampling/createMessage",
			`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"},"vendor/key": 1 ,"progressToken":2,"io.modelcontextprotocol/logLevel":"info"},"maxTokens":1.0}`,
			`{"_meta":{"vendor/key": 1},"maxTokens":1.0}`,
		},
	} {
		in(t, hold.Options{}, func(t *testing.T, r *rig) {
			turn := r.begin(func(ctx context.Context, out exchange.Stream) exchange.Reply {
				var params []byte
				if c[1] != "" {
					params = []byte(c[1])
				}
				return out.Ask(ctx, c[0], params)
			})
			if q := turn.Questions; len(q) != 1 || q[0].Method != c[0] || string(q[0].Params) != c[2] || (q[0].Params == nil) != (c[1] == "") {
				t.Errorf("%s: %s, want %s", c[1], asked(turn), c[2])
			}
		})
	}
}
