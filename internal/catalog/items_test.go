package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"durward"
	"durward/internal/catalog"
	"durward/internal/wire"
)

// bad are tools that cannot be offered anywhere, with what is said of them.
func badTools() map[string]string {
	return map[string]string{
		``:                                               "no JSON object",
		`null`:                                           "no JSON object",
		`[]`:                                             "no JSON object",
		`"x"`:                                            "no JSON object",
		`{"name":"x","inputSchema":{}`:                   "no JSON object",
		`{"name":"x","inputSchema":{}}]}`:                "no JSON object",
		`{"name":"x","inputSchema":{}},{}`:               "no JSON object",
		`{"inputSchema":{"type":"object"}}`:              "it has no name",
		`{"name":null,"inputSchema":{}}`:                 "its name is no string",
		`{"name":1,"inputSchema":{}}`:                    "its name is no string",
		`{"name":"","inputSchema":{}}`:                   "its name is empty",
		`{"name":"\ud800","inputSchema":{}}`:             "not valid Unicode",
		"{\"name\":\"\xff\",\"inputSchema\":{}}":         "not valid Unicode",
		`{"name":"x"}`:                                   "its inputSchema is no object",
		`{"name":"x","inputSchema":null}`:                "its inputSchema is no object",
		`{"name":"x","inputSchema":true}`:                "its inputSchema is no object",
		`{"name":"x","name":"y","inputSchema":{}}`:       "name stands twice",
		`{"name":"x","n\u0061me":"y","inputSchema":{}}`:  "name stands twice",
		`{"name":"x","inputSchema":{},"inputSchema":{}}`: "inputSchema stands twice",
		`{"name":"x","inputSchema":{},"description":"` + strings.Repeat("d", 64<<10) + `"}`:       "limit of 65536 (limits.description)",
		`{"name":"x","inputSchema":{"d":"` + strings.Repeat("d", 1<<20) + `"}}`:                   "limit of 1048576 (limits.schema)",
		`{"name":"x","inputSchema":{},"outputSchema":{"d":"` + strings.Repeat("d", 1<<20) + `"}}`: "limit of 1048576 (limits.schema)",
		`{"name":"x","inputSchema":{},"icons":"` + strings.Repeat("d", 4<<20) + `"}`:              "limit of 4194304 (limits.item)",
		strings.Repeat(`{"name":"x","inputSchema":`, 200) + `{}` + strings.Repeat("}", 200):       "no JSON object",
	}
}

func TestInvalidToolsAreLeftOutAndReported(t *testing.T) {
	for item, want := range badTools() {
		cat := servers(t, catalog.Options{}, named("a")...)
		cat.Put(catalog.Snapshot{Server: "a", Tools: [][]byte{tool("before"), []byte(item), tool("after")}, Complete: true})
		for _, route := range []durward.Route{all, only("a")} {
			v := view(t, cat, route)
			if v.Counts().Tools != 2 {
				t.Errorf("%.80s: %q", item, offered(v, catalog.Tool))
			}
			problems := v.Problems()
			if len(problems) != 1 {
				t.Fatalf("%.80s: problems %q", item, problems)
			}
			contains(t, item[:min(len(item), 80)], problems[0], "tool number 2", want)
		}
	}
}

func TestOtherInvalidItems(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	cat.Put(catalog.Snapshot{
		Server: "a", Complete: true, Capabilities: []byte(`[1]`),
		Prompts:   raw(`{"title":"x"}`, `{"name":"p"}`, `{"name":"p"}`),
		Resources: raw(`{"name":"x"}`, `{"uri":7}`, `{"uri":"x:1","name":"n"}`, `{"uri":"x:1","name":"m"}`),
		Templates: raw(`{"uri":"x:1","name":"n"}`, `{"uriTemplate":"x:{y}","name":"n"}`, `{"uriTemplate":"x:{y}","name":"n","z":1}`),
	})
	v := view(t, cat, only("a"))
	equal(t, "counts", fmt.Sprintf("%+v", v.Counts()), "{Tools:0 Prompts:1 Resources:1 Templates:1}")
	equal(t, "problems", strings.Join(v.Problems(), "\n"), strings.Join([]string{
		`its capabilities are no JSON object and are ignored`,
		`prompt number 1 is not offered: it has no name`,
		`prompt "p" is listed more than once; the first one is offered`,
		`resource number 1 is not offered: it has no uri`,
		`resource number 2 is not offered: its uri is no string`,
		`resource "x:1" is listed more than once; the first one is offered`,
		`resource template number 1 is not offered: it has no uriTemplate`,
		`resource template "x:{y}" is listed more than once; the first one is offered`,
	}, "\n"))
}

