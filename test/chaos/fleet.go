package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// fleet are the HTTP servers, each with a supervisor that starts it again when
// it has ended, and each behind its proxy. Stdio servers are the gateway's to start.
type fleet struct {
	bin, dir string
	proxies  map[string]*proxy
}

func newFleet(bin, dir string, b *book, seed uint64) (*fleet, error) {
	f := &fleet{bin: bin, dir: dir, proxies: map[string]*proxy{}}
	for _, t := range targets() {
		if !t.http {
			continue
		}
		p, err := newProxy(t.name, b, newDice(seed, "proxy "+t.name))
		if err != nil {
			return nil, err
		}
		f.proxies[t.name] = p
	}
	return f, nil
}

// run keeps the servers running until ctx ends. started is called once all are up.
func (f *fleet) run(ctx context.Context, started func()) error {
	up := make(chan struct{}, len(f.proxies))
	group, ctx := errgroup.WithContext(ctx)
	for _, t := range targets() {
		if p := f.proxies[t.name]; p != nil {
			group.Go(func() error { return f.supervise(ctx, t, p, up) })
		}
	}
	for range f.proxies {
		select {
		case <-up:
		case <-ctx.Done():
			return group.Wait()
		}
	}
	started()
	return group.Wait()
}

func (f *fleet) supervise(ctx context.Context, t target, p *proxy, up chan<- struct{}) error {
	log, err := os.Create(filepath.Join(f.dir, t.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	for first := true; ctx.Err() == nil; {
		err := f.once(ctx, t, log, func(addr string) {
			p.to.Store(&addr)
			if first {
				up <- struct{}{}
				first = false
			}
		})
		if first && err != nil && ctx.Err() == nil {
			return err // it cannot be started at all
		}
		sleep(ctx, 50*time.Millisecond)
	}
	return nil
}

// once runs a server until it ends.
func (f *fleet) once(ctx context.Context, t target, log *os.File, listens func(addr string)) error {
	cmd := exec.CommandContext(ctx, f.bin, f.args(t, "-http", "127.0.0.1:0")...)
	cmd.Stderr = log
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if addr, err := bufio.NewReader(out).ReadString('\n'); err == nil {
		listens(strings.TrimSpace(addr))
	}
	return cmd.Wait() // that it was killed is no news
}

func (f *fleet) args(t target, more ...string) []string {
	return append([]string{"-name", t.name, "-era", t.era(), "-dir", f.dir}, more...)
}

func (f *fleet) close() {
	for _, p := range f.proxies {
		p.close()
	}
}
