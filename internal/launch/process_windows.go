package launch

import (
	"context"
	"os"

	"durward"
)

func pickHolder(Options, func(func())) (holder, string) {
	return directHolder{}, "on Windows only the server itself is held, not what it starts"
}

func widen(*os.File) {}

// takeRest has nothing to do: pipes have no deadlines here.
func takeRest(*os.File, []byte, func([]byte)) {}

// directHolder starts servers without holding their descendants.
type directHolder struct{}

func (directHolder) name() string { return "process" }

func (directHolder) start(ctx context.Context, pl *plan, files [3]*os.File, fork func(func())) (held, error) {
	if ctx.Err() != nil {
		return nil, durward.Errorf(durward.Timeout, op(pl.spec), "the start of %s was given up: %w", pl.path, context.Cause(ctx))
	}
	var proc *os.Process
	var err error
	fork(func() {
		proc, err = os.StartProcess(pl.path, pl.argv, &os.ProcAttr{Dir: pl.spec.Dir, Env: pl.env, Files: files[:]})
	})
	if err != nil {
		return nil, startError(pl, err)
	}
	return &directTree{proc: proc}, nil
}

type directTree struct {
	directHolder
	proc *os.Process
}

func (t *directTree) pid() int   { return t.proc.Pid }
func (t *directTree) terminate() { t.kill() } // there is no SIGTERM
func (t *directTree) kill()      { _ = t.proc.Kill() }

func (t *directTree) wait() string {
	state, err := t.proc.Wait()
	if err != nil {
		return "unknown"
	}
	return state.String()
}
