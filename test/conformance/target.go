package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"durward/test/harness"
)

// program is the server that a cell talks to: its binary and what it is given.
func program(tools *harness.Toolbox, c cell) (path string, args []string) {
	if c.crosses() {
		return tools.Fixture("oneera"), []string{"-only=" + c.suite.otherEra()}
	}
	return tools.Fixture("everything-server"), nil
}

// startTarget starts what the suite is to talk to and returns its URL.
func startTarget(ctx context.Context, tools *harness.Toolbox, o options, c cell, dir string) (string, func() error, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	path, args := program(tools, c)
	if strings.HasSuffix(c.route, "-stdio") {
		return startGateway(ctx, o, c, dir, harness.Server{Command: path, Args: args}, noStop)
	}
	if !c.crosses() {
		args = append(args, fmt.Sprintf("-stateless=%t", c.suite.era == eraModern))
	}
	// The go-sdk fixture knows no graceful end, so its exit code says nothing.
	fixture, url, err := harness.StartHTTP(ctx, path, args, filepath.Join(dir, "fixture.log"))
	if err != nil {
		return "", nil, err
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
	path := "/servers/fixture/mcp"
	if strings.HasPrefix(c.route, "mcp-") {
		path = "/mcp"
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
