package plugin

import (
	"context"
	"errors"
	"slices"

	"durward"
)

// place is something that a built-in plugin found in a JSON text.
type place struct {
	Finding      // Start and End are bytes of the JSON text
	by      what // which plugin found it
	name    bool // it stands in the name of a member
	fixed   bool // what it stands in must not be changed: it says where the call goes
}

// inspection is what is found in one JSON text, by all built-in plugins at once.
type inspection struct {
	t      *tables
	want   what
	ip     bool // pii looks for addresses of machines as well
	ctx    context.Context
	places []place
	score  feature

	raw   []byte
	text  []byte // of the string that is looked at, without escapes
	hits  []hit
	found []Finding

	secretName part      // the last name of a member that says its value is secret
	secretAs   nameClass // what it says
	pairAs     nameClass // the same of the last value of a member called name or key
}

// errTooMany is why a text was not looked through to its end.
var errTooMany = errors.New("more things were found in it than can be replaced")

// run looks at every string of raw, which is the params or the result of a call.
func (n *inspection) run(raw []byte, request bool) error {
	n.raw = raw
	w := walker{raw: raw}
	var t token
	for i := 0; w.next(&t); i++ {
		if i%256 == 0 && n.ctx.Err() != nil {
			return durward.Errorf(durward.Timeout, "plugin", "the call ended while its content was looked at: %w", n.ctx.Err())
		}
		if ownCode(t.top) {
			continue
		}
		n.look(&t, request && fixed(t.top))
		if len(n.places) > maxFindings {
			return errTooMany
		}
	}
	return nil
}

// ownCode reports whether a member of params or results holds what servers and
// gateways made for themselves and nobody else reads.
func ownCode(top []byte) bool {
	switch string(top) {
	case "cursor", "nextCursor", "requestState", "taskId", "resultType", "progressToken", "task":
		return true
	}
	return false
}

// fixed reports whether a member of params says where the request goes.
func fixed(top []byte) bool {
	switch string(top) {
	case "name", "uri", "ref", "level":
		return true
	}
	return false
}

// look notes what is in one string.
func (n *inspection) look(t *token, fixed bool) {
	text := n.raw[t.start:t.end]
	if t.coded {
		n.text = unescape(n.text[:0], text)
		text = n.text
	}
	v := view{text: text, base: t.start}
	if n.want&^wantInvisible != 0 {
		n.hits = n.t.words.find(n.hits[:0], text)
	}
	if n.want&wantSecrets != 0 {
		n.found = n.named(t, text, n.t.scanSecrets(text, n.hits, n.found[:0]))
		n.take(t, &v, wantSecrets, fixed)
	}
	if n.want&wantPII != 0 {
		n.found = n.t.scanPII(text, n.hits, n.ip, n.found[:0])
		n.take(t, &v, wantPII, fixed)
	}
	var odd bool
	n.found, odd = n.t.scanHidden(text, n.found[:0])
	if len(n.found) > 0 {
		n.hidden(t, &v, fixed)
	}
	if n.want&wantInjection != 0 && !t.name {
		n.score |= n.t.judgeText(text, n.hits, odd)
	}
}

// take notes what was found in a string, with its places in raw.
func (n *inspection) take(t *token, v *view, by what, fixed bool) {
	if len(n.found) == 0 {
		return
	}
	if t.coded && v.points == nil {
		v.points = escapePoints(n.raw[t.start:t.end])
	}
	for _, f := range n.found {
		f.Start, f.End = v.origin(f.Start, f.End)
		n.places = append(n.places, place{Finding: f, by: by, name: t.name, fixed: fixed})
	}
}

// hidden notes characters that are not seen, and looks for credentials that they
// part.
func (n *inspection) hidden(t *token, v *view, fixed bool) {
	for _, f := range n.found {
		switch {
		case f.Kind == "tags":
			n.score |= featTags
		case f.Detection >= LevelMedium && f.Kind != "ansi-control":
			n.score |= featHidden
		}
	}
	if n.want&wantInvisible != 0 {
		n.take(t, v, wantInvisible, fixed)
	}
	if n.want&wantSecrets == 0 {
		return
	}
	clear := view{points: []point{{}}}
	at := 0
	for _, f := range n.found {
		clear.text = append(clear.text, v.text[at:f.Start]...)
		at = f.End
		clear.points = append(clear.points, point{out: len(clear.text), in: at})
	}
	clear.text = append(clear.text, v.text[at:]...)
	known := map[int]bool{}
	for i := len(n.places) - 1; i >= 0 && n.places[i].Start >= t.start; i-- {
		known[n.places[i].Start] = n.places[i].by == wantSecrets || known[n.places[i].Start]
	}
	n.found = n.t.scanSecrets(clear.text, n.t.words.find(nil, clear.text), n.found[:0])
	for i := range n.found {
		n.found[i].Start, n.found[i].End = clear.origin(n.found[i].Start, n.found[i].End)
	}
	first := len(n.places)
	n.take(t, v, wantSecrets, fixed)
	n.places = append(n.places[:first], slices.DeleteFunc(n.places[first:], func(p place) bool { return known[p.Start] })...)
}

// named looks at members whose name says that their value is secret, and at pairs
// as {"name": "DB_PASSWORD", "value": "…"}.
func (n *inspection) named(t *token, text []byte, found []Finding) []Finding {
	says := nameOther
	if t.name || t.key.to > 0 && isNameKey(n.raw[t.key.from:t.key.to]) {
		for _, h := range n.hits {
			if n.t.entries[h.word].role == roleAssign {
				says = classify(text)
				break
			}
		}
	}
	switch {
	case t.name:
		n.secretName, n.secretAs = part{t.start, t.end}, says
		return found
	case t.key.to == 0:
		return found
	case isNameKey(n.raw[t.key.from:t.key.to]):
		n.pairAs = says
		return found
	}
	class := nameOther
	name := n.raw[t.key.from:t.key.to]
	switch {
	case t.key == n.secretName && n.secretAs != nameOther:
		class = n.secretAs
	case string(name) == "value" || string(name) == "Value":
		class = n.pairAs
	}
	if class == nameOther || len(found) > 0 || len(text) == 0 {
		return found
	}
	if level := judge(class, text, true, true); level > LevelNone {
		s := secretScan{t: n.t}
		found = append(found, Finding{Kind: s.kindOf(class, name, text), End: len(text), Detection: level})
	}
	return found
}

// isNameKey reports whether a member of such a name names another one, called value.
func isNameKey(name []byte) bool {
	return string(name) == "name" || string(name) == "key" || string(name) == "Name" || string(name) == "Key"
}
