// Command chaos lets clients of both eras call servers of both eras through the
// real gateway while everything goes wrong that can: servers crash at every
// point of a call, hang, forget sessions; connections break before, within and
// behind every request; clients leave; the gateway itself is killed and started
// again. Afterwards it holds what the servers executed against what the clients
// were told.
//
//	go run ./test/chaos                         # three minutes, at least 1,000 faults
//	go run ./test/chaos -for 1m -faults 300
//	go run ./test/chaos -seed 7 -race           # with the dice of another run
//
// It prints a matrix of what came of the calls that each kind of fault
// concerned, and as the last line
//
//	chaos: calls=N faults=N executions=N duplicates=N unknown=N misdirected=N hangs=N …
//
// The exit code is 1 when a promise was broken; see [judge] for what is promised.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"durward/test/chaos/fault"
	"durward/test/chaos/journal"
	"durward/test/harness"
)

type options struct {
	length  time.Duration
	faults  int
	seed    uint64
	gateway string
	race    bool
	cross   bool
	keep    bool
}

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 3*time.Minute, "how long to inject faults at least")
	flag.IntVar(&o.faults, "faults", 1000, "fail when fewer faults were injected; on a busy machine that takes longer, up to five times as long")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the dice; 0: any")
	flag.StringVar(&o.gateway, "gateway", "", "gateway binary; built from ./cmd/durward when empty")
	flag.BoolVar(&o.race, "race", false, "build the gateway with the race detector")
	flag.BoolVar(&o.cross, "cross", true, "servers also ask clients of the other era")
	flag.BoolVar(&o.keep, "keep", false, "keep the logs of a run without broken promises, too")
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	harness.Main("chaos", func(ctx context.Context, w io.Writer) (bool, error) {
		return harness.InRunDir("chaos", o.keep, func(dir string) (bool, error) { return run(ctx, o, dir, w) })
	})
}

// run reports false when a promise was broken and an error when the run itself
// could not be made.
func run(ctx context.Context, o options, dir string, w io.Writer) (fine bool, err error) {
	if _, err := fmt.Fprintf(w, "seed %d, for %s, logs in %s\n", o.seed, o.length, dir); err != nil {
		return false, err
	}
	for _, folder := range []string{"fired", fault.SlowStart, fault.CrashStart} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			return false, err
		}
	}
	if err := build(ctx, &o, dir); err != nil {
		return false, err
	}
	r := &running{options: o, dir: dir, book: newBook()}
	problems, err := r.run(ctx)
	if err != nil {
		return false, err
	}
	entries, err := journal.Read(dir)
	if err != nil {
		return false, err
	}
	h := r.book.close(entries)
	v := judge(h, terms{faults: o.faults, idempotent: idempotent()})
	v.problems = append(v.problems, problems...)
	if err := keep(dir, h); err != nil {
		return false, err
	}
	return len(v.problems) == 0, report(w, h, v, r.book.counts)
}

// build builds the gateway, unless there is one, and the server.
func build(ctx context.Context, o *options, dir string) error {
	args := map[string][]string{filepath.Join(dir, "server"): {"./test/chaos/server"}}
	if o.gateway == "" {
		o.gateway = filepath.Join(dir, "durward")
		args[o.gateway] = []string{"./cmd/durward"}
		if o.race {
			args[o.gateway] = []string{"-race", "./cmd/durward"}
		}
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	for out, what := range args {
		cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", out}, what...)...)
		cmd.Dir = strings.TrimSpace(string(root))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", cmd.Args, err, text)
		}
	}
	return nil
}

// running is everything that runs.
type running struct {
	options
	dir     string
	book    *book
	control *control
	fleet   *fleet
	gateway *gateway
	clients []client
}

// run makes the run and returns what was wrong besides calls. When it returns
// nothing runs any more, so that nothing can be executed behind the verdict.
func (r *running) run(ctx context.Context) (problems []string, err error) {
	if r.control, err = openControl(r.dir); err != nil {
		return nil, err
	}
	defer r.control.close()
	if r.fleet, err = newFleet(filepath.Join(r.dir, "server"), r.dir, r.book, r.seed); err != nil {
		return nil, err
	}
	defer r.fleet.close()
	stopFleet, err := r.startFleet(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stopFleet()) }()
	if r.gateway, err = newGateway(r.options.gateway, r.dir, r.fleet); err != nil {
		return nil, err
	}
	if err := r.gateway.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.gateway.stop()) }()
	problems, err = r.torment(ctx)
	if err != nil {
		return nil, err
	}
	complaints, err := r.gateway.complaints()
	return append(problems, complaints...), err
}

func (r *running) startFleet(ctx context.Context) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	started, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.fleet.run(ctx, func() { close(started) }) }()
	stop = func() error {
		cancel()
		return <-done
	}
	select {
	case <-started:
		return stop, nil
	case err := <-done:
		cancel()
		return nil, fmt.Errorf("the servers do not start: %w", err)
	}
}

// torment injects faults while clients call, and looks whether all recovers.
func (r *running) torment(ctx context.Context) ([]string, error) {
	r.clients = clients(r.gateway, r.book)
	away, leave := context.WithCancel(ctx)
	wait := runAll(away, r.clients)
	defer func() {
		leave()
		wait()
	}()
	l := &load{book: r.book, cross: r.cross}
	limited, cancel := context.WithTimeout(ctx, longest*r.length)
	defer cancel()
	var workers sync.WaitGroup
	workers.Go(func() {
		r.enough(limited)
		cancel()
	})
	for _, c := range r.clients {
		for n := range workersOf(c) {
			d := newDice(r.seed, fmt.Sprintf("worker %s %d", c.name(), n))
			workers.Go(func() { l.worker(limited, c, d) })
		}
	}
	err := r.inject(limited)
	cancel()
	workers.Wait()
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return l.recovered(ctx, r.clients, newDice(r.seed, "recovery")), nil
}

// longest is how many times as long as it should faults are injected at most.
const longest = 5

// enough returns when faults were injected for long enough, and so many as are wanted,
// or when ctx ends.
func (r *running) enough(ctx context.Context) {
	for wait := r.length; sleep(ctx, wait); wait = time.Second {
		entries, err := journal.Read(r.dir) // servers note theirs there
		if err != nil {
			return // which is said when it is read at the end
		}
		_, n := r.book.size()
		for _, e := range entries {
			if e.Kind == journal.Fault {
				n++
			}
		}
		if n >= r.faults {
			return
		}
	}
}

// workersOf is how many calls a client makes at once.
func workersOf(c client) int {
	if c.principal() == principalLocal {
		return 3
	}
	return 4
}

func (r *running) inject(ctx context.Context) error {
	i := &injector{book: r.book, control: r.control, fleet: r.fleet, gateway: r.gateway, dir: r.dir, dice: newDice(r.seed, "injector")}
	for _, c := range r.clients {
		if l, ok := c.(*lineClient); ok {
			i.lines = append(i.lines, l)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return i.run(ctx) })
	group.Go(func() error { return r.progress(ctx) })
	return group.Wait()
}

// progress says now and then how far it is.
func (r *running) progress(ctx context.Context) error {
	began := time.Now()
	for sleep(ctx, 15*time.Second) {
		calls, faults := r.book.size()
		fmt.Fprintf(os.Stderr, "chaos: %s: %d calls, %d faults besides those of servers\n", time.Since(began).Round(time.Second), calls, faults)
	}
	return nil
}
