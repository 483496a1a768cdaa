package pin

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"durward"
)

// firstSight bounds how long a server that cannot be read to the end is seen for
// the first time: it must not add things unseen for ever by failing.
const firstSight = 10 * time.Minute

// server is all that is known of one server. It never changes.
type server struct {
	things map[thingKey]*thing
	sights map[sight]seen
}

// seen says when a surface was seen first, and whether that first sight is over.
type seen struct {
	since time.Time
	over  bool
	// judged: somebody gave a verdict, or something had to be forgotten for want of
	// room. What comes from then on is held.
	judged time.Time
}

// edition is a server while it is changed.
type edition struct {
	name     string
	server   *server
	now      time.Time
	maxItems int
	copied   bool // things is ours to change
	rooms    map[string]*room
	judged   func() bool // whether anybody decided anything about the server

	due   batch
	holds []Thing // what is held from now on
}

func newEdition(name string, old *server, now time.Time, maxItems int) *edition {
	e := &edition{name: name, now: now, maxItems: maxItems, due: newBatch()}
	if old == nil {
		old = &server{}
	}
	e.server = &server{things: old.things, sights: maps.Clone(old.sights)}
	if e.server.sights == nil {
		e.server.sights = map[sight]seen{}
	}
	e.judged = sync.OnceValue(func() bool { return old.judged() })
	return e
}

// observe takes in what a surface shows.
func (e *edition) observe(s *durward.Surface) {
	at := primary
	if s.Legacy {
		at = legacy
	}
	first := e.begin(at)
	shown := make(map[thingKey]bool, len(s.Definitions))
	for i := range s.Definitions {
		shown[thingKey{s.Definitions[i].Kind, s.Definitions[i].Name}] = true
	}
	if s.Complete {
		e.leave(shown, at) // first, so that what comes finds room
	}
	for i := range s.Definitions {
		d := &s.Definitions[i]
		key := thingKey{d.Kind, d.Name}
		if shown[key] { // of the same name the first one is offered
			shown[key] = false
			e.take(key, d, at, first)
		}
	}
	e.end(at, s.Complete)
}

// begin notes that a surface is seen, and reports whether that is its first sight.
func (e *edition) begin(at sight) bool {
	known, ok := e.server.sights[at]
	if !ok {
		known = seen{since: e.now}
		e.server.sights[at] = known
		e.putSight(at, known)
	}
	return !known.over && e.now.Sub(known.since) < firstSight
}

// end closes the first sight once a surface was read to its end.
func (e *edition) end(at sight, complete bool) {
	known := e.server.sights[at]
	if !known.over && (complete || e.now.Sub(known.since) >= firstSight) {
		known.over = true
		e.server.sights[at] = known
		e.putSight(at, known)
	}
}

func (e *edition) putSight(at sight, known seen) {
	row := Row{Key: sightKey(e.name, at), State: First, Seen: known.since, Decided: known.judged}
	if known.over {
		row.State = Accepted
	}
	e.due.add(row)
}

func sightKey(server string, at sight) Key {
	key := Key{Server: server, Kind: kindServer}
	if at == legacy {
		key.Name = "legacy"
	}
	return key
}

// take takes in one definition that is shown.
func (e *edition) take(key thingKey, d *durward.Definition, at sight, first bool) {
	old := e.server.things[key]
	if old != nil {
		if f := old.find(d.Hash); f != nil && f.listed&at != 0 {
			return // as before
		}
	} else if !e.room(key.kind).take(e) {
		return // everything else of this kind is listed: this one is held as unknown
	}
	next := &thing{}
	if old != nil {
		next.forms = append(make([]form, 0, len(old.forms)+1), old.forms...)
	}
	for i := range next.forms {
		next.forms[i].leave(at)
	}
	f := next.find(d.Hash)
	if f == nil {
		state := e.stateOf(next, d, at, first)
		next.forms = append(next.forms, form{hash: d.Hash, state: state, seen: e.now})
		f = &next.forms[len(next.forms)-1]
		e.putForm(key, f, d.Raw)
		if state == Held {
			e.holds = append(e.holds, Thing{Server: e.name, Kind: key.kind, Name: key.name, Hash: d.Hash, State: next.state(f, false), Seen: f.seen})
		}
	}
	f.listed |= at
	f.raw = d.Raw
	e.set(key, next)
}

