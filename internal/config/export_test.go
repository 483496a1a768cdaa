package config

import (
	"context"
	"io/fs"

	"github.com/fsnotify/fsnotify"

	"durward/internal/yamlx"
)

// UpgradeToThree upgrades by the steps of versions that do not exist: 2 renames
// limits.sessions and removes insecure, 3 renames a key in every server.
func UpgradeToThree(name string, data []byte) ([]byte, []Change, error) {
	return upgrade(name, data, 3, []step{
		{from: 1, apply: func(e *edit) error {
			if err := e.rename(yamlx.Path{"limits", "sessions"}, "legacy_sessions", "modern clients have none"); err != nil {
				return err
			}
			return e.remove(yamlx.Path{"insecure"}, "it is decided by tls")
		}},
		{from: 2, apply: func(e *edit) error {
			for _, name := range e.Keys(yamlx.Path{"servers"}) {
				if err := e.rename(yamlx.Path{"servers", name, "dir"}, "directory", "words are written out"); err != nil {
					return err
				}
			}
			return nil
		}},
	})
}

// CheckOwner checks what a corp layer must be.
func CheckOwner(path string, info fs.FileInfo) error { return checkOwner(path, info) }

// Steps are the versions after which files are upgraded.
func Steps() (from []int) {
	for _, s := range steps() {
		from = append(from, s.from)
	}
	return from
}

// Version is the newest one.
const Version = version

// WatchEvents runs the part of Watch that comes after the operating system, for a file
// and a pattern.
func WatchEvents(ctx context.Context, events chan fsnotify.Event, faults chan error, file, pattern string, changed func()) error {
	w, err := newWaiter(&fsnotify.Watcher{Events: events, Errors: faults}, func() (files, patterns []string) { return []string{file}, []string{pattern} })
	if err != nil {
		return err
	}
	return w.run(ctx, changed)
}
