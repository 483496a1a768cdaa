package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"durward/test/harness"
)

// startLimit bounds how long a fixture or a gateway may take to be ready, and
// cellLimit one whole suite: the slowest takes seconds.
const (
	startLimit = 2 * time.Minute
	cellLimit  = 10 * time.Minute
)

// The routes: where a suite's client connects to and what is behind it. On the
// two crossings the server knows only the era that the client does not speak.
const (
	routeDirect       = "direct"
	routeServersHTTP  = "servers-http"
	routeServersStdio = "servers-stdio"
	routeMCPHTTP      = "mcp-http"
	routeMCPStdio     = "mcp-stdio"
	routeCrossHTTP    = "cross-http"
	routeCrossStdio   = "cross-stdio"
)

const (
	eraLegacy = "legacy"
	eraModern = "modern"
)

// suite is one set of scenarios of one release of the official suite.
type suite struct {
	name   string
	pkg    string   // folder below node_modules
	args   []string // what selects the set
	one    []string // what goes with --scenario instead of args
	era    string   // what the suite speaks
	scored string   // requirement file; empty: every scenario is scored
	client bool     // the suite is the server and examines a client
}

// otherEra is what a server of a crossing speaks.
func (s suite) otherEra() string {
	if s.era == eraModern {
		return eraLegacy
	}
	return eraModern
}

// cell is one run of one suite over one route.
type cell struct {
	suite suite
	route string
}

func (c cell) String() string { return c.suite.name + "@" + c.route }

func (c cell) isDirect() bool { return c.route == routeDirect }

func (c cell) crosses() bool { return c.route == routeCrossHTTP || c.route == routeCrossStdio }

// baseline names the file of the differences that are accepted in this cell.
func (c cell) baseline() string {
	if c.crosses() {
		return "cross-" + c.suite.name
	}
	return c.suite.name
}

func suites() []suite {
	revision := func(rev, era string) suite {
		return suite{
			name: rev, pkg: "conformance-0-2", args: []string{"--requirements", rev},
			one: []string{"--spec-version", rev}, era: era,
			scored: filepath.Join("conformance-0-2", "requirements", rev+".yaml"),
		}
	}
	client := func(s suite) suite {
		s.name, s.client = "client-"+s.name, true
		return s
	}
	legacy, modern := revision("2025-11-25", eraLegacy), revision("2026-07-28", eraModern)
	return []suite{
		{name: "0.1.16", pkg: "conformance-0-1", args: []string{"--suite", "all"}, era: eraLegacy},
		legacy, modern, client(legacy), client(modern),
	}
}

// routes are those of one suite, the direct one first. A suite that examines
// clients is itself the server, over HTTP.
func (s suite) routes() []string {
	if s.client {
		return []string{routeDirect, routeServersHTTP}
	}
	return []string{
		routeDirect, routeServersHTTP, routeServersStdio, routeMCPHTTP, routeMCPStdio, routeCrossHTTP, routeCrossStdio,
	}
}

func matrix() []cell {
	var cells []cell
	for _, s := range suites() {
		for _, r := range s.routes() {
			cells = append(cells, cell{suite: s, route: r})
		}
	}
	return cells
}

// runCells runs the cells, a few at a time, each with a fixture and a gateway of
// its own: some scenarios change the fixture's lists.
func runCells(ctx context.Context, tools *harness.Toolbox, o options, dir string, cells []cell) (map[string]*result, error) {
	var mu sync.Mutex // guards results
	results := make(map[string]*result, len(cells))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.parallel, 1))
	for _, c := range cells {
		group.Go(func() error {
			start := time.Now()
			r, err := runCell(ctx, tools, o, c, filepath.Join(dir, c.String()))
			if err != nil {
				return fmt.Errorf("cell %s: %w", c, err)
			}
			r.took = time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			results[c.String()] = r
			return nil
		})
	}
	return results, group.Wait()
}

func runCell(ctx context.Context, tools *harness.Toolbox, o options, c cell, dir string) (*result, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cellLimit)
	defer cancel()
	if c.suite.client {
		return runClientSuite(ctx, tools, o, c, dir)
	}
	url, stop, err := startTarget(ctx, tools, o, c, dir)
	if err != nil {
		return nil, err
	}
	r, err := runSuite(ctx, tools, o, c, url, dir)
	if serr := stop(); err == nil {
		err = serr
	}
	return r, err
}
