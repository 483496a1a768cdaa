package gateway

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durward/internal/exchange"
	"durward/internal/wire"
)

// quick is a client that does something as soon as it has the acknowledgement.
type quick struct {
	then func()

	mu    sync.Mutex // guards heard
	heard []string
}

// Notify implements exchange.Stream.
func (p *quick) Notify(method string, _ []byte) {
	p.mu.Lock()
	p.heard = append(p.heard, method)
	p.mu.Unlock()
	if method == wire.NoteAcknowledged {
		p.then()
	}
}

// Ask implements exchange.Stream.
func (*quick) Ask(context.Context, string, []byte) exchange.Reply { return exchange.Reply{} }

func (p *quick) told() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.heard)
}

// A change that follows the acknowledgement at once is told.
func TestB11_WhoHasTheAcknowledgementHearsOfTheNextChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Options{Access: Access{NoAuth: true}})
		if err != nil {
			t.Fatal(err)
		}
		out := &quick{then: g.set.ListsChanged}
		in := &exchange.Inbound{ID: []byte(`1`)}
		in.Method, in.Client.Era = wire.MethodListen, wire.Modern
		if err := wire.ParseParams([]byte(`{"notifications":{"toolsListChanged":true}}`), &in.Params); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		over := make(chan exchange.Reply, 1)
		go func() { over <- (*core)(g).Serve(ctx, in, out) }()
		time.Sleep(time.Minute) // in a bubble: it is told by then
		leave()
		if r := <-over; r.Error != nil {
			t.Errorf("%s", r.Error)
		}
		if got := out.told(); !slices.Equal(got, []string{wire.NoteAcknowledged, wire.NoteToolsChanged}) {
			t.Errorf("told %v", got)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An event that comes while the acknowledgement is on its way waits for it.
func TestAnEventDuringTheAcknowledgementIsNotLost(t *testing.T) {
	var told sync.WaitGroup
	out := &quick{}
	f := &listenFeed{id: []byte(`1`), out: out}
	out.then = func() {
		told.Go(func() { f.Notify(wire.NoteToolsChanged, nil) })
		for range 100 {
			runtime.Gosched() // time enough for it to be lost
		}
	}
	f.Notify(wire.NotePromptsChanged, nil) // before it: nobody asked yet
	f.acknowledge([]byte(`{}`))
	told.Wait()
	if got := out.told(); !slices.Equal(got, []string{wire.NoteAcknowledged, wire.NoteToolsChanged}) {
		t.Errorf("told %v", got)
	}
}
