package harness

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main is what the main function of a test program does once it knows its flags: it
// runs it, with what it is to print to, until it is through or interrupted. It ends the
// process with 1 when the run was not fine, because a promise was broken, or could not
// be made, which is an error.
func Main(name string, run func(ctx context.Context, w io.Writer) (fine bool, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	fine, err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
	}
	if err != nil || !fine {
		os.Exit(1)
	}
}

// InRunDir runs something in a fresh folder like that of [RunDir], which it removes
// afterwards. What fails keeps its logs, and so does all with keep; then it is said
// where they are.
func InRunDir(name string, keep bool, run func(dir string) (fine bool, err error)) (fine bool, err error) {
	dir, remove, err := RunDir(name)
	if err != nil {
		return false, err
	}
	fine, err = run(dir)
	if err != nil || !fine || keep {
		fmt.Fprintf(os.Stderr, "%s: all files are kept in %s\n", name, dir)
		return fine, err
	}
	return fine, remove()
}
