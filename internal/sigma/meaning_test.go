package sigma_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"durward/internal/sigma"
	"durward/policy"
)

// TestSamplesAreRules: what the samples become compiles, and nothing of it is
// without effect.
func TestSamplesAreRules(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rules, _ := sigma.Translate(file, data, sigma.Options{})
		if findings := compile(t, sigma.Render(rules)).Lint(nil, time.Now()); len(findings) > 0 {
			t.Errorf("%s: %v", file, findings)
		}
	}
}

func compile(t *testing.T, rules []byte) *policy.Set {
	t.Helper()
	doc, problems := policy.ParseFile("rules.yaml", rules, policy.User)
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, rules)
	}
	set, problems := policy.Compile([]policy.Document{*doc}, policy.CompileOptions{})
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, rules)
	}
	return set
}

// TestMeaning: what a translated detection finds is what the specification of Sigma
// says that it finds, of arguments of every type.
func TestMeaning(t *testing.T) {
	const args = "mcp.tool.arguments."
	for _, test := range []struct {
		name, detection string
		found, not      []string // arguments
	}{
		{"whole, in any case", `{a: {` + args + `x: Git}, condition: a}`, []string{`{"x":"git"}`, `{"x":"GIT"}`, `{"x":["no","gIt"]}`}, []string{`{"x":"git "}`, `{"x":"agit"}`, `{"y":"git"}`, `{}`, `{"x":5}`, `{"x":null}`, `{"x":{"git":1}}`, `{"x":[["git"]]}`}},
		{"other scripts", `{a: {` + args + `x: ärger}, condition: a}`, []string{`{"x":"ÄRGER"}`}, []string{`{"x":"arger"}`}},
		{"wildcards", `{a: {` + args + `x: 'a*b?c'}, condition: a}`, []string{`{"x":"abxc"}`, `{"x":"a\n\nbxC"}`}, []string{`{"x":"abc"}`, `{"x":"abxcd"}`}},
		{"escaped wildcards", `{a: {` + args + `x: 'a\*b\?\\c\d'}, condition: a}`, []string{`{"x":"A*b?\\c\\d"}`}, []string{`{"x":"aXb?\\c\\d"}`}},
		{"contains", `{a: {` + args + `x|contains: '"q"'}, condition: a}`, []string{`{"x":"say \"Q\" now"}`, `{"x":"\"q\""}`}, []string{`{"x":"q"}`}},
		{"startswith", `{a: {` + args + `x|startswith: ['/etc', 'C:\Win']}, condition: a}`, []string{`{"x":"/ETC/passwd"}`, `{"x":"c:\\windows"}`}, []string{`{"x":"x/etc"}`}},
		{"endswith", `{a: {` + args + `x|endswith: '.pem'}, condition: a}`, []string{`{"x":"a.PEM"}`}, []string{`{"x":"a.pem "}`, `{"x":"apem"}`}},
		{"cased", `{a: {` + args + `x|contains|cased: Git}, condition: a}`, []string{`{"x":"a Git b"}`}, []string{`{"x":"a git b"}`}},
		{"all", `{a: {` + args + `x|contains|all: [curl, sh]}, condition: a}`, []string{`{"x":"CURL x | sh"}`}, []string{`{"x":"curl x"}`, `{"x":"sh"}`}},
		{"regular expression", `{a: {` + args + `x|re: '^a.c$'}, condition: a}`, []string{`{"x":"abc"}`}, []string{`{"x":"ABC"}`, `{"x":"xabc"}`}},
		{"regular expressions", `{a: {` + args + `x|re|i: ['^a', 'z$']}, condition: a}`, []string{`{"x":"Ab"}`, `{"x":"bZ"}`}, []string{`{"x":"b"}`}},
		{"number", `{a: {` + args + `x: 22}, condition: a}`, []string{`{"x":22}`, `{"x":22.0}`, `{"x":"22"}`, `{"x":[1,22]}`}, []string{`{"x":220}`, `{"x":"022"}`, `{"x":true}`}},
		{"a fraction", `{a: {` + args + `x: 1.5}, condition: a}`, []string{`{"x":1.5}`}, []string{`{"x":1}`}},
		{"truth", `{a: {` + args + `x: true}, condition: a}`, []string{`{"x":true}`, `{"x":"True"}`}, []string{`{"x":false}`, `{"x":1}`}},
		{"less", `{a: {` + args + `x|lt: 10}, condition: a}`, []string{`{"x":9.5}`, `{"x":-1}`, `{"x":[20,3]}`}, []string{`{"x":10}`, `{"x":"3"}`}},
		{"at least", `{a: {` + args + `x|gte: 0.5}, condition: a}`, []string{`{"x":0.5}`, `{"x":7}`}, []string{`{"x":0}`, `{"x":"z"}`}},
		{"exists", `{a: {` + args + `x|exists: true}, condition: a}`, []string{`{"x":null}`, `{"x":{}}`}, []string{`{}`, `{"X":1}`}},
		{"does not exist", `{a: {` + args + `x|exists: false}, condition: a}`, []string{`{}`}, []string{`{"x":1}`}},
		{"null", `{a: {` + args + `x: null}, condition: a}`, []string{`{}`, `{"x":null}`}, []string{`{"x":""}`, `{"x":0}`}},
		{"base64", `{a: {` + args + `x|base64offset|contains: 'foo bar'}, condition: a}`, []string{`{"x":"Zm9vIGJhcg=="}`, `{"x":"eGZvbyBiYXI="}`, `{"x":"eHhmb28gYmFy"}`}, []string{`{"x":"foo bar"}`}},
		{"deeper", `{a: {` + args + `o.x-y.z: v}, condition: a}`, []string{`{"o":{"x-y":{"z":"V"}}}`}, []string{`{"o":"text"}`, `{"o":{"x-y":[1]}}`, `{"o":{}}`, `{}`, `{"o":{"x-y":{"z":{}}}}`}},
		{"not", `{a: {` + args + `x: v}, condition: not a}`, []string{`{}`, `{"x":"w"}`, `{"x":5}`, `{"x":{"v":1}}`}, []string{`{"x":"v"}`}},
		{"not, deeper", `{a: {` + args + `o.x: v}, condition: not a}`, []string{`{}`, `{"o":1}`, `{"o":{}}`}, []string{`{"o":{"x":"v"}}`}},
		{"filter", `{s: {` + args + `x|contains: rm}, f1: {` + args + `y: ok}, f2: {` + args + `z: ok}, condition: s and not 1 of f*}`, []string{`{"x":"rm"}`, `{"x":"rm","y":"no"}`}, []string{`{"x":"rm","z":"ok"}`, `{"y":"no"}`}},
		{"binding", `{a: {` + args + `x: 1}, b: {` + args + `y: 1}, c: {` + args + `z: 1}, condition: a or b and c}`, []string{`{"x":1}`, `{"y":1,"z":1}`}, []string{`{"y":1}`, `{"z":1}`}},
		{"grouping", `{a: {` + args + `x: 1}, b: {` + args + `y: 1}, c: {` + args + `z: 1}, condition: (a OR b) AND c}`, []string{`{"x":1,"z":1}`}, []string{`{"x":1}`, `{"z":1}`}},
		{"all of them", `{a: {` + args + `x: 1}, b: {` + args + `y: 1}, _c: {` + args + `z: 1}, condition: all of them}`, []string{`{"x":1,"y":1}`}, []string{`{"x":1,"z":1}`}},
		{"list of mappings", `{a: [{` + args + `x: 1, ` + args + `y: 1}, {` + args + `z: 1}], condition: a}`, []string{`{"x":1,"y":1}`, `{"z":1}`}, []string{`{"x":1}`, `{"y":1}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rules, problems := sigma.Translate("f", []byte("title: t\ndetection: "+test.detection+"\n"), sigma.Options{Action: "block"})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			engine, err := policy.New(policy.Options{Set: compile(t, sigma.Render(rules))})
			if err != nil {
				t.Fatal(err)
			}
			for i, all := range [][]string{test.found, test.not} {
				for _, arguments := range all {
					ev := &policy.Event{Type: policy.EventMCP, Method: "tools/call", Server: policy.EventServer{Name: "s"}, Tool: policy.EventTool{Name: "t"}, Args: []byte(arguments)}
					x := engine.Explain(t.Context(), ev)
					if x.Decision.Cause == "evaluation" || x.Rules[0].Matched != (i == 0) {
						t.Errorf("%s: matched %v, %s %s\n%s", arguments, x.Rules[0].Matched, x.Decision.Cause, x.Rules[0].Why, rules[0].When)
					}
				}
			}
		})
	}
}

// TestEveryFieldIsOne: what the table of fields says of each is what policy says.
func TestEveryFieldIsOne(t *testing.T) {
	values := map[string]string{"text": "x", "number": "5", "fraction": "0.5", "truth value": "true", "list of texts": "x", "any JSON": "x"}
	for _, f := range sigma.Fields() {
		name := f.Sigma
		if name[len(name)-1] == '*' {
			name = name[:len(name)-1] + "member"
		}
		rules, problems := sigma.Translate("f", []byte("title: t\ndetection: {a: {"+name+": "+values[f.Type]+"}, condition: a}\n"), sigma.Options{})
		if len(problems) > 0 {
			t.Errorf("%s: %v", f.Sigma, problems)
			continue
		}
		doc, problems := policy.ParseFile("rules.yaml", sigma.Render(rules), policy.User)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if _, problems := policy.Compile([]policy.Document{*doc}, policy.CompileOptions{}); len(problems) > 0 && problems[0].Code != policy.CodeNever {
			t.Errorf("%s: %v", f.Sigma, problems)
		}
	}
}
