package catalog

import (
	"crypto/sha256"
	"encoding/binary"

	"durward"
)

// Cursors makes cursors of what they say, and takes them apart again. Whoever
// serves a list gives one that seals them for its caller and route, so that
// nobody can read, change or pass them on; the catalog knows no keys.
type Cursors interface {
	// Seal makes the text that clients carry.
	Seal(payload []byte) string
	// Open returns the payload of a text; an error when it is none that Seal made
	// for the same caller and route.
	Open(text string) ([]byte, error)
}

// A cursor says: version, check, entry number, server name. That is where the
// page begins, bound by the check to the route, the kind and the exact list of
// that server. So it outlives changes of other servers and a restart, and is
// refused once counting on could skip or repeat something.
const (
	cursorVersion = 1
	checkSize     = 8
	maxCursor     = 512 // bytes in text form; ours have less than half of that
)

func (v *View) cursor(k Kind, at position) []byte {
	check := v.cursorCheck(k, at.part)
	b := append([]byte{cursorVersion}, check[:]...)
	b = binary.AppendUvarint(b, uint64(at.entry))
	return append(b, v.parts[at.part].member.spec.Name...)
}

// cursorCheck identifies the list of one server on this route.
func (v *View) cursorCheck(k Kind, part int) (check [checkSize]byte) {
	h := sha256.New()
	h.Write([]byte(v.route.String()))
	h.Write([]byte{0, byte(k)})
	digest := v.parts[part].shelf.digests[k]
	h.Write(digest[:])
	copy(check[:], h.Sum(nil))
	return check
}

// position finds where the page of a cursor begins.
func (v *View) position(k Kind, cursor string, cursors Cursors) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	refused := durward.Errorf(durward.Invalid, "", "the cursor is not of this list, or the list has changed since: list again without a cursor")
	if len(cursor) > maxCursor {
		return position{}, refused
	}
	b, err := cursors.Open(cursor)
	if err != nil || len(b) < 1+checkSize || b[0] != cursorVersion {
		return position{}, refused
	}
	entry, n := binary.Uvarint(b[1+checkSize:])
	if n <= 0 {
		return position{}, refused
	}
	i, ok := v.byServer[string(b[1+checkSize+n:])]
	if !ok || v.cursorCheck(k, i) != [checkSize]byte(b[1:1+checkSize]) || entry >= uint64(len(v.parts[i].shelf.lists[k])) {
		return position{}, refused
	}
	return position{i, int(entry)}, nil
}
