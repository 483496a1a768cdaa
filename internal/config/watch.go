package config

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"durward"
)

// settle is how long files must be quiet before a change counts: editors write a
// file in several steps.
const settle = 200 * time.Millisecond

// settleMost bounds the wait for quiet: a file that is written to all the time
// is read at least so often.
const settleMost = 2 * time.Second

// Watch calls changed, one call at a time, after any of the files was written,
// replaced, created or removed and has been quiet for 200 ms, until ctx ends. It
// watches the directories, because most editors replace the file, and it sees a
// file that appears later. Directories must exist; one that does not is left out.
// When nothing can be watched the error is of kind Unavailable; else nil when ctx
// ends. Symbolic links are followed once, when Watch begins.
func Watch(ctx context.Context, files []string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return durward.Errorf(durward.Unavailable, "config", "files cannot be watched: %w; changes take effect on SIGHUP or by the service API", err)
	}
	defer watcher.Close() //nolint:errcheck // nothing was written
	watched, err := watchDirectories(watcher, files)
	if err != nil {
		return err
	}
	w := waiter{watcher: watcher, watched: watched, quiet: time.NewTimer(settle)}
	w.quiet.Stop()
	defer w.quiet.Stop()
	return w.run(ctx, changed)
}

// watchDirectories watches the directories of files and of what they link to,
// and returns the paths whose events count.
func watchDirectories(watcher *fsnotify.Watcher, files []string) (map[string]bool, error) {
	watched := map[string]bool{}
	var failed error
	some := false
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return nil, durward.Errorf(durward.Unavailable, "config "+file, "it cannot be watched: %w", err)
		}
		paths := []string{full}
		if target, err := filepath.EvalSymlinks(full); err == nil && target != full {
			paths = append(paths, target)
		}
		for _, path := range paths {
			watched[path] = true
			if err := watcher.Add(filepath.Dir(path)); err != nil {
				failed = durward.Errorf(durward.Unavailable, "config "+file, "it cannot be watched: %w; changes take effect on SIGHUP or by the service API", err)
				continue
			}
			some = true
		}
	}
	if some {
		failed = nil
	}
	return watched, failed
}

// waiter turns events into calls.
type waiter struct {
	watcher *fsnotify.Watcher
	watched map[string]bool
	quiet   *time.Timer
	since   time.Time // of the first event that is not reported yet; zero: there is none
}

func (w *waiter) run(ctx context.Context, changed func()) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.watcher.Events:
			if !ok {
				return nil
			}
			if w.watched[filepath.Clean(event.Name)] && event.Op != fsnotify.Chmod {
				w.wait()
			}
		case _, ok := <-w.watcher.Errors:
			if !ok {
				return nil
			}
			w.wait() // events were lost: what they were about is not known
		case <-w.quiet.C:
			w.since = time.Time{}
			changed()
		}
	}
}

// wait begins or prolongs the time of quiet.
func (w *waiter) wait() {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	w.quiet.Reset(min(settle, max(0, w.since.Add(settleMost).Sub(now))))
}
