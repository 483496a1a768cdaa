package wire

// Edit replaces the bytes a span marks. With Start == End it inserts.
type Edit struct {
	At   Span
	With []byte
}

// Splice appends src with the edits applied. Edits must be in ascending order
// and must not overlap; every byte outside of them is kept.
func Splice(dst, src []byte, edits ...Edit) []byte {
	at := uint32(0)
	for _, e := range edits {
		dst = append(dst, src[at:e.At.Start]...)
		dst = append(dst, e.With...)
		at = e.At.End
	}
	return append(dst, src[at:]...)
}

// Member is a member to put into an object: its name, and its raw value.
type Member struct {
	Name  string
	Value []byte
}

// AppendObject appends obj, a JSON object that was checked before, without the
// members that drop names and with the members of add in front. The bytes of
// all other members are kept. A nil obj counts as {}.
func AppendObject(dst, obj []byte, drop func(name string) bool, add ...Member) []byte {
	dst = append(dst, '{')
	empty := true
	for _, m := range add {
		dst = appendComma(dst, &empty)
		dst = AppendQuote(dst, m.Name)
		dst = append(dst, ':')
		dst = append(dst, m.Value...)
	}
	walk(obj, func(name []byte, value Span, at int) bool {
		if drop == nil || !drop(string(name)) {
			dst = appendComma(dst, &empty)
			dst = append(dst, obj[at:value.End]...)
		}
		return true
	})
	return append(dst, '}')
}

func appendComma(dst []byte, empty *bool) []byte {
	if *empty {
		*empty = false
		return dst
	}
	return append(dst, ',')
}

// Rewrite is what changes in a params object on its way to the other side.
type Rewrite struct {
	Values   []Edit                 // replaced values outside of `_meta`, in ascending order
	DropMeta func(name string) bool // members of `_meta` to leave out; nil keeps all
	AddMeta  []Member               // members to put into `_meta`
}

// AppendParams appends p with the rewrite applied. When nothing is left in
// `_meta` and nothing was there, none is written.
func AppendParams(dst []byte, p *Params, r *Rewrite) []byte {
	raw := p.Raw
	if raw == nil {
		raw = []byte("{}")
	}
	if p.Meta.Present() {
		if len(r.AddMeta) == 0 && r.DropMeta == nil {
			return Splice(dst, raw, r.Values...)
		}
		return spliceMeta(dst, raw, p.Meta, r)
	}
	if len(r.AddMeta) == 0 {
		return Splice(dst, raw, r.Values...)
	}
	dst = append(dst, `{"_meta":`...)
	dst = AppendObject(dst, nil, nil, r.AddMeta...)
	at := len(dst)
	dst = Splice(dst, raw, r.Values...)
	// Raw starts with '{': it becomes the comma after `_meta`, or goes away in an empty object.
	dst[at] = ','
	if isEmptyObject(raw) {
		dst = append(dst[:at], '}')
	}
	return dst
}

// spliceMeta applies the edits before `_meta`, rebuilds it, and applies the rest.
func spliceMeta(dst, raw []byte, meta Span, r *Rewrite) []byte {
	at := uint32(0)
	rest := r.Values
	for len(rest) > 0 && rest[0].At.Start < meta.Start {
		dst = append(dst, raw[at:rest[0].At.Start]...)
		dst = append(dst, rest[0].With...)
		at = rest[0].At.End
		rest = rest[1:]
	}
	dst = append(dst, raw[at:meta.Start]...)
	dst = AppendObject(dst, meta.Of(raw), r.DropMeta, r.AddMeta...)
	at = meta.End
	for _, e := range rest {
		dst = append(dst, raw[at:e.At.Start]...)
		dst = append(dst, e.With...)
		at = e.At.End
	}
	return append(dst, raw[at:]...)
}

func isEmptyObject(raw []byte) bool {
	s := skipper{data: raw, pos: 1}
	s.space()
	return s.peek() == '}'
}
