package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName   = 64   // bytes of a name offered on the aggregate
	separator = "__" // between server and name; no server name holds an underscore, so the first one separates
)

// ServerOf returns the server whose prefix a name of the aggregate bears, "" if
// it bears none. It does not say that there is such a server.
func ServerOf(offered string) string {
	server, _, ok := strings.Cut(offered, separator)
	if !ok {
		return ""
	}
	return server
}

// prefixedName returns the name under which the aggregate offers a tool or prompt
// of a server. It depends on nothing but the two names. Since every result starts
// with the server's prefix, names of two servers never meet. alias is true when
// the full name is too long or has characters that some clients refuse.
func prefixedName(server, name string) (offered string, alias bool) {
	full := server + separator + name
	if legalName(full) {
		return full, false
	}
	sum := sha256.Sum256([]byte(full))
	tail := "_" + hex.EncodeToString(sum[:4])
	var b strings.Builder
	for _, r := range full {
		if b.Len() == maxName-len(tail) {
			break
		}
		if r < 0x80 && legalByte(byte(r)) {
			b.WriteByte(byte(r))
		} else {
			b.WriteByte('_')
		}
	}
	return b.String() + tail, true
}

func legalName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for i := range len(name) {
		if !legalByte(name[i]) {
			return false
		}
	}
	return true
}

func legalByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
