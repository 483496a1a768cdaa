package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"durward/test/chaos/fault"
)

// injector does what goes wrong by itself, not by a call.
type injector struct {
	book    *book
	control *control
	fleet   *fleet
	gateway *gateway
	dir     string
	dice    *dice
	lines   []*lineClient
}

// run injects faults until ctx ends, and leaves everything running.
func (i *injector) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range i.fleet.proxies {
		p.rate.Store(connectionRate)
		group.Go(func() error { return i.refuse(ctx, p) })
	}
	group.Go(func() error { return i.processes(ctx) })
	group.Go(func() error { return i.gateways(ctx) })
	for _, c := range i.lines {
		group.Go(func() error {
			for sleep(ctx, i.dice.between(4*time.Second, 9*time.Second)) {
				c.kill()
			}
			return nil
		})
	}
	err := group.Wait()
	for _, p := range i.fleet.proxies {
		p.rate.Store(0)
	}
	return err
}

// connectionRate is how often a proxy strikes, in 10,000 exchanges.
const connectionRate = 400

func (i *injector) refuse(ctx context.Context, p *proxy) error {
	for sleep(ctx, i.dice.between(2*time.Second, 7*time.Second)) {
		if err := p.refuse(ctx, i.dice.between(50*time.Millisecond, 400*time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

func (i *injector) gateways(ctx context.Context) error {
	for sleep(ctx, i.dice.between(5*time.Second, 10*time.Second)) {
		kind, signal := fault.GatewayKill, os.Kill
		if i.dice.percent(40) {
			kind, signal = fault.GatewayTerm, syscall.SIGTERM
		}
		note := func() { i.book.fault(injected{kind: kind}) }
		// Not with ctx: the gateway must be up again when the faults end.
		if err := i.gateway.restart(context.WithoutCancel(ctx), signal, note); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// processes has servers misbehave at random times.
func (i *injector) processes(ctx context.Context) error {
	for sleep(ctx, i.dice.between(200*time.Millisecond, 800*time.Millisecond)) {
		t := pick(i.dice, targets())
		if err := i.torment(t, pick(i.dice, fault.OfProcesses(t.http, t.legacy))); err != nil {
			return err
		}
	}
	return nil
}

func (i *injector) torment(t target, kind string) error {
	command := kind
	switch kind {
	case fault.SlowStart, fault.CrashStart:
		if err := os.WriteFile(filepath.Join(i.dir, kind, t.name), nil, 0o600); err != nil {
			return err
		}
		command = fault.Kill
	case fault.Pause:
		command = strings.Join([]string{fault.Pause, fmt.Sprint(100 + i.dice.n(600))}, " ")
	}
	if i.control.command(t.name, command) {
		i.book.fault(injected{kind: kind, server: t.name})
	}
	return nil
}
