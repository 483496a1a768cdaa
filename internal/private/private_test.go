//go:build unix

package private_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"durward"
	"durward/internal/private"
)

// lockAsked makes this program take the lock it names, say so, and wait for its end.
const lockAsked = "DURWARD_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockAsked); path != "" {
		if _, err := private.Lock(path, 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		_, _ = os.Stdin.Read(make([]byte, 1))
		syscall.Exit(0) // with the race detector os.Exit waits for a second
	}
	os.Exit(m.Run())
}

func TestCreateAndReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "file")
	if _, err := private.Read(path, 100); !errors.Is(err, fs.ErrNotExist) || durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
	check := func(want string) {
		t.Helper()
		got, err := private.Read(path, len(want))
		if err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Error(info, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Error("drafts are left:", left, err)
		}
	}
	if err := private.Create(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	check("one")
	if err := private.Create(path, []byte("two")); !errors.Is(err, fs.ErrExist) || durward.KindOf(err) != durward.Conflict {
		t.Error(err)
	}
	check("one")
	if err := private.Replace(path, []byte("three")); err != nil {
		t.Fatal(err)
	}
	check("three")
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
}

// What others may have read or planted is refused, and never quoted.
func TestReadRefusesWhatIsNotPrivate(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := private.Create(good, []byte("hunter2")); err != nil {
		t.Fatal(err)
	}
	mode := func(mode os.FileMode) func(string) error {
		return func(p string) error { return errors.Join(os.WriteFile(p, []byte("hunter2"), 0o600), os.Chmod(p, mode)) }
	}
	for name, tt := range map[string]struct {
		make func(path string) error
		kind durward.Kind
	}{
		"readable by others": {mode(0o604), durward.Denied},
		"writable by others": {mode(0o602), durward.Denied},
		"readable by group":  {mode(0o640), durward.Denied},
		"a link":             {func(p string) error { return os.Symlink(good, p) }, durward.Unavailable},
		"a link to nothing":  {func(p string) error { return os.Symlink(good+"x", p) }, durward.Unavailable},
		"a directory":        {func(p string) error { return os.Mkdir(p, 0o700) }, durward.Denied},
		"a pipe":             {func(p string) error { return syscall.Mkfifo(p, 0o600) }, durward.Denied},
		"long":               {func(p string) error { return os.WriteFile(p, []byte("hunter2!"), 0o600) }, durward.Invalid},
	} {
		path := filepath.Join(dir, name)
		if err := tt.make(path); err != nil {
			t.Fatal(err)
		}
		data, err := private.Read(path, len("hunter2"))
		if data != nil || durward.KindOf(err) != tt.kind || err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(dir, "foreign")
		if err := errors.Join(os.WriteFile(foreign, []byte("x"), 0o600), os.Chown(foreign, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		if _, err := private.Read(foreign, 100); durward.KindOf(err) != durward.Denied || !strings.Contains(err.Error(), "another user") {
			t.Error("of another user:", err)
		}
	}
}

func TestOfManyWhoCreateOneDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var all sync.WaitGroup
	var made atomic.Int32
	contents := make([]string, 16)
	for i := range contents {
		all.Go(func() {
			err := private.Create(path, bytes.Repeat([]byte{byte('a' + i)}, 1000))
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			data, err := private.Read(path, 1000)
			if err != nil {
				t.Error(err)
			}
			contents[i] = string(data)
		})
	}
	all.Wait()
	for _, c := range contents {
		if c != contents[0] || len(c) != 1000 || made.Load() != 1 {
			t.Fatalf("%d made, %.10q and %.10q", made.Load(), c, contents[0])
		}
	}
}

// Processes take turns, and the lock goes with its holder, however that ends.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "lock")
	unlock, err := private.Lock(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := private.Lock(path, 0); durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), path) {
		t.Error("taken twice:", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), lockAsked+"="+path)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("locked"))
	if _, err := out.Read(said); err != nil || string(said) != "locked" {
		t.Fatalf("%q, %v", said, err)
	}
	if _, err := private.Lock(path, 0); durward.KindOf(err) != durward.Conflict {
		t.Error("taken from another process:", err)
	}
	var got sync.WaitGroup
	got.Go(func() {
		unlock, err := private.Lock(path, time.Minute)
		if err != nil {
			t.Error(err)
			return
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	})
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	got.Wait()
	_ = other.Wait() // it was killed
}

func TestTheLockIsNoLink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := private.Lock(path, time.Minute); durward.KindOf(err) != durward.Unavailable {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the link was followed:", err)
	}
}
