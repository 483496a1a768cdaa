package seal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"durward"
	"durward/internal/seal"
)

func same(a, b []durward.SealKey) bool {
	return slices.EqualFunc(a, b, durward.SealKey.Equal)
}

func load(t *testing.T, path string) []durward.SealKey {
	t.Helper()
	keys, err := seal.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func rotate(t *testing.T, path string) []durward.SealKey {
	t.Helper()
	keys, err := seal.RotateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "seal.keys")
	if _, err := seal.ListFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("looking makes no file:", err)
	}
	first := load(t, path)
	if len(first) != 1 || !same(load(t, path), first) {
		t.Fatal("another key")
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Error(info, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Error("drafts are left:", left, err)
	}
	if other := load(t, filepath.Join(t.TempDir(), "seal.keys")); same(other, first) {
		t.Error("the same key is made twice")
	}
	listed, err := seal.ListFile(path)
	if err != nil || len(listed) != 1 || !listed[0].Key.Equal(first[0]) || time.Since(listed[0].Created) > time.Hour || time.Since(listed[0].Created) < -time.Second {
		t.Errorf("%v, %v", listed, err)
	}
}

// Two keys are active: what was sealed before the last rotation opens, what is older does not.
func TestKeyFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seal.keys")
	first := load(t, path)
	r := ring(t, first...)
	old := r.Seal(seal.Task, "b", []byte("old"))
	second := rotate(t, path)
	if len(second) != 2 || !second[1].Equal(first[0]) || second[0].Equal(first[0]) || !same(load(t, path), second) {
		t.Fatal("after one rotation")
	}
	if err := r.Replace(second...); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Open(seal.Task, "b", old); err != nil || string(got) != "old" {
		t.Errorf("after one rotation: %q, %v", got, err)
	}
	third := rotate(t, path)
	if len(third) != 2 || !third[1].Equal(second[0]) || !same(load(t, path), third) {
		t.Fatal("after two rotations")
	}
	if err := r.Replace(third...); err != nil {
		t.Fatal(err)
	}
	refused(t, r, seal.Task, "b", old)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Error(info, err)
	}
	listed, err := seal.ListFile(path)
	if err != nil || listed[1].Created.IsZero() || listed[0].Created.Before(listed[1].Created) {
		t.Errorf("%v, %v", listed, err)
	}
}

func TestRotatingNothingMakesAKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seal.keys")
	if keys := rotate(t, path); len(keys) != 1 || !same(load(t, path), keys) {
		t.Error("not one key")
	}
}

