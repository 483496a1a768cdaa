package config

import (
	"fmt"
	"strconv"

	"durward"
	"durward/internal/yamlx"
)

// Change is one thing that [Upgrade] did to a file.
type Change struct {
	Line    int    `json:"line"` // before the change, from 1
	Path    string `json:"path"`
	Message string `json:"message"` // what was done, and what it means
}

// version is the format that this Durward reads.
const version = 1

// step makes a file of one version a file of the next.
type step struct {
	from  int
	apply func(*edit) error
}

// steps are all there are, in order. A version that changes the format adds one.
func steps() []step { return nil }

// Upgrade makes a file of an older version one of the newest and tells what it
// changed. Comments, order and layout of the rest stay as they are. A file of the
// newest version comes back as it is, without changes. What cannot be changed is
// an error (Conflict) that names the place, and a newer version than this Durward
// knows is Invalid; name stands for the file in messages.
func Upgrade(name string, data []byte) ([]byte, []Change, error) {
	return upgrade(name, data, version, steps())
}

func upgrade(name string, data []byte, newest int, steps []step) ([]byte, []Change, error) {
	editor, err := yamlx.Edit(name, data, limitsOf())
	if err != nil {
		return nil, nil, err
	}
	e := &edit{Editor: editor}
	text, _ := e.Text(yamlx.Path{"version"})
	from, err := strconv.Atoi(text)
	if err != nil || from < 1 || from > newest {
		return nil, nil, durward.Errorf(durward.Invalid, "config "+name, "its version is %q; this Durward knows 1 to %d", text, newest)
	}
	for _, s := range steps {
		if s.from < from {
			continue
		}
		if err := s.apply(e); err != nil {
			return nil, nil, err
		}
		if err := e.set(yamlx.Path{"version"}, strconv.Itoa(s.from+1), "the format has a new version"); err != nil {
			return nil, nil, err
		}
	}
	return e.Bytes(), e.changes, nil
}

// edit is an editor that notes what it does. Its methods do nothing where the
// key is absent.
type edit struct {
	*yamlx.Editor
	changes []Change
}

func (e *edit) note(path yamlx.Path, format string, args ...any) {
	e.changes = append(e.changes, Change{Line: e.Line(path), Path: path.String(), Message: fmt.Sprintf(format, args...)})
}

// rename gives a key another name.
func (e *edit) rename(path yamlx.Path, name, why string) error {
	if !e.Has(path) {
		return nil
	}
	e.note(path, "renamed to %s: %s", name, why)
	return e.Rename(path, name)
}

// remove removes a key that has no meaning any more.
func (e *edit) remove(path yamlx.Path, why string) error {
	if !e.Has(path) {
		return nil
	}
	e.note(path, "removed: %s", why)
	return e.Remove(path)
}

// set changes a single value, which is written as it stands.
func (e *edit) set(path yamlx.Path, text, why string) error {
	if !e.Has(path) {
		return nil
	}
	old, _ := e.Text(path)
	e.note(path, "changed from %s to %s: %s", old, text, why)
	return e.Set(path, text)
}
