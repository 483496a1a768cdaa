package policy

import (
	"errors"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/interpreter"
)

// countedProgram compiles with the counter whatever is proven.
func countedProgram(t testing.TB, env *environment, src string) cel.Program {
	t.Helper()
	checked, _, f := env.check(src)
	if f != nil {
		t.Fatal(f)
	}
	p, err := env.cel.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(nil), cel.CostLimit(costLimit))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func isCostError(err error) bool {
	var cancelled interpreter.EvalCancelledError
	return errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded
}
