package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"durward/test/harness"
)

const (
	clientScript    = "client.mjs"
	inspectorScript = "inspector.mjs"

	modernRevision = "2026-07-28"
	legacyRevision = "2025-11-25"
)

// eraOf is the revision that a client in this mode must end up with at a peer
// that speaks both eras, as the gateway does.
func eraOf(mode string, modern bool) string {
	if mode == "legacy" || !modern {
		return legacyRevision
	}
	return modernRevision
}

// directJobs are the scripts against the servers themselves. They show that the
// scripts and the servers are right, so that a failure through the gateway is
// the gateway's.
func directJobs(tools *harness.Toolbox, p *peers) []job {
	var jobs []job
	add := func(script, label, mode, era string, at target, s server) {
		jobs = append(jobs, job{Script: script, Label: label, Mode: mode, Era: era, Target: at, Servers: []server{s}})
	}
	for _, s := range p.all {
		modes := []string{"legacy", "auto"}
		if s.modern {
			modes = append(modes, "modern")
		}
		for _, mode := range modes {
			add(clientScript, "ts/"+mode, mode, eraOf(mode, s.modern), s.at, s.server)
			if s.Kind == "fixture" {
				add(inspectorScript, "inspector/"+mode, mode, "", s.at, s.server)
			}
		}
		if s.Kind == "fixture" && s.at.URL != "" {
			add(clientScript, "mcp-remote", "legacy", "", mcpRemote(tools, s.at), s.server)
			add(clientScript, "supergateway", "legacy", "", supergateway(tools, s.at), s.server)
			jobs[len(jobs)-1].Without = supergatewayLimits()
		}
	}
	return jobs
}

// routes reads the token of the gateway's owner and returns what makes a target of
// a route of it.
func routes(g *harness.Gateway) (func(path string) target, error) {
	token, err := os.ReadFile(filepath.Join(filepath.Dir(g.ConfigFile), "state", "durward", "token"))
	if err != nil {
		return nil, fmt.Errorf("the bearer token: %w", err)
	}
	return func(path string) target { return routeAs(g, path, strings.TrimSpace(string(token))) }, nil
}

func routeAs(g *harness.Gateway, path, token string) target {
	return target{URL: "http://" + g.Addr + path, Headers: map[string]string{"Authorization": "Bearer " + token}}
}

// gatewayJobs are the scripts through the gateway.
func gatewayJobs(tools *harness.Toolbox, g *harness.Gateway, p *peers) ([]job, error) {
	route, err := routes(g)
	if err != nil {
		return nil, err
	}
	all := route("/mcp")
	var jobs []job
	for _, mode := range []string{"legacy", "auto", "modern"} {
		jobs = append(jobs, job{
			Script: clientScript, Label: "ts/" + mode + "/all", Mode: mode, Era: eraOf(mode, true),
			Aggregate: true, Complete: true, Target: all, Servers: withLists(p),
		})
		for _, name := range []string{"gosdk", "mcpgo-http", "everything"} {
			jobs = append(jobs, job{
				Script: clientScript, Label: "ts/" + mode + "/one", Mode: mode,
				Target: route("/servers/" + name + "/mcp"), Servers: p.pick(name),
			})
		}
		jobs = append(jobs, job{
			Script: inspectorScript, Label: "inspector/" + mode, Mode: mode,
			Aggregate: true, Target: all, Servers: p.pick("gosdk", "mcpgo-http"),
		})
	}
	jobs = append(jobs, stdioJobs(g, p)...)
	return append(jobs, adapterJobs(tools, all, p)...), nil
}

// stdioCommand makes a target of "durward stdio" with these arguments.
func stdioCommand(g *harness.Gateway) func(args ...string) target {
	env := make(map[string]string)
	for _, e := range g.Env {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	return func(args ...string) target {
		return target{Command: g.Path, Args: append([]string{"stdio"}, args...), Env: env}
	}
}

// stdioJobs use "durward stdio" as the command of a stdio client; it reaches the
// running service.
func stdioJobs(g *harness.Gateway, p *peers) []job {
	command := stdioCommand(g)
	var jobs []job
	for _, mode := range []string{"legacy", "auto", "modern"} {
		jobs = append(jobs,
			job{
				Script: clientScript, Label: "stdio/" + mode + "/all", Mode: mode, Era: eraOf(mode, true),
				Aggregate: true, Complete: true, Target: command(), Servers: p.servers(),
			},
			job{
				Script: clientScript, Label: "stdio/" + mode + "/one", Mode: mode,
				Target: command("--server", "gosdk"), Servers: p.pick("gosdk"),
			})
	}
	return append(jobs, job{
		Script: inspectorScript, Label: "inspector/stdio", Mode: "legacy",
		Target: command("--server", "mcpgo"), Servers: p.pick("mcpgo"),
	})
}

func adapterJobs(tools *harness.Toolbox, all target, p *peers) []job {
	picked := p.pick("everything", "files", "memory", "gosdk", "gosdk-http", "mcpgo")
	return []job{
		{
			Script: clientScript, Label: "mcp-remote", Mode: "legacy", Aggregate: true,
			Target: mcpRemote(tools, all), Servers: picked,
		},
		{
			Script: clientScript, Label: "supergateway", Mode: "legacy", Aggregate: true,
			Target: supergateway(tools, all), Servers: picked, Without: supergatewayLimits(),
		},
	}
}

// withLists is every server with a stable tool list carrying how to reach it
// directly, so that the script can compare the lists.
func withLists(p *peers) []server {
	var all []server
	for _, s := range p.all {
		// What server-everything lists depends on the client's capabilities.
		if s.Kind != "everything" {
			direct := s.at
			s.Direct = &direct
		}
		all = append(all, s.server)
	}
	return all
}

// mcpRemote is the mcp-remote adapter as a stdio server in front of at.
func mcpRemote(tools *harness.Toolbox, at target) target {
	args := []string{tools.Peer("mcp-remote", "dist", "proxy.js"), at.URL, "--allow-http", "--transport", "http-only"}
	return target{Command: tools.Node, Args: append(args, headerArgs(at)...)}
}

// supergateway is the supergateway adapter as a stdio server in front of at.
func supergateway(tools *harness.Toolbox, at target) target {
	args := []string{tools.Peer("supergateway", "dist", "index.js"), "--streamableHttp", at.URL, "--logLevel", "none"}
	return target{Command: tools.Node, Args: append(args, headerArgs(at)...)}
}

// supergatewayLimits are checks that fail with supergateway in front of any
// server.
func supergatewayLimits() map[string]string {
	return map[string]string{
		"list-changed": "supergateway 4.0.0 opens no stream for what a server sends by itself",
		"progress":     "supergateway 4.0.0 drops progress",
	}
}

func headerArgs(at target) []string {
	var args []string
	for name, value := range at.Headers {
		args = append(args, "--header", name+": "+value)
	}
	return args
}
