package sqlite

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"durward"
)

// A cursor is where a page ended: a byte for its version, the time and the seq of the
// last row, and a check that finds what was cut or mistyped. It stays good whatever is
// written meanwhile, and when the row itself is gone.
const cursorVersion = 1

// cursorOf returns the cursor of a page that ended with a point.
func cursorOf(p point) string {
	b := binary.AppendVarint(binary.AppendVarint([]byte{cursorVersion}, p.at), p.seq)
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// readCursor returns where a page begins; the zero point for the first page.
func readCursor(text string) (point, error) {
	if text == "" {
		return point{}, nil
	}
	invalid := durward.Errorf(durward.Invalid, "ledger", "the cursor %.64q is not one that a page before ended with; begin again without one", text)
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 5 || b[0] != cursorVersion {
		return point{}, invalid
	}
	body, check := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	at, n := binary.Varint(body[1:])
	if n <= 0 || crc32.ChecksumIEEE(body) != check {
		return point{}, invalid
	}
	seq, m := binary.Varint(body[1+n:])
	if m <= 0 || 1+n+m != len(body) || seq <= 0 {
		return point{}, invalid
	}
	return point{at, seq}, nil
}
