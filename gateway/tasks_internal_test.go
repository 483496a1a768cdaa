package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/exchange"
	"durward/internal/seal"
	"durward/internal/wire"
)

func sealing(t testing.TB) *Gateway {
	t.Helper()
	ring, err := seal.NewRing(durward.NewSealKey())
	if err != nil {
		t.Fatal(err)
	}
	return &Gateway{ring: ring}
}

func TestTaskIDsComeBackAsTheyWere(t *testing.T) {
	g := sealing(t)
	rapid.Check(t, func(rt *rapid.T) {
		want := &taskRef{
			era: rapid.SampledFrom([]wire.Era{wire.Legacy, wire.Modern}).Draw(rt, "era"), server: rapid.StringMatching(`[a-z][a-z0-9-]{0,31}`).Draw(rt, "server"),
			id: wire.AppendQuote(nil, rapid.StringN(0, -1, 3000).Draw(rt, "id")),
		}
		token := g.sealTaskID("alice", want)
		if len(token) > maxTaskToken || len(wire.EncodeHeaderValue(token)) != len(token) {
			rt.Fatalf("the token of %d bytes fits into no header", len(token))
		}
		got, ok := g.openTaskID("alice", token)
		if !ok || got.era != want.era || got.server != want.server || !bytes.Equal(got.id, want.id) {
			rt.Fatalf("%+v became %+v", want, got)
		}
		if _, ok := g.openTaskID("bob", token); ok {
			rt.Fatal("somebody else can use it")
		}
	})
	longest := &taskRef{era: wire.Modern, server: "a-name-of-thirty-two-characters-", id: []byte(`"` + string(bytes.Repeat([]byte("x"), maxTaskID-2)) + `"`)}
	if token := g.sealTaskID("alice", longest); len(token) > maxTaskToken {
		t.Errorf("the longest id makes a token of %d bytes, the bound is %d", len(token), maxTaskToken)
	}
}

// FuzzParseTaskRef reads any payload: one that is taken is the one that is made of
// what it says.
func FuzzParseTaskRef(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{taskVersion, byte(wire.Modern), 3, 'w', 'e', 'b', '"', 'x', '"'})
	f.Add([]byte{taskVersion, byte(wire.Legacy), 0, '"', '"'})
	f.Add([]byte{taskVersion, 9, 1, 'a', '"', '"'})
	f.Add([]byte{taskVersion, byte(wire.Modern), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a'})
	f.Fuzz(func(t *testing.T, payload []byte) {
		ref, ok := parseTaskRef(payload)
		if !ok {
			return
		}
		if ref.era != wire.Legacy && ref.era != wire.Modern || len(ref.id) < 2 || ref.id[0] != '"' {
			t.Fatalf("%q became %+v", payload, ref)
		}
		if _, ok := wire.Unquote(ref.id); !ok {
			t.Fatalf("%q has no id: %+v", payload, ref)
		}
	})
}

func TestEverywhere(t *testing.T) {
	for _, c := range []struct {
		obj  string
		path []string
		want []string
	}{
		{`{"taskId":"a"}`, []string{"taskId"}, []string{`"a"`}},
		{` { "x" : 1 , "taskId" : "a" , "taskId" : 2 } `, []string{"taskId"}, []string{`"a"`, `2`}},
		{`{"task":{"taskId":"a","taskId":"b"},"taskId":"c","task":{"taskId":"d"}}`, []string{"task", "taskId"}, []string{`"a"`, `"b"`, `"d"`}},
		{`{"task\u0049d":"a"}`, []string{"taskId"}, []string{`"a"`}},
		{`{"task":["taskId"]}`, []string{"task", "taskId"}, nil},
		{`{"task":"taskId"}`, []string{"task", "taskId"}, nil},
		{`{"_meta":{"a/b":{"taskId":"x"}}}`, []string{"_meta", "a/b", "taskId"}, []string{`"x"`}},
		{`{}`, []string{"taskId"}, nil},
		{`[]`, []string{"taskId"}, nil},
		{`null`, []string{"taskId"}, nil},
		{``, []string{"taskId"}, nil},
	} {
		var got []string
		for _, at := range everywhere([]byte(c.obj), c.path...) {
			got = append(got, string(at.Of([]byte(c.obj))))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %q, want %q", c.obj, c.path, got, c.want)
		}
	}
}

// The table does what one would do that forgets nothing, until it is full.
func TestTheTaskTableAgreesWithASlowOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var table taskTable
		known, begun := map[knownTask]string{}, map[taskKey][]durward.SessionID{}
		first := map[taskKey]durward.SessionID{}
		for i := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			key := taskKey{rapid.SampledFrom([]string{"s", "t"}).Draw(rt, "server"), rapid.SampledFrom([]string{`"1"`, `"2"`}).Draw(rt, "id")}
			session := durward.SessionID(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "session"))
			begins := rapid.Bool().Draw(rt, "begins")
			got := table.knownAs(key, session, begins, func() string { return fmt.Sprint(i) })
			if want, there := known[knownTask{key, session}]; there && got != want || !there && got != fmt.Sprint(i) {
				rt.Fatalf("%v knows %v as %s, want %s", session, key, got, want)
			}
			known[knownTask{key, session}] = got
			if _, there := first[key]; !there {
				first[key] = session
			}
			if begins && session != first[key] {
				begun[key] = append(begun[key], session)
			}
			owner, sealed := table.owner(key)
			want := first[key]
			if len(begun[key]) > 0 {
				want = ""
			}
			if owner != want || want != "" && sealed != known[knownTask{key, want}] {
				rt.Fatalf("%v is told to %q by %q, want %q", key, owner, sealed, want)
			}
		}
	})
}

func TestTheTaskTableIsBounded(t *testing.T) {
	var table taskTable
	key := func(i int) taskKey { return taskKey{"s", fmt.Sprint(i)} }
	for i := range 3 * maxTracked {
		table.knownAs(key(i), durward.SessionID(fmt.Sprint("session", i%7)), true, func() string { return fmt.Sprint(i) })
	}
	if len(table.known) != maxTracked || len(table.owners) != maxTracked || len(table.order) != maxTracked {
		t.Errorf("it keeps %d, %d and %d, the bound is %d", len(table.known), len(table.owners), len(table.order), maxTracked)
	}
	long := taskKey{"s", string(bytes.Repeat([]byte("x"), maxTrackedID+1))}
	if sealed := table.knownAs(long, "session", true, func() string { return "fresh" }); sealed != "fresh" || len(table.known) != maxTracked {
		t.Error("a long id is kept")
	}
	if owner, _ := table.owner(key(0)); owner != "" {
		t.Error("the oldest is still there")
	}
	if owner, sealed := table.owner(key(3*maxTracked - 1)); owner == "" || sealed != fmt.Sprint(3*maxTracked-1) {
		t.Error("the newest is not")
	}
}

// Where a client meets several servers, none is told that it keeps tasks itself.
func TestClientsKeepNoTasksForManyServers(t *testing.T) {
	for _, c := range []struct {
		capabilities, want string
	}{
		{`{"elicitation":{},"tasks":{"list":{}},"x":1e400}`, `{"elicitation":{},"x":1e400}`},
		{`{"elicitation":{} }`, `{"elicitation":{} }`},
		{``, ``},
	} {
		p := &passage{in: &exchange.Inbound{Request: exchange.Request{Client: exchange.Client{Era: wire.Legacy, Capabilities: []byte(c.capabilities)}}}}
		if p.foregoTasks(); string(p.in.Client.Capabilities) != c.want {
			t.Errorf("%s became %s", c.capabilities, p.in.Client.Capabilities)
		}
	}
}
