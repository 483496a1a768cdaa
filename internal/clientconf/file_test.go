package clientconf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durward"
	"durward/internal/clientconf"
)

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // past the umask
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReplaceKeepsModeLinkAndBackup(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "mcp.json"), filepath.Join(dir, "mcp.json")
	if err := os.Mkdir(filepath.Dir(real), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, real, "old", 0o640)
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	backup, err := clientconf.Replace(clientconf.Replacement{Path: link, Old: []byte("old"), New: []byte("new")})
	if err != nil {
		t.Fatal(err)
	}
	if backup != real+clientconf.BackupSuffix || content(t, backup) != "old" || content(t, real) != "new" {
		t.Errorf("backup %s, content %q", backup, content(t, real))
	}
	for _, p := range []string{real, backup} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	// The first backup can be kept, or renewed, or left out.
	for _, step := range []struct {
		old, new string
		backup   clientconf.Backup
		want     string
	}{
		{"new", "newer", clientconf.BackupFirst, "old"},
		{"newer", "newest", clientconf.BackupLast, "newer"},
		{"newest", "end", clientconf.BackupNone, "newer"},
	} {
		if _, err := clientconf.Replace(clientconf.Replacement{Path: link, Old: []byte(step.old), New: []byte(step.new), Backup: step.backup}); err != nil {
			t.Fatal(err)
		}
		if got := content(t, backup); got != step.want {
			t.Errorf("after %s the backup holds %q, want %q", step.new, got, step.want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(real))
	if err != nil || len(entries) != 2 {
		t.Errorf("files are left behind: %v, %v", entries, err)
	}
}

func TestReplaceMakesAndRemoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "mcp.json")
	if data, err := clientconf.ReadFile(path); data != nil || err != nil {
		t.Fatal(data, err)
	}
	if backup, err := clientconf.Replace(clientconf.Replacement{Path: path, New: []byte("x")}); err != nil || backup != "" {
		t.Fatal(backup, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	data, err := clientconf.ReadFile(path)
	if err != nil || string(data) != "x" {
		t.Fatal(data, err)
	}
	if _, err := clientconf.Replace(clientconf.Replacement{Path: path, Old: data, Remove: true, Backup: clientconf.BackupNone}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("the file is still there")
	}
	if _, err := clientconf.Replace(clientconf.Replacement{Path: path, Remove: true}); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
}

func TestReplaceRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		write(t, p, text, mode)
		return p
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(open, "f"), "x", 0o600)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		old        []byte
		kind       durward.Kind
		want       string
	}{
		{"everybody may write the file", file("loose", "x", 0o666), []byte("x"), durward.Denied, "chmod o-w"},
		{"everybody may write the directory", filepath.Join(open, "f"), []byte("x"), durward.Denied, "directory"},
		{"and a new file in it", filepath.Join(open, "g"), nil, durward.Denied, "directory"},
		{"changed meanwhile", file("changed", "y", 0o600), []byte("x"), durward.Conflict, "try again"},
		{"came meanwhile", file("came", "y", 0o600), nil, durward.Conflict, "try again"},
		{"gone meanwhile", filepath.Join(dir, "gone"), []byte("x"), durward.Conflict, "try again"},
		{"a directory", dir, []byte("x"), durward.Invalid, "not a regular file"},
		{"a link that leads nowhere", dangling, nil, durward.Invalid, "leads nowhere"},
		{"below a file", filepath.Join(file("plain", "x", 0o600), "f"), nil, durward.Invalid, "cannot be"},
	} {
		_, err := clientconf.Replace(clientconf.Replacement{Path: tt.path, Old: tt.old, New: []byte("z")})
		if err == nil || durward.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v (%v)", tt.name, err, durward.KindOf(err))
		}
	}
	if got := content(t, filepath.Join(dir, "changed")); got != "y" {
		t.Errorf("the file holds %q", got)
	}
}

func TestReadFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 16<<20+1); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{large: "16 MiB", dir: "not a regular file"} {
		if _, err := clientconf.ReadFile(path); err == nil || !strings.Contains(err.Error(), want) || durward.KindOf(err) != durward.Invalid {
			t.Errorf("%s: %v", path, err)
		}
	}
	empty := filepath.Join(dir, "empty")
	write(t, empty, "", 0o600)
	if data, err := clientconf.ReadFile(empty); data == nil || len(data) > 0 || err != nil {
		t.Errorf("an empty file is not no file: %v, %v", data, err)
	}
}

// TestRoundTripOnDisk installs into a file and takes it back, as a command would.
func TestRoundTripOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, "model = 'x' # mine\n", 0o644)
	src := clientconf.Source{Client: clientconf.Codex, Path: path}
	data, err := clientconf.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change := install(t, src, data, clientconf.InstallOptions{Command: "durward"})
	if _, err := clientconf.Replace(clientconf.Replacement{Path: path, Old: data, New: change.Data, Remove: change.Remove}); err != nil {
		t.Fatal(err)
	}
	now, err := clientconf.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	back, err := clientconf.Uninstall(src, now, change.Record)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientconf.Replace(clientconf.Replacement{Path: path, Old: now, New: back.Data, Remove: back.Remove}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "model = 'x' # mine\n" {
		t.Errorf("got %q", got)
	}
}