// However many start or rotate at once, all have the same keys in the end, and no
// rotation is lost.
func TestManyLoadAndRotateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seal.keys")
	loaded := make([][]durward.SealKey, 12)
	var all sync.WaitGroup
	for i := range loaded {
		all.Go(func() { loaded[i] = load(t, path) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	for _, keys := range loaded {
		if !same(keys, loaded[0]) {
			t.Fatal("two have different keys")
		}
	}
	rotated := make([][]durward.SealKey, 8)
	for i := range rotated {
		all.Go(func() { rotated[i] = rotate(t, path) })
		all.Go(func() { load(t, path) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	follows := map[string]string{}
	for _, keys := range rotated {
		follows[keys[1].Reveal()] = keys[0].Reveal()
	}
	at := loaded[0][0].Reveal()
	for range rotated {
		at = follows[at]
	}
	if now := load(t, path); len(now) != 2 || now[0].Reveal() != at {
		t.Error("a rotation was lost")
	}
}

// What others may have read or planted is refused, and no error quotes a key.
func TestKeyFilesThatAreNotPrivateOrNoKeysAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	k, other := durward.NewSealKey().Reveal(), durward.NewSealKey().Reveal()
	write := func(mode os.FileMode, text string) func(string) error {
		return func(p string) error { return errors.Join(os.WriteFile(p, []byte(text), 0o600), os.Chmod(p, mode)) }
	}
	many := ""
	for range seal.MaxKeys + 1 {
		many += durward.NewSealKey().Reveal() + "\n"
	}
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		make func(string) error
		want string
	}{
		"readable by others": {write(0o644, k), "mode 0644"},
		"readable by group":  {write(0o640, k), "mode 0640"},
		"a directory":        {func(p string) error { return os.Mkdir(p, 0o700) }, "no regular file"},
		"a link": {func(p string) error {
			return errors.Join(os.WriteFile(p+"x", []byte(k), 0o600), os.Symlink(p+"x", p))
		}, "cannot be opened"},
		"empty":          {write(0o600, ""), "holds 0 keys; there are 1 to 8"},
		"comments only":  {write(0o600, "# "+k+"\n"), "holds 0 keys"},
		"too many":       {write(0o600, many), "holds 9 keys"},
		"twice":          {write(0o600, k+"\n\n"+k+" 2026-07-28\n"), "line 3: it is the key of line 1"},
		"no key":         {write(0o600, k+"\n"+other[:40]+"\n"), "line 2: seal key: it must be 32 bytes"},
		"no date":        {write(0o600, k+" "+other+"\n"), "line 1: behind the key may stand a date"},
		"more":           {write(0o600, k+" 2026-07-28 "+other+"\n"), "line 1: behind the key may stand a date"},
		"no such day":    {write(0o600, k+" 2026-02-30\n"), "line 1: behind the key may stand a date"},
		"long":           {write(0o600, strings.Repeat("#", 16<<10)+"\n"+k), "more than 16384 bytes"},
		"not even text":  {write(0o600, k+"\n\xff\x00"), "line 2"},
		"a line of zero": {write(0o600, strings.Repeat("A", 43)+"=\n"), "all zeros"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			_, loading := seal.LoadFile(path)
			_, listing := seal.ListFile(path)
			_, rotating := seal.RotateFile(path)
			for _, err := range []error{loading, listing, rotating} {
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("%v, want %q", err, tt.want)
				}
				if said := fmt.Sprint(err); strings.Contains(said, k[:8]) || strings.Contains(said, other[:8]) {
					t.Errorf("quotes a key: %v", err)
				}
			}
		})
	}
}

func TestKeyFilesThatPeopleWrite(t *testing.T) {
	a, b, c := durward.NewSealKey(), durward.NewSealKey(), durward.NewSealKey()
	keys, err := seal.ParseKeyFile("# ours\r\n\r\n  " + a.Reveal() + "\t2026-07-28 # made by hand\r\n" + b.Reveal() + "#\n" + c.Reveal() + " 2026-07-28T10:20:30+02:00")
	if err != nil || len(keys) != 3 || !keys[0].Key.Equal(a) || !keys[1].Key.Equal(b) || !keys[2].Key.Equal(c) {
		t.Fatalf("%v, %v", keys, err)
	}
	got := []string{keys[0].Created.Format(time.RFC3339), keys[1].Created.Format(time.RFC3339), keys[2].Created.Format(time.RFC3339)}
	if want := []string{"2026-07-28T00:00:00Z", "0001-01-01T00:00:00Z", "2026-07-28T08:20:30Z"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What is read can be written, and is the same when it is read again.
func FuzzKeyFile(f *testing.F) {
	f.Add("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= 2026-07-28 # x\n")
	f.Add("#\n\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= 2026-07-28T00:00:00Z\r\nBAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := seal.ParseKeyFile(text)
		if err != nil {
			if durward.KindOf(err) != durward.Invalid {
				t.Fatal(err)
			}
			return
		}
		again, err := seal.ParseKeyFile(string(seal.KeyFile(keys...)))
		if err != nil || !slices.EqualFunc(keys, again, func(a, b seal.FileKey) bool { return a.Key.Equal(b.Key) && a.Created.Equal(b.Created) }) {
			t.Fatalf("%v, %v, %v", keys, again, err)
		}
	})
}
