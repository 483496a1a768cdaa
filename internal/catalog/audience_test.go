package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

const (
	runsTasks = `{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
	extends   = `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{"x":1},"b/c":{}}}`
)

// mustBeTask is a tool that requires to be called as a task.
func mustBeTask(name string) []byte {
	return []byte(`{"name":` + wire.Quote(name) + `,"inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`)
}

func TestAudiences(t *testing.T) {
	for _, c := range []struct {
		era      wire.Era
		revision string
		want     catalog.Audience
	}{
		{wire.Modern, "2026-07-28", catalog.Modern},
		{wire.Legacy, "2025-11-25", catalog.Tasked},
		{wire.Legacy, "2025-06-18", catalog.Plain},
		{wire.Legacy, "2024-11-05", catalog.Plain},
		{wire.Legacy, "", catalog.Plain},
	} {
		if got := catalog.AudienceOf(c.era, c.revision); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.era, c.revision, got, c.want)
		}
	}
}

func TestToolsThatRunOnlyAsTasksAreHidden(t *testing.T) {
	everybody := []catalog.Audience{catalog.Plain, catalog.Tasked, catalog.Modern}
	for _, c := range []struct {
		what, support, capabilities string
		era                         wire.Era
		seen                        []catalog.Audience
	}{
		{"required", `{"taskSupport":"required"}`, runsTasks, wire.Legacy, []catalog.Audience{catalog.Tasked}},
		{"required without the capability", `{"taskSupport":"required"}`, `{"tools":{},"tasks":{"list":{}}}`, wire.Legacy, nil},
		{"required without any", `{"taskSupport":"required"}`, ``, wire.Legacy, nil},
		{"required, escaped", `{"taskSupport":"requ\u0069red"}`, runsTasks, wire.Legacy, []catalog.Audience{catalog.Tasked}},
		{"required, said by a modern server", `{"taskSupport":"required"}`, runsTasks, wire.Modern, everybody},
		{"optional", `{"taskSupport":"optional"}`, runsTasks, wire.Legacy, everybody},
		{"forbidden", `{"taskSupport":"forbidden"}`, runsTasks, wire.Legacy, everybody},
		{"no string", `{"taskSupport":["required"]}`, runsTasks, wire.Legacy, everybody},
		{"no object", `"required"`, runsTasks, wire.Legacy, everybody},
	} {
		cat := servers(t, catalog.Options{}, named("a", "b")...)
		if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "s", Tools: []string{"a__*"}}}); err != nil {
			t.Fatal(err)
		}
		item := `{"name":"t","inputSchema":{"type":"object"},"execution":` + c.support + `}`
		cat.Put(catalog.Snapshot{Server: "a", Tools: append(raw(item), tool("plain")), Capabilities: []byte(c.capabilities), Era: c.era, Complete: true})
		cat.Put(catalog.Snapshot{Server: "b", Tools: tools("t"), Era: wire.Legacy, Complete: true})
		for _, route := range []durward.Route{all, only("a"), toolset("s")} {
			v, name := view(t, cat, route), "a__t"
			if route == only("a") {
				name = "t"
			}
			for _, a := range everybody {
				want := fmt.Sprint(c.seen) != "[]" && strings.Contains(fmt.Sprint(c.seen), fmt.Sprint(a))
				for _, keep := range []func(*catalog.Entry) bool{nil, func(*catalog.Entry) bool { return true }} {
					b, err := v.List(query(wire.MethodToolsList, "", a, keep))
					if err != nil {
						t.Fatal(err)
					}
					if got := strings.Contains(string(b), wire.Quote(name)); got != want || !strings.Contains(string(b), `plain"`) {
						t.Errorf("%s on %s for audience %d: %v, want %v", c.what, route, a, got, want)
					}
				}
				e, ok := v.Tool(name)
				if !ok || (e.HiddenFrom(a) == "") != want {
					t.Errorf("%s on %s for audience %d: %v %q", c.what, route, a, ok, e.HiddenFrom(a))
				}
			}
		}
	}
}

