// Command conformance runs the official MCP conformance suites against the
// go-sdk's everything-server, directly and through the gateway, and demands the
// same result check by check.
//
// One run of one suite is a cell, named SUITE@ROUTE: the suite 0.1.16 (all
// scenarios) or one of the frozen requirement sets 2025-11-25 and 2026-07-28;
// the route direct, or one of servers-http, servers-stdio, mcp-http, mcp-stdio
// (the gateway's route and how the fixture behind it is reached), or cross-http
// and cross-stdio: there the server knows only the era that the suite does not
// speak (test/fixtures/oneera), and the direct run is one within the era.
//
// The suites client-2025-11-25 and client-2026-07-28 examine a client: directly
// the go-sdk's everything-client, on servers-http the gateway that stands between
// that client and the suite's server. Scenarios of authorization are left out.
//
// What may come out worse through the gateway is in baseline-*.yml, each entry
// with the reason why no gateway could do better.
//
//	go run ./test/conformance                                  # the whole matrix
//	go run ./test/conformance -direct                          # the reference only
//	go run ./test/conformance -only 2026-07-28@servers-http -v # one cell, explained
//
// The last line is "conformance: CELL=PASSED/SCORED …", above it a line for each
// cell that says how many checks are worse with and without a baseline entry; the
// exit code is 1 when a check is worse without one, when an entry is not needed
// any more, or when a scored scenario fails directly.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"durward/test/harness"
)

type options struct {
	direct   bool
	verbose  bool
	only     string
	scenario string
	gateway  string
	parallel int
}

func main() {
	var o options
	flag.BoolVar(&o.direct, "direct", false, "run the suites against the fixture only")
	flag.BoolVar(&o.verbose, "v", false, "explain failing and differing checks, with what was sent and received")
	flag.StringVar(&o.only, "only", "", "comma-separated cells, suites or routes to run")
	flag.StringVar(&o.scenario, "scenario", "", "run this scenario only")
	flag.StringVar(&o.gateway, "gateway", "", "gateway binary; built from ./cmd/durward when empty")
	flag.IntVar(&o.parallel, "parallel", 2, "cells that run at the same time")
	flag.Parse()
	harness.Main("conformance", func(ctx context.Context, w io.Writer) (bool, error) {
		if args := flag.Args(); len(args) > 0 && args[0] == driveCommand {
			return true, drive(ctx, args[1:])
		}
		return run(ctx, o, w)
	})
}

// run reports false when a promise is broken and an error when the matrix could
// not be run at all.
func run(ctx context.Context, o options, w io.Writer) (bool, error) {
	tools, err := harness.Open()
	if err != nil {
		return false, err
	}
	cells := selectCells(o)
	if len(cells) == 0 {
		return false, fmt.Errorf("-only %q names no cell; cells are %s", o.only, strings.Join(cellNames(matrix()), " "))
	}
	if err := tools.BuildFixtures(ctx, "everything-server", "everything-client", "oneera"); err != nil {
		return false, err
	}
	if o.gateway == "" && needsGateway(cells) {
		if o.gateway, err = tools.BuildGateway(ctx); err != nil {
			return false, err
		}
	}
	baselines, err := loadBaselines(tools)
	if err != nil {
		return false, err
	}
	dir, remove, err := harness.RunDir("conformance")
	if err != nil {
		return false, err
	}
	results, err := runCells(ctx, tools, o, dir, cells)
	if err != nil {
		return false, fmt.Errorf("%w; logs are kept in %s", err, dir)
	}
	ok := report(w, o, cells, results, baselines)
	if !ok || o.verbose {
		return ok, nil // the report says where the logs are
	}
	return ok, remove()
}

// selectCells keeps the cells that -only and -direct ask for, and with each the
// direct cell it is compared with, in the order of the matrix.
func selectCells(o options) []cell {
	keep := make(map[string]bool)
	for _, c := range matrix() {
		wanted := o.only == ""
		for _, part := range strings.Split(o.only, ",") {
			wanted = wanted || part == c.String() || part == c.suite.name || part == c.route
		}
		if wanted && (!o.direct || c.isDirect()) {
			keep[c.String()] = true
			keep[cell{suite: c.suite, route: routeDirect}.String()] = true
		}
	}
	var cells []cell
	for _, c := range matrix() {
		if keep[c.String()] {
			cells = append(cells, c)
		}
	}
	return cells
}

func needsGateway(cells []cell) bool {
	for _, c := range cells {
		if !c.isDirect() {
			return true
		}
	}
	return false
}

func cellNames(cells []cell) []string {
	names := make([]string, 0, len(cells))
	for _, c := range cells {
		names = append(names, c.String())
	}
	return names
}
