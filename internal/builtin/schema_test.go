package builtin_test

import (
	"testing"

	"durward/internal/builtin"
	"durward/internal/exchange"
	"durward/internal/testkit/schemacheck"
	"durward/internal/wire"
)

// inbox keeps what a link sends.
type inbox chan exchange.Message

func (b inbox) Receive(m exchange.Message) { b <- m }

func TestB14_TheSchemasOfOurOwnToolsAreTakenByAllVendors(t *testing.T) {
	box := make(inbox, 8)
	link := builtin.Open(exchange.LinkSpec{}, box)
	defer func() {
		link.Close()
		for m := range box {
			if _, closed := m.(*exchange.Closed); closed {
				return
			}
		}
	}()
	if err := link.Send(&exchange.Call{ID: 1, Request: exchange.Request{Method: wire.MethodToolsList}}); err != nil {
		t.Fatal(err)
	}
	<-box // opened
	reply, ok := (<-box).(*exchange.Response)
	if !ok || !wire.Valid(reply.Result) {
		t.Fatalf("%+v", reply)
	}
	list := wire.Get(reply.Result, "tools")
	n := 0
	for at := range wire.Elements(list) {
		n++
		raw := at.Of(list)
		name, _ := wire.Unquote(wire.Get(raw, "name"))
		offered := wire.Splice(nil, raw, wire.Edit{At: wire.Lookup(raw, "name"), With: wire.AppendQuote(nil, builtin.ServerName+"__"+name)})
		for _, problem := range schemacheck.Check(offered) {
			t.Errorf("%s: %s", name, problem)
		}
	}
	if n < 4 {
		t.Errorf("only %d tools were looked at", n)
	}
}