// A tool comes into sight, and out of it, with what its server declares.
func TestATaskToolAppearsWithTheCapability(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	s := catalog.Snapshot{Server: "a", Tools: [][]byte{mustBeTask("t")}, Era: wire.Legacy, Complete: true}
	cat.Put(s)
	equal(t, "without", list(t, view(t, cat, all), wire.MethodToolsList), `{"tools":[]}`)
	s.Capabilities = []byte(runsTasks)
	change := cat.Put(s)
	contains(t, "with", list(t, view(t, cat, all), wire.MethodToolsList), `"a__t"`)
	if tools, _, _ := change.Touches(all); !tools || len(change.Tools.Changed) != 1 {
		t.Errorf("nobody is told: %+v", change)
	}
}

// However lists are cut into pages, each audience gets what it can use, in order.
func TestPagesOfEachAudience(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cat := servers(t, catalog.Options{PageItems: rapid.IntRange(1, 4).Draw(rt, "page")}, named("a", "b", "c")...)
		want := map[catalog.Audience][]string{}
		for _, server := range []string{"a", "b", "c"} {
			declares := rapid.Bool().Draw(rt, "declares")
			s := catalog.Snapshot{Server: server, Era: wire.Legacy, Complete: true}
			if declares {
				s.Capabilities = []byte(runsTasks)
			}
			for i := range rapid.IntRange(0, 6).Draw(rt, "tools") {
				name, required := fmt.Sprint("t", i), rapid.Bool().Draw(rt, "required")
				if required {
					s.Tools = append(s.Tools, mustBeTask(name))
				} else {
					s.Tools = append(s.Tools, tool(name))
				}
				for _, a := range audiences {
					if !required || declares && a == catalog.Tasked {
						want[a] = append(want[a], server+"__"+name)
					}
				}
			}
			cat.Put(s)
		}
		for _, a := range audiences {
			var got []string
			for cursor := ""; ; {
				b, err := view(t, cat, all).List(query(wire.MethodToolsList, cursor, a, nil))
				if err != nil {
					rt.Fatal(err)
				}
				items := wire.Get(b, "tools")
				for at := range wire.Elements(items) {
					name, _ := wire.Unquote(wire.Get(at.Of(items), "name"))
					got = append(got, name)
				}
				if cursor, _ = wire.Unquote(wire.Get(b, "nextCursor")); cursor == "" {
					break
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want[a]) {
				rt.Fatalf("audience %d: %v, want %v", a, got, want[a])
			}
		}
	})
}

func TestWhoIsToldOfTasks(t *testing.T) {
	for _, c := range []struct {
		what string
		put  []catalog.Snapshot
		told map[catalog.Audience]string // part of the capabilities; "": no word of tasks
	}{
		{"nobody has them", []catalog.Snapshot{{Server: "a", Era: wire.Legacy}, {Server: "b", Era: wire.Modern}}, nil},
		{"a legacy server", []catalog.Snapshot{{Server: "a", Era: wire.Legacy, Capabilities: []byte(runsTasks)}},
			map[catalog.Audience]string{catalog.Tasked: `"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`}},
		{"one that cannot cancel", []catalog.Snapshot{{Server: "a", Era: wire.Legacy, Capabilities: []byte(`{"tasks":{"requests":{"tools":{"call":{}}}}}`)}},
			map[catalog.Audience]string{catalog.Tasked: `"tasks":{"requests":{"tools":{"call":{}}}}`}},
		{"one that runs no calls", []catalog.Snapshot{{Server: "a", Era: wire.Legacy, Capabilities: []byte(`{"tasks":{"list":{},"cancel":{}}}`)}}, nil},
		{"a modern server", []catalog.Snapshot{{Server: "a", Era: wire.Modern, Capabilities: []byte(extends)}},
			map[catalog.Audience]string{catalog.Modern: `"extensions":{"io.modelcontextprotocol/tasks":{}}`}},
		{"servers of the other's words", []catalog.Snapshot{{Server: "a", Era: wire.Modern, Capabilities: []byte(runsTasks)}, {Server: "b", Era: wire.Legacy, Capabilities: []byte(extends)}}, nil},
		{"both", []catalog.Snapshot{{Server: "a", Era: wire.Modern, Capabilities: []byte(extends)}, {Server: "b", Era: wire.Legacy, Capabilities: []byte(runsTasks)}},
			map[catalog.Audience]string{catalog.Tasked: `"tasks":{"cancel"`, catalog.Modern: `"extensions":{"io.modelcontextprotocol/tasks":{}}`}},
	} {
		cat := servers(t, catalog.Options{}, named("a", "b")...)
		for _, s := range c.put {
			s.Tools, s.Complete = tools("t"), true
			cat.Put(s)
		}
		for _, a := range audiences {
			caps, _ := described(t, cat, all, a)
			if want := c.told[a]; want == "" && strings.Contains(caps, "tasks") || !strings.Contains(caps, want) {
				t.Errorf("%s: audience %d is told %s", c.what, a, caps)
			}
		}
	}
}

