package clientconf

import (
	"slices"
	"strings"

	"durward"
	"durward/internal/clientconf/syntax"
)

// Client is a program that keeps MCP servers in a file, or one of its forms.
type Client string

// The clients.
const (
	ClaudeDesktop  Client = "claude-desktop"
	ClaudeCode     Client = "claude-code" // ~/.claude.json and a project's .mcp.json
	Cursor         Client = "cursor"
	VSCode         Client = "vscode"          // mcp.json, of a user or a workspace
	VSCodeSettings Client = "vscode-settings" // the section "mcp" of settings.json: to import from; new entries belong into mcp.json
	Codex          Client = "codex"
	Gemini         Client = "gemini"
	Windsurf       Client = "windsurf"
	Zed            Client = "zed"
	Generic        Client = "generic" // {"servers": [{"id": …, "command": …}]}; can be read only
)

// traits are the facts about a client that decide how its file is read and written.
type traits struct {
	client     Client
	title      string        // as its maker writes it
	format     syntax.Format // of the file
	container  []string      // where its servers are, and where Durward is written
	comments   bool          // the client itself reads comments and trailing commas
	inherits   bool          // its servers get its whole environment
	variables  dialect
	disableKey string // the key that switches an entry off; empty: there is none
	disableOn  bool   // the value of that key that switches it off
	remoteKey  string // the key for the address of a server; empty: stdio only
	remoteType string // the value of "type" beside it; empty: no such key
	stdioType  string // the value of "type" beside command; empty: no such key
	headersKey string
	tokenRef   string // how a header refers to an environment variable: text around NAME; empty: it cannot
}

// allTraits lists every client in the order in which they are shown.
func allTraits() []traits {
	return []traits{
		{client: ClaudeDesktop, title: "Claude Desktop", container: []string{"mcpServers"}},
		{
			client: ClaudeCode, title: "Claude Code", container: []string{"mcpServers"}, inherits: true,
			variables: dialect{expands: true, defaults: true},
			remoteKey: "url", remoteType: "http", stdioType: "stdio", headersKey: "headers", tokenRef: "${NAME}",
		},
		{
			client: Cursor, title: "Cursor", container: []string{"mcpServers"}, comments: true, inherits: true,
			variables: dialect{expands: true},
			remoteKey: "url", headersKey: "headers", tokenRef: "${env:NAME}",
		},
		{
			client: VSCode, title: "VS Code", container: []string{"servers"}, comments: true, inherits: true,
			variables: dialect{expands: true},
			remoteKey: "url", remoteType: "http", stdioType: "stdio", headersKey: "headers", tokenRef: "${env:NAME}",
		},
		{
			client: VSCodeSettings, title: "VS Code settings", container: []string{"mcp", "servers"}, comments: true, inherits: true,
			variables: dialect{expands: true},
			remoteKey: "url", remoteType: "http", stdioType: "stdio", headersKey: "headers", tokenRef: "${env:NAME}",
		},
		{
			client: Codex, title: "Codex", format: syntax.TOML, container: []string{"mcp_servers"}, comments: true,
			disableKey: "enabled", remoteKey: "url", headersKey: "http_headers",
		},
		{
			client: Gemini, title: "Gemini CLI", container: []string{"mcpServers"}, comments: true, inherits: true,
			variables: dialect{expands: true, bare: true, defaults: true},
			remoteKey: "httpUrl", headersKey: "headers", tokenRef: "${NAME}",
		},
		{
			client: Windsurf, title: "Windsurf", container: []string{"mcpServers"}, inherits: true,
			variables:  dialect{expands: true, files: true},
			disableKey: "disabled", disableOn: true,
			remoteKey: "serverUrl", headersKey: "headers", tokenRef: "${env:NAME}",
		},
		{
			client: Zed, title: "Zed", container: []string{"context_servers"}, comments: true, inherits: true,
			disableKey: "enabled", remoteKey: "url", headersKey: "headers",
		},
		{client: Generic, title: "server list", container: []string{"servers"}, disableKey: "enabled"},
	}
}

// Clients returns all clients in the order in which they are to be shown.
func Clients() []Client {
	all := allTraits()
	out := make([]Client, len(all))
	for i, t := range all {
		out[i] = t.client
	}
	return out
}

// ParseClient reads the name of a client, as written on a command line.
func ParseClient(name string) (Client, error) {
	if c := Client(strings.ToLower(name)); slices.Contains(Clients(), c) {
		return c, nil
	}
	names := make([]string, 0, len(allTraits()))
	for _, c := range Clients() {
		names = append(names, string(c))
	}
	return "", durward.Errorf(durward.Invalid, "", "%q is no client that Durward knows; choose one of %s", clip(name), strings.Join(names, ", "))
}

// Title returns the client's name for people; the name itself if it is unknown.
func (c Client) Title() string {
	if t, ok := c.traits(); ok {
		return t.title
	}
	return string(c)
}

func (c Client) traits() (traits, bool) {
	for _, t := range allTraits() {
		if t.client == c {
			return t, true
		}
	}
	return traits{}, false
}

// clip keeps a message short.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
