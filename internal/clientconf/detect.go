package clientconf

import (
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Environment is the machine on which files are looked for.
type Environment struct {
	OS      string                   // linux, darwin, windows, as runtime.GOOS has it; others count as linux
	Home    string                   // the user's home directory
	Getenv  func(name string) string // default: no variable is set
	Project string                   // a project's directory, to find its files too; may be empty

	// Stat and ReadDir look at the disk. Default: os.Stat and os.ReadDir.
	Stat    func(path string) (fs.FileInfo, error)
	ReadDir func(path string) ([]fs.DirEntry, error)
}

// Scope says for whom a file is.
type Scope string

// The scopes.
const (
	ScopeUser    Scope = "user"    // all projects of a user
	ScopeProject Scope = "project" // one project; often shared with others
)

// Location is a place where a client looks for servers.
type Location struct {
	Client Client `json:"client"`
	Scope  Scope  `json:"scope"`
	Path   string `json:"path"`
	Dir    string `json:"dir,omitempty"` // the project
	Exists bool   `json:"exists"`        // the file is there
	// Installed tells that the client seems to be there: the file, or the
	// directory that the client makes for its files.
	Installed bool `json:"installed"`
}

// Source returns what [Read] wants to know about the file.
func (l Location) Source() Source { return Source{Client: l.Client, Path: l.Path, Dir: l.Dir} }

// Locations returns every place where a client looks for servers on a machine,
// in the order of [Clients], a user's before a project's, whether or not there
// is a file.
func Locations(env Environment) []Location {
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	if env.Stat == nil {
		env.Stat = os.Stat
	}
	if env.ReadDir == nil {
		env.ReadDir = os.ReadDir
	}
	var out []Location
	for _, c := range Clients() {
		for _, p := range env.userFiles(c) {
			out = append(out, env.location(c, ScopeUser, p))
		}
		if p := projectFile(c); p != nil && env.Project != "" {
			l := env.location(c, ScopeProject, place{dir: env.join(append([]string{env.Project}, p[:len(p)-1]...)...), name: p[len(p)-1]})
			l.Dir = env.Project
			out = append(out, l)
		}
	}
	return out
}

// place is a file and the directory by which one sees that the client is there.
type place struct {
	dir, name string
	mark      string // default: dir
}

func (env Environment) location(c Client, s Scope, p place) Location {
	l := Location{Client: c, Scope: s, Path: env.join(p.dir, p.name)}
	info, err := env.Stat(l.Path)
	l.Exists = err == nil && !info.IsDir()
	mark := p.mark
	if mark == "" {
		mark = p.dir
	}
	info, err = env.Stat(mark)
	l.Installed = l.Exists || s == ScopeUser && err == nil && info.IsDir()
	return l
}

func projectFile(c Client) []string {
	switch c {
	case ClaudeCode:
		return []string{".mcp.json"}
	case Cursor:
		return []string{".cursor", "mcp.json"}
	case VSCode:
		return []string{".vscode", "mcp.json"}
	case VSCodeSettings:
		return []string{".vscode", "settings.json"}
	case Codex:
		return []string{".codex", "config.toml"}
	case Gemini:
		return []string{".gemini", "settings.json"}
	case Zed:
		return []string{".zed", "settings.json"}
	}
	return nil
}

func (env Environment) userFiles(c Client) []place {
	switch c {
	case ClaudeDesktop:
		return env.claudeDesktop()
	case ClaudeCode:
		if dir := env.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
			return []place{{dir: dir, name: ".claude.json"}}
		}
		return []place{{dir: env.Home, name: ".claude.json", mark: env.join(env.Home, ".claude")}}
	case Cursor:
		return []place{{dir: env.join(env.Home, ".cursor"), name: "mcp.json"}}
	case VSCode:
		return env.code("mcp.json")
	case VSCodeSettings:
		return env.code("settings.json")
	case Codex:
		return []place{{dir: env.or("CODEX_HOME", env.Home, ".codex"), name: "config.toml"}}
	case Gemini:
		return []place{{dir: env.join(env.or("GEMINI_CLI_HOME", env.Home), ".gemini"), name: "settings.json"}}
	case Windsurf:
		return []place{{dir: env.join(env.Home, ".codeium", "windsurf"), name: "mcp_config.json"}}
	case Zed:
		if env.OS == "windows" {
			return []place{{dir: env.join(env.config(), "Zed"), name: "settings.json"}}
		}
		return []place{{dir: env.join(env.or("XDG_CONFIG_HOME", env.Home, ".config"), "zed"), name: "settings.json"}}
	}
	return nil
}

// claudeDesktop knows of the packaged build for Windows, which reads a file of
// its own inside its package and not the one that its documentation names.
func (env Environment) claudeDesktop() []place {
	const name = "claude_desktop_config.json"
	plain := place{dir: env.join(env.config(), "Claude"), name: name}
	if env.OS != "windows" {
		return []place{plain}
	}
	var out []place
	packages := env.join(env.or("LOCALAPPDATA", env.Home, "AppData", "Local"), "Packages")
	entries, err := env.ReadDir(packages)
	if err != nil {
		entries = nil // there is no packaged program at all
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "Claude_") {
			out = append(out, place{
				dir: env.join(packages, e.Name(), "LocalCache", "Roaming", "Claude"), name: name,
				mark: env.join(packages, e.Name()),
			})
		}
	}
	return append(out, plain)
}

// code lists the builds of VS Code.
func (env Environment) code(name string) []place {
	var out []place
	for _, product := range []string{"Code", "Code - Insiders", "VSCodium"} {
		out = append(out, place{dir: env.join(env.config(), product, "User"), name: name})
	}
	return out
}

// config is where programs of this system keep their settings.
func (env Environment) config() string {
	switch env.OS {
	case "windows":
		return env.or("APPDATA", env.Home, "AppData", "Roaming")
	case "darwin":
		return env.join(env.Home, "Library", "Application Support")
	}
	return env.or("XDG_CONFIG_HOME", env.Home, ".config")
}

// or returns the value of a variable, or a path if it is not set.
func (env Environment) or(name string, otherwise ...string) string {
	if v := env.Getenv(name); v != "" {
		return v
	}
	return env.join(otherwise...)
}

// join joins a path as the system does that is described, not the one this runs on.
func (env Environment) join(parts ...string) string {
	separator := "/"
	if env.OS == "windows" {
		separator = `\`
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i] = strings.TrimSuffix(parts[i], separator)
	}
	return strings.Join(parts, separator)
}
