package clientconf

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"durward"
	"durward/internal/clientconf/syntax"
)

const recordVersion = 1

// Record is how an installation is taken back. It is written as JSON and read
// again; because it can hold the entries that were moved, with their secrets,
// the file it is kept in must be its owner's alone (0600). Printing it shows
// nothing of that.
type Record struct {
	Version int    `json:"version"`
	Client  Client `json:"client"`
	Created bool   `json:"created,omitempty"` // there was no file before

	// The exact way back, for a file that nobody changed since: digests of the
	// file before and after, and the one region in which they differ.
	Before string `json:"before"`
	After  string `json:"after"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	Old    []byte `json:"old,omitempty"`

	// The way back for a file that was changed since.
	Made     []Path     `json:"made,omitempty"` // objects that were made to hold the entry
	Moved    []Moved    `json:"moved,omitempty"`
	Disabled []Disabled `json:"disabled,omitempty"`
}

// Moved is an entry that was taken out of an object.
type Moved struct {
	Path Path `json:"path"`
	syntax.Taken
}

// Disabled is an entry that was switched off, with what its switch was; nil if
// it had none.
type Disabled struct {
	Path Path  `json:"path"`
	Was  *bool `json:"was,omitempty"`
}

// String says what it is a record of.
func (r Record) String() string {
	return fmt.Sprintf("record of an installation in %s", r.Client.Title())
}

// GoString is String.
func (r Record) GoString() string { return r.String() }

// Format writes String, whatever the verb.
func (r Record) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue is String.
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// seal notes the exact way from after back to before.
func (r *Record) seal(before, after []byte) {
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	r.Before, r.After = digest(before), digest(after)
	r.Offset, r.Length, r.Old = head, len(after)-tail-head, bytes.Clone(before[head:len(before)-tail])
}

// exact takes the installation back from a file that nobody changed since.
func (r *Record) exact(data []byte) ([]byte, bool) {
	if digest(data) != r.After || r.Offset < 0 || r.Length < 0 || r.Offset+r.Length > len(data) {
		return nil, false
	}
	out := slices.Concat(data[:r.Offset], r.Old, data[r.Offset+r.Length:])
	return out, digest(out) == r.Before
}

// Uninstall takes Durward out of the file of a client. With the record of the
// installation, a file that nobody changed since becomes what it was, byte for
// byte; in a file that was changed, what the installation did is undone and the
// changes stay. Without a record only the entry is taken out.
//
// Errors: durward.Invalid (the file is broken, or the record is of another
// client), durward.NotFound (the entry is not there).
func Uninstall(src Source, data []byte, r *Record) (*Change, error) {
	t, ok := src.Client.traits()
	if !ok || t.client == Generic || r != nil && (r.Client != src.Client || r.Version != recordVersion) {
		return nil, durward.Errorf(durward.Invalid, src.Path, "the record of the installation is not one of %s; uninstall without it", src.Client.Title())
	}
	w := installer{traits: t, src: src, given: data}
	if r != nil {
		if out, ok := r.exact(data); ok {
			w.data = out
			return w.restored(r.Created), nil
		}
	}
	created, err := w.undo(r)
	if err != nil {
		return nil, w.located(err)
	}
	return w.restored(created), nil
}

func (w *installer) restored(remove bool) *Change {
	c := w.change()
	if c.Record = nil; remove {
		c.Data, c.Remove, c.Changed = nil, true, true
	}
	return c
}

// undo takes the installation back step by step; it reports whether nothing is
// left of a file that the installation made.
func (w *installer) undo(r *Record) (bool, error) {
	before, err := w.parse(w.given)
	if err != nil {
		return false, err
	}
	if r == nil {
		r = &Record{}
	}
	own := before.At(w.container).Get(ownName)
	switch {
	case own == nil && len(r.Moved)+len(r.Disabled) == 0:
		return false, durward.Errorf(durward.NotFound, "", "there is no server %q in the file; Durward is not installed there", ownName)
	case own != nil && !w.isOwn(ownName, own):
		return false, durward.Errorf(durward.Conflict, "", "the server %q runs something else than Durward; remove it by hand if it is not wanted", ownName)
	}
	w.data, _, err = syntax.Remove(w.format, w.given, w.container, []string{ownName})
	if err != nil {
		return false, err
	}
	if err := w.unmake(r.Made); err != nil {
		return false, err
	}
	if err := w.putBack(r); err != nil {
		return false, err
	}
	after, err := w.parse(w.data)
	if err != nil || !w.same(before, after, r) {
		return false, durward.Errorf(durward.Internal, "", "the file would not say what it should after the change; nothing was changed, please report it with the shape of the file")
	}
	return r.Created && len(after.Members) == 0, nil
}

// unmake removes objects that were made for the entry and are empty again.
func (w *installer) unmake(made []Path) error {
	for _, p := range slices.Backward(made) {
		root, err := w.parse(w.data)
		if err != nil {
			return err
		}
		if n := root.At(p); len(p) == 0 || n == nil || n.Kind != syntax.Object || len(n.Members) > 0 {
			continue
		}
		if w.data, _, err = syntax.Remove(w.format, w.data, p[:len(p)-1], p[len(p)-1:]); err != nil {
			return err
		}
	}
	return nil
}

// putBack restores moved entries whose names are free, and switches.
func (w *installer) putBack(r *Record) error {
	for _, m := range r.Moved {
		root, err := w.parse(w.data)
		if err != nil {
			return err
		}
		if root.At(m.Path).Get(m.Name) != nil {
			continue // somebody has put it back, or another one in its place
		}
		if w.data, err = syntax.Restore(w.format, w.data, m.Path, m.Taken); err != nil {
			return err
		}
	}
	for _, d := range r.Disabled {
		root, err := w.parse(w.data)
		if err != nil {
			return err
		}
		if !root.At(d.Path).Get(w.disableKey).Is(w.disableOn) {
			continue // it is gone, or was switched on since
		}
		if d.Was == nil {
			w.data, _, err = syntax.Remove(w.format, w.data, d.Path, []string{w.disableKey})
		} else {
			w.data, err = syntax.SetBool(w.format, w.data, d.Path, w.disableKey, *d.Was)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two trees agree in everything that the installation did
// not touch.
func (w *installer) same(before, after *syntax.Node, r *Record) bool {
	a, b := before.Clone(), after.Clone()
	for _, n := range []*syntax.Node{a, b} {
		for c := n.At(w.container); c.Index(ownName) >= 0; {
			c.Drop(ownName)
		}
		for _, m := range r.Moved {
			for c := n.At(m.Path); c.Index(m.Name) >= 0; {
				c.Drop(m.Name)
			}
		}
		for _, d := range r.Disabled {
			if e := n.At(d.Path); e != nil {
				e.Drop(w.disableKey)
			}
		}
		prune(n, w.container)
		for _, m := range r.Moved {
			prune(n, m.Path)
		}
	}
	return a.Equal(b, false)
}

// prune drops the objects on a path that hold nothing, the innermost first.
func prune(n *syntax.Node, path []string) {
	for i := len(path); i > 0; i-- {
		if c := n.At(path[:i]); c != nil && c.Kind == syntax.Object && len(c.Members) == 0 {
			n.At(path[:i-1]).Drop(path[i-1])
		}
	}
}
