package main

import (
	"slices"
	"sync"
	"time"

	"durward/test/chaos/journal"
)

// outcome is what came of a call, as its client saw it.
type outcome uint8

const (
	pendingCall outcome = iota // no answer yet; at the end: a hang
	ok                         // answered: it was executed, exactly once
	refused                    // an error that says that nothing was executed
	unknown                    // it may or may not have been executed
	toolError                  // the tool failed
	broken                     // an answer that no promise covers
	outcomes
)

func (o outcome) String() string {
	return [...]string{"hang", "ok", "refused", "unknown", "tool-error", "broken"}[o]
}

// tally counts calls by what came of them.
type tally [outcomes]int

// record is one call.
type record struct {
	id, server, client, tool string
	era                      string    // of the client
	begin, end               time.Time // end is zero while it is under way
	outcome                  outcome
	detail                   string // what the client was told
}

// injected is one fault.
type injected struct {
	kind           string
	server, client string // concerned; empty: see fault.Scope
	call           string // concerned; empty if none is
	at             time.Time
}

// book is where clients and injectors write down what they do. Its methods may
// be called from any goroutine.
type book struct {
	mu     sync.Mutex // guards the fields below
	calls  map[string]*record
	faults []injected
	strays []string       // questions and answers that reached the wrong client
	counts map[string]int // of what is worth a number and no promise
}

func newBook() *book { return &book{calls: map[string]*record{}, counts: map[string]int{}} }

// begin notes that a call is about to be sent.
func (b *book) begin(r record) {
	r.begin = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls[r.id] != nil {
		panic("the id " + r.id + " was used twice")
	}
	b.calls[r.id] = &r
}

// settle notes what came of it, once.
func (b *book) settle(id string, o outcome, detail string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.calls[id]; r.end.IsZero() {
		r.outcome, r.detail, r.end = o, detail, time.Now()
	}
}

func (b *book) fault(f injected) {
	f.at = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, f)
}

// stray notes that something reached somebody it was not meant for.
func (b *book) stray(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.strays = append(b.strays, text)
}

func (b *book) count(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[what]++
}

// close returns what was written down, the calls in order of their beginning,
// with what the servers noted in their journal.
func (b *book) close(entries []journal.Entry) *history {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := &history{faults: slices.Clone(b.faults), strays: slices.Clone(b.strays), executions: map[string][]string{}}
	for _, r := range b.calls {
		h.calls = append(h.calls, *r)
	}
	slices.SortFunc(h.calls, func(x, y record) int { return x.begin.Compare(y.begin) })
	for _, e := range entries {
		switch e.Kind {
		case journal.Execution:
			h.executions[e.Call] = append(h.executions[e.Call], e.Server)
		case journal.Fault:
			h.faults = append(h.faults, injected{kind: e.Fault, server: e.Server, call: e.Call, at: e.At})
		case journal.Misdirected:
			h.strays = append(h.strays, e.Call+" at "+e.Server+" "+e.Text)
		}
	}
	return h
}

func (b *book) size() (calls, faults int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls), len(b.faults)
}