// What every typed client refuses together with the whole list it stands in.
func TestFlawedItemsAreKeptOffTheAggregate(t *testing.T) {
	flawed := catalog.Snapshot{
		Server: "a", Complete: true,
		Tools: raw(
			`{"name":"t1","inputSchema":{}}`, `{"name":"t2","inputSchema":{"type":["object"]}}`, `{"name":"t3","inputSchema":{"type":"object"},"description":null}`,
			`{"name":"t4","inputSchema":{"type":"object"},"title":1}`, `{"name":"t5","inputSchema":{"type":"object"},"annotations":[]}`,
			`{"name":"t6","inputSchema":{"type":"object"},"outputSchema":true}`, `{"name":"t7","inputSchema":{"type":"object"},"_meta":1}`, `{"name":"ok","inputSchema":{"type":"object"}}`),
		Prompts:   raw(`{"name":"p1","arguments":{}}`, `{"name":"ok"}`),
		Resources: raw(`{"uri":"x:1"}`, `{"uri":"x:ok","name":"n"}`),
		Templates: raw(`{"uriTemplate":"x:{y}","name":1}`, `{"uriTemplate":"x:ok","name":"n"}`),
	}
	cat := servers(t, catalog.Options{}, named("a")...)
	cat.Put(flawed)
	v, own := view(t, cat, all), view(t, cat, only("a"))
	equal(t, "aggregate", fmt.Sprintf("%+v", v.Counts()), "{Tools:1 Prompts:1 Resources:1 Templates:1}")
	equal(t, "own route", fmt.Sprintf("%+v", own.Counts()), "{Tools:8 Prompts:2 Resources:2 Templates:2}")
	if len(own.Problems()) != 10 {
		t.Errorf("%d problems: %q", len(own.Problems()), own.Problems())
	}
	contains(t, "problem", own.Problems()[0], `tool "t1" is offered on the server's own route only: its inputSchema has no "type": "object"`)

	bare := servers(t, catalog.Options{Prefix: catalog.PrefixNone}, named("a")...)
	bare.Put(flawed)
	equal(t, "without prefix", fmt.Sprintf("%+v", view(t, bare, all).Counts()), "{Tools:8 Prompts:2 Resources:2 Templates:2}")
}

func TestFaultsThatServersMayHavePassThrough(t *testing.T) {
	for _, item := range []string{
		`{"name":"x","inputSchema":{"type":"object"},"k":1,"k":2}`,
		"{\"name\":\"x\",\"inputSchema\":{\"type\":\"object\"},\"description\":\"\xff\\ud800\"}",
		`{"Name":"y","name":"x","inputSchema":{"type":"object","a":1,"a":2}}`,
	} {
		cat := servers(t, catalog.Options{}, named("a")...)
		cat.Put(catalog.Snapshot{Server: "a", Tools: raw("\n " + item + "\t"), Complete: true})
		equal(t, "own", list(t, view(t, cat, only("a")), wire.MethodToolsList), `{"tools":[`+item+`]}`)
		equal(t, "aggregate", list(t, view(t, cat, all), wire.MethodToolsList), `{"tools":[`+strings.Replace(item, `"name":"x"`, `"name":"a__x"`, 1)+`]}`)
	}
}

func TestLimitsOfOneServer(t *testing.T) {
	opt := catalog.Options{MaxItems: 3, MaxTemplates: 1, MaxListBytes: 200}
	cat := servers(t, opt, named("a", "b", "c")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: tools("1", "2", "3", "4", "5"), Templates: [][]byte{template("x"), template("y")}, Complete: true})
	cat.Put(catalog.Snapshot{Server: "b", Tools: [][]byte{tool("1"), tool(strings.Repeat("x", 200)), tool("3")}, Complete: true})
	cat.Put(catalog.Snapshot{Server: "c", Tools: tools("1")})
	equal(t, "problems", strings.Join(view(t, cat, all).Problems(), "\n"), strings.Join([]string{
		"a: 2 tools are not offered: the limit for one server is 3 (limits.items)",
		"a: 1 resource templates are not offered: the limit for one server is 1 (limits.templates)",
		"b: 2 tools are not offered: together they exceed the limit of 200 bytes (limits.list)",
		"c: its lists could not be read to the end: what is offered may be incomplete",
	}, "\n"))
	equalNames(t, "offered", offered(view(t, cat, all), catalog.Tool), "a__1", "a__2", "a__3", "b__1", "c__1")
}

func TestProblemsAreBounded(t *testing.T) {
	cat := servers(t, catalog.Options{}, named("a")...)
	items := make([][]byte, 5000)
	for i := range items {
		items[i] = []byte(`{"name":7,"x":"` + strings.Repeat("y", 500) + `"}`)
	}
	cat.Put(catalog.Snapshot{Server: "a", Tools: items, Complete: true})
	problems := view(t, cat, only("a")).Problems()
	if len(problems) != 101 || problems[100] != "and 4900 more" {
		t.Errorf("%d problems, the last is %q", len(problems), problems[len(problems)-1])
	}
}

