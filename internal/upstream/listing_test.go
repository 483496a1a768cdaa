package upstream_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{}}`

// lists answers list requests by method; false from answer leaves it to the default.
func lists(opened *exchange.Opened, answer func(c *fakeConn, call *exchange.Call) bool) act {
	return act{opened: opened, handle: func(c *fakeConn, call *exchange.Call) bool {
		return strings.HasSuffix(call.Method, "/list") && answer(c, call)
	}}
}

func cursorOf(call *exchange.Call) string { return string(wire.Get(call.Params.Raw, "cursor")) }

func TestAllKindsAreListedByteForByte(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const odd = `{ "name" : "a" ,"x":1e400, "big":9007199254740993,"inputSchema":{"$defs":{"z":{"$ref":"#"}}} }`
		opened := legacyOpened(everything)
		opened.Info, opened.Instructions = []byte(`{"name":"s","version":"1"}`), "be nice"
		r := start(t, stdio(), &world{script: always(lists(opened, func(c *fakeConn, call *exchange.Call) bool {
			switch call.Method {
			case wire.MethodToolsList:
				c.result(call.ID, `{"_meta":{}, "tools": [ `+odd+` , {"name":"b"}] }`)
			case wire.MethodPromptsList:
				c.result(call.ID, `{"prompts":[{"name":"p"}]}`)
			case wire.MethodResourcesList:
				c.result(call.ID, `{"resources":[{"uri":"a:b"},{"uri":"c:d"}]}`)
			case wire.MethodTemplatesList:
				c.result(call.ID, `{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}`)
			}
			return true
		}))})
		l := r.watch.last()
		if string(l.Tools[0]) != odd || string(l.Tools[1]) != `{"name":"b"}` {
			t.Errorf("tools: %s", l.Tools)
		}
		if !l.Complete || l.Instructions != "be nice" || string(l.Info) != string(opened.Info) || string(l.Capabilities) != everything || l.Era != wire.Legacy {
			t.Errorf("listing %+v", l)
		}
		st := r.wantState(t, durward.StateReady)
		if st.Tools != 2 || st.Prompts != 1 || st.Resources != 2 || st.Templates != 1 {
			t.Errorf("status %+v", st)
		}
	})
}

func TestUndeclaredKindsAreNotAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(`{}`), handle: func(c *fakeConn, call *exchange.Call) bool {
			c.failure(call.ID, wire.CodeMethodNotFound, "Method not found")
			return true
		}})})
		r.wantState(t, durward.StateReady)
		if l := r.watch.last(); !l.Complete || len(l.Tools) != 0 {
			t.Errorf("listing %+v", l)
		}
		if n := len(sentTo[*exchange.Call](r.world.conn(0))); n != 1 {
			t.Errorf("%d requests, want tools/list only", n)
		}
	})
}

func TestTemplatesMayBeMissing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodTemplatesList {
				return false
			}
			c.failure(call.ID, wire.CodeMethodNotFound, "Method not found")
			return true
		}))})
		r.wantState(t, durward.StateReady)
	})
}

func TestB1_AListThatHangsDegradesAndDelaysNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var heals atomic.Bool
		r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			switch {
			case call.Method == wire.MethodToolsList:
				c.result(call.ID, `{"tools":[{"name":"a"}]}`)
			case call.Method == wire.MethodPromptsList && !heals.Load():
			default:
				return false
			}
			return true
		}))})
		wait(time.Second)
		l := r.watch.last()
		if l == nil || len(l.Tools) != 1 || l.Complete {
			t.Fatalf("after a second the Observer has %+v", l)
		}
		wantOK(t, r.call(alice()))
		wait(time.Minute)
		r.wantState(t, durward.StateDegraded, "prompts")
		wantOK(t, r.call(alice()))
		heals.Store(true)
		wait(time.Minute)
		r.wantState(t, durward.StateReady)
		if l := r.watch.last(); !l.Complete {
			t.Error("the catalog is not complete after it healed")
		}
	})
}

func TestB11_ChangesAreCoalesced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var version atomic.Int32
		r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsList {
				return false
			}
			c.result(call.ID, fmt.Sprintf(`{"tools":[{"name":"v%d"}]}`, version.Load()))
			return true
		}))})
		c := r.world.conn(0)
		before, told := len(callsTo(c, wire.MethodToolsList)), r.watch.count()
		for i := range 50 {
			version.Store(int32(i))
			c.emit(&exchange.Notification{Method: wire.NoteToolsChanged})
			time.Sleep(time.Millisecond)
		}
		wait(time.Second)
		if n := len(callsTo(c, wire.MethodToolsList)) - before; n != 1 {
			t.Errorf("%d lists for fifty changes", n)
		}
		if n := r.watch.count() - told; n != 1 {
			t.Errorf("%d catalogs for fifty changes", n)
		}
		if l := r.watch.last(); string(l.Tools[0]) != `{"name":"v49"}` {
			t.Errorf("the catalog has %s", l.Tools[0])
		}
		if n := len(callsTo(c, wire.MethodPromptsList)); n != 1 {
			t.Errorf("prompts were listed %d times", n)
		}
		c.emit(&exchange.Notification{Method: wire.NoteToolsChanged}) // without any difference
		wait(2 * time.Second)
		if n := r.watch.count() - told; n != 2 || !r.watch.last().Announced.Tools || r.watch.last().Announced.Prompts {
			t.Errorf("%d catalogs, announced %+v: what changed there and back must be told", n, r.watch.last().Announced)
		}
		for range 20 { // two seconds of a server that says it all the time
			c.emit(&exchange.Notification{Method: wire.NoteToolsChanged})
			wait(100 * time.Millisecond)
		}
		if n := r.watch.count() - told; n > 5 {
			t.Errorf("%d catalogs: changes that are none are told more often than once a second", n)
		}
	})
}

func TestB11_AChangeWhileListingIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var version atomic.Int32
		w := &world{}
		w.script = always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsList {
				return false
			}
			v := version.Load() // as it was when the list began
			go func() {
				time.Sleep(3 * time.Second)
				c.result(call.ID, fmt.Sprintf(`{"tools":[{"name":"v%d"}]}`, v))
			}()
			return true
		}))
		r := start(t, stdio(), w)
		wait(time.Second)
		version.Store(1)
		w.conn(0).emit(&exchange.Notification{Method: wire.NoteToolsChanged})
		wait(10 * time.Second)
		if l := r.watch.last(); string(l.Tools[0]) != `{"name":"v1"}` {
			t.Errorf("the catalog has %s", l.Tools[0])
		}
	})
}

func TestB20_PaginationRunsToTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsList {
				return false
			}
			page := 0
			fmt.Sscanf(cursorOf(call), `"page é%d"`, &page)
			next := ""
			switch {
			case page < 41:
				next = fmt.Sprintf(`,"nextCursor":"page é%d"`, page+1)
			case page == 41:
				next = `,"nextCursor":null`
			}
			c.result(call.ID, fmt.Sprintf(`{"tools":[{"name":"t%d"}]%s}`, page, next))
			return true
		}))})
		l := r.watch.last()
		if len(l.Tools) != 42 || string(l.Tools[41]) != `{"name":"t41"}` {
			t.Errorf("%d tools", len(l.Tools))
		}
	})
}

func TestB20_EndlessListsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		limits upstream.Limits
		page   func(n int) string
		words  []string
	}{
		"a cursor twice":       {upstream.Limits{}, func(int) string { return `{"tools":[{"name":"a"}],"nextCursor":"again"}` }, []string{"again", "twice"}},
		"a cycle of cursors":   {upstream.Limits{}, func(n int) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n%7) }, []string{"twice"}},
		"too many pages":       {upstream.Limits{Pages: 20}, func(n int) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n) }, []string{"20 pages", "limits.pages"}},
		"too many items":       {upstream.Limits{Items: 10}, func(int) string { return `{"tools":[` + strings.Repeat(`{},`, 10) + `{}]}` }, []string{"10 items", "limits.items"}},
		"too many bytes":       {upstream.Limits{ListBytes: 100}, func(int) string { return `{"tools":["` + strings.Repeat(`x`, 100) + `"]}` }, []string{"100 bytes", "limits.list"}},
		"no array":             {upstream.Limits{}, func(int) string { return `{"tools":{}}` }, []string{`no array "tools"`}},
		"no list at all":       {upstream.Limits{}, func(int) string { return `[]` }, []string{`no array "tools"`}},
		"declared but refused": {upstream.Limits{}, nil, []string{"Method not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				n := 0
				r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
					switch {
					case call.Method == wire.MethodPromptsList:
						c.result(call.ID, `{"prompts":[{"name":"p"}]}`)
					case call.Method != wire.MethodToolsList:
						return false
					case tc.page == nil:
						c.failure(call.ID, wire.CodeMethodNotFound, "Method not found")
					default:
						n++
						c.result(call.ID, tc.page(n))
					}
					return true
				}))}, func(o *upstream.Options) { o.Limits = tc.limits })
				r.wantState(t, durward.StateDegraded, append(tc.words, "tools")...)
				if l := r.watch.last(); l.Complete || len(l.Prompts) != 1 || len(l.Tools) != 0 {
					t.Errorf("listing %+v", l)
				}
				wantOK(t, r.call(alice()))
			})
		})
	}
}

func TestItemsThatAreNoObjectsAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsList {
				return false
			}
			c.result(call.ID, `{"tools":[1,{"name":"a"},null]}`)
			return true
		}))})
		if l := r.watch.last(); len(l.Tools) != 1 || r.Status().Anomalies["bad-list-item"] != 2 {
			t.Errorf("%d tools, %v", len(l.Tools), r.Status().Anomalies)
		}
	})
}

func TestTheCatalogOutlivesAReconnect(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := start(t, stdio(), &world{script: func(n int, _ exchange.LinkSpec) act {
			return lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
				if call.Method != wire.MethodToolsList {
					return false
				}
				if n == 0 { // later ones never answer
					c.result(call.ID, `{"tools":[{"name":"a"}]}`)
				}
				return true
			})
		}})
		r.world.conn(0).die()
		wait(2 * time.Minute)
		r.wantState(t, durward.StateDegraded, "tools")
		if l := r.watch.last(); len(l.Tools) != 1 || l.Complete {
			t.Errorf("listing %+v", l)
		}
	})
}

func TestRefreshReturnsWhenTheObserverHasIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var version atomic.Int32
		r := start(t, stdio(), &world{script: always(lists(legacyOpened(everything), func(c *fakeConn, call *exchange.Call) bool {
			if call.Method != wire.MethodToolsList {
				return false
			}
			if version.Load() == 9 {
				c.failure(call.ID, -32603, "disk on fire")
				return true
			}
			c.result(call.ID, fmt.Sprintf(`{"tools":[{"name":"v%d"}]}`, version.Load()))
			return true
		}))})
		for v := range int32(5) {
			version.Store(v)
			if err := r.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			if l := r.watch.last(); string(l.Tools[0]) != fmt.Sprintf(`{"name":"v%d"}`, v) {
				t.Errorf("the Observer has %s", l.Tools[0])
			}
		}
		version.Store(9)
		if err := r.Refresh(context.Background()); err == nil || !contains(err.Error(), "disk on fire") {
			t.Errorf("Refresh says %v", err)
		}
	})
}

// late is an Observer that takes catalogs when it is told to.
type late struct {
	*watcher
	take chan struct{}
}

func (l late) Catalog(server string, listing *upstream.Listing) {
	<-l.take
	l.watcher.Catalog(server, listing)
}

// Who sees that a server is ready finds what it lists.
func TestAServerIsReadyWhenTheObserverHasWhatItLists(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		slow := late{&watcher{}, make(chan struct{})}
		r := start(t, stdio(), &world{script: always(act{opened: legacyOpened(everything)})}, func(o *upstream.Options) { o.Observer = slow })
		if st := r.Status(); st.State != durward.StateConnecting {
			t.Errorf("it is %s before anybody has its lists", st.State)
		}
		close(slow.take)
		synctest.Wait()
		if st := r.wantState(t, durward.StateReady); slow.last() == nil {
			t.Errorf("%+v", st)
		}
	})
}
