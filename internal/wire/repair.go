package wire

import (
	"bytes"
	"unicode/utf8"
)

// CleanLine returns one line of a stdio or socket stream as the message it
// carries: without a byte order mark in front, without the line end, be it LF or
// CRLF, and without white space around. The result aliases line and may be empty.
func CleanLine(line []byte) []byte {
	return bytes.Trim(TrimBOM(line), " \t\r\n")
}

// TrimBOM returns b without a UTF-8 byte order mark in front, which RFC 8259
// §8.1 allows readers to ignore and which Parse refuses.
func TrimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF")) }

// ToValidUTF8 repairs the text of a server's message that has Faults.BadUTF8:
// each byte that is no UTF-8 becomes U+FFFD, and so does each lone surrogate
// escape (as an escape, so that its length stays). All else keeps its bytes. A
// message without such faults is returned as it is, a repaired one is a copy;
// spans of an earlier Parse do not fit it.
func ToValidUTF8(msg []byte) []byte {
	i, n := nextFault(msg, 0)
	if i == len(msg) {
		return msg
	}
	out := make([]byte, 0, len(msg)+64)
	for from := 0; ; i, n = nextFault(msg, from) {
		out = append(out, msg[from:i]...)
		if i == len(msg) {
			return out
		}
		if n == 1 {
			out = append(out, "\uFFFD"...)
		} else {
			out = append(out, `\ufffd`...)
		}
		from = i + n
	}
}

// nextFault returns where the next faulty byte or surrogate escape is from i on
// and how long it is; len(b) if there is none.
func nextFault(b []byte, i int) (at, n int) {
	for i < len(b) {
		if i = plain(b, i); i == len(b) {
			break
		}
		switch {
		case b[i] == '\\' && i+1 < len(b) && b[i+1] == 'u':
			_, end, ok := surrogates(b, i)
			if !ok && end > i {
				return i, end - i
			}
			i = max(end, i+2)
		case b[i] == '\\' && i+1 < len(b) && b[i+1] < utf8.RuneSelf:
			i += 2
		case b[i] < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && size == 1 {
				return i, 1
			}
			i += size
		}
	}
	return len(b), 0
}
