package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"durward/test/kill/rig"
)

// victim is one service that is killed again and again.
type victim struct {
	options
	sync    string // ledger.sync
	dir     string
	kills   int // how many to make
	dice    *rand.Rand
	service *rig.Service
	load    *rig.Load

	made   []time.Time // the kills
	early  int         // of these, those before the service was ready
	again  int         // starts that failed
	result *rig.Verdict
	seen   int

	recovered int
	calls     int
	broken    bool     // the chain
	problem   []string // whatever is wrong
}

// victims kills several services at once: while one starts, the other works.
func victims(ctx context.Context, o options, bin rig.Binaries, dir string) ([]*victim, error) {
	all := []*victim{{sync: "normal", kills: o.kills - o.kills/2}, {sync: "full", kills: o.kills / 2}}
	group, ctx := errgroup.WithContext(ctx)
	for i, v := range all {
		v.options, v.dir, v.dice = o, filepath.Join(dir, v.sync), rand.New(rand.NewPCG(o.seed, uint64(i)))
		group.Go(func() error { return v.run(ctx, bin) })
	}
	return all, group.Wait()
}

func (v *victim) run(ctx context.Context, bin rig.Binaries) error {
	if err := os.Mkdir(v.dir, 0o700); err != nil {
		return err
	}
	counter, err := rig.StartCounter(bin.Server, v.dir)
	if err != nil {
		return err
	}
	defer counter.Close()
	v.service, err = rig.NewService(rig.ServiceOptions{Bin: bin.Gateway, Dir: v.dir, Config: map[string]any{
		"servers": counter.Servers(bin.Server, v.dir),
		"ledger":  map[string]any{"sync": v.sync},
		"limits":  map[string]any{"backoff_first": "50ms", "backoff_most": "500ms"},
	}})
	if err != nil {
		return err
	}
	v.load = rig.NewLoad(v.service, v.sync, v.seed)
	if err := v.torment(ctx); err != nil {
		return err
	}
	return v.judge(ctx)
}

// torment kills the service while it is under load. When it returns nothing runs.
func (v *victim) torment(ctx context.Context) (err error) {
	if err := v.service.Start(ctx); err != nil {
		return err
	}
	busy, rest := context.WithCancel(ctx)
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		v.load.Run(busy, v.workers)
	}()
	for len(v.made) < v.kills && ctx.Err() == nil && err == nil {
		err = v.kill(ctx)
	}
	if err == nil { // what it does when nobody kills it
		sleep(ctx, time.Second)
	}
	rest()
	<-idle
	if err == nil {
		v.verify(context.WithoutCancel(ctx)) // while it runs
	}
	return errors.Join(err, v.service.Stop())
}

// verify has the ledger verified.
func (v *victim) verify(ctx context.Context) {
	if _, err := v.service.Verify(ctx); err != nil {
		v.broken = true
		v.problem = append(v.problem, err.Error())
	}
}

// kill waits for a moment, kills the service and starts the next incarnation. Some
// are killed while they start and recover what the one before left.
func (v *victim) kill(ctx context.Context) error {
	early := v.dice.IntN(100) < 15
	if early {
		sleep(ctx, time.Duration(v.dice.IntN(150))*time.Millisecond)
	} else {
		if err := v.await(ctx); err != nil {
			return err
		}
		sleep(ctx, time.Duration(v.dice.IntN(500))*time.Millisecond)
	}
	if ctx.Err() != nil || v.service.Ended() {
		return v.await(context.WithoutCancel(ctx))
	}
	at := time.Now()
	err := v.service.Kill()
	if errors.Is(err, rig.ErrEnded) { // as it was about to be: see await
		return v.await(context.WithoutCancel(ctx))
	}
	if err != nil {
		return err
	}
	v.made = append(v.made, at)
	if early {
		v.early++
	}
	if n := len(v.made); n%25 == 0 {
		fmt.Fprintf(os.Stderr, "kill-test: sync %s: %d kills, %d calls\n", v.sync, n, len(v.load.Calls()))
	}
	if err := v.service.Spawn(); err != nil || len(v.made) < v.kills {
		return err
	}
	return v.await(ctx)
}

// await waits until the service is up. One that ended by itself is started again: a
// process that the killed one was just forking may hold its lock for a moment.
func (v *victim) await(ctx context.Context) error {
	for {
		err := v.service.Await(ctx)
		if err == nil || !v.service.Ended() || v.again == againMost {
			return err
		}
		v.again++
		if err := errors.Join(v.service.Stop(), v.service.Spawn()); err != nil {
			return err
		}
	}
}

// againMost bounds how often that may happen in a run: for as long as a process that is
// being forked can stand still on a busy machine, which is several starts a second.
const againMost = 200

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge looks at what is left.
func (v *victim) judge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	seen, err := rig.Seen(v.dir)
	if err != nil {
		return err
	}
	records, err := rig.ReadRecords(ctx, v.service.Ledger())
	if err != nil {
		return err
	}
	calls := v.load.Calls()
	v.calls, v.seen, v.recovered = len(calls), len(seen), records.Recovered
	v.result = rig.Judge(&rig.Evidence{Calls: calls, Seen: seen, Records: records, Kills: v.made, Full: v.sync == "full"})
	v.problem = append(v.problem, v.result.Problems...)
	v.broken = v.broken || records.Broken > 0
	v.verify(ctx) // at rest
	complaints, err := v.service.Complaints()
	v.problem = append(v.problem, complaints...)
	return err
}
