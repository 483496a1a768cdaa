package policy

import (
	"errors"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/interpreter"
)

// countedProgram compiles with the counter whatever is proven; nil if src is no condition.
func countedProgram(env *environment, src string) cel.Program {
	checked, _, f := env.check(src)
	if f != nil {
		return nil
	}
	p, err := env.cel.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(nil), cel.CostLimit(costLimit))
	if err != nil {
		return nil
	}
	return p
}

func isCostError(err error) bool {
	var cancelled interpreter.EvalCancelledError
	return errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded
}

// fullEvent has everything that an event can have, but for the prompt.
func fullEvent() *Event {
	ev := callEvent(`{"a":1}`)
	ev.Time, ev.Now = time.Unix(1e9, 0), time.Unix(2e9, 0)
	ev.Tool.SchemaHash, ev.Tool.Pinned, ev.Tool.Drifted = "ab", true, true
	ev.Resource = "file:///x"
	ev.Input = EventInput{Method: "elicitation/create", Mode: "url", URL: "https://example.com"}
	ev.Result, ev.Response = []byte(`{"content":[{"type":"text","text":"hello"}],"structuredContent":{"b":[1]},"isError":true}`), true
	ev.Score, ev.Scored = 0.5, true
	ev.Caller = EventCaller{Principal: "alice", Groups: []string{"dev"}, ClientName: "c", ClientVersion: "1", Entrance: "http", SandboxID: "sb", SandboxName: "box", Process: "pid 1"}
	ev.HTTP = EventExchange{Method: "GET", URL: "https://example.com/x", Host: "example.com", Port: 443, Path: "/x", IP: "93.184.216.34", Public: true}
	ev.Sandbox = EventOp{Op: "exec", Name: "box", Image: "debian"}
	ev.Session.Started = time.Unix(1e9, 0)
	return ev
}
