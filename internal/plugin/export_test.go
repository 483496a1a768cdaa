package plugin

import (
	"fmt"

	"durward/internal/wire"
)

// Detector makes a detector that looks at one plain text.
func Detector(name string) func(text []byte) []Finding {
	t := newTables()
	return func(text []byte) []Finding {
		switch name {
		case nameSecrets:
			return t.scanSecrets(text, t.words.find(nil, text), nil)
		case nameInvisible:
			found, _ := t.scanHidden(text, nil)
			return found
		case namePII:
			return t.scanPII(text, t.words.find(nil, text), false, nil)
		}
		return nil
	}
}

// Score is what injection says of one plain text.
func Score() func(text []byte) (score float64, names []string) {
	t := newTables()
	return func(text []byte) (float64, []string) {
		n := &inspection{t: t, want: wantInjection}
		raw := append(append([]byte{'"'}, quoted(text)...), '"')
		n.raw = raw
		tok := token{start: 1, end: len(raw) - 1, coded: true}
		n.look(&tok, false)
		var names []string
		for _, info := range features() {
			if n.score&info.feature != 0 {
				names = append(names, info.name)
			}
		}
		return scoreOf(n.score), names
	}
}

func quoted(text []byte) []byte {
	s := wire.Quote(string(text))
	return []byte(s[1 : len(s)-1])
}

// KindInfo is one line of the reference.
type KindInfo struct {
	Kind, Detection, About string
}

// Kinds lists what a plugin finds.
func Kinds(name string) (list []KindInfo) {
	infos := map[string][]kindInfo{nameInvisible: hiddenKinds(), namePII: personalKinds()}[name]
	for _, k := range infos {
		list = append(list, KindInfo{k.kind, k.level.String(), k.about})
	}
	return list
}

// Formats lists the credentials that begin with a text of their own, by owner.
func Formats() (list []KindInfo) {
	for _, f := range formats() {
		for _, start := range f.starts {
			list = append(list, KindInfo{f.kind, f.level.String(), f.owner + "\x00" + start})
		}
	}
	return list
}

// Patterns lists those that are recognised by what is around a word.
func Patterns() (list []KindInfo) {
	for _, p := range patterns() {
		list = append(list, KindInfo{p.kind, p.level.String(), p.about})
	}
	return list
}

// Features lists what the score is made of.
func Features() (list []KindInfo) {
	for _, f := range features() {
		list = append(list, KindInfo{f.name, fmt.Sprintf("%.2f", f.weight), f.about})
	}
	return list
}

// Words makes a finder of words: their ends, in order, and which.
func Words(list []string) func(text []byte) [][2]int {
	w := newWords(list)
	return func(text []byte) (found [][2]int) {
		for _, h := range w.find(nil, text) {
			found = append(found, [2]int{h.end, int(h.word)})
		}
		return found
	}
}

// Strings lists the strings of a JSON text with what marks them: names of members
// as they stand, and values after the name they stand under.
func Strings(raw []byte) (list []string) {
	w := walker{raw: raw}
	for t := (token{}); w.next(&t); {
		text := string(unescape(nil, raw[t.start:t.end]))
		if t.name {
			list = append(list, "name "+text)
		} else {
			list = append(list, string(raw[t.key.from:t.key.to])+"="+text)
		}
	}
	return list
}
