package plugin

import "durward/internal/wire"

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
