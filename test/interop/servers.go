package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"durward/test/harness"
)

const startLimit = 2 * time.Minute

// peer is one MCP server: how the scripts name and check it, how to reach it,
// and whether it speaks 2026-07-28 by itself.
type peer struct {
	server
	at         target
	modern     bool
	configured string // era: in the gateway's configuration
}

// peers are all servers, the HTTP ones running.
type peers struct {
	all     []peer
	running []*harness.Process
}

func (p *peers) stop() error {
	var first error
	for _, r := range p.running {
		first = keepFirst(first, r.Stop())
	}
	return first
}

// pick returns the named servers as the scripts want them.
func (p *peers) pick(names ...string) []server {
	var picked []server
	for _, name := range names {
		for _, s := range p.all {
			if s.Name == name {
				picked = append(picked, s.server)
			}
		}
	}
	return picked
}

func (p *peers) servers() []server {
	var all []server
	for _, s := range p.all {
		all = append(all, s.server)
	}
	return all
}

// startServers starts the servers that are reached over HTTP and describes all.
func startServers(ctx context.Context, tools *harness.Toolbox, dir string) (*peers, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	files := filepath.Join(dir, "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		return nil, err
	}
	p := &peers{all: stdioPeers(tools, dir, files)}
	if err := p.startHTTP(ctx, tools, dir); err != nil {
		return nil, keepFirst(err, p.stop())
	}
	return p, nil
}

func stdioPeers(tools *harness.Toolbox, dir, files string) []peer {
	npm := func(name string, args ...string) target {
		script := tools.Peer("@modelcontextprotocol", "server-"+name, "dist", "index.js")
		return target{Command: tools.Node, Args: append([]string{script}, args...)}
	}
	graph := npm("memory")
	graph.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(dir, "memory.jsonl")}
	return []peer{
		{server: server{Name: "everything", Kind: "everything"}, at: npm("everything", "stdio")},
		{server: server{Name: "files", Kind: "filesystem", Files: files}, at: npm("filesystem", files)},
		{server: server{Name: "memory", Kind: "memory"}, at: graph},
		{server: server{Name: "thinking", Kind: "thinking"}, at: npm("sequential-thinking")},
		{server: server{Name: "gosdk", Kind: "fixture", Says: "gosdk"}, at: target{Command: tools.Fixture("gosdk")}, modern: true},
		{server: server{Name: "mcpgo", Kind: "fixture", Says: "mcpgo"}, at: target{Command: tools.Fixture("mcpgo")}, modern: true},
	}
}

// startHTTP starts the same programs as HTTP servers: gosdk-http speaks the
// legacy revisions only, mcpgo-http all of them.
func (p *peers) startHTTP(ctx context.Context, tools *harness.Toolbox, dir string) error {
	for _, name := range []string{"gosdk-http", "mcpgo-http"} {
		at, err := p.listen(ctx, filepath.Join(dir, name+".log"), func(port string) []string {
			return []string{tools.Fixture(strings.TrimSuffix(name, "-http")), "-http=127.0.0.1:" + port, "-name=" + name}
		})
		if err != nil {
			return err
		}
		p.all = append(p.all, peer{
			server: server{Name: name, Kind: "fixture", Says: name}, at: at, modern: name == "mcpgo-http",
		})
	}
	return p.startEverything(ctx, tools, dir)
}

func (p *peers) startEverything(ctx context.Context, tools *harness.Toolbox, dir string) error {
	addr, err := harness.FreeAddr()
	if err != nil {
		return err
	}
	script := tools.Peer("@modelcontextprotocol", "server-everything", "dist", "index.js")
	kept := filepath.Join(tools.Root, "test", "interop", "servers", "keep-alive.mjs")
	r, err := harness.Start(harness.Command{
		Path: tools.Node, Args: []string{"--import", kept, script, "streamableHttp"},
		Env: []string{"PORT=" + addr[len("127.0.0.1:"):]},
		Log: filepath.Join(dir, "everything-http.log"),
	})
	if err != nil {
		return err
	}
	p.running = append(p.running, r)
	p.all = append(p.all, peer{
		server: server{Name: "everything-http", Kind: "everything"}, at: target{URL: "http://" + addr + "/mcp"},
	})
	return harness.WaitTCP(ctx, r, addr)
}

// startGateway puts one gateway with its default authentication in front of all
// servers.
func startGateway(ctx context.Context, _ *harness.Toolbox, o options, dir string, p *peers) (*harness.Gateway, error) {
	return harness.StartGateway(ctx, o.gateway, dir, gatewayConfig(p))
}

func gatewayConfig(p *peers) harness.Config {
	servers := make(map[string]harness.Server)
	for _, s := range p.all {
		servers[s.Name] = harness.Server{Command: s.at.Command, Args: s.at.Args, Env: s.at.Env, URL: s.at.URL, Era: s.configured}
	}
	config := harness.NewConfig(servers)
	config.Auth = "token"
	return config
}
