package config

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
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
// file that appears later; a directory that does not exist is left out. Files may
// be symbolic links: a link that leads elsewhere counts as a change. A pattern means each
// file that fits it, now or later, if what stands before its last / has no wildcard. files is asked
// anew after each call of changed; when it returns others, changed is called once more
// for what happened to them meanwhile. When nothing can be watched the error is of kind Unavailable; when ctx ends it is nil.
func Watch(ctx context.Context, files func() (files, patterns []string), changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return durward.Errorf(durward.Unavailable, "config", "files cannot be watched: %w; changes take effect on SIGHUP or by the service API", err)
	}
	defer watcher.Close() //nolint:errcheck // nothing was written
	w, err := newWaiter(watcher, files)
	if err != nil {
		return err
	}
	if err := w.add(); err != nil {
		return err
	}
	return w.run(ctx, changed)
}

// waiter turns events into calls. One goroutine uses it.
type waiter struct {
	watcher *fsnotify.Watcher
	named   func() (files, patterns []string)
	asked   []string          // what named returned last, one after the other
	files   []string          // the files, absolute
	fits    []string          // the patterns, absolute
	targets map[string]string // what each file leads to in the end; itself if it is no link
	quiet   *time.Timer
	since   time.Time // of the first event that is not reported yet; zero: there is none
}

func newWaiter(watcher *fsnotify.Watcher, files func() (files, patterns []string)) (*waiter, error) {
	w := &waiter{watcher: watcher, named: files, quiet: time.NewTimer(settle)}
	w.quiet.Stop()
	return w, w.name(files())
}

// name notes which files are meant.
func (w *waiter) name(files, patterns []string) error {
	w.asked, w.files, w.targets = slices.Concat(files, patterns), make([]string, len(files)), make(map[string]string)
	w.fits = w.fits[:0]
	for _, pattern := range patterns {
		if full, err := filepath.Abs(pattern); err == nil {
			w.fits = append(w.fits, full)
		}
	}
	for i, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return durward.Errorf(durward.Unavailable, "config "+file, "it cannot be watched: %w", err)
		}
		w.files[i], w.targets[full] = full, target(full)
	}
	return nil
}

// target follows links; a file that is not there leads to itself.
func target(file string) string {
	if end, err := filepath.EvalSymlinks(file); err == nil {
		return end
	}
	return file
}

// add watches the directories of the files and of what they lead to.
func (w *waiter) add() error {
	var failed error
	some := false
	for _, file := range w.files {
		for _, dir := range []string{filepath.Dir(file), filepath.Dir(w.targets[file])} {
			if err := w.watcher.Add(dir); err != nil {
				failed = durward.Errorf(durward.Unavailable, "config "+file, "it cannot be watched: %w; changes take effect on SIGHUP or by the service API", err)
				continue
			}
			some = true
		}
	}
	for _, pattern := range w.fits {
		// It may not be there yet, and then its coming counts; or it has a wildcard, and
		// then only a reload finds what comes.
		if dir := filepath.Dir(pattern); w.watcher.Add(dir) != nil {
			_ = w.watcher.Add(filepath.Dir(dir))
		}
	}
	if some {
		return nil
	}
	return failed
}

func (w *waiter) run(ctx context.Context, changed func()) error {
	defer w.quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.watcher.Events:
			if !ok {
				return nil
			}
			if w.concerns(event) {
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
			if files, patterns := w.named(); !slices.Equal(slices.Concat(files, patterns), w.asked) {
				// One that cannot be watched is read anyway, when another one changes.
				_ = errors.Join(w.name(files, patterns), w.add())
				w.wait()
			}
		}
	}
}

// concerns says whether an event is about one of the files.
func (w *waiter) concerns(event fsnotify.Event) bool {
	name, about := filepath.Clean(event.Name), false
	for _, file := range w.files {
		now := target(file)
		if now != w.targets[file] {
			w.targets[file] = now
			_ = w.watcher.Add(filepath.Dir(now)) // it is read anyway; only later changes of it would be missed
			about = true
		}
		about = about || (name == file || name == now) && event.Op != fsnotify.Chmod
	}
	for _, pattern := range w.fits {
		fits, _ := filepath.Match(pattern, name) // a bad one was refused
		if dir := filepath.Dir(pattern); name == dir && event.Has(fsnotify.Create) {
			_ = w.watcher.Add(dir) // as above
			fits = true
		}
		about = about || fits && event.Op != fsnotify.Chmod
	}
	return about
}

// wait begins or prolongs the time of quiet.
func (w *waiter) wait() {
	now := time.Now()
	if w.since.IsZero() {
		w.since = now
	}
	w.quiet.Reset(min(settle, max(0, w.since.Add(settleMost).Sub(now))))
}
