package wire

// Edit replaces the bytes a span marks. With Start == End it inserts.
type Edit struct {
	At   Span
	With []byte
}

// Splice appends src with the edits applied. Edits must be in ascending order
// and must not overlap; every byte outside of them is kept.
func Splice(dst, src []byte, edits ...Edit) []byte {
	return spliceFrom(dst, src, 0, edits)
}

// spliceFrom is Splice for the part of src from at on.
func spliceFrom(dst, src []byte, at uint32, edits []Edit) []byte {
	for i := range edits {
		dst = append(dst, src[at:edits[i].At.Start]...)
		dst = append(dst, edits[i].With...)
		at = edits[i].At.End
	}
	return append(dst, src[at:]...)
}

// Member is a member to put into an object: its name, and its raw value.
type Member struct {
	Name  string
	Value []byte
}

// AppendObject appends obj, a JSON object that was checked before, without the
// members that drop names and with the members of add in front. A member of obj
// with the name of an added one is left out too, so that no name stands twice.
// The bytes of all other members are kept, not the white space between them. A
// nil obj counts as {}.
func AppendObject(dst, obj []byte, drop func(name string) bool, add ...Member) []byte {
	dst = append(dst, '{')
	empty := true
	for i := range add {
		dst = appendMember(dst, &add[i], &empty)
	}
	m := members{skipper: skipper{data: obj}}
	for m.step() {
		if !m.among(add) && (drop == nil || !drop(m.name())) {
			dst = appendComma(dst, &empty)
			dst = append(dst, obj[m.at:m.value.End]...)
		}
	}
	return append(dst, '}')
}

func appendMember(dst []byte, m *Member, empty *bool) []byte {
	dst = appendComma(dst, empty)
	dst = AppendQuote(dst, m.Name)
	dst = append(dst, ':')
	return append(dst, m.Value...)
}

// among reports whether the member has the name of one of list.
func (m *members) among(list []Member) bool {
	for i := range list {
		if m.is(list[i].Name) {
			return true
		}
	}
	return false
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

// AppendParams appends p with the rewrite applied; nil params count as {}.
// Everything that the rewrite does not name keeps its bytes. When there was no
// `_meta` and nothing is added to it, none is written; a new one is put in front.
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
	if isEmptyObject(raw) {
		return append(dst, '}')
	}
	// Raw starts with '{', which becomes the comma after `_meta`.
	at := len(dst)
	dst = Splice(dst, raw, r.Values...)
	dst[at] = ','
	return dst
}

// spliceMeta applies the edits before `_meta`, rebuilds it, and applies the rest.
func spliceMeta(dst, raw []byte, meta Span, r *Rewrite) []byte {
	split := 0
	for split < len(r.Values) && r.Values[split].At.Start < meta.Start {
		split++
	}
	dst = Splice(dst, raw[:meta.Start], r.Values[:split]...)
	dst = AppendObject(dst, meta.Of(raw), r.DropMeta, r.AddMeta...)
	return spliceFrom(dst, raw, meta.End, r.Values[split:])
}

// isEmptyObject reports whether raw, which starts with '{', has no members.
func isEmptyObject(raw []byte) bool {
	s := skipper{data: raw}
	return s.take('{') && s.peek() == '}'
}
