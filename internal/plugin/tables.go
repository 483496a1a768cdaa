package plugin

import (
	"unicode"
	"unicode/utf8"
)

// what says which built-in plugins look at a text.
type what uint8

const (
	wantSecrets what = 1 << iota
	wantInvisible
	wantPII
	wantInjection
)

// tables are what all looks at texts share. They are made once and then only read.
type tables struct {
	sets     *sets
	formats  []format
	patterns []pattern
	words    *words
	entries  []entry // what the words stand for
	leads    [256]bool

	signGroups []signGroup // of the signs, by their place in the list
}

// entry is what a word stands for.
type entry struct {
	role role
	at   uint16 // in the list of the role
	text string // as written
}

type role uint8

const (
	roleFormat role = iota
	rolePattern
	roleAssign
	roleCall // before telephone numbers
	roleSign // of an attempt to instruct the model
)

func newTables() *tables {
	t := &tables{sets: newSets(), formats: formats(), patterns: patterns(), leads: hiddenLeads()}
	var list []string
	add := func(role role, at int, text string) {
		list = append(list, text)
		t.entries = append(t.entries, entry{role: role, at: uint16(at), text: text})
	}
	for i := range t.formats {
		for _, start := range t.formats[i].starts {
			add(roleFormat, i, start)
		}
	}
	for i := range t.patterns {
		for _, word := range t.patterns[i].words {
			add(rolePattern, i, word)
		}
	}
	for _, word := range assignWords() {
		add(roleAssign, 0, word)
	}
	for _, word := range telephoneWords() {
		add(roleCall, 0, word)
	}
	for i, sign := range signs() {
		t.signGroups = append(t.signGroups, sign.group)
		for _, word := range sign.words {
			add(roleSign, i, word)
			if r, n := utf8.DecodeRuneInString(word); n > 1 && unicode.ToUpper(r) != r {
				add(roleSign, i, string(unicode.ToUpper(r))+word[n:]) // the pass folds ASCII only
			}
		}
	}
	t.words = newWords(list)
	return t
}
