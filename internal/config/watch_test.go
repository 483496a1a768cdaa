package config_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"durward"
	"durward/internal/config"
	"durward/internal/testkit/leftover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// watch watches files and tells each change on the channel.
func watch(t *testing.T, files ...string) <-chan struct{} {
	t.Helper()
	return watchAll(t, files, nil)
}

func watchAll(t *testing.T, files, patterns []string) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	changes, done := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		done <- config.Watch(ctx, func() ([]string, []string) { return files, patterns }, func() { changes <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return changes
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// until repeats what changes a file until it is told: the watch begins some time
// after the goroutine that watches.
func until(t *testing.T, changes <-chan struct{}, change func()) {
	t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		change()
		select {
		case <-changes:
			return
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("never told")
		}
	}
}

func TestWatchSeesEveryWayToChangeAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "durward.yaml")
	target := filepath.Join(t.TempDir(), "target.yaml")
	absent := filepath.Join(dir, "no", "such", "directory", "corp.yaml")
	changes := watch(t, file, absent)
	ways := []struct {
		name   string
		change func()
	}{
		{"created", func() { put(t, file, "1") }},
		{"written", func() { put(t, file, "2") }},
		{"replaced", func() {
			put(t, file+".new", "3")
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		}},
		{"renamed away and written anew", func() {
			if err := os.Rename(file, file+"~"); err != nil {
				t.Fatal(err)
			}
			put(t, file, "4")
		}},
		{"removed", func() {
			put(t, file, "5")
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}},
		{"linked", func() {
			put(t, target, "5")
			_ = os.Remove(file)
			if err := os.Symlink(target, file); err != nil {
				t.Fatal(err)
			}
		}},
		{"written where the link leads", func() { put(t, target, "6") }},
	}
	for _, way := range ways {
		t.Log(way.name)
		until(t, changes, way.change)
	}
}

// A file that comes and fits a pattern is told, also in a directory that comes; one
// that does not fit is not.
func TestWatchSeesWhatFitsAPattern(t *testing.T) {
	dir := t.TempDir()
	file, later := filepath.Join(dir, "durward.yaml"), filepath.Join(dir, "later")
	changes := watchAll(t, []string{file}, []string{filepath.Join(dir, "rules-*.yaml"), filepath.Join(later, "*.yaml")})
	until(t, changes, func() { put(t, file, "1") })
	put(t, filepath.Join(dir, "other.yaml"), "1")
	put(t, filepath.Join(dir, "rules-a.yaml"), "1")
	<-changes
	if err := os.Remove(filepath.Join(dir, "rules-a.yaml")); err != nil {
		t.Fatal(err)
	}
	<-changes
	if err := os.Mkdir(later, 0o700); err != nil {
		t.Fatal(err)
	}
	<-changes
	put(t, filepath.Join(later, "b.yaml"), "1")
	<-changes
	put(t, filepath.Join(dir, "other.yaml"), "2")
	select {
	case <-changes:
		t.Error("told of a file that nobody named")
	case <-time.After(time.Second): // nothing can be waited for where nothing is to come
	}
}

func TestWatchSaysWhenItCannot(t *testing.T) {
	err := config.Watch(t.Context(), func() (files, patterns []string) {
		return []string{filepath.Join(t.TempDir(), "no", "such", "file")}, nil
	}, func() {})
	if durward.KindOf(err) != durward.Unavailable {
		t.Errorf("%v", err)
	}
}

// Changes are told once they are over, and at the latest after two seconds.
func TestWatchWaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events, faults := make(chan fsnotify.Event), make(chan error)
		began, told, done := time.Now(), []time.Duration(nil), make(chan error)
		go func() {
			done <- config.WatchEvents(ctx, events, faults, "/f", func() { told = append(told, time.Since(began)) })
		}()
		send := func(n int, every time.Duration, e fsnotify.Event) {
			for range n {
				events <- e
				time.Sleep(every)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		send(5, 100*time.Millisecond, fsnotify.Event{Name: "/f", Op: fsnotify.Write})  // ends at 0.5 s; told at 0.6 s
		send(3, 0, fsnotify.Event{Name: "/g", Op: fsnotify.Write})                     // not ours
		send(3, 0, fsnotify.Event{Name: "/f", Op: fsnotify.Chmod})                     // nothing changed
		send(26, 100*time.Millisecond, fsnotify.Event{Name: "/f", Op: fsnotify.Write}) // 3.5 s to 6.1 s; told after 2 s and at the end
		faults <- errors.New("events were lost")
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []time.Duration{600 * time.Millisecond, 5500 * time.Millisecond, 6200 * time.Millisecond, 7300 * time.Millisecond}
		if diff := differ(want, told); diff != "" {
			t.Error(diff)
		}
	})
}
