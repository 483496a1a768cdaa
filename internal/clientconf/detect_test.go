package clientconf_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"durward/internal/clientconf"
)

// machine is a disk in memory; paths of Windows are kept with slashes.
func machine(system, home string, env map[string]string, files ...string) clientconf.Environment {
	disk := fstest.MapFS{}
	name := func(p string) string { return strings.TrimPrefix(path.Clean(strings.ReplaceAll(p, `\`, "/")), "/") }
	for _, f := range files {
		disk[name(f)] = &fstest.MapFile{}
	}
	return clientconf.Environment{
		OS: system, Home: home, Getenv: func(k string) string { return env[k] },
		Stat:    func(p string) (fs.FileInfo, error) { return disk.Stat(name(p)) },
		ReadDir: func(p string) ([]fs.DirEntry, error) { return disk.ReadDir(name(p)) },
	}
}

func TestWhereClientsKeepTheirFiles(t *testing.T) {
	var b strings.Builder
	for _, m := range []struct {
		what string
		env  clientconf.Environment
	}{
		{"linux, nothing there", machine("linux", "/home/ada", nil)},
		{"linux, variables", machine("linux", "/home/ada", map[string]string{"XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude/", "GEMINI_CLI_HOME": "/g"},
			"/codex/config.toml", "/cfg/zed/other", "/claude/.claude.json")},
		{"darwin", machine("darwin", "/Users/ada", nil, "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json", "/Users/ada/.claude/settings.json")},
		{"windows", machine("windows", `C:\Users\ada`, map[string]string{"APPDATA": `C:\Users\ada\AppData\Roaming`},
			`C:\Users\ada\AppData\Local\Packages\Claude_pzs8\x`, `C:\Users\ada\AppData\Local\Packages\Other\x`, `C:\Users\ada\AppData\Roaming\Code\User\mcp.json`)},
		{"project", func() clientconf.Environment {
			e := machine("linux", "/home/ada", nil, "/src/shop/.vscode/mcp.json", "/src/shop/.mcp.json")
			e.Project = "/src/shop/"
			return e
		}()},
	} {
		fmt.Fprintf(&b, "== %s\n", m.what)
		for _, l := range clientconf.Locations(m.env) {
			state := ""
			if l.Installed {
				state += " installed"
			}
			if l.Exists {
				state += " exists"
			}
			fmt.Fprintf(&b, "%s %s %s%s\n", l.Client, l.Scope, l.Path, state)
		}
	}
	golden(t, "locations.txt", b.String())
}

func TestLocationsOfThisMachine(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(home+"/.cursor", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/.cursor/mcp.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, l := range clientconf.Locations(clientconf.Environment{OS: "linux", Home: home, Project: home}) {
		if l.Exists {
			found++
			if l.Client != clientconf.Cursor || l.Source().Path != home+"/.cursor/mcp.json" {
				t.Errorf("found %+v", l)
			}
		}
	}
	if found != 2 { // as the user's and as the project's
		t.Errorf("%d files found", found)
	}
}
