package approval

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"durward"
	"durward/internal/wire"
)

// Pattern widens a grant in one place of the arguments: there any value counts that
// the glob matches. Everything else stays as it was approved.
type Pattern struct {
	Pointer string // JSON pointer (RFC 6901) within the arguments
	// Glob is matched against the characters of a string, or the text of a number or
	// boolean: ? is one character, * any number of them, ** the same with / and \ in
	// it. None of the three matches a control character, and a value that has a
	// segment .. is matched only by a glob that has one.
	Glob string
}

// Bounds of patterns.
const (
	patternsMost = 16
	globMost     = 1 << 10 // bytes
	valueMost    = 64 << 10
)

// patternsOf checks what an approver widens, against the arguments that are approved.
func patternsOf(wide map[string]string, arguments []byte) ([]Pattern, error) {
	if len(wide) > patternsMost {
		return nil, durward.Errorf(durward.Invalid, "", "%d patterns were given; at most %d may be", len(wide), patternsMost)
	}
	var all []Pattern
	for _, pointer := range slices.Sorted(maps.Keys(wide)) {
		p := Pattern{pointer, wide[pointer]}
		at, ok := find(arguments, pointer)
		switch {
		case !ok:
			return nil, durward.Errorf(durward.Invalid, "", "the arguments have nothing at %q; a pattern names a value that is there, such as /path", pointer)
		case p.Glob == "" || len(p.Glob) > globMost:
			return nil, durward.Errorf(durward.Invalid, "", "the pattern for %s must have 1 to %d bytes", pointer, globMost)
		case !p.matches(at.Of(arguments)):
			return nil, durward.Errorf(durward.Invalid, "", "the pattern for %s does not match the value that is approved", pointer)
		}
		for _, other := range all {
			if strings.HasPrefix(pointer, other.Pointer+"/") {
				return nil, durward.Errorf(durward.Invalid, "", "%s is within %s, for which there is a pattern already", pointer, other.Pointer)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// without returns arguments without the values that patterns match; false unless
// each is there and matched.
func without(arguments []byte, patterns []Pattern) ([]byte, bool) {
	edits := make([]wire.Edit, 0, len(patterns))
	for _, p := range patterns {
		at, ok := find(arguments, p.Pointer)
		if !ok || !p.matches(at.Of(arguments)) {
			return nil, false
		}
		edits = append(edits, wire.Edit{At: at, With: []byte("null")})
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return int(a.At.Start) - int(b.At.Start) })
	return wire.Splice(nil, arguments, edits...), true
}

// find returns where a pointer points; false if that is nowhere.
func find(value []byte, pointer string) (wire.Span, bool) {
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok || len(value) == 0 {
		return wire.Span{}, false
	}
	base, inner := uint32(0), value
	for _, token := range strings.Split(rest, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		at := child(inner, token)
		if !at.Present() {
			return wire.Span{}, false
		}
		inner = inner[at.Start:at.End]
		base += at.Start
	}
	return wire.Span{Start: base, End: base + uint32(len(inner))}, true //nolint:gosec // as long as a message at most
}

func child(value []byte, token string) wire.Span {
	switch trimmed := bytes.TrimLeft(value, " \t\r\n"); {
	case len(trimmed) == 0:
	case trimmed[0] == '{':
		return wire.Lookup(value, token)
	case trimmed[0] == '[':
		n, err := strconv.ParseUint(token, 10, 32)
		if err != nil || token != strconv.FormatUint(n, 10) {
			return wire.Span{}
		}
		for at := range wire.Elements(value) {
			if n == 0 {
				return at
			}
			n--
		}
	}
	return wire.Span{}
}

// matches reports whether a raw value is one that the pattern allows.
func (p *Pattern) matches(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || len(raw) > valueMost {
		return false
	}
	text := string(raw)
	switch raw[0] {
	case '{', '[':
		return false
	case '"':
		var ok bool
		if text, ok = wire.Unquote(raw); !ok {
			return false
		}
	}
	if climbs(text) && !climbs(p.Glob) {
		return false
	}
	return glob([]rune(p.Glob), []rune(text))
}

// climbs reports whether a text has a path segment that leads out of where it is.
func climbs(text string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// glob matches with as many steps as both are long, multiplied, at most.
func glob(pattern, text []rune) bool {
	now := make([]bool, len(text)+1) // whether the pattern so far matches the first n characters
	now[0] = true
	for i := 0; i < len(pattern); i++ {
		next := make([]bool, len(text)+1)
		star := pattern[i] == '*'
		deep := star && i+1 < len(pattern) && pattern[i+1] == '*'
		if deep {
			i++
		}
		for n := range next {
			switch {
			case star:
				next[n] = now[n] || n > 0 && next[n-1] && wild(text[n-1], deep)
			case n == 0:
			case pattern[i] == '?':
				next[n] = now[n-1] && wild(text[n-1], false)
			default:
				next[n] = now[n-1] && pattern[i] == text[n-1]
			}
		}
		now = next
	}
	return now[len(text)]
}

// wild reports whether a wildcard may stand for a character.
func wild(r rune, deep bool) bool {
	return !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && (deep || r != '/' && r != '\\')
}
