package gateway_test

import (
	"context"
	"strings"
	"testing"

	"durward"
	"durward/gateway"
	"durward/internal/wire"
)

// named notes by which names calls are decided and written down.
type named struct{ gate }

func (n *named) Decide(_ context.Context, c *durward.Call) (durward.Decision, error) {
	n.note("decide " + c.Name + " " + c.FullName)
	if strings.Contains(string(c.Params), "withhold") {
		return durward.Decision{Recorded: wire.Withheld(c.Params)}, nil
	}
	return durward.Decision{}, nil
}

func (n *named) Intent(_ context.Context, c *durward.Call, _ durward.Decision) error {
	n.note("intent " + c.Name + " " + c.FullName)
	return nil
}

func (*named) Visible(*durward.Caller, *durward.Call) bool { return true }

// What nobody offers is written down by the name that was asked for, so that it is
// found by it. Policy, which knows what is offered only, does not see it.
func TestWhatNobodyOffersIsOnRecordByItsName(t *testing.T) {
	n := &named{}
	r := start(t, gateway.Options{Servers: []durward.Server{hostileServer("h")}, Decider: n, Recorder: n})
	r.await(t, "h", isReady)
	for era, c := range r.clients(t, "/mcp") {
		for _, tt := range []struct{ method, params, want string }{
			{"tools/call", `{"name":"h__nosuch","arguments":{}}`, "decide  \nintent  h__nosuch"},
			{"tools/call", `{"name":"x\"y","arguments":{}}`, "decide  \nintent  x\"y"},
			{"tools/call", `{"name":"nosuch","arguments":{"x":"withhold"}}`, "decide  \nintent  "},
			{"prompts/get", `{"name":"nosuch"}`, "decide  \nintent  nosuch"},
			{"resources/read", `{"uri":"none://x"}`, "decide  \nintent  none://x"},
			{"tools/call", `{"name":"h__echo","arguments":{"text":"x"}}`, "decide echo h__echo\nintent echo h__echo"},
		} {
			n.taken()
			do(t, c, tt.method, tt.params)
			if got, _, _ := strings.Cut(n.taken(), "\nresult"); !strings.HasPrefix(got, tt.want+"\noutcome") && got != tt.want {
				t.Errorf("%s %s %s:\n%s\nwanted\n%s", era, tt.method, tt.params, got, tt.want)
			}
		}
	}
}
