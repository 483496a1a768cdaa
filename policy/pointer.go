package policy

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"durward"
	"durward/internal/wire"
)

// maxPointer bounds the steps of a pointer: as deep as a message may be nested.
const maxPointer = 128

// pointer is a JSON pointer (RFC 6901), its steps decoded.
type pointer []string

// parsePointer reads a pointer; the empty one, which means the whole, is refused,
// because a rewrite changes values within.
func parsePointer(text string) (pointer, error) {
	if !strings.HasPrefix(text, "/") {
		return nil, durward.Errorf(durward.Invalid, "", "must be a JSON pointer such as /path/0/name, is %q", text)
	}
	if !utf8.ValidString(text) {
		return nil, durward.Errorf(durward.Invalid, "", "the pointer %q is not UTF-8", text)
	}
	steps := strings.Split(text[1:], "/")
	if len(steps) > maxPointer {
		return nil, durward.Errorf(durward.Invalid, "", "the pointer has %d steps, more than %d", len(steps), maxPointer)
	}
	for i, step := range steps {
		for rest := step; ; {
			at := strings.IndexByte(rest, '~')
			if at < 0 {
				break
			}
			if rest = rest[at+1:]; rest == "" || rest[0] != '0' && rest[0] != '1' {
				return nil, durward.Errorf(durward.Invalid, "", "in %q a ~ must be followed by 0 (for ~) or 1 (for /)", text)
			}
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return steps, nil
}

// get returns the raw value at p in doc, nil if there is none.
func (p pointer) get(doc []byte) []byte {
	for _, step := range p {
		if doc = child(doc, step); doc == nil {
			return nil
		}
	}
	return doc
}

// child returns the value of a member or an element, nil if there is none.
func child(doc []byte, step string) []byte {
	switch firstByte(doc) {
	case '{':
		return wire.Get(doc, step)
	case '[':
		want, ok := arrayIndex(step)
		for span := range wire.Elements(doc) {
			if !ok || want == 0 {
				if ok {
					return span.Of(doc)
				}
				return nil
			}
			want--
		}
	}
	return nil
}

// firstByte returns the first byte of a value.
func firstByte(doc []byte) byte {
	if len(doc) == 0 {
		return 0
	}
	return doc[0]
}

// arrayIndex reads an index without leading zeros, as RFC 6901 §4 wants it.
func arrayIndex(step string) (int, bool) {
	if len(step) > 1 && step[0] == '0' || len(step) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(step, 10, 31)
	return int(n), err == nil
}

// set returns doc with value at p, or without what is at p if value is nil. All
// bytes but those of the value are kept. Objects on the way that are absent are made;
// the last step may be - to append to an array. An error says why it cannot be.
func (p pointer) set(doc, value []byte) ([]byte, error) {
	return setIn(doc, p, value, p)
}

func setIn(doc []byte, p pointer, value []byte, whole pointer) ([]byte, error) {
	switch firstByte(doc) {
	case '{':
		return setMember(doc, p, value, whole)
	case '[':
		return setElement(doc, p, value, whole)
	default:
		if value == nil {
			return doc, nil // there is nothing to remove
		}
		return nil, durward.Errorf(durward.Invalid, "rewrite", "the value at %s cannot be set, because what it would be in is neither an object nor a list", whole)
	}
}

func setMember(doc []byte, p pointer, value []byte, whole pointer) ([]byte, error) {
	at := wire.Lookup(doc, p[0])
	switch {
	case !at.Present() && value == nil:
		return doc, nil
	case at.Present() && (value != nil || len(p) > 1) && isTwice(doc, p[0]):
		return nil, durward.Errorf(durward.Invalid, "rewrite", "the value at %s cannot be set, because a name on the way is there twice, and readers differ about which one counts", whole)
	case !at.Present():
		for i := len(p) - 1; i > 0; i-- {
			value = wire.AppendObject(nil, nil, nil, wire.Member{Name: p[i], Value: value})
		}
		return appendMember(doc, p[0], value), nil
	case len(p) > 1:
		inner, err := setIn(at.Of(doc), p[1:], value, whole)
		if err != nil {
			return nil, err
		}
		return wire.Splice(nil, doc, wire.Edit{At: at, With: inner}), nil
	case value == nil:
		return wire.AppendObject(make([]byte, 0, len(doc)), doc, func(name string) bool { return name == p[0] }), nil
	default:
		return wire.Splice(nil, doc, wire.Edit{At: at, With: value}), nil
	}
}

// isTwice reports whether an object has more than one member with a name.
func isTwice(doc []byte, name string) bool {
	n := 0
	for member := range wire.Members(doc) {
		if member == name {
			n++
		}
	}
	return n > 1
}

// appendMember adds a member behind the others.
func appendMember(doc []byte, name string, value []byte) []byte {
	end := len(doc) - 1 // the closing brace
	out := append(make([]byte, 0, len(doc)+len(name)+len(value)+4), doc[:end]...)
	if strings.TrimSpace(string(doc[1:end])) != "" {
		out = append(out, ',')
	}
	out = append(wire.AppendQuote(out, name), ':')
	return append(append(out, value...), '}')
}

func setElement(doc []byte, p pointer, value []byte, whole pointer) ([]byte, error) {
	var spans []wire.Span
	for span := range wire.Elements(doc) {
		spans = append(spans, span)
	}
	i, ok := arrayIndex(p[0])
	switch {
	case value == nil && (!ok || i >= len(spans)):
		return doc, nil
	case p[0] == "-" && len(p) == 1:
		return appendElement(doc, len(spans) > 0, value), nil
	case !ok || i >= len(spans):
		return nil, durward.Errorf(durward.Invalid, "rewrite", "the value at %s cannot be set, because a list on the way has only %d elements", whole, len(spans))
	case len(p) > 1:
		inner, err := setIn(spans[i].Of(doc), p[1:], value, whole)
		if err != nil {
			return nil, err
		}
		return wire.Splice(nil, doc, wire.Edit{At: spans[i], With: inner}), nil
	case value == nil:
		return removeElement(doc, spans, i), nil
	default:
		return wire.Splice(nil, doc, wire.Edit{At: spans[i], With: value}), nil
	}
}

func appendElement(doc []byte, more bool, value []byte) []byte {
	end := len(doc) - 1
	out := append(make([]byte, 0, len(doc)+len(value)+1), doc[:end]...)
	if more {
		out = append(out, ',')
	}
	return append(append(out, value...), ']')
}

func removeElement(doc []byte, spans []wire.Span, i int) []byte {
	from, to := spans[i].Start, spans[i].End
	switch {
	case i+1 < len(spans):
		to = spans[i+1].Start // the comma behind it goes too
	case i > 0:
		from = spans[i-1].End // the comma before it
	}
	return wire.Splice(nil, doc, wire.Edit{At: wire.Span{Start: from, End: to}})
}

// String renders the pointer as it would be written.
func (p pointer) String() string {
	var b strings.Builder
	for _, step := range p {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
