package harness

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Config is the part of the gateway's configuration file that the outer tests
// use. It is written out as YAML.
type Config struct {
	Version int               `yaml:"version"`
	Listen  string            `yaml:"listen"`
	Auth    string            `yaml:"auth"`
	Builtin bool              `yaml:"builtin"`
	Prefix  *string           `yaml:"prefix,omitempty"`
	Servers map[string]Server `yaml:"servers"`
	// Principals are callers with tokens of their own. Limits are keys below limits.
	Principals map[string]Principal `yaml:"principals,omitempty"`
	Limits     map[string]any       `yaml:"limits,omitempty"`
	Policy     map[string]any       `yaml:"policy,omitempty"`
}

// Principal is a caller with a bearer token, or a reference to one.
type Principal struct {
	Token string `yaml:"token"`
}

// Server is one configured MCP server: a command to run or an URL to call.
type Server struct {
	Command string            `yaml:"command,omitempty"`
	Args    []string          `yaml:"args,omitempty"`
	Env     map[string]string `yaml:"env,omitempty"`
	URL     string            `yaml:"url,omitempty"`
	// Era overrides in which protocol era the server is spoken to.
	Era string `yaml:"era,omitempty"`
}

// NewConfig is a configuration on a free loopback port without bearer token and
// without built-in tools. Every tool may be called: mcp-go calls all of its own
// destructive, and nobody is there who could be asked.
func NewConfig(servers map[string]Server) Config {
	return Config{Version: 1, Listen: "127.0.0.1:0", Auth: "none", Servers: servers, Policy: map[string]any{"default": "allow"}}
}

// Gateway is a running gateway with state, cache and sockets in a folder of its
// own.
type Gateway struct {
	*Process
	// Path is the binary, Addr where it listens, host:port. Env is what another durward command
	// needs to reach this one. ConfigFile is the file it was started with.
	Path       string
	Addr       string
	Env        []string
	ConfigFile string
}

// StartGateway writes the configuration into dir, starts the binary and waits
// until it listens and says that it is ready, or until ctx ends.
func StartGateway(ctx context.Context, bin, dir string, config Config) (*Gateway, error) {
	g := &Gateway{Path: bin, Env: isolatedEnv(dir), ConfigFile: filepath.Join(dir, "durward.yaml")}
	text, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	for _, e := range g.Env {
		_, folder, _ := strings.Cut(e, "=")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(g.ConfigFile, text, 0o600); err != nil {
		return nil, err
	}
	g.Process, err = Start(Command{
		Path: bin, Args: []string{"serve", "--config", g.ConfigFile},
		Env: g.Env, Dir: dir, Log: filepath.Join(dir, "gateway.log"),
	})
	if err != nil {
		return nil, err
	}
	if err := g.waitReady(ctx, dir); err != nil {
		return nil, fmt.Errorf("%w%s", err, stopNote(g.Stop()))
	}
	return g, nil
}

func stopNote(err error) string {
	if err == nil {
		return ""
	}
	return "; and then: " + err.Error()
}

// isolatedEnv points every XDG folder below dir, so that a test gateway never
// sees or changes the files of the person who runs it.
func isolatedEnv(dir string) []string {
	var env []string
	for name, folder := range map[string]string{
		"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state",
		"XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run",
	} {
		env = append(env, name+"="+filepath.Join(dir, folder))
	}
	return env
}

// waitReady reads the address file and then asks /readyz. Servers that do not
// come up keep a gateway unready; ctx bounds the wait.
func (g *Gateway) waitReady(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "state", "durward", "http.addr")
	err := poll(ctx, g.Process, "write "+file, func() bool {
		text, err := os.ReadFile(file)
		g.Addr = strings.TrimSpace(string(text))
		return err == nil && g.Addr != ""
	})
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 2 * time.Second}
	return poll(ctx, g.Process, "become ready", func() bool {
		res, err := client.Get("http://" + g.Addr + "/readyz")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}
