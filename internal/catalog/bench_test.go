package catalog_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"durward/internal/catalog"
	"durward/internal/wire"
)

// bigSnapshot is a server with n tools of about 1 KiB each.
func bigSnapshot(server string, n int) (s catalog.Snapshot, size int) {
	s = catalog.Snapshot{Server: server, Complete: true}
	for i := range n {
		item := fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","maximum":%d}}}}`,
			i, strings.Repeat("words ", 140), i)
		s.Tools = append(s.Tools, []byte(item))
		size += len(item)
	}
	return s, size
}

func TestMemoryIsBoundedByTheRawBytes(t *testing.T) {
	before := heap()
	cat := servers(t, catalog.Options{}, named("a", "b")...)
	size := 0
	for _, server := range []string{"a", "b"} {
		s, n := bigSnapshot(server, 2500)
		size += n
		cat.Put(s)
	}
	v := view(t, cat, all)
	list(t, v, wire.MethodToolsList)
	grown := heap() - before
	if grown > 3*uint64(size) {
		t.Errorf("%d bytes of tools, listed once, take %d bytes", size, grown)
	}
	runtime.KeepAlive(cat)
	runtime.KeepAlive(v)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A refresh in which one tool of 5,000 changed must not read the others again.
func TestRefreshCostsWhatChanged(t *testing.T) {
	s, _ := bigSnapshot("a", 5000)
	cold := testing.AllocsPerRun(1, func() { servers(t, catalog.Options{}, named("a")...).Put(s) })
	cat := servers(t, catalog.Options{}, named("a")...)
	cat.Put(s)
	i := 0
	warm := testing.AllocsPerRun(3, func() {
		s.Tools = append([][]byte(nil), s.Tools...)
		s.Tools[7] = tool(fmt.Sprintf("new_%d", i))
		i++
		cat.Put(s)
	})
	if warm > 0.75*cold {
		t.Errorf("%v allocations at first, %v for one change", cold, warm)
	}
}

func BenchmarkPut5000(b *testing.B) {
	s, size := bigSnapshot("a", 5000)
	b.SetBytes(int64(size))
	for b.Loop() {
		cat := servers(b, catalog.Options{}, named("a", "b")...)
		cat.Put(s)
	}
}

func BenchmarkRefresh5000(b *testing.B) {
	s, size := bigSnapshot("a", 5000)
	cat := servers(b, catalog.Options{}, named("a")...)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Tools[7] = tool(fmt.Sprintf("new_%d", i))
		cat.Put(s)
	}
}

func BenchmarkAssemble5000(b *testing.B) {
	s, size := bigSnapshot("a", 5000)
	cat := servers(b, catalog.Options{}, named("a", "b")...)
	cat.Put(s)
	b.SetBytes(int64(size))
	for i := 0; b.Loop(); i++ {
		cat.Missing("b", "back-off", fmt.Sprint(i)) // throws the pages away
		if _, err := view(b, cat, all).List(query(wire.MethodToolsList, "", catalog.Tasked, nil)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList5000(b *testing.B) {
	s, size := bigSnapshot("a", 5000)
	cat := servers(b, catalog.Options{}, named("a")...)
	cat.Put(s)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		v, _ := cat.View(all)
		if _, err := v.List(query(wire.MethodToolsList, "", catalog.Tasked, nil)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFiltered5000(b *testing.B) {
	s, size := bigSnapshot("a", 5000)
	cat := servers(b, catalog.Options{}, named("a")...)
	cat.Put(s)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		v, _ := cat.View(all)
		if _, err := v.List(query(wire.MethodToolsList, "", catalog.Tasked, func(e *catalog.Entry) bool { return len(e.Name)%2 == 0 })); err != nil {
			b.Fatal(err)
		}
	}
}

// The worst that a hostile server and a hostile client can do together to a lookup.
func BenchmarkHostileTemplates(b *testing.B) {
	cat := servers(b, catalog.Options{}, named("a")...)
	s := catalog.Snapshot{Server: "a", Complete: true}
	for i := range 1000 {
		s.Templates = append(s.Templates, template(fmt.Sprintf("%sy%d", strings.Repeat("{+a}x", 16), i)))
	}
	cat.Put(s)
	v := view(b, cat, all)
	uri := strings.Repeat("x", 2048)
	for b.Loop() {
		if _, err := v.Resource(uri); err == nil {
			b.Fatal("found")
		}
	}
}
