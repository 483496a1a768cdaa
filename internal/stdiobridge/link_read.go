package stdiobridge

import (
	"bytes"
	"hash/maphash"
	"time"

	"durward"
	"durward/internal/wire"
)

const (
	// renewals is how many subscriptions are asked for at the same time: few, for the
	// client's own requests count towards limits.in_flight as well.
	renewals = 8
	// holdLimit is how long the end of a subscription is kept from its client, in
	// case that it is the service which ends: longer than one takes to end.
	holdLimit = 10 * time.Second
)

// read reads until the connection ends.
func (l *link) read() {
	lines := newLineReader(l.conn, lineMost)
	for {
		line, err := lines.next()
		l.take(line, err != nil)
		if err != nil {
			return
		}
		if lines.waits() && l.b.out.flush() != nil {
			return // nobody is there to be served
		}
	}
}

// take passes a line on, or not. One that the connection broke in counts if it is
// a message all the same.
func (l *link) take(line []byte, broken bool) {
	text := wire.CleanLine(line)
	if len(text) == 0 {
		return
	}
	b := l.b
	var m wire.Message
	if wire.Parse(text, wire.FromServer, &m) != nil {
		if !broken {
			b.out.put(line)
		}
		return
	}
	switch {
	case m.Kind == wire.Request:
		b.mu.Lock()
		line = b.asks.add(text, m.ID)
		b.mu.Unlock()
	case m.Method == wire.NoteCancelled:
		b.mu.Lock()
		line = b.asks.withdraw(text, m.Params.RequestID.Of(m.Params.Raw))
		b.mu.Unlock()
	case m.Method == wire.NoteAcknowledged:
		hide, changes := b.acknowledged(&m.Params)
		if !hide {
			b.out.put(line)
		}
		for _, change := range changes {
			b.out.put(change)
		}
		return
	case m.Kind != wire.Notification && m.ID != nil:
		pass, news := l.answer(line, &m)
		if !pass {
			l.report(news)
			return
		}
	}
	b.out.put(line)
}

// news is what an answer to one of our own requests has to be followed by.
type news struct {
	open  bool     // the connection stands from now on
	note  string   // for people, then
	lines [][]byte // for the client
}

// report says what is new.
func (l *link) report(n news) {
	if n.open {
		l.b.isOpen(n.note)
	}
	for _, line := range n.lines {
		l.b.out.put(line)
	}
}

// answer notes that a request is answered. Without pass that is not for the
// client, but what is new may be.
func (l *link) answer(line []byte, m *wire.Message) (pass bool, n news) {
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.mine) > 0 {
		if why, ok := l.mine[string(m.ID)]; ok {
			delete(l.mine, string(m.ID))
			return false, l.renewed(why, m)
		}
	}
	e := b.flights.byID[string(m.ID)]
	switch {
	case e == nil: // it was cancelled, or could not be read
		return true, n
	case e.method == wire.MethodListen && m.Kind == wire.Result && !b.ended:
		b.hold(e, line)
		return false, n
	}
	b.outage.useful = true
	b.flights.remove(e)
	b.session.answered(e, m)
	return true, n
}

// renewed goes on after one of our own requests was answered. b.mu is held.
func (l *link) renewed(why purpose, m *wire.Message) (n news) {
	b := l.b
	switch why.method {
	case wire.MethodInitialize:
		if m.Kind == wire.Failure {
			message, _ := wire.Unquote(wire.Get(m.Error, "message"))
			b.outage.last = durward.Errorf(durward.Unavailable, "", "it refuses the client that it knew before: %s", message)
			l.conn.Close()
			return n
		}
		n = l.resume(m.Result)
		l.open = true
	case wire.MethodPing:
		n.open = true
		l.open = true
	case wire.MethodSubscribe:
		if m.Kind == wire.Failure {
			b.session.drop(why.uri)
		}
		// It may have changed meanwhile; and who reads it anew hears if it is gone.
		n.lines = append(n.lines, wire.AppendRequest(nil, nil, wire.NoteResourceUpdated, []byte(`{"uri":`+wire.Quote(why.uri)+`}`)))
		l.renewNext()
	}
	b.work.Broadcast()
	return n
}

