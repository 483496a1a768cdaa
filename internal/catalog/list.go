package catalog

import (
	"strconv"
	"sync"

	"durward"
	"durward/internal/wire"
)

// list is one list of a view as whole results, assembled when somebody first asks.
type list struct {
	once  [audiences]sync.Once
	pages [audiences][]page
}

// page is one page of a list.
type page struct {
	at     position // where it begins
	result []byte   // the whole result but for the next cursor
	hole   int      // where in it the next cursor belongs
	next   []byte   // what that says; nil on the last page
	after  position // what that means
}

// with returns the result with the next cursor as one client gets it. A last page
// is returned as it is stored.
func (p *page) with(cursors Cursors) []byte {
	if p.next == nil {
		return p.result
	}
	const member = `,"nextCursor":`
	cursor := cursors.Seal(p.next)
	b := make([]byte, 0, len(p.result)+len(member)+len(cursor)+len(`""`))
	b = append(append(b, p.result[:p.hole]...), member...)
	b = wire.AppendQuote(b, cursor)
	return append(b, p.result[p.hole:]...)
}

// Query asks for one page of a list.
type Query struct {
	Method   string   // tools/list, prompts/list, resources/list or resources/templates/list
	Cursor   string   // of the page; "" for the first
	Audience Audience // of the client; decides about the form as well
	Cursors  Cursors  // required
	// Keep, if set, says which entries the client may see.
	Keep func(*Entry) bool
}

// List answers a list method with a whole result object.
//
// Without Keep, a list that fits into one page is bytes that are stored and
// shared: they must not be changed, and getting them costs no allocation. The
// cursor of a page stays good while the list of the server at which the page
// begins stays the same; one that is stale, of another list or of somebody else
// is Invalid.
func (v *View) List(q Query) ([]byte, error) {
	k, ok := kindOf(q.Method)
	if !ok {
		return nil, durward.Errorf(durward.Invalid, "", "%s lists nothing", q.Method)
	}
	at, err := v.position(k, q.Cursor, q.Cursors)
	if err != nil {
		return nil, err
	}
	if q.Keep == nil {
		pages := v.pages(k, q.Audience)
		for i := range pages {
			if pages[i].at == at {
				return pages[i].with(q.Cursors), nil
			}
		}
	}
	p := v.page(k, q.Audience, at, v.keeps(k, q.Audience, q.Keep))
	return p.with(q.Cursors), nil
}

// pages returns the assembled list. Audiences that are offered the same in the
// same form share it.
func (v *View) pages(k Kind, a Audience) []page {
	if a == Tasked && (k != Tool || !v.tasks) {
		a = Plain
	}
	l := &v.lists[k]
	l.once[a].Do(func() {
		keep := v.keeps(k, a, nil)
		for at := (position{}); ; {
			p := v.page(k, a, at, keep)
			l.pages[a] = append(l.pages[a], p)
			if p.next == nil {
				return
			}
			at = p.after
		}
	})
	return l.pages[a]
}

// keeps returns the filter of what an audience is listed of what keep leaves; nil
// when nothing is hidden from it, as in lists without tools that run only as tasks.
func (v *View) keeps(k Kind, a Audience, keep func(*Entry) bool) func(*Entry) bool {
	switch {
	case k != Tool || !v.tasks:
		return keep
	case keep == nil:
		return func(e *Entry) bool { return e.HiddenFrom(a) == "" }
	default:
		return func(e *Entry) bool { return e.HiddenFrom(a) == "" && keep(e) }
	}
}

// page assembles the page that begins at a position.
func (v *View) page(k Kind, a Audience, at position, keep func(*Entry) bool) page {
	s := v.slice(k, at, keep)
	p := page{at: at}
	p.result, p.hole = v.assemble(k, a, s)
	if s.more {
		p.next, p.after = v.cursor(k, s.next), s.next
	}
	return p
}

// position is a place in a list: before entry number entry of part number part.
type position struct{ part, entry int }

// slice is the entries of one page.
type slice struct {
	entries []*Entry
	size    int // bytes of the entries, commas included
	more    bool
	next    position // of the first entry of the next page, if more
}

// slice picks the entries of the page that begins at a position. A nil keep keeps all.
func (v *View) slice(k Kind, at position, keep func(*Entry) bool) slice {
	var s slice
	for i := at.part; i < len(v.parts); i++ {
		entries := v.parts[i].shelf.lists[k]
		for j := at.entry; j < len(entries); j++ {
			e := entries[j]
			if keep != nil && !keep(e) {
				continue
			}
			size := e.size() + 1
			if len(s.entries) == v.opt.PageItems || len(s.entries) > 0 && s.size+size > v.opt.PageBytes {
				s.more, s.next = true, position{i, j}
				return s
			}
			s.entries = append(s.entries, e)
			s.size += size
		}
		at.entry = 0
	}
	return s
}

// assemble writes a list result, and says where in it the next cursor belongs.
func (v *View) assemble(k Kind, a Audience, s slice) (result []byte, hole int) {
	tail := v.tail(a)
	member := k.info().member
	b := make([]byte, 0, len(`{"":[]`)+len(member)+s.size+len(tail))
	b = append(b, `{"`...)
	b = append(b, member...)
	b = append(b, `":[`...)
	for i, e := range s.entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendOffered(b)
	}
	b = append(b, ']')
	return append(b, tail...), len(b)
}

// tail is what stands behind the items and the next cursor: what is missing, and
// for the modern era the members every list result has there (2026-07-28, caching).
// A list is private to its caller by default, since it may be filtered for others.
func (v *View) tail(a Audience) []byte {
	var b []byte
	if a == Modern {
		b = append(b, `,"resultType":"complete","ttlMs":`...)
		b = strconv.AppendInt(b, v.opt.TTL.Milliseconds(), 10)
		b = append(b, `,"cacheScope":"private"`...)
	}
	var meta []byte
	if a == Modern && v.opt.Info != nil {
		meta = append(meta, `"`+wire.MetaServerInfo+`":`...)
		meta = append(meta, v.opt.Info...)
	}
	if v.missing != "" {
		if meta != nil {
			meta = append(meta, ',')
		}
		meta = append(meta, `"`+MetaMissing+`":`...)
		meta = append(meta, v.missing...)
	}
	if meta != nil {
		b = append(b, `,"_meta":{`...)
		b = append(append(b, meta...), '}')
	}
	return append(b, '}')
}

// MetaMissing is the key in a list result's `_meta` that names the servers whose
// items may be missing: an array of {server, state, reason}.
const MetaMissing = "dev.durward/missing"
