package federation

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

func snapshot(server string, tools ...string) catalog.Snapshot {
	s := catalog.Snapshot{Server: server, Era: wire.Modern, Complete: true, Capabilities: []byte(`{"tools":{}}`)}
	for _, name := range tools {
		s.Tools = append(s.Tools, []byte(`{"name":"`+name+`","inputSchema":{"type":"object"}}`))
	}
	return s
}

func names(t *testing.T, o *offer, era wire.Era) string {
	t.Helper()
	view, ok := o.view(durward.Route{}, era)
	if !ok {
		t.Fatal("no aggregate")
	}
	var out []string
	for e := range view.Entries(catalog.Tool) {
		out = append(out, e.Offered)
	}
	return strings.Join(out, " ")
}

// feed collects what a listener is told.
type feed []string

func (f *feed) Notify(method string, _ []byte) { *f = append(*f, method) }

// pause lets everything that was noted be told.
func pause() {
	time.Sleep(2 * coalesce)
	synctest.Wait()
}

func listen(o *offer, era wire.Era) *feed {
	f := &feed{}
	o.hub.listeners[&listener{era: era, filter: Filter{Tools: true}, feed: f}] = struct{}{}
	return f
}

func TestLegacyClientsAreOfferedTheirOwnProcessOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffer(catalog.Options{})
		if err := o.declare([]durward.Server{{Name: "a"}, {Name: "b"}}); err != nil {
			t.Fatal(err)
		}
		legacy, modern := listen(o, wire.Legacy), listen(o, wire.Modern)
		o.put(snapshot("a", "x"))
		o.put(snapshot("b", "y"))
		pause()
		if len(*legacy) != 1 || len(*modern) != 1 {
			t.Errorf("two servers that come up together were told %d and %d times", len(*legacy), len(*modern))
		}
		o.overlay(snapshot("a", "x"))
		if o.legacy.Load() != nil {
			t.Error("a second catalog was made although nothing differs")
		}
		o.overlay(snapshot("a", "x", "added"))
		pause()
		if got := names(t, o, wire.Legacy); got != "a__x a__added b__y" {
			t.Error("legacy:", got)
		}
		if got := names(t, o, wire.Modern); got != "a__x b__y" {
			t.Error("modern:", got)
		}
		if len(*legacy) != 2 || len(*modern) != 1 {
			t.Errorf("told %d and %d times: only legacy clients have something new", len(*legacy), len(*modern))
		}
		o.put(snapshot("b", "y", "z"))
		pause()
		if got := names(t, o, wire.Legacy); got != "a__x a__added b__y b__z" {
			t.Error("legacy after a change of b:", got)
		}
		if len(*legacy) != 3 || len(*modern) != 2 {
			t.Errorf("told %d and %d times of a change for all", len(*legacy), len(*modern))
		}
		one := snapshot("a", "x")
		one.Era = wire.Legacy // the server was replaced by one of the legacy era only
		o.put(one)
		if got := names(t, o, wire.Legacy); got != "a__x b__y b__z" {
			t.Error("legacy after the overlay was dropped:", got)
		}
		if err := o.declare([]durward.Server{{Name: "b"}}); err != nil {
			t.Fatal(err)
		}
		if got := names(t, o, wire.Legacy); got != "b__y b__z" {
			t.Error("legacy after a was removed:", got)
		}
		pause()
	})
}

func TestAnnouncementsReachThoseWhoSeeTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		feeds := map[string]*feed{}
		for name, l := range map[string]*listener{
			"aggregate": {era: wire.Modern}, "legacy": {era: wire.Legacy},
			"own":     {era: wire.Modern, route: durward.Route{Kind: durward.RouteServer, Name: "a"}},
			"other":   {era: wire.Modern, route: durward.Route{Kind: durward.RouteServer, Name: "b"}},
			"toolset": {era: wire.Modern, route: durward.Route{Kind: durward.RouteToolset, Name: "a"}},
		} {
			feeds[name] = &feed{}
			l.feed, l.filter = feeds[name], Filter{Tools: true}
			h.listeners[l] = struct{}{}
		}
		told := func() (who []string) {
			pause()
			for name, f := range feeds {
				if len(*f) > 0 {
					who = append(who, name)
				}
				*f = nil
			}
			slices.Sort(who)
			return who
		}
		for range 20 {
			h.announced("a", false, Filter{Tools: true, Prompts: true})
		}
		if got := told(); !slices.Equal(got, []string{"aggregate", "legacy", "own"}) {
			t.Error(got)
		}
		h.announced("a", true, Filter{Tools: true})
		if got := told(); !slices.Equal(got, []string{"legacy"}) {
			t.Error("what the process of legacy clients said:", got)
		}
		h.announced("a", false, Filter{Prompts: true})
		if got := told(); len(got) > 0 {
			t.Error("nobody asked for prompts:", got)
		}
		h.close()
		h.announced("a", false, Filter{Tools: true})
		if got := told(); len(got) > 0 {
			t.Error("told after close:", got)
		}
	})
}

// A connection that ends before it could be listed takes nothing from legacy
// clients: nobody would call what they are not offered, and so nothing would
// make the server list again.
func TestHalfAListTakesNothingFromLegacyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffer(catalog.Options{})
		if err := o.declare([]durward.Server{{Name: "a"}}); err != nil {
			t.Fatal(err)
		}
		o.put(snapshot("a", "x"))
		half := snapshot("a")
		half.Complete = false
		o.overlay(half)
		if got := names(t, o, wire.Legacy); got != "a__x" {
			t.Error("after a list that failed:", got)
		}
		o.overlay(snapshot("a", "own"))
		o.overlay(half)
		if got := names(t, o, wire.Legacy); got != "" { // it was read once, so what it says now counts
			t.Error("after a list that shrank:", got)
		}
	})
}