// resume brings the session of a legacy client to where it was. The client knows
// nothing of it, but it may have missed changes. b.mu is held.
func (l *link) resume(result []byte) news {
	s := &l.b.session
	if s.initialized {
		l.own = append(l.own, []byte(initializedLine+"\n"))
	}
	if s.level != nil {
		l.request(purpose{method: wire.MethodSetLevel}, []byte(`{"level":`+string(s.level)+`}`))
	}
	l.renew = append(l.renew, s.uris...)
	for range renewals {
		l.renewNext()
	}
	n := news{open: true}
	if facts := s.digestOf(result); facts != s.facts {
		s.facts = facts
		n.note = "; it offers its client other capabilities than before, which a client learns of when it is started anew"
	}
	if s.forgot {
		n.note += "; some subscriptions to resources are lost"
	}
	for _, method := range [...]string{wire.NoteToolsChanged, wire.NotePromptsChanged, wire.NoteResourcesChanged} {
		n.lines = append(n.lines, wire.AppendRequest(nil, nil, method, nil))
	}
	return n
}

// renewNext subscribes to the next resource again. b.mu is held.
func (l *link) renewNext() {
	for len(l.renew) > 0 {
		uri := l.renew[0]
		l.renew = l.renew[1:]
		if l.b.session.has(uri) {
			l.request(purpose{wire.MethodSubscribe, uri}, []byte(`{"uri":`+wire.Quote(uri)+`}`))
			return
		}
	}
}

// acknowledged notes what the service agreed to tell. What the client knows
// already is hidden from it; that there was none to tell it meanwhile is made up
// for, by telling it of everything once (2026-07-28, basic/patterns/subscriptions:
// the acknowledgement comes first and once).
func (b *Bridge) acknowledged(p *wire.Params) (hide bool, changes [][]byte) {
	id := p.InMeta.SubscriptionID.Of(p.Raw)
	agreed := wire.Get(p.Raw, "notifications")
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.flights.byID[string(id)]
	if id == nil || e == nil || e.method != wire.MethodListen {
		return false, nil
	}
	ack := maphash.Bytes(b.session.seed, agreed)
	if e.renewed {
		hide = e.acked && e.ack == ack
		if e.acked {
			changes = everything(id, agreed)
		}
	}
	e.acked, e.ack, e.renewed, e.tries = true, ack, false, 0
	return hide, changes
}

// everything is one notification of each kind that a subscription was promised.
func everything(id, agreed []byte) (notes [][]byte) {
	meta := wire.Member{Name: "_meta", Value: wire.AppendObject(nil, nil, nil, wire.Member{Name: wire.MetaSubscriptionID, Value: id})}
	note := func(method string, more ...wire.Member) {
		notes = append(notes, wire.AppendRequest(nil, nil, method, wire.AppendObject(nil, nil, nil, append(more, meta)...)))
	}
	for _, kind := range [...]struct{ name, method string }{
		{"toolsListChanged", wire.NoteToolsChanged}, {"promptsListChanged", wire.NotePromptsChanged}, {"resourcesListChanged", wire.NoteResourcesChanged},
	} {
		if string(wire.Get(agreed, kind.name)) == "true" {
			note(kind.method)
		}
	}
	if list := wire.Get(agreed, "resourceSubscriptions"); len(list) > 0 && list[0] == '[' {
		for at := range wire.Elements(list) {
			note(wire.NoteResourceUpdated, wire.Member{Name: "uri", Value: at.Of(list)})
		}
	}
	return notes
}

// hold keeps the end of a subscription from the client for a while. A service that
// is about to end says goodbye to its subscribers, who would not come back: they
// are connected to the bridge, which stays. b.mu is held.
func (b *Bridge) hold(e *entry, line []byte) {
	held := bytes.Clone(line)
	e.held = held
	time.AfterFunc(holdLimit, func() {
		b.mu.Lock()
		late := !b.over && b.flights.byID[e.key] == e && len(e.held) > 0 && &e.held[0] == &held[0]
		if late {
			b.flights.remove(e)
		}
		b.mu.Unlock()
		if late {
			b.out.send(held)
		}
	})
}

// releaseHeld takes the ends of subscriptions that were kept from the client. b.mu is held.
func (b *Bridge) releaseHeld() (lines [][]byte) {
	for _, e := range b.flights.byID {
		if e.held != nil {
			b.flights.remove(e)
			lines = append(lines, e.held)
		}
	}
	return lines
}
