package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// homeEnv is the environment of a person whose home directory is home.
func homeEnv(home string) []string {
	return []string{
		"HOME=" + home, "PWD=" + home, "USERPROFILE=" + home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		// What the files refer to.
		"FIGMA_OAUTH_TOKEN=a", "FIGMA_ORG=b", "DISPLAY=:0", "CHROME_PATH=/c", "AUTH_TOKEN=d", "FIGMA_TOKEN=e",
		"DB_CONNECTION_STRING=f", "EXTERNAL_API_KEY=g", "C_SECRET=h", "API_KEY=i",
	}
}

// filesBelow reads all files below a directory, by their paths.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// user is somebody with one file of a client.
type user struct {
	t         *testing.T
	bin, home string
}

// run runs durward and returns what it printed and its exit status.
func (u user) run(args ...string) (printed string, status int) {
	u.t.Helper()
	cmd := exec.Command(u.bin, args...)
	cmd.Env, cmd.Dir = homeEnv(u.home), u.home
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		u.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must runs what has to succeed.
func (u user) must(args ...string) string {
	u.t.Helper()
	printed, status := u.run(args...)
	if status != 0 {
		u.t.Fatalf("durward %s: status %d\n%s", strings.Join(args, " "), status, printed)
	}
	return printed
}

// same fails if a file is not what it was.
func (u user) same(when, file string, want []byte) {
	u.t.Helper()
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		u.t.Fatalf("%s the file is not what it was (%v):\n%s", when, err, got)
	}
}

// clientFiles are realistic files, and what in them are secrets.
var clientFiles = []struct {
	client, file string
	secrets      []string
	readOnly     bool // Durward imports from it and does not install into it
}{
	{client: "claude-desktop", file: "secrets.json", secrets: []string{"Tr0ub4dor", "xoxb-EXAMPLE00000-0000000000", "not-so-secret-1", "hunter2", "wJalrXUtnFEMI"}},
	{client: "claude-desktop", file: "comments.json"},
	{client: "claude-desktop", file: "windows-crlf-bom.json"},
	{client: "claude-code", file: "user.json", secrets: []string{"ctx7sk-example-000000"}},
	{client: "cursor", file: "user.json"},
	{client: "vscode", file: "user.json"},
	{client: "vscode-settings", file: "dotted.json", readOnly: true},
	{client: "codex", file: "usual.toml", secrets: []string{"ctx7sk-example-000000"}},
	{client: "codex", file: "inline.toml"},
	{client: "codex", file: "windows-no-newline.toml"},
	{client: "gemini", file: "usual.json", secrets: []string{"gm-example-token-1"}},
	{client: "windsurf", file: "usual.json", secrets: []string{"github_pat_EXAMPLE000000000000000000"}},
	{client: "zed", file: "settings.json", secrets: []string{"glpat-EXAMPLE0000000000", "zed-example-token"}},
	{client: "generic", file: "servers.json", readOnly: true},
}

const clientData = "../../internal/clientconf/testdata"

func TestRoundTripsOfAllClients(t *testing.T) {
	bin := buildDurward(t)
	for _, tt := range clientFiles {
		t.Run(tt.client+"/"+tt.file, func(t *testing.T) {
			t.Parallel()
			u := user{t, bin, t.TempDir()}
			original, err := os.ReadFile(filepath.Join(clientData, tt.client, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			original = bytes.ReplaceAll(original, []byte("/home/ada"), []byte(u.home)) // where a file is that one refers to
			if err := os.WriteFile(filepath.Join(u.home, "cert.txt"), []byte("cert"), 0o600); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(u.home, "client-"+tt.file)
			if err := os.WriteFile(file, original, 0o600); err != nil {
				t.Fatal(err)
			}
			u.imports(tt.client, file, original, tt.secrets)
			if !tt.readOnly {
				u.installs(tt.client, file, original)
			}
		})
	}
}

// imports takes the servers of a file: the configuration is valid and has no
// secrets, and the file stays as it is.
func (u user) imports(client, file string, original []byte, secrets []string) {
	u.t.Helper()
	config := filepath.Join(u.home, "config", "durward", "durward.yaml")
	shown := u.must("import", "--client", client, file, "--dry-run")
	if _, err := os.Stat(config); err == nil {
		u.t.Fatal("a dry run wrote the configuration")
	}
	shown += u.must("import", "--client", client, file, "--yes")
	u.same("after import", file, original)
	text, err := os.ReadFile(config)
	if err != nil || !bytes.Contains(text, []byte("servers:")) {
		u.t.Fatalf("nothing was taken: %v\n%s\n%s", err, text, shown)
	}
	u.must("config", "validate")
	for _, s := range secrets {
		if !bytes.Contains(original, []byte(s)) {
			u.t.Fatalf("%q is not in the file: this test would prove nothing", s)
		}
		if bytes.Contains(text, []byte(s)) || strings.Contains(shown, s) {
			u.t.Errorf("%q was not kept out of the configuration or of what is shown:\n%s\n%s", s, text, shown)
		}
	}
}

// installs puts Durward into a file, twice, and takes it out again, in both ways.
func (u user) installs(client, file string, original []byte) {
	u.t.Helper()
	for _, way := range [][]string{{}, {"--move"}} {
		args := append([]string{"install", client, "--file", file}, way...)
		if shown := u.must(append(args, "--dry-run")...); !strings.Contains(shown, "durward") {
			u.t.Errorf("the dry run shows no difference:\n%s", shown)
		}
		u.same("after a dry run", file, original)
		u.must(args...)
		once, err := os.ReadFile(file)
		if err != nil || bytes.Equal(once, original) || !bytes.Contains(once, []byte("durward")) {
			u.t.Fatalf("not installed: %v\n%s", err, once)
		}
		if shown := u.must(args...); !strings.Contains(shown, "nothing to change") {
			u.t.Errorf("the second time changes something:\n%s", shown)
		}
		u.same("after the second time, against the first,", file, once)
		u.must("uninstall", client, "--file", file, "--dry-run")
		u.same("after a dry run, against the first time,", file, once)
		u.must("uninstall", client, "--file", file)
		u.same("after uninstall", file, original)
	}
}

func TestBrokenFilesOfClientsAreRefused(t *testing.T) {
	bin := buildDurward(t)
	files, err := filepath.Glob(clientData + "/broken/*")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, source := range files {
		name := filepath.Base(source)
		if name == "windsurf.duplicate.json" || name == "vscode.list.json" {
			continue // the first can be read, with a warning; the second is a list, which has no line
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := user{t, bin, t.TempDir()}
			client, _, _ := strings.Cut(name, ".")
			original, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(u.home, name)
			if err := os.WriteFile(file, original, 0o600); err != nil {
				t.Fatal(err)
			}
			where := regexp.MustCompile(regexp.QuoteMeta(name) + `:( line )?[0-9]+`)
			for _, args := range [][]string{{"import", "--client", client, file, "--yes"}, {"install", client, "--file", file}} {
				printed, status := u.run(args...)
				if status != 2 || !where.MatchString(printed) {
					t.Errorf("durward %s: status %d\n%s", strings.Join(args, " "), status, printed)
				}
				u.same("after "+args[0], file, original)
			}
			if left := len(filesBelow(t, u.home)); left != 1 && runtime.GOOS != "windows" {
				t.Errorf("%d files are there instead of the one", left)
			}
		})
	}
}
