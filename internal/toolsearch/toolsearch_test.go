package toolsearch_test

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"testing"
	"unicode/utf8"

	"durward/internal/toolsearch"

	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"create_issue":                      "[[creat] [issu]]",
		"createPullRequest":                 "[[createpullrequest creat pull request]]",
		"HTTPServer GitHub's":               "[[httpserver http server] [github git hub] [s]]",
		"list-branches/boxes, queries":      "[[list] [branch] [box] [query]]",
		"Creates created creating CREATE":   "[[creat] [creat] [creat] [creat]]",
		"running stopped calls status this": "[[run] [stop] [call] [status]]",
		"s3 sha256 ec2":                     "[[s3] [sha256 sha 256] [ec2 ec]]",
		"the tool for an":                   "[]",
		"日本語 größe":                         "[[日本語] [größ]]",
		"":                                  "[]",
		"\xff\xfe..  ":                      "[]",
		strings.Repeat("x", 100):            "[[" + strings.Repeat("x", 32) + "]]",
	} {
		if got := fmt.Sprint(toolsearch.Terms(text)); got != want {
			t.Errorf("%q: %s, wanted %s", text, got, want)
		}
	}
}

func TestReadTakesWhatCanBeSearched(t *testing.T) {
	d := toolsearch.Read([]byte(`{"name":"a__b","annotations":{"title":"Old"},"title":"New \u00e9","description":"Does.","inputSchema":{"type":"object","properties":{` +
		`"x":{"type":"object","description":"deep","properties":{"y":{"description":1},"z":{"type":"array","items":{"properties":{"w":{"description":"end","properties":{"too":{"description":"deep"}}}}}}}},"v":true}}}`))
	want := toolsearch.Document{Name: "a__b", Title: "New é", Description: "Does.", Params: []string{"x deep", "y ", "z ", "w end", "v "}}
	if fmt.Sprintf("%q", d) != fmt.Sprintf("%q", want) {
		t.Errorf("%q", d)
	}
	long := toolsearch.Read([]byte(`{"name":"n","description":"` + strings.Repeat("é", 4000) + `"}`))
	if len(long.Description) > 4<<10 || !utf8.ValidString(long.Description) {
		t.Errorf("%d bytes of description", len(long.Description))
	}
	var properties []string
	for i := range 100 {
		properties = append(properties, fmt.Sprintf(`"p%d":{}`, i))
	}
	if many := toolsearch.Read([]byte(`{"name":"n","inputSchema":{"properties":{` + strings.Join(properties, ",") + `}}}`)); len(many.Params) != 64 {
		t.Errorf("%d parameters", len(many.Params))
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range [][2]string{
		{"Does it. And more.", "Does it."},
		{"  Does v1.2 of it\n\nmore", "Does v1.2 of it"},
		{"", ""},
		{strings.Repeat("é", 60), strings.Repeat("é", 48) + "…"},
	} {
		if got := toolsearch.OneLine(c[0], 100); got != c[1] {
			t.Errorf("%q", got)
		}
	}
}

func docs(names ...string) (out []toolsearch.Document) {
	for _, n := range names {
		out = append(out, toolsearch.Document{Name: n})
	}
	return out
}

func TestWhatIsFound(t *testing.T) {
	list := docs("a__create_issue", "a__delete_issue", "b__getPullRequest", "b__kubernetes_pods", "c__mail", "c__send", "a__create")
	list[4].Description = "Puts an envelope into the post."
	x := toolsearch.New(list)
	for query, want := range map[string]string{
		"issue":          "a__create_issue a__delete_issue", // equal: in the order of the list
		"remove issues":  "a__delete_issue a__create_issue", // by a word that means the same
		"pull request":   "b__getPullRequest",
		"kube pods":      "b__kubernetes_pods", // by the beginning of a word
		"envelope":       "c__mail",
		" A__CREATE ":    "a__create a__create_issue", // its name, whatever else fits
		"":               "",
		"the for and":    "",
		"nothing at all": "",
	} {
		if got := found(x, list, query, 10); got != want {
			t.Errorf("%q finds %q, wanted %q", query, got, want)
		}
	}
}

func TestHugeToolsAreReadInPart(t *testing.T) {
	list := docs("a", "b")
	list[0].Description = strings.Repeat("filler ", 399) + "inside beyond"
	list[1].Params = []string{strings.Repeat("filler ", 300), strings.Repeat("filler ", 99) + "inside beyond"}
	x := toolsearch.New(list)
	if got := found(x, list, "inside", 10); got != "b a" && got != "a b" {
		t.Errorf("finds %q", got)
	}
	if got := found(x, list, "beyond", 10); got != "" {
		t.Errorf("word 401 is found: %q", got)
	}
}

func found(x *toolsearch.Index, list []toolsearch.Document, query string, limit int) string {
	var names []string
	for _, hit := range x.Search(query, limit, nil) {
		names = append(names, list[hit.Document].Name)
	}
	return strings.Join(names, " ")
}

func TestTheFilterIsAskedOnlyAboutWhatWouldBeReturned(t *testing.T) {
	list := docs("x1__issue", "x2__issue", "x3__issue", "x4__issue")
	asked := 0
	hits := toolsearch.New(list).Search("issue", 2, func(i int) bool {
		asked++
		return i != 0
	})
	if len(hits) != 2 || hits[0].Document != 1 || hits[1].Document != 2 || asked != 3 {
		t.Errorf("%v after %d questions", hits, asked)
	}
	if hits := toolsearch.New(nil).Search("issue", 2, nil); hits != nil {
		t.Errorf("%v in nothing", hits)
	}
}

// slow scores one document against a query straight from the definition.
func slow(list []toolsearch.Document, at int, query string) float64 {
	fieldsOf := func(d toolsearch.Document) [4][]string { // all terms of a field
		var out [4][]string
		for f, texts := range [4][]string{{d.Name}, {d.Title}, {d.Description}, d.Params} {
			for _, text := range texts {
				for _, w := range toolsearch.Terms(text) {
					out[f] = append(out[f], w...)
				}
			}
		}
		return out
	}
	lengthOf := func(d toolsearch.Document, f int) (n float64) {
		for _, text := range [4][]string{{d.Name}, {d.Title}, {d.Description}, d.Params}[f] {
			n += float64(len(toolsearch.Terms(text)))
		}
		return n
	}
	occurs := func(d toolsearch.Document, term string) bool {
		for _, terms := range fieldsOf(d) {
			for _, t := range terms {
				if t == term {
					return true
				}
			}
		}
		return false
	}
	df := func(term string) (n float64) {
		for _, d := range list {
			if occurs(d, term) {
				n++
			}
		}
		return n
	}
	idf := func(term string) float64 { return math.Log(1 + (float64(len(list))-df(term)+0.5)/(df(term)+0.5)) }
	about := func(term string) float64 {
		tf := 0.0
		for f, w := range [4][2]float64{{4, 0.4}, {2, 0.4}, {1.5, 0.5}, {0.5, 0.6}} {
			n, mean := 0.0, 0.0
			for _, t := range fieldsOf(list[at])[f] {
				if t == term {
					n++
				}
			}
			for _, d := range list {
				mean += lengthOf(d, f)
			}
			mean = max(1, mean/float64(len(list)))
			tf += w[0] * n / (1 - w[1] + w[1]*lengthOf(list[at], f)/mean)
		}
		return tf / (1.2 + tf)
	}
	vocabulary := func() (out []string) {
		seen := map[string]bool{}
		for _, d := range list {
			for _, terms := range fieldsOf(d) {
				for _, t := range terms {
					if !seen[t] {
						seen[t] = true
						out = append(out, t)
					}
				}
			}
		}
		sort.Strings(out)
		return out
	}
	concept := func(term string, weight float64) float64 {
		best, most := 0.0, math.Inf(1)
		if df(term) > 0 {
			most = idf(term)
			best = weight * most * about(term)
		} else if len(term) >= 4 {
			n := 0
			for _, longer := range vocabulary() {
				if strings.HasPrefix(longer, term) && n < 8 {
					n++
					best = max(best, weight*0.6*idf(longer)*about(longer))
				}
			}
		}
		for _, other := range toolsearch.Synonyms()[term] {
			if df(other) > 0 {
				best = max(best, weight*0.4*min(most, idf(other))*about(other))
			}
		}
		return best
	}
	score := 0.0
	seen := map[string]bool{}
	for _, w := range toolsearch.Terms(query) {
		weight := 1.0
		for i, term := range w {
			if !seen[term] {
				seen[term] = true
				score += concept(term, weight)
			}
			if i == 0 && df(term) > 0 {
				weight = 0.3
			}
		}
	}
	if query = strings.TrimSpace(query); query != "" && strings.EqualFold(query, list[at].Name) {
		score += 100
	}
	return score
}

// Search must be what the slow definition says, to the precision of float32.
func TestSearchAgreesWithTheSlowScorer(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"create", "issues", "Issue", "delete", "remove", "gitHub", "github", "pull", "PullRequest", "kube", "kubernetes", "kubectl",
			"mail", "s3", "the", "of", "list", "all", "x", "created",
		}), 0, 6).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) toolsearch.Document {
			return toolsearch.Document{
				Name: strings.ReplaceAll(text.Draw(t, "name"), " ", "_"), Title: text.Draw(t, "title"), Description: text.Draw(t, "description"),
				Params: rapid.SliceOfN(text, 0, 2).Draw(t, "params"),
			}
		}), 1, 7).Draw(t, "documents")
		query := text.Draw(t, "query")
		hits := toolsearch.New(list).Search(query, len(list), nil)
		got := map[int]float64{}
		for i, hit := range hits {
			got[hit.Document] = hit.Score
			if i > 0 && (hits[i-1].Score < hit.Score || hits[i-1].Score == hit.Score && hits[i-1].Document > hit.Document) {
				t.Fatalf("out of order: %v", hits)
			}
		}
		for i := range list {
			want := slow(list, i, query)
			if math.Abs(got[i]-want) > 1e-5*max(1, want) {
				t.Fatalf("%q in %+v: document %d scores %v, should %v", query, list, i, got[i], want)
			}
		}
		if n := rapid.IntRange(0, 3).Draw(t, "limit"); len(toolsearch.New(list).Search(query, n, nil)) > n {
			t.Fatal("more than the limit")
		}
	})
}

