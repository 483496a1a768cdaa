package toolsearch

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// MaxDocuments is how many tools an index holds; later ones are not found.
const MaxDocuments = 100_000

// The ranking's constants. They are usual ones, not fitted to the queries in
// testdata, which are there to measure it.
const (
	saturation  = 1.2 // how fast further occurrences of a term stop to count (BM25's k1)
	synonym     = 0.4 // weight of a word that means the same
	prefix      = 0.6 // weight of a longer word that begins so
	partOf      = 0.3 // weight of a part of a word that is known as a whole
	exact       = 100 // added for a tool whose name is the query
	maxPrefixes = 8   // longer words that one word of a query stands for
	maxQuery    = 32  // words of a query; more are ignored
)

// field is a part of a document with its weight, and how much its length counts.
type field struct{ weight, length float64 }

const fields = 4

func weights() [fields]field {
	return [fields]field{{4, 0.4}, {2, 0.4}, {1.5, 0.5}, {0.5, 0.6}} // name, title, description, parameters
}

// posting says how much a document is about a term, from 0 to 1.
type posting struct {
	doc    uint32
	impact float32
}

// Index finds tools. It never changes and is safe for concurrent use.
type Index struct {
	names    []string // of the documents
	postings map[string][]posting
	terms    []string // sorted
	synonyms map[string][]string
}

// Hit is a tool that was found: its number in the list given to [New], and how
// well it fits. Scores compare within one answer only.
type Hit struct {
	Document int
	Score    float64
}

// New makes an index of at most [MaxDocuments] documents.
func New(docs []Document) *Index {
	docs = docs[:min(len(docs), MaxDocuments)]
	x := &Index{names: make([]string, len(docs)), postings: map[string][]posting{}, synonyms: synonyms()}
	all := make([]counted, len(docs))
	var lengths [fields]float64
	for i := range docs {
		x.names[i] = docs[i].Name
		all[i] = count(&docs[i])
		for f := range lengths {
			lengths[f] += float64(all[i].lengths[f])
		}
	}
	for f := range lengths {
		lengths[f] = max(1, lengths[f]/float64(max(1, len(docs))))
	}
	w := weights()
	for i := range all {
		for term, n := range all[i].terms {
			x.postings[term] = append(x.postings[term], posting{uint32(i), float32(impact(&n, &all[i].lengths, &lengths, &w))})
		}
	}
	x.terms = make([]string, 0, len(x.postings))
	for term := range x.postings {
		x.terms = append(x.terms, term)
	}
	slices.Sort(x.terms)
	return x
}

// Len returns how many documents can be found.
func (x *Index) Len() int { return len(x.names) }

// counted is how often terms stand in the fields of a document.
type counted struct {
	terms   map[string][fields]uint16
	lengths [fields]int
}

func count(d *Document) counted {
	c := counted{terms: map[string][fields]uint16{}}
	for f, texts := range [fields][]string{{d.Name}, {d.Title}, {d.Description}, d.Params} {
		left := maxWords
		for _, text := range texts {
			found := words(text, left)
			left -= len(found)
			for _, w := range found {
				c.add(f, w.whole)
				for _, part := range w.parts {
					c.add(f, part)
				}
			}
		}
		c.lengths[f] = maxWords - left
	}
	return c
}

func (c *counted) add(f int, term string) {
	n := c.terms[term]
	n[f]++
	c.terms[term] = n
}

// impact is how much a document is about a term that stands in its fields n times.
func impact(n *[fields]uint16, lengths *[fields]int, mean *[fields]float64, w *[fields]field) float64 {
	tf := 0.0
	for f := range n {
		if n[f] > 0 {
			tf += w[f].weight * float64(n[f]) / (1 - w[f].length + w[f].length*float64(lengths[f])/mean[f])
		}
	}
	return tf / (saturation + tf)
}

// Search returns at most limit tools that fit a query, the best first; of equal
// ones the first in the list. Tools for which keep returns false are left out; it
// is asked only about those that would be returned. A nil keep keeps all.
func (x *Index) Search(query string, limit int, keep func(document int) bool) []Hit {
	scores := make([]float64, len(x.names))
	best := make([]float64, len(x.names)) // of the terms of one concept
	var touched []uint32
	for _, c := range x.concepts(query) {
		var docs []uint32
		for _, t := range c {
			for _, p := range x.postings[t.term] {
				if best[p.doc] == 0 {
					docs = append(docs, p.doc)
				}
				best[p.doc] = max(best[p.doc], t.weight*float64(p.impact))
			}
		}
		for _, doc := range docs {
			if scores[doc] == 0 {
				touched = append(touched, doc)
			}
			scores[doc] += best[doc]
			best[doc] = 0
		}
	}
	touched = x.named(query, scores, touched)
	slices.SortFunc(touched, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	var hits []Hit
	for _, doc := range touched {
		if len(hits) >= limit {
			break
		}
		if keep == nil || keep(int(doc)) {
			hits = append(hits, Hit{int(doc), scores[doc]})
		}
	}
	return hits
}

// named puts the tools whose name is the query in front.
func (x *Index) named(query string, scores []float64, touched []uint32) []uint32 {
	query = strings.TrimSpace(query)
	for i, name := range x.names {
		if query != "" && strings.EqualFold(name, query) {
			if scores[i] == 0 {
				touched = append(touched, uint32(i))
			}
			scores[i] += exact
		}
	}
	return touched
}

// weighted is a term with what finding it is worth.
type weighted struct {
	term   string
	weight float64
}

// concept is the terms that one word of a query stands for; a document counts
// with the best of them.
type concept []weighted

// concepts returns what a query asks for, each thing once.
func (x *Index) concepts(query string) []concept {
	var out []concept
	seen := map[string]bool{}
	add := func(term string, weight float64) {
		if !seen[term] {
			seen[term] = true
			if c := x.concept(term, weight); len(c) > 0 {
				out = append(out, c)
			}
		}
	}
	for _, w := range words(query, maxQuery) {
		add(w.whole, 1)
		weight := 1.0
		if len(x.postings[w.whole]) > 0 {
			weight = partOf
		}
		for _, part := range w.parts {
			add(part, weight)
		}
	}
	return out
}

// concept returns the known terms that a term stands for: itself, else words that
// begin so, and words that mean the same. A rare synonym of a common word is
// worth no more than the word.
func (x *Index) concept(term string, weight float64) concept {
	var c concept
	most := math.Inf(1)
	if len(x.postings[term]) > 0 {
		most = x.rarity(term)
		c = append(c, weighted{term, weight * most})
	} else {
		for _, longer := range x.longer(term) {
			c = append(c, weighted{longer, weight * prefix * x.rarity(longer)})
		}
	}
	for _, other := range x.synonyms[term] {
		if len(x.postings[other]) > 0 {
			c = append(c, weighted{other, weight * synonym * min(most, x.rarity(other))})
		}
	}
	return c
}

// rarity is how much a term tells documents apart (BM25's idf).
func (x *Index) rarity(term string) float64 {
	n, df := float64(len(x.names)), float64(len(x.postings[term]))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// longer returns the first terms that begin with a term of at least 4 bytes.
func (x *Index) longer(term string) []string {
	if len(term) < 4 {
		return nil
	}
	from := sort.SearchStrings(x.terms, term)
	to := from
	for to < len(x.terms) && to-from < maxPrefixes && strings.HasPrefix(x.terms[to], term) {
		to++
	}
	return x.terms[from:to]
}
