package plugin

import (
	"fmt"
	"sort"
	"unicode/utf8"

	"durward"
	"durward/internal/wire"
)

// bound keeps what is larger than max from going on. Of a result the longest
// strings are cut, with a marker at their end; its whole stays in the record.
// Arguments are not cut, since half a file is worse than none: such a call is
// blocked, and so is a result that is large without long texts.
func (r *run) bound(o *one) {
	value := r.now
	if r.stage == stagePre && r.call.Arguments != nil {
		value = wire.Get(r.now, "arguments")
	}
	if len(value) <= o.max {
		return
	}
	detail := fmt.Sprintf("%d bytes, more than %d (policy.plugins.size.max)", len(value), o.max)
	if o.mode == observe {
		r.match(o, LevelInfo, observe.String(), detail)
		return
	}
	if o.mode == redact && r.stage == stagePost {
		if cut := shorten(r.now, o.max); cut != nil {
			if !r.kept {
				r.record, r.kept = r.now, true
			}
			r.now, r.edited = cut, true
			r.match(o, LevelLow, redact.String(), fmt.Sprintf("%s; cut to %d", detail, len(cut)))
			return
		}
	}
	r.stricter(durward.Block, "plugin", "size: "+detail)
	r.match(o, LevelLow, block.String(), detail)
}

// maxCut is how many strings are cut at most, the longest ones.
const maxCut = 1 << 10

// shorten returns raw with its longest strings cut so that it has at most limit
// bytes; nil if that cannot be done. Names and binary data are not cut: half a
// picture is none.
func shorten(raw []byte, limit int) []byte {
	var long []token
	w := walker{raw: raw}
	for t := (token{}); w.next(&t); {
		if t.name || t.end-t.start < 2*markerRoom || ownCode(t.top) || binary(raw, t) {
			continue
		}
		long = append(long, t)
	}
	sort.Slice(long, func(i, j int) bool { return long[i].end-long[i].start > long[j].end-long[j].start })
	long = long[:min(len(long), maxCut)]
	excess, n, level := len(raw)-limit, 0, 0
	for sum := 0; n < len(long); {
		sum += long[n].end - long[n].start
		n++
		// All n are cut to the same length.
		level = (sum-excess)/n - markerRoom
		if n < len(long) && level >= long[n].end-long[n].start {
			break
		}
	}
	if n == 0 || level < 0 {
		return nil
	}
	long = long[:n]
	sort.Slice(long, func(i, j int) bool { return long[i].start < long[j].start })
	var edits []wire.Edit
	for _, t := range long {
		if t.end-t.start <= level+markerRoom {
			continue
		}
		at := t.start + keepable(raw[t.start:t.end], level)
		text := fmt.Appendf(nil, "… [cut: %d of %d bytes are shown]", at-t.start, t.end-t.start)
		edits = append(edits, wire.Edit{At: wire.Span{Start: uint32(at), End: uint32(t.end)}, With: text})
	}
	cut := wire.Splice(nil, raw, edits...)
	if len(cut) > limit {
		return nil
	}
	return cut
}

// markerRoom is what a marker takes at most.
const markerRoom = 72

func binary(raw []byte, t token) bool {
	switch string(raw[t.key.from:t.key.to]) {
	case "data", "blob":
		return true
	}
	return false
}

// keepable returns where the inside of a JSON string can be cut, at or before n:
// not within a character or an escape.
func keepable(s []byte, n int) int {
	last := 0
	for i := 0; i <= n && i < len(s); {
		last = i
		if s[i] == '\\' {
			_, size := escape(s[i:])
			i += size
			continue
		}
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRune(s[i:])
		i += size
	}
	return last
}