// stateOf says what becomes of a definition that was never seen before.
func (e *edition) stateOf(t *thing, d *durward.Definition, at sight, first bool) State {
	if at == legacy {
		for i := range t.forms {
			f := &t.forms[i]
			if f.listed&primary != 0 && (f.state == Accepted || f.state == First) && narrower(d.Raw, f.raw) {
				return f.state // it says nothing that this one does not say
			}
		}
	}
	switch {
	case len(t.forms) > 0 && (at == primary || !first):
		return Held // it looked otherwise before
	case (e.judged() || e.server.looked()) && (at == legacy || !first):
		return Held // somebody looked at the server, but not at this
	default:
		return First // of a server that nobody looked at, what comes later is as good as the rest
	}
}

// judged reports whether anybody accepted or rejected anything of the server.
func (s *server) judged() bool {
	for _, t := range s.things {
		if t.decided() {
			return true
		}
	}
	return false
}

// looked reports whether the server is marked as judged.
func (s *server) looked() bool {
	for _, known := range s.sights {
		if !known.judged.IsZero() {
			return true
		}
	}
	return false
}

// look marks the server as judged.
func (e *edition) look() {
	if e.server.looked() {
		return
	}
	for at, known := range e.server.sights {
		known.judged = e.now
		e.server.sights[at] = known
		e.putSight(at, known)
	}
}

// leave takes in that a surface does not show some things any more.
func (e *edition) leave(shown map[thingKey]bool, at sight) {
	for key, old := range e.server.things {
		if shown[key] || !old.on(at) && !old.stale() {
			continue
		}
		next := &thing{forms: append([]form(nil), old.forms...)}
		for i := range next.forms {
			next.forms[i].leave(at)
		}
		e.set(key, next)
	}
}

// on reports whether a surface shows the thing.
func (t *thing) on(at sight) bool {
	for i := range t.forms {
		if t.forms[i].listed&at != 0 {
			return true
		}
	}
	return false
}

// stale reports whether something is held that is not listed: it was when the
// service ended, and is not any more.
func (t *thing) stale() bool {
	for i := range t.forms {
		if t.forms[i].state == Held && t.forms[i].listed == 0 {
			return true
		}
	}
	return false
}

func (f *form) leave(at sight) {
	if f.listed &^= at; f.listed == 0 {
		f.raw = nil
	}
}

// set puts a thing in place of what was known of it.
func (e *edition) set(key thingKey, t *thing) {
	if !e.copied {
		e.copied = true
		e.server.things = maps.Clone(e.server.things)
		if e.server.things == nil {
			e.server.things = map[thingKey]*thing{}
		}
	}
	t, gone := t.trimmed()
	for _, hash := range gone {
		e.due.remove(Key{e.name, key.kind, key.name, hash})
	}
	if len(t.forms) == 0 {
		delete(e.server.things, key)
		return
	}
	e.server.things[key] = t
}

// room is how many more things of a kind can be kept, and what can go for more: what
// is not listed, oldest first, in whatever state. If it comes back, it is held.
type room struct {
	left  int
	spare []thingKey
}

func (e *edition) room(kind string) *room {
	if r := e.rooms[kind]; r != nil {
		return r
	}
	r := &room{left: e.maxItems}
	for key, t := range e.server.things {
		if key.kind != kind {
			continue
		}
		r.left--
		if !t.listed() {
			r.spare = append(r.spare, key)
		}
	}
	last := func(key thingKey) time.Time { forms := e.server.things[key].forms; return forms[len(forms)-1].seen }
	slices.SortFunc(r.spare, func(a, b thingKey) int {
		return cmp.Or(last(a).Compare(last(b)), cmp.Compare(a.name, b.name))
	})
	if e.rooms == nil {
		e.rooms = map[string]*room{}
	}
	e.rooms[kind] = r
	return r
}

// take reports whether one more thing can be kept.
func (r *room) take(e *edition) bool {
	if r.left > 0 {
		r.left--
		return true
	}
	for len(r.spare) > 0 {
		key := r.spare[0]
		r.spare = r.spare[1:]
		t := e.server.things[key]
		if t == nil || t.listed() { // it came back meanwhile
			continue
		}
		for i := range t.forms {
			e.due.remove(Key{e.name, key.kind, key.name, t.forms[i].hash})
		}
		e.set(key, &thing{})
		e.look() // it is held if it comes back
		return true
	}
	return false
}

func (e *edition) putForm(key thingKey, f *form, raw []byte) {
	e.due.add(Row{Key: Key{e.name, key.kind, key.name, f.hash}, State: f.state, Raw: raw, Seen: f.seen, Decided: f.decided, By: f.by})
}
