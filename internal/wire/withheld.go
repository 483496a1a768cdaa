package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// MemberWithheld is the one member of what [Withheld] returns.
const MemberWithheld = "dev.durward/withheld"

// Withheld is what is written down in place of a content that could not be looked
// through, so that nobody knows what must not be kept of it: how long it was, and its
// SHA-256 digest, by which who has the content can tell that it was this one.
func Withheld(content []byte) []byte {
	sum := sha256.Sum256(content)
	dst := append([]byte(nil), `{"`+MemberWithheld+`":{"bytes":`...)
	dst = strconv.AppendInt(dst, int64(len(content)), 10)
	dst = append(dst, `,"sha256":"`...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, `"}}`...)
}
