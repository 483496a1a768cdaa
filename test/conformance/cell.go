package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"durward/test/harness"
)

// startLimit bounds how long a fixture or a gateway may take to be ready, and
// cellLimit one whole suite: the slowest takes seconds.
const (
	startLimit = 30 * time.Second
	cellLimit  = 4 * time.Minute
)

const (
	routeDirect       = "direct"
	routeServersHTTP  = "servers-http"
	routeServersStdio = "servers-stdio"
	routeMCPHTTP      = "mcp-http"
	routeMCPStdio     = "mcp-stdio"
)

// suite is one set of scenarios of one release of the official suite.
type suite struct {
	name      string
	pkg       string   // folder below node_modules
	args      []string // what selects the set
	one       []string // what goes with --scenario instead of args
	stateless bool     // which fixture speaks this era over HTTP
	scored    string   // requirement file; empty: every scenario is scored
}

// cell is one run of one suite over one route.
type cell struct {
	suite suite
	route string
}

func (c cell) String() string { return c.suite.name + "@" + c.route }

func (c cell) isDirect() bool { return c.route == routeDirect }

func suites() []suite {
	requirements := func(rev string, stateless bool) suite {
		return suite{
			name: rev, pkg: "conformance-0-2", args: []string{"--requirements", rev},
			one: []string{"--spec-version", rev}, stateless: stateless,
			scored: filepath.Join("conformance-0-2", "requirements", rev+".yaml"),
		}
	}
	return []suite{
		{name: "0.1.16", pkg: "conformance-0-1", args: []string{"--suite", "all"}},
		requirements("2025-11-25", false),
		requirements("2026-07-28", true),
	}
}

func matrix() []cell {
	routes := []string{routeDirect, routeServersHTTP, routeServersStdio, routeMCPHTTP, routeMCPStdio}
	var cells []cell
	for _, s := range suites() {
		for _, r := range routes {
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
			r, err := runCell(ctx, tools, o, c, filepath.Join(dir, c.String()))
			if err != nil {
				return fmt.Errorf("cell %s: %w", c, err)
			}
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

// startTarget starts what the suite is to talk to and returns its URL.
func startTarget(ctx context.Context, tools *harness.Toolbox, o options, c cell, dir string) (string, func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	bin := tools.Fixture("everything-server")
	if strings.HasSuffix(c.route, "-stdio") {
		return startGateway(ctx, o, c, dir, harness.Server{Command: bin}, noStop)
	}
	addr, err := harness.FreeAddr()
	if err != nil {
		return "", nil, err
	}
	fixture, err := harness.Start(harness.Command{
		Path: bin, Args: []string{"-http=" + addr, fmt.Sprintf("-stateless=%t", c.suite.stateless)},
		Log: filepath.Join(dir, "fixture.log"),
	})
	if err != nil {
		return "", nil, err
	}
	// The go-sdk fixture knows no graceful end, so its exit code says nothing.
	url := "http://" + addr + "/mcp"
	if err := harness.WaitTCP(ctx, fixture, addr); err != nil {
		return "", nil, joinStop(err, fixture.Stop)
	}
	if c.isDirect() {
		return url, fixture.Stop, nil
	}
	return startGateway(ctx, o, c, dir, harness.Server{URL: url}, fixture.Stop)
}

func noStop() error { return nil }

// startGateway puts the gateway in front of the one server and returns the URL
// of the route; before is what must be stopped after the gateway.
func startGateway(ctx context.Context, o options, c cell, dir string, server harness.Server, before func() error) (string, func() error, error) {
	config := harness.NewConfig(map[string]harness.Server{"fixture": server})
	config.Prefix = new(string)
	g, err := harness.StartGateway(ctx, o.gateway, dir, config)
	if err != nil {
		return "", nil, joinStop(err, before)
	}
	path := "/mcp"
	if strings.HasPrefix(c.route, "servers-") {
		path = "/servers/fixture/mcp"
	}
	stop := func() error { return joinStop(g.Stop(), before) }
	return "http://" + g.Addr + path, stop, nil
}

// joinStop stops something and keeps the first error.
func joinStop(err error, stop func() error) error {
	if serr := stop(); err == nil {
		return serr
	}
	return err
}
