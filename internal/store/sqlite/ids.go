package sqlite

import (
	"database/sql/driver"
	"encoding/hex"
	"time"
)

// idValue is an identifier as it is stored: 16 bytes if it is a UUID in canonical
// lower-case text, which is less than half of what the text takes in rows and indexes;
// else the text.
func idValue(text string) driver.Value {
	if id, ok := parseUUID(text); ok {
		return id[:]
	}
	return text
}

// optionalID is idValue with NULL for the empty text.
func optionalID(text string) driver.Value {
	if text == "" {
		return nil
	}
	return idValue(text)
}

// idText is the identifier that was stored; ok is false if it cannot be one.
func idText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case []byte:
		if len(v) != 16 {
			return "", false
		}
		return formatUUID([16]byte(v)), true
	default:
		return "", false
	}
}

func formatUUID(id [16]byte) string {
	var out [36]byte
	hex.Encode(out[:8], id[:4])
	hex.Encode(out[9:13], id[4:6])
	hex.Encode(out[14:18], id[6:8])
	hex.Encode(out[19:23], id[8:10])
	hex.Encode(out[24:], id[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// parseUUID reads exactly what formatUUID writes.
func parseUUID(text string) (id [16]byte, ok bool) {
	if len(text) != 36 {
		return id, false
	}
	at := 0
	for i := 0; i < len(text); {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if text[i] != '-' {
				return id, false
			}
			i++
			continue
		}
		high, low := nibble(text[i]), nibble(text[i+1])
		if high|low > 15 {
			return id, false
		}
		id[at] = high<<4 | low
		at++
		i += 2
	}
	return id, true
}

// nibble is the value of a lower-case hexadecimal digit, 16 or more of anything else.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	default:
		return 16
	}
}

// timeValue is a time as it is stored: microseconds since 1970, NULL for none.
func timeValue(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// microTime is the time that was stored.
func microTime(v any) (t time.Time, ok bool) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, true
	case int64:
		return time.UnixMicro(v).UTC(), true
	default:
		return time.Time{}, false
	}
}

// bytesValue stores what is zero as NULL.
func bytesValue(b []byte) driver.Value {
	if isZero(b) {
		return nil
	}
	return b
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