func TestHeaderParams(t *testing.T) {
	schema := func(header string) []byte {
		return []byte(`{"name":"x","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":` + header + `}}}}`)
	}
	cat := servers(t, catalog.Options{}, named("a")...)
	cat.Put(catalog.Snapshot{Server: "a", Tools: [][]byte{schema(`"Region"`)}, Complete: true})
	e, _ := view(t, cat, all).Tool("a__x")
	if len(e.HeaderParams) != 1 || e.HeaderParams[0].Header != "Region" {
		t.Errorf("%+v", e.HeaderParams)
	}
	for range 2 { // the second time the item is taken over from before
		cat.Put(catalog.Snapshot{Server: "a", Tools: [][]byte{schema(`"not a token"`), tool("y")}, Complete: true})
		e, ok := view(t, cat, all).Tool("a__x")
		if !ok || e.HeaderParams != nil {
			t.Errorf("offered %v, %+v", ok, e)
		}
		if p := view(t, cat, only("a")).Problems(); len(p) != 1 || !strings.Contains(p[0], `tool "x": its arguments are mirrored in no header`) {
			t.Errorf("problems %q", p)
		}
		cat.Put(catalog.Snapshot{Server: "a", Tools: [][]byte{schema(`"not a token"`)}, Complete: true})
	}
}

// What the operator says of a tool counts, whatever it says of itself.
func TestTheOperatorSaysTheRisk(t *testing.T) {
	cat := servers(t, catalog.Options{}, durward.Server{Name: "a", Risk: durward.RiskHigh, Tools: durward.ToolRules{
		Risk: map[string]durward.Risk{"x*": durward.RiskLow, "xy": durward.RiskMedium, "q/*": durward.RiskLow},
	}})
	destructive := `","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`
	cat.Put(catalog.Snapshot{Server: "a", Tools: raw(`{"name":"x`+destructive, `{"name":"xy`+destructive, `{"name":"z`+destructive, `{"name":"q/r`+destructive)})
	for name, want := range map[string][2]durward.Risk{
		"x": {durward.RiskLow, durward.RiskLow}, "xy": {durward.RiskMedium, durward.RiskMedium}, "z": {durward.RiskCritical, durward.RiskUnset}, "q/r": {durward.RiskLow, durward.RiskLow},
	} {
		for e := range view(t, cat, all).Entries(catalog.Tool) {
			if e.Name == name && (e.Risk != want[0] || e.Tool.Set != want[1]) {
				t.Errorf("%s: %s, set %s", name, e.Risk, e.Tool.Set)
			}
		}
	}
	if _, err := catalog.New(catalog.Options{}).SetServers([]durward.Server{{Name: "a", Tools: durward.ToolRules{Risk: map[string]durward.Risk{"[": durward.RiskLow}}}}); err == nil {
		t.Error("a malformed pattern was taken")
	}
}

func TestRiskIsTheFloorOrMore(t *testing.T) {
	for _, c := range []struct {
		floor durward.Risk
		hints string
		want  durward.Risk
	}{
		{durward.RiskUnset, `{}`, durward.RiskHigh},
		{durward.RiskUnset, `{"readOnlyHint":true}`, durward.RiskHigh},
		{durward.RiskLow, `{}`, durward.RiskLow},
		{durward.RiskLow, `{"destructiveHint":false,"openWorldHint":false}`, durward.RiskLow},
		{durward.RiskLow, `{"destructiveHint":true}`, durward.RiskCritical},
		{durward.RiskLow, `{"openWorldHint":true}`, durward.RiskMedium},
		{durward.RiskLow, `{"openWorldHint":true,"readOnlyHint":true}`, durward.RiskLow},
		{durward.RiskCritical, `{"openWorldHint":true}`, durward.RiskCritical},
	} {
		cat := servers(t, catalog.Options{}, durward.Server{Name: "a", Risk: c.floor})
		cat.Put(catalog.Snapshot{Server: "a", Tools: raw(`{"name":"x","inputSchema":{"type":"object"},"annotations":` + c.hints + `}`), Prompts: raw(`{"name":"p"}`)})
		e, _ := view(t, cat, all).Tool("a__x")
		if e.Risk != c.want {
			t.Errorf("floor %s, hints %s: %s, want %s", c.floor, c.hints, e.Risk, c.want)
		}
		if p, _ := view(t, cat, all).Prompt("a__p"); p.Risk != durward.RiskUnset {
			t.Errorf("a prompt has risk %s", p.Risk)
		}
	}
}
