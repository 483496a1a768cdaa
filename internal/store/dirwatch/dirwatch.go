// Package dirwatch tells, for the price of one system call that looks up no name, that
// nothing has happened to the names in a directory. Whoever keeps files open for long,
// and must notice before each write that one was removed or replaced, need not look for
// all of them each time.
package dirwatch

import (
	"sync"
	"time"
)

// settled is how old the last change of a directory must be before another one is
// certain to have another time. Some file systems tell times in steps of two seconds.
const settled = 2500 * time.Millisecond

// Dir is a directory whose names are watched. It is safe for concurrent use. Whoever
// opens one calls Close.
type Dir struct {
	dir handle
	now func() time.Time

	mu   sync.Mutex // guards all below
	good bool       // what was looked at was right, when the directory was in the state seen
	seen state
}

// Open watches a directory. Where there is no telling that nothing happened, on other
// systems than Unix or when the directory cannot be opened, everything is looked at
// each time.
func Open(path string) *Dir { return &Dir{dir: open(path), now: time.Now} }

// Check calls look, which looks at files of the directory by their names, unless it
// found them right the last time and no name in the directory has come, gone or
// changed since.
func (d *Dir) Check(look func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, known := d.dir.state()
	if known && d.good && now == d.seen {
		return nil
	}
	// Looked at after its state was, so that what happens meanwhile is noticed; and that
	// after the clock, since it is from then on that another change has another time.
	begun := d.now()
	now, known = d.dir.state()
	err := look()
	age := begun.Sub(now.changed())
	d.good, d.seen = err == nil && known && age > settled, now
	return err
}

// Close ends the watch; everything is looked at from then on.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.good = false
	return d.dir.close()
}
