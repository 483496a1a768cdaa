package pin

import (
	"bytes"

	"durward/internal/wire"
)

// narrower reports whether a definition says nothing that a wider one does not say
// in the same words, and the same about risk. It is how a server is known that
// tells legacy clients less: not of icons, say, or of what a result looks like.
func narrower(narrow, wide []byte) bool {
	if len(narrow) == 0 || narrow[0] != '{' || len(wide) == 0 || wide[0] != '{' {
		return false
	}
	if !bytes.Equal(canonicalMember(narrow, "annotations"), canonicalMember(wide, "annotations")) {
		return false
	}
	seen := map[string]bool{}
	for name, at := range wire.Members(narrow) {
		if seen[name] {
			return false // readers differ in which one they take
		}
		seen[name] = true
		if !bytes.Equal(wire.AppendCanonical(nil, at.Of(narrow)), canonicalMember(wide, name)) {
			return false
		}
	}
	return len(seen) > 0
}

func canonicalMember(object []byte, name string) []byte {
	value := wire.Get(object, name)
	if value == nil {
		return nil
	}
	return wire.AppendCanonical(nil, value)
}