// FuzzSearch asks for anything, of a hostile tool among others.
func FuzzSearch(f *testing.F) {
	f.Add("create issue", `{"name":"a","description":"b","inputSchema":{"properties":{"c":{"description":"d"}}}}`)
	f.Add("\xff\x00İ", `{"name":"\ud800","inputSchema":{"properties":[`)
	f.Add(strings.Repeat("aB1", 500), `{"inputSchema":{"properties":{"a":{"items":{"properties":{"b":{}}}}}}}`)
	f.Fuzz(func(t *testing.T, query, tool string) {
		list := append(docs("a__create_issue", "b"), toolsearch.Read([]byte(tool)))
		hits := toolsearch.New(list).Search(query, 2, nil)
		if len(hits) > 2 {
			t.Fatalf("%v", hits)
		}
		for _, hit := range hits {
			if hit.Score <= 0 || math.IsNaN(hit.Score) || hit.Document >= len(list) {
				t.Fatalf("%v", hits)
			}
		}
		if line := toolsearch.OneLine(query, 20); len(line) > 20 || strings.ContainsAny(line, "\r\n") {
			t.Fatalf("%q", line)
		}
	})
}

// big is n tools made of the catalog's, each with a name of its own.
func big(tb testing.TB, n int) (tools [][]byte) {
	tb.Helper()
	base := catalog(tb)
	for i := range n {
		raw := string(base[i%len(base)])
		tools = append(tools, []byte(strings.Replace(raw, `{"name":"`, fmt.Sprintf(`{"name":"s%d_`, i/len(base)), 1)))
	}
	return tools
}

func BenchmarkBuild5000(b *testing.B) {
	tools := big(b, 5000)
	for b.Loop() {
		toolsearch.New(documents(tools))
	}
}

func BenchmarkSearch5000(b *testing.B) {
	x := toolsearch.New(documents(big(b, 5000)))
	for b.Loop() {
		x.Search("create an issue in the github repository and assign it to a person", 5, nil)
	}
}

func BenchmarkRecall(b *testing.B) {
	docs := documents(catalog(b))
	x := toolsearch.New(docs)
	for b.Loop() {
		b.ReportMetric(recall(b, x, docs), "recall@5")
	}
}
