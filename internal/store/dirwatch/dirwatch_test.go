//go:build unix

package dirwatch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watched is a directory of two files, and how often somebody looked.
type watched struct {
	*Dir
	path   string
	looked int
	says   error
}

// newWatched watches a directory at a time when its last change is long ago.
func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "dir")}
	must(t, os.Mkdir(w.path, 0o700))
	must(t, os.WriteFile(w.file("a"), []byte("a"), 0o600))
	must(t, os.WriteFile(w.file("b"), []byte("b"), 0o600))
	w.Dir = Open(w.path)
	w.now = func() time.Time { return time.Now().Add(time.Hour) }
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (w *watched) file(name string) string { return filepath.Join(w.path, name) }

// looks checks, and reports whether somebody looked.
func (w *watched) looks(t *testing.T) bool {
	t.Helper()
	before := w.looked
	err := w.Check(func() error { w.looked++; return w.says })
	if looked := w.looked > before; looked && !errors.Is(err, w.says) || !looked && err != nil {
		t.Fatal(err)
	}
	return w.looked > before
}

// tick makes sure that what happens next is later, as far as the file system tells: in
// the tests the last change is not long ago.
func (w *watched) tick(t *testing.T) {
	t.Helper()
	probe := filepath.Join(filepath.Dir(w.path), "probe")
	stamp := func() time.Time {
		must(t, os.WriteFile(probe, nil, 0o600))
		info, err := os.Stat(probe)
		must(t, err)
		return info.ModTime()
	}
	for begun := stamp(); !stamp().After(begun); {
		must(t, os.Remove(probe))
	}
}

func TestLooksOnceUntilANameChanges(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, w *watched){
		"a file is removed":        func(t *testing.T, w *watched) { must(t, os.Remove(w.file("a"))) },
		"a file is moved away":     func(t *testing.T, w *watched) { must(t, os.Rename(w.file("a"), w.path+".gone")) },
		"a file is renamed":        func(t *testing.T, w *watched) { must(t, os.Rename(w.file("a"), w.file("c"))) },
		"a file is replaced":       func(t *testing.T, w *watched) { must(t, os.Rename(w.file("b"), w.file("a"))) },
		"a file comes":             func(t *testing.T, w *watched) { must(t, os.WriteFile(w.file("c"), nil, 0o600)) },
		"the directory is removed": func(t *testing.T, w *watched) { must(t, os.RemoveAll(w.path)) },
		"the directory is moved":   func(t *testing.T, w *watched) { must(t, os.Rename(w.path, w.path+".moved")) },
		"the directory is another": func(t *testing.T, w *watched) {
			must(t, os.Rename(w.path, w.path+".moved"))
			must(t, os.Mkdir(w.path, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			if !w.looks(t) {
				t.Fatal("nobody looked the first time")
			}
			for range 3 {
				must(t, os.WriteFile(w.file("b"), []byte("something else"), 0o600)) // no name changes
				if w.looks(t) {
					t.Fatal("somebody looked though nothing happened")
				}
			}
			w.tick(t)
			change(t, w)
			if !w.looks(t) {
				t.Fatal("nobody looked")
			}
		})
	}
}

// What was not right is looked at until it is.
func TestLooksUntilAllIsRight(t *testing.T) {
	w := newWatched(t)
	w.says = errors.New("gone")
	for range 3 {
		if !w.looks(t) {
			t.Fatal("nobody looked")
		}
	}
	w.says = nil
	if !w.looks(t) || w.looks(t) {
		t.Fatal("it is looked at once more, and then not")
	}
}

// A change right after another may have the same time, so nothing is taken for granted
// before the last one is a while ago; or is in the future, where a clock was set back.
func TestLooksWhileTheLastChangeIsNew(t *testing.T) {
	for name, age := range map[string]time.Duration{"new": 0, "to come": -time.Hour, "unsettled": settled} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			info, err := os.Stat(w.path)
			must(t, err)
			w.now = func() time.Time { return info.ModTime().Add(age) } // however long the test takes
			for range 3 {
				if !w.looks(t) {
					t.Fatal("nobody looked")
				}
			}
		})
	}
}

// Who takes long to look may see the name that goes right after it as it was: what was new
// when it began is new, however old it is in the end.
func TestLooksAgainAfterALongLook(t *testing.T) {
	w := newWatched(t)
	begun, took := time.Now(), time.Duration(0)
	w.now = func() time.Time { return begun.Add(took) }
	must(t, os.Chtimes(w.path, begun, begun)) // a change that is new
	for range 3 {
		took = 0
		if err := w.Check(func() error { w.looked, took = w.looked+1, time.Hour; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if w.looked != 3 {
		t.Errorf("somebody looked %d times", w.looked)
	}
}

// Where there is nothing to watch, everything is looked at.
func TestLooksWithoutADirectory(t *testing.T) {
	w := newWatched(t)
	w.looks(t)
	must(t, w.Close())
	missing := &watched{Dir: Open(w.file("missing")), path: w.path}
	missing.now = w.now
	for range 3 {
		if !w.looks(t) || !missing.looks(t) {
			t.Fatal("nobody looked")
		}
	}
}
