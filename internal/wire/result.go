package wire

import "bytes"

// SetResultMember appends result with those members of add in front that it does
// not have yet; a member that is there keeps its value. All bytes of result
// are kept. A result that is no object is appended as it is.
func SetResultMember(dst, result []byte, add ...Member) []byte {
	s := skipper{data: result}
	if !s.take('{') {
		return append(dst, result...)
	}
	here := present(result, add)
	start := len(dst)
	dst = append(dst, '{')
	empty := true
	for i := range add {
		if i < 64 && here&(1<<i) != 0 || i >= 64 && Lookup(result, add[i].Name).Present() {
			continue
		}
		dst = appendMember(dst, &add[i], &empty)
	}
	if empty {
		return append(dst[:start], result...)
	}
	if s.peek() != '}' {
		dst = append(dst, ',')
	}
	return append(dst, result[bytes.IndexByte(result, '{')+1:]...) // white space included
}

// present returns a bit mask of those of the first 64 members of list whose
// names obj has, in one pass.
func present(obj []byte, list []Member) (mask uint64) {
	m := members{skipper: skipper{data: obj}}
	for m.step() {
		for i := range min(len(list), 64) {
			if m.is(list[i].Name) {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// RemoveResultMember appends result without the members called name, of which a
// server's result may have more than one. All other bytes are kept, but for one
// comma and the white space next to what is removed. A result that is no object
// is appended as it is.
func RemoveResultMember(dst, result []byte, name string) []byte {
	var copied, kept, cut, cutEnd uint32 // offsets; kept: end of the last value that stays; cut: 0 when no cut is open
	m := members{skipper: skipper{data: result}}
	for m.step() {
		if m.is(name) {
			switch {
			case cut != 0:
			case kept != 0:
				cut = kept // the comma before goes too
			default:
				cut = uint32(m.at)
			}
			cutEnd = m.value.End
			continue
		}
		if cut != 0 {
			dst = append(dst, result[copied:cut]...)
			if copied = cutEnd; kept == 0 {
				copied = uint32(m.at)
			}
			cut = 0
		}
		kept = m.value.End
	}
	if cut != 0 {
		dst = append(dst, result[copied:cut]...)
		copied = cutEnd
	}
	return append(dst, result[copied:]...)
}
