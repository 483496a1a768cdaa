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
// after the goroutine that watches. What was told before does not count.
func until(t *testing.T, changes <-chan struct{}, change func()) {
	t.Helper()
	for len(changes) > 0 {
		<-changes
	}
	tick, late := time.NewTicker(500*time.Millisecond), time.NewTimer(time.Minute)
	defer tick.Stop()
	defer late.Stop()
	for {
		change()
		select {
		case <-changes:
			return
		case <-tick.C:
		case <-late.C:
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

// A file that comes and fits a pattern is told, also in a directory that comes. That one
// that does not fit is not, [TestWatchWaitsForQuiet] shows.
func TestWatchSeesWhatFitsAPattern(t *testing.T) {
	dir := t.TempDir()
	file, later := filepath.Join(dir, "durward.yaml"), filepath.Join(dir, "later")
	changes := watchAll(t, []string{file}, []string{filepath.Join(dir, "rules-*.yaml"), filepath.Join(later, "*.yaml")})
	until(t, changes, func() { put(t, file, "1") })
	rules := filepath.Join(dir, "rules-a.yaml")
	until(t, changes, func() { put(t, rules, "1") })
	until(t, changes, func() {
		put(t, rules, "1")
		if err := os.Remove(rules); err != nil {
			t.Fatal(err)
		}
	})
	until(t, changes, func() {
		_ = os.Remove(later) // of the time before
		if err := os.Mkdir(later, 0o700); err != nil {
			t.Fatal(err)
		}
	})
	until(t, changes, func() { put(t, filepath.Join(later, "b.yaml"), "1") })
}

func TestWatchSaysWhenItCannot(t *testing.T) {
	err := config.Watch(t.Context(), func() (files, patterns []string) {
		return []string{filepath.Join(t.TempDir(), "no", "such", "file")}, nil
	}, func() {})
	if durward.KindOf(err) != durward.Unavailable {
		t.Errorf("%v", err)
	}
}

// Changes are told once they are over, and at the latest after two seconds; those of
// files that nobody named, and that fit no pattern, are not.
func TestWatchWaitsForQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events, faults := make(chan fsnotify.Event), make(chan error)
		began, told, done := time.Now(), []time.Duration(nil), make(chan error)
		go func() {
			done <- config.WatchEvents(ctx, events, faults, "/f", "/r/*.yaml", func() { told = append(told, time.Since(began)) })
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
		send(3, 0, fsnotify.Event{Name: "/r/a.txt", Op: fsnotify.Create})              // nor this
		send(3, 0, fsnotify.Event{Name: "/f", Op: fsnotify.Chmod})                     // nothing changed
		send(26, 100*time.Millisecond, fsnotify.Event{Name: "/f", Op: fsnotify.Write}) // 4.5 s to 7.1 s; told after 2 s and at the end
		faults <- errors.New("events were lost")
		time.Sleep(time.Second)
		send(1, 0, fsnotify.Event{Name: "/r/a.yaml", Op: fsnotify.Create}) // fits
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want := []time.Duration{600 * time.Millisecond, 6500 * time.Millisecond, 7200 * time.Millisecond, 8300 * time.Millisecond, 9300 * time.Millisecond}
		if diff := differ(want, told); diff != "" {
			t.Error(diff)
		}
	})
}