func TestAToolsetTellsOfTheTasksOfItsTools(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "a", Tools: []string{"a__*"}}, {Name: "b", Tools: []string{"b__*"}}}); err != nil {
		t.Fatal(err)
	}
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("t"), Era: wire.Legacy, Capabilities: []byte(runsTasks)})
	cat.Put(catalog.Snapshot{Server: "b", Tools: tools("t"), Era: wire.Modern, Capabilities: []byte(extends)})
	for set, a := range map[string]catalog.Audience{"a": catalog.Tasked, "b": catalog.Modern} {
		other := map[string]string{"a": "b", "b": "a"}[set]
		if caps, _ := described(t, cat, toolset(set), a); !strings.Contains(caps, "tasks") {
			t.Errorf("%s: %s", set, caps)
		}
		if caps, _ := described(t, cat, toolset(other), a); strings.Contains(caps, "tasks") {
			t.Errorf("%s: %s", other, caps)
		}
		v := view(t, cat, toolset(set))
		if !v.Shows(set) || v.Shows(other) || v.Shows("nobody") {
			t.Errorf("%s shows %v %v", set, v.Shows(set), v.Shows(other))
		}
	}
	if v := view(t, cat, only("a")); !v.Shows("a") || v.Shows("b") {
		t.Error("the route to a shows another server, or not its own")
	}
	if v := view(t, cat, all); !v.Shows("a") || !v.Shows("b") || v.Shows("nobody") {
		t.Error("the aggregate shows other servers than there are")
	}
}

// tasks/list is offered where a process knows one principal only.
func TestWhoListsTasks(t *testing.T) {
	for _, c := range []struct {
		spec  durward.Server
		era   wire.Era
		lists bool
	}{
		{durward.Server{}, wire.Legacy, false},
		{durward.Server{Instances: durward.InstancesShared}, wire.Legacy, false},
		{durward.Server{Instances: durward.InstancesSession}, wire.Legacy, true},
		{durward.Server{Instances: durward.InstancesPrincipal, Transport: durward.TransportStdio}, wire.Legacy, true},
		{durward.Server{Instances: durward.InstancesSession, Transport: durward.TransportHTTP, URL: "http://x"}, wire.Legacy, false},
		{durward.Server{Instances: durward.InstancesPrincipal, URL: "http://x"}, wire.Legacy, false},
		{durward.Server{Instances: durward.InstancesSession}, wire.Modern, false},
	} {
		c.spec.Name = "a"
		cat := servers(t, catalog.Options{}, c.spec)
		cat.Put(catalog.Snapshot{Server: "a", Tools: tools("t"), Era: c.era, Capabilities: []byte(runsTasks)})
		caps, _ := described(t, cat, only("a"), catalog.Tasked)
		if got := view(t, cat, only("a")).TaskLister(); (got == "a") != c.lists || strings.Contains(caps, `"list":`) != c.lists {
			t.Errorf("%+v: %q %s", c.spec, got, caps)
		}
		if caps, _ = described(t, cat, all, catalog.Tasked); view(t, cat, all).TaskLister() != "" || strings.Contains(caps, `"list":`) {
			t.Errorf("the aggregate lists tasks: %s", caps)
		}
		if caps, _ = described(t, cat, only("a"), catalog.Plain); strings.Contains(caps, `"tasks"`) {
			t.Errorf("an old client is told of tasks: %s", caps)
		}
	}
}
