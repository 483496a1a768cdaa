package catalog

import (
	"strconv"
	"sync"

	"durward"
	"durward/internal/wire"
)

// list is one list of a view as whole results, assembled when somebody first asks.
type list struct {
	once  [2]sync.Once // by formOf
	pages [2][]page
}

// page is one page of a list.
type page struct {
	cursor string // that asks for it; "" for the first
	result []byte
}

// formOf returns 0 for the results of legacy clients, 1 for those of modern ones.
func formOf(era wire.Era) int {
	if era == wire.Modern {
		return 1
	}
	return 0
}

// List answers a list method (tools/list, prompts/list, resources/list,
// resources/templates/list) with a whole result object in the form of the era.
//
// With keep nil it is bytes that are stored and shared: they must not be changed,
// and getting them costs no allocation. With keep only entries for which it
// returns true are on the page. Either way the cursor of a page stays good while
// the list of the server at which the page begins stays the same; a cursor that
// is stale, of another list or of somebody else is Invalid.
func (v *View) List(method, cursor string, era wire.Era, keep func(*Entry) bool) ([]byte, error) {
	k, ok := kindOf(method)
	if !ok {
		return nil, durward.Errorf(durward.Invalid, "", "%s lists nothing", method)
	}
	if keep != nil {
		return v.filtered(k, cursor, era, keep)
	}
	for _, p := range v.pages(k, formOf(era)) {
		if p.cursor == cursor {
			return p.result, nil
		}
	}
	return v.filtered(k, cursor, era, func(*Entry) bool { return true })
}

// pages returns the assembled list.
func (v *View) pages(k Kind, form int) []page {
	l := &v.lists[k]
	l.once[form].Do(func() {
		p := page{}
		for at := (position{}); ; {
			slice := v.slice(k, at, nil)
			next := ""
			if slice.more {
				next = v.cursor(k, slice.next)
			}
			p.result = v.assemble(k, form, slice, next)
			l.pages[form] = append(l.pages[form], p)
			if !slice.more {
				return
			}
			p, at = page{cursor: next}, slice.next
		}
	})
	return l.pages[form]
}

// filtered assembles the page at a cursor for one caller.
func (v *View) filtered(k Kind, cursor string, era wire.Era, keep func(*Entry) bool) ([]byte, error) {
	at, err := v.position(k, cursor)
	if err != nil {
		return nil, err
	}
	slice := v.slice(k, at, keep)
	next := ""
	if slice.more {
		next = v.cursor(k, slice.next)
	}
	return v.assemble(k, formOf(era), slice, next), nil
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

// assemble writes a list result.
func (v *View) assemble(k Kind, form int, s slice, next string) []byte {
	tail := v.tail(form, next)
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
	return append(b, tail...)
}

// tail is what stands behind the items: the next cursor, what is missing, and for
// the modern era the members every list result has there (2026-07-28, caching). A
// list is private to its caller by default, since it may be filtered for others.
func (v *View) tail(form int, next string) []byte {
	var b []byte
	if next != "" {
		b = append(b, `,"nextCursor":`...)
		b = wire.AppendQuote(b, next)
	}
	if form == 1 {
		b = append(b, `,"resultType":"complete","ttlMs":`...)
		b = strconv.AppendInt(b, v.opt.TTL.Milliseconds(), 10)
		b = append(b, `,"cacheScope":"private"`...)
	}
	var meta []byte
	if form == 1 && v.opt.Info != nil {
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
