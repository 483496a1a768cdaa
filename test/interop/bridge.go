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
	configured      string // era: in the gateway's configuration, for a program that cannot be restricted
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
		server: server{Name: name, Kind: prog.kind, Says: name, Era: prog.era, Abandon: name == "gosdk-legacy"},
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

// startBridgeGateway puts a gateway in front of the matrix. Each client is somebody
// of its own, and so are alice and bob, who call at the same time.
func startBridgeGateway(ctx context.Context, tools *harness.Toolbox, o options, dir string, p *peers) (*harness.Gateway, error) {
	config := gatewayConfig(p)
	config.Principals = make(map[string]harness.Principal)
	names := []string{"alice", "bob"}
	for _, c := range bridgeClients(tools) {
		names = append(names, c.principal())
	}
	for _, name := range names {
		if err := os.Setenv(tokenVariable(name), rand.Text()); err != nil {
			return nil, err
		}
		config.Principals[name] = harness.Principal{Token: "${env:" + tokenVariable(name) + "}"}
	}
	// Alice and Bob have 20 calls each in flight that ask.
	config.Limits = map[string]any{"holds": 64, "server_asks": 64, "hold_life": "30s"}
	return harness.StartGateway(ctx, o.gateway, dir, config)
}

func tokenVariable(principal string) string {
	return "INTEROP_" + strings.ToUpper(strings.ReplaceAll(principal, "-", "_"))
}

// routeOf is a route of the gateway with the token of a principal.
func routeOf(g *harness.Gateway, principal, path string) target {
	return routeAs(g, path, os.Getenv(tokenVariable(principal)))
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

func (c bridgeClient) principal() string { return c.name + "-" + c.mode }

func (c bridgeClient) job(label string, servers []server) job {
	j := job{Label: label + "/" + c.principal(), Client: c.name, Mode: c.mode, Era: c.era, Servers: servers, Program: c.program}
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
				s.At = s.at
				s.Without = directLimits(c, s.server)
				servers = append(servers, s.server)
			}
		}
		jobs = append(jobs, c.job("bridge-direct", servers), c.leaving("leave-direct", servers))
	}
	return jobs
}

// bridgeJobs are every client with every server through the gateway, and two
// principals at once.
func bridgeJobs(tools *harness.Toolbox, g *harness.Gateway, p *peers) ([]job, error) {
	var jobs, leaving []job
	add := func(c bridgeClient, label string, servers []server) {
		jobs = append(jobs, c.job("bridge"+label, servers))
		leaving = append(leaving, c.leaving("leave"+label, servers))
	}
	command := stdioCommand(g)
	for _, c := range bridgeClients(tools) {
		add(c, "", p.reach(func(s *server) {
			s.At = routeOf(g, c.principal(), "/servers/"+s.Name+"/mcp")
			s.Without = peerLimits(c, *s)
		}))
		if c.name == "ts" {
			all := p.reach(func(s *server) {
				s.At = routeOf(g, c.principal(), "/mcp")
				s.Without = peerLimits(c, *s)
			}, "everything-http", "gosdk-legacy", "ts-modern")
			jobs = append(jobs, c.aggregate("bridge-all", all))
		}
		if c.name == "ts" || c.name == "mcpgo" {
			add(c, "-stdio", p.reach(func(s *server) {
				s.At = command("--server", s.Name)
				s.Without = peerLimits(c, *s)
			}, "everything", "mcpgo-legacy-http", "gosdk-modern"))
		}
	}
	jobs = append(jobs, principalJobs(g, p)...)
	// A server over stdio may go on with a call that was left, and nobody else is
	// asked or told what it says for a while. So this comes last.
	return append(jobs, leaving...), nil
}

// reach are the named servers, or all, each told how it is reached.
func (p *peers) reach(how func(*server), names ...string) []server {
	servers := p.servers()
	if len(names) > 0 {
		servers = p.pick(names...)
	}
	for i := range servers {
		how(&servers[i])
	}
	return servers
}

func (c bridgeClient) aggregate(label string, servers []server) job {
	j := c.job(label, servers)
	j.Aggregate = true
	return j
}

// leaving is the job of the client that leaves calls.
func (c bridgeClient) leaving(label string, servers []server) job {
	var fixtures []server
	for _, s := range servers {
		if s.Kind == "fixture" {
			fixtures = append(fixtures, s)
		}
	}
	j := c.job(label, fixtures)
	j.Leaving = true
	return j
}

// principalJobs are alice and bob in all combinations of eras, on a route with one
// server and on the one with all.
func principalJobs(g *harness.Gateway, p *peers) []job {
	var jobs []job
	for _, name := range []string{"everything", "everything-http", "gosdk-legacy", "mcpgo-legacy-http", "ts-modern"} {
		for _, modes := range [][2]string{{"modern", "modern"}, {"modern", "legacy"}, {"legacy", "legacy"}} {
			path, aggregate := "/servers/"+name+"/mcp", false
			if modes == [2]string{"modern", "modern"} && name == "everything" {
				path, aggregate = "/mcp", true
			}
			jobs = append(jobs, job{
				Script: principalsScript, Label: "principals/" + modes[0] + "+" + modes[1], Aggregate: aggregate, Servers: p.pick(name),
				Principals: map[string]target{"alice": routeOf(g, "alice", path), "bob": routeOf(g, "bob", path)},
				Modes:      map[string]string{"alice": modes[0], "bob": modes[1]},
			})
		}
	}
	return jobs
}
