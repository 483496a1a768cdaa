// Command kill ends the real service with SIGKILL at random moments, again and
// again, while clients of both eras call servers through it, and starts it anew on
// the same state directory. Afterwards it holds three things against each other:
// what the servers saw, what the clients were told, and what the ledger says.
//
//	go run ./test/kill                      # 200 kills
//	go run ./test/kill -kills 50 -for 80s   # at most that long
//	go run ./test/kill -seed 7              # with the dice of another run
//
// What is promised, whenever the service dies: a call that a server saw has a row.
// A row has one outcome; that of a call which was under way is unknown, with the
// reason. What a client was told went well is ok in the ledger (with ledger.sync
// normal it may be unknown, if the service was killed right behind the answer). The
// chain of the ledger goes on from one incarnation to the next, and durward ledger
// verify finds nothing wrong. As the last line it prints
//
//	kill-test: kills=N calls_seen=N missing_rows=N recovered=N chain=ok …
//
// The exit code is 1 when a promise was broken, or fewer kills were made than asked
// for.
//
// To see that it would notice: let Ledger.add (ledger/ledger.go) return nil as soon
// as offer took the record, in place of waiting until it is committed, build that,
// and run it with -kills 40 -gateway. Such a run found 16 missing rows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"durward/test/harness"
	"durward/test/kill/rig"
)

type options struct {
	kills   int
	limit   time.Duration
	seed    uint64
	workers int
	gateway string
	keep    bool
}

func main() {
	var o options
	flag.IntVar(&o.kills, "kills", 200, "how often to kill, over all services together")
	flag.DurationVar(&o.limit, "for", 15*time.Minute, "give up when it takes longer; the kills that are missing fail the run")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the dice; 0: any")
	flag.IntVar(&o.workers, "workers", 8, "calls at a time, per service")
	flag.StringVar(&o.gateway, "gateway", "", "gateway binary; built from ./cmd/durward when empty")
	flag.BoolVar(&o.keep, "keep", false, "keep the files of a run without broken promises, too")
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	harness.Main("kill-test", func(ctx context.Context, w io.Writer) (bool, error) {
		return harness.InRunDir("kill-test", o.keep, func(dir string) (bool, error) { return run(ctx, o, dir, w) })
	})
}

// run reports false when a promise was broken and an error when the run itself
// could not be made.
func run(ctx context.Context, o options, dir string, w io.Writer) (fine bool, err error) {
	if _, err := fmt.Fprintf(w, "seed %d, files in %s\n", o.seed, dir); err != nil {
		return false, err
	}
	bin, err := rig.Build(ctx, dir, rig.Binaries{Gateway: o.gateway})
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	results, err := victims(limited, o, bin, dir)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return false, err
	}
	return report(w, o, results)
}
