package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"durward/test/harness"
)

const (
	bridgeScript     = "bridge.mjs"
	principalsScript = "principals.mjs"
)

// program is one server of the matrix, which speaks one era only, over stdio and
// over HTTP. http gets the port instead of stdio's last arguments.
type program struct {
	name, kind, era string
	stdio           func(name string) []string
	http            func(name, port string) []string
	without         map[string]string // in either way
	configured      string            // era: in the gateway's configuration, for a program that cannot be restricted
}

// programs are what the matrix is made of.
func programs(tools *harness.Toolbox) []program {
	node := func(script string, args ...string) []string {
		return append([]string{tools.Node, filepath.Join(tools.Root, "test", "interop", "servers", script)}, args...)
	}
	fixture := func(binary, era string, http ...string) program {
		return program{
			name: binary + "-" + era, kind: "fixture", era: era,
			stdio: func(name string) []string { return []string{tools.Fixture(binary), "-name=" + name, "-era=" + era} },
			http: func(name, port string) []string {
				return append([]string{tools.Fixture(binary), "-name=" + name, "-era=" + era, "-http=127.0.0.1:" + port}, http...)
			},
		}
	}
	everything := program{
		name: "everything", kind: "everything", era: "legacy",
		stdio: func(string) []string { return node("everything.mjs", "stdio") },
		http:  func(_, port string) []string { return node("everything.mjs", "http", port) },
	}
	typescript := program{
		name: "ts-modern", kind: "fixture", era: "modern",
		stdio: func(name string) []string { return node("modern.mjs", "stdio", name) },
		http:  func(name, port string) []string { return node("modern.mjs", "http", name, port) },
	}
	mcpgoLegacy, mcpgoModern := fixture("mcpgo", "legacy"), fixture("mcpgo", "modern")
	mcpgoLegacy.configured, mcpgoModern.configured = "legacy", "modern"
	mcpgoModern.without = map[string]string{"subscription": "mcp-go 1.2.1 sends resource updates to no subscriptions/listen"}
	return []program{
		everything, fixture("gosdk", "legacy"), mcpgoLegacy,
		typescript, fixture("gosdk", "modern", "-stateless"), mcpgoModern,
	}
}

// startBridge starts the HTTP servers of the matrix and describes all.
func startBridge(ctx context.Context, tools *harness.Toolbox, dir string) (*peers, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	p := new(peers)
	for _, prog := range programs(tools) {
		command := prog.stdio(prog.name)
		p.all = append(p.all, prog.peer(prog.name, target{Command: command[0], Args: command[1:]}))
		name := prog.name + "-http"
		at, err := p.listen(ctx, filepath.Join(dir, name+".log"), func(port string) []string { return prog.http(name, port) })
		if err != nil {
			return nil, keepFirst(fmt.Errorf("start %s: %w", name, err), p.stop())
		}
		p.all = append(p.all, prog.peer(name, at))
	}
	return p, nil
}

func (prog *program) peer(name string, at target) peer {
	return peer{
		server: server{Name: name, Kind: prog.kind, Says: name, Era: prog.era, Without: prog.without},
		at:     at, modern: prog.era == "modern", configured: prog.configured,
	}
}

// listen starts a program that serves /mcp on a port it is told.
func (p *peers) listen(ctx context.Context, log string, command func(port string) []string) (target, error) {
	addr, err := harness.FreeAddr()
	if err != nil {
		return target{}, err
	}
	args := command(addr[len("127.0.0.1:"):])
	r, err := harness.Start(harness.Command{Path: args[0], Args: args[1:], Log: log})
	if err != nil {
		return target{}, err
	}
	p.running = append(p.running, r)
	return target{URL: "http://" + addr + "/mcp"}, harness.WaitTCP(ctx, r, addr)
}

// principals are the callers with tokens of their own.
func principals() []string { return []string{"alice", "bob"} }

// startBridgeGateway puts a gateway with two principals in front of the matrix.
func startBridgeGateway(ctx context.Context, o options, dir string, p *peers) (*harness.Gateway, error) {
	config := gatewayConfig(p)
	config.Principals = make(map[string]harness.Principal)
	for _, name := range principals() {
		variable := strings.ToUpper(name) + "_TOKEN"
		if err := os.Setenv(variable, rand.Text()); err != nil {
			return nil, err
		}
		config.Principals[name] = harness.Principal{Token: "${env:" + variable + "}"}
	}
	// Two principals have 20 calls each of a kind in flight.
	config.Limits = map[string]any{"holds": 64, "server_asks": 64, "hold_life": "10s"}
	return harness.StartGateway(ctx, o.gateway, dir, config)
}

// bridgeClient is a client of the matrix in one of its eras.
type bridgeClient struct {
	name, mode, era string
	program         []string // of a client that is not a script
}

func bridgeClients(tools *harness.Toolbox) []bridgeClient {
	clients := []bridgeClient{
		{name: "ts", mode: "modern", era: modernRevision},
		{name: "ts", mode: "legacy", era: legacyRevision},
		{name: "ts1", mode: "old", era: legacyRevision},
	}
	for _, library := range []string{"gosdk", "mcpgo"} {
		program := []string{tools.Fixture("goclient"), "-library=" + library}
		clients = append(clients,
			bridgeClient{name: library, mode: "modern", era: modernRevision, program: program},
			bridgeClient{name: library, mode: "legacy", era: legacyRevision, program: program})
	}
	return clients
}

func (c bridgeClient) job(label string, servers []server) job {
	j := job{Label: label + "/" + c.name + "-" + c.mode, Client: c.name, Mode: c.mode, Era: c.era, Servers: servers, Program: c.program}
	if c.program == nil {
		j.Script = bridgeScript
	}
	return j
}

// directBridgeJobs are the clients with the servers of their own era, without a
// gateway between.
func directBridgeJobs(tools *harness.Toolbox, p *peers) []job {
	var jobs []job
	for _, c := range bridgeClients(tools) {
		var servers []server
		for _, s := range p.all {
			if s.modern == (c.era == modernRevision) {
				at := s.at
				s.At = &at
				servers = append(servers, s.server)
			}
		}
		jobs = append(jobs, c.job("bridge-direct", servers))
	}
	return jobs
}

// bridgeJobs are every client with every server, through the gateway.
func bridgeJobs(tools *harness.Toolbox, g *harness.Gateway, p *peers) ([]job, error) {
	route, err := routes(g)
	if err != nil {
		return nil, err
	}
	var servers []server
	for _, s := range p.all {
		at := route("/servers/" + s.Name + "/mcp")
		s.At = &at
		servers = append(servers, s.server)
	}
	var jobs []job
	for _, c := range bridgeClients(tools) {
		jobs = append(jobs, c.job("bridge", servers))
	}
	return jobs, nil
}
