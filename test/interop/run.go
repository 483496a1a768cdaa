package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"durward/test/harness"
)

// scene is a gateway with servers, and what is done there.
type scene struct {
	name   string
	peers  func(ctx context.Context, tools *harness.Toolbox, dir string) (*peers, error)
	front  func(ctx context.Context, tools *harness.Toolbox, o options, dir string, p *peers) (*harness.Gateway, error)
	jobs   func(tools *harness.Toolbox, g *harness.Gateway, p *peers) ([]job, error)
	direct func(tools *harness.Toolbox, p *peers) []job // without the gateway
}

func scenes() []scene {
	return []scene{
		{name: "reference", peers: startServers, front: startGateway, jobs: gatewayJobs, direct: directJobs},
		{name: "bridge", peers: startBridge, front: startBridgeGateway, jobs: bridgeJobs, direct: directBridgeJobs},
	}
}

// runner runs jobs and counts what they report.
type runner struct {
	tools   *harness.Toolbox
	options options
	only    *regexp.Regexp

	mu     sync.Mutex // guards what follows: scenes report at the same time
	out    io.Writer
	total  tally
	matrix *matrix
}

// playAll plays the scenes at the same time: they have nothing in common, and most
// of their time is waiting.
func (r *runner) playAll(ctx context.Context, dir string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	all := scenes()
	ends := make([]error, len(all))
	for i, s := range all {
		if r.options.scene != "" && r.options.scene != s.name {
			continue
		}
		wg.Go(func() {
			if err := r.play(ctx, s, filepath.Join(dir, s.name)); err != nil {
				ends[i] = fmt.Errorf("%s: %w", s.name, err)
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(ends...)
}

// play starts the servers and the gateway of a scene, runs its jobs, and ends them.
func (r *runner) play(ctx context.Context, s scene, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	p, err := s.peers(ctx, r.tools, dir)
	if err != nil {
		return err
	}
	defer func() { err = keepFirst(err, p.stop()) }()
	if r.options.direct {
		return r.run(ctx, s.direct(r.tools, p))
	}
	ready, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	g, err := s.front(ready, r.tools, r.options, dir, p)
	if err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	defer func() { err = keepFirst(err, g.Stop()) }()
	jobs, err := s.jobs(r.tools, g, p)
	if err != nil {
		return err
	}
	return r.run(ctx, jobs)
}

// run runs jobs one after another: some checks watch state that a server keeps
// for all its clients.
func (r *runner) run(ctx context.Context, jobs []job) error {
	for _, j := range jobs {
		if !r.only.MatchString(j.Label) {
			continue
		}
		checks, err := j.run(ctx, r.tools)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			checks = append(checks, check{Name: j.Label + "/script", Error: err.Error()})
		}
		if err := r.report(j, checks); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) report(j job, checks []check) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.matrix.add(j, checks)
	return r.count(checks)
}

// count prints checks and adds them to the sum. mu is held, or nobody else is left.
func (r *runner) count(checks []check) error {
	for _, c := range checks {
		if text := r.total.add(c); text != "" && (r.options.verbose || c.Skipped != "" || !c.OK) {
			if _, err := fmt.Fprintln(r.out, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// end prints the table and the sum. An empty cell counts as failed, unless only a
// part was run.
func (r *runner) end() (bool, error) {
	if !r.matrix.empty() {
		if err := r.matrix.print(r.out); err != nil {
			return false, err
		}
	}
	if o := r.options; o.only == "" && o.scene != "reference" && !o.direct {
		if err := r.count(r.matrix.missing()); err != nil {
			return false, err
		}
	}
	_, err := fmt.Fprintf(r.out, "interop: passed=%d failed=%d skipped=%d\n", r.total.passed, r.total.failed, r.total.skipped)
	return r.total.failed == 0 && r.total.passed > 0, err
}
