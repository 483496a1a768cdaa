package catalog_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// Pages, whatever their bounds and the filter, are the filtered list in order.
func TestB20_PagesAgainstReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		opt := catalog.Options{PageItems: rapid.IntRange(1, 6).Draw(rt, "items"), PageBytes: rapid.IntRange(1, 400).Draw(rt, "bytes")}
		cat := servers(t, opt, named("a", "b", "c")...)
		hidden := rapid.SliceOf(rapid.StringMatching(`[abc]__[0-9]`)).Draw(rt, "hidden")
		var want []string
		for _, s := range []string{"a", "b", "c"} {
			names := rapid.SliceOfNDistinct(rapid.StringMatching(`[0-9]`), 0, 10, rapid.ID[string]).Draw(rt, s)
			cat.Put(catalog.Snapshot{Server: s, Tools: tools(names...), Complete: true})
			for _, n := range names {
				if !slices.Contains(hidden, s+"__"+n) {
					want = append(want, s+"__"+n)
				}
			}
		}
		keep := func(e *catalog.Entry) bool { return !slices.Contains(hidden, e.Offered) }
		if len(hidden) == 0 {
			keep = nil
		}
		got := pages(t, view(t, cat, all), wire.MethodToolsList, keep)
		if fmt.Sprint(slices.Concat(got...)) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		for i, page := range got {
			if len(page) > opt.PageItems || len(page) == 0 && len(got) > 1 {
				rt.Fatalf("page %d of %d has %d items", i, len(got), len(page))
			}
		}
	})
}

// A bare URI fits a template if and only if a regular expression says so.
func TestTemplatesAgainstReference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tpl := "x:" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "?", "{v}", "{+v}", "{/v}", "{?v}", "é", "%e9"}), 0, 8).Draw(rt, "template"), "")
		uri := "x:" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "?", "#", "%C3%A9", "é", "%E9"}), 0, 10).Draw(rt, "uri"), "")
		pattern := regexp.MustCompile(`\\\{.*?v\\\}|é|%e9`).ReplaceAllStringFunc(regexp.QuoteMeta(tpl), func(m string) string {
			switch m {
			case `\{v\}`:
				return `[^/?#]*`
			case `\{\+v\}`:
				return `.*`
			case `\{/v\}`:
				return `[^?#]*`
			case `\{\?v\}`:
				return `[^#]*`
			case "é":
				return `%C3%A9`
			default:
				return `%E9`
			}
		})
		want := regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(strings.ReplaceAll(uri, "é", "%C3%A9"))
		cat := servers(t, catalog.Options{}, named("a")...)
		cat.Put(catalog.Snapshot{Server: "a", Templates: [][]byte{template(tpl)}})
		if _, err := view(t, cat, all).Resource(uri); (err == nil) != want {
			rt.Fatalf("%s fits %s: %v, the reference says %v", uri, tpl, err == nil, want)
		}
	})
}

// Readers never wait for writers and never see half of a change.
func TestReadersWhileEverythingChanges(t *testing.T) {
	cat := servers(t, catalog.Options{PageItems: 3}, named("a", "b")...)
	sizes := map[int]bool{0: true, 2: true, 4: true}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v, _ := cat.View(all)
				n := 0
				for _, page := range pages(t, v, wire.MethodToolsList, nil) {
					for _, name := range page {
						n++
						if _, ok := v.Tool(name); !ok {
							t.Errorf("%s is listed and cannot be found", name)
						}
					}
				}
				if !sizes[n] {
					t.Errorf("%d tools are listed", n)
				}
				v.Describe(catalog.Tasked)
				_, _ = v.Resource("x:1")
				v.Problems()
			}
		})
	}
	for _, s := range []string{"a", "b"} {
		writers.Go(func() {
			for i := range 200 {
				cat.Put(catalog.Snapshot{Server: s, Tools: tools(fmt.Sprint(i), fmt.Sprint(i+1)), Resources: [][]byte{resource("x:1")}, Instructions: s, Complete: true})
				cat.Missing(s, "back-off", fmt.Sprint(i))
				if i%10 == 0 {
					cat.Drop(s)
				}
			}
		})
	}
	writers.Go(func() {
		for i := range 50 {
			if _, err := cat.ReplaceToolsets([]durward.Toolset{{Name: "x", Tools: []string{fmt.Sprintf("a__*%d", i%10)}}}); err != nil {
				t.Error(err)
			}
			if _, err := cat.SetServers([]durward.Server{{Name: "a", Risk: durward.Risk(1 + i%4)}, {Name: "b"}}); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
}
