package plugin

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// feature is one reason to think that a text wants to instruct the model.
type feature uint16

const (
	featOverride feature = 1 << iota
	featRole
	featRoles
	featTool
	featDemand
	featNewTask
	featSecrecy
	featExfil
	featExfilTold
	featLink
	featLinkOpen
	featUnseen
	featTags
	featHidden
	featJailbreak
)

// featureInfo says what a feature is worth.
type featureInfo struct {
	feature feature
	name    string
	weight  float64
	about   string
}

func features() []featureInfo {
	return []featureInfo{
		{featOverride, "override", 0.7, "instructions, rules or messages that came before are to be ignored, in fourteen languages"},
		{featTags, "hidden-text", 0.7, "text in characters that only machines read"},
		{featUnseen, "unseen", 0.45, "such words within HTML comments or styles that people do not see"},
		{featSecrecy, "secrecy", 0.45, "the user is not to be told or asked"},
		{featLink, "data-link", 0.55, "a picture whose address is to be filled with data, or a link with a place for secrets or the conversation"},
		{featDemand, "demand", 0.4, "something is demanded of an assistant or model that is named"},
		{featRole, "role-marker", 0.35, "a mark of chat templates that says who speaks"},
		{featExfilTold, "exfiltration", 0.35, "sending secrets or the conversation somewhere, next to one of the others"},
		{featNewTask, "new-task", 0.3, "the reader is given another role or task"},
		{featTool, "tool-call", 0.3, "what looks like a call of a tool, or the end of its result"},
		{featJailbreak, "jailbreak", 0.3, "words of known jailbreaks"},
		{featLinkOpen, "open-link", 0.25, "a link whose address is to be filled with something"},
		{featExfil, "outgoing-data", 0.25, "sending secrets or the conversation somewhere"},
		{featRoles, "role-markers", 0.25, "three or more of such marks"},
		{featHidden, "hidden-characters", 0.2, "characters that are not seen"},
	}
}

// scoreOf is how likely a text with these features is an attempt, if each were
// independent of the others: 1 less the product of what each leaves.
func scoreOf(f feature) float64 {
	if f == 0 {
		return 0
	}
	left := 1.0
	for _, info := range features() {
		if f&info.feature != 0 {
			left *= 1 - info.weight
		}
	}
	return 1 - left
}

// judgeText returns the features of a text whose words were found; odd: there are
// characters that may be in disguise.
func (t *tables) judgeText(text []byte, hits []hit, odd bool) feature {
	f := t.signsIn(text, hits)
	if odd && f&featOverride == 0 && disguised(text) {
		clear := undisguise(text)
		if g := t.signsIn(clear, t.words.find(nil, clear)); g&^f != 0 {
			f |= g | featHidden
		}
	}
	return f
}

// signsIn goes through the signs of a text in order, and remembers of each group
// where it was last.
func (t *tables) signsIn(text []byte, hits []hit) (f feature) {
	var last [signGroups]int
	for i := range last {
		last[i] = -1 << 20
	}
	roles := 0
	for _, h := range hits {
		e := &t.entries[h.word]
		if e.role != roleSign {
			continue
		}
		start := h.end - len(e.text)
		if !t.bounded(text, start, e.text[0]) {
			continue
		}
		group := t.signGroups[e.at]
		f |= t.judgeSign(text, group, start, h.end, &last)
		if group == signRole && t.lineStart(text, start, e.text) {
			roles++
		}
		last[group] = h.end
	}
	if roles > 0 {
		f |= featRole
	}
	if roles > 2 {
		f |= featRoles
	}
	return f
}

// bounded reports whether a word begins at start, if it is one that has letters of ASCII.
func (t *tables) bounded(text []byte, start int, first byte) bool {
	return t.sets[first]&alnum == 0 || start == 0 || t.sets[text[start-1]]&word == 0 || start > 1 && text[start-2] == '\\'
}

// lineStart reports whether "system:" and its like begin a line, or need not.
func (t *tables) lineStart(text []byte, start int, sign string) bool {
	if sign != "system:" && sign != "system message:" {
		return true
	}
	for start > 0 && (text[start-1] == ' ' || text[start-1] == '#' || text[start-1] == '*') {
		start--
	}
	return (start == 0 || text[start-1] == '\n') && start+6 < len(text) && text[start+6] == ':'
}

// Distances in bytes between words that belong together.
const (
	nearOrders = 80
	nearDemand = 160
	nearSend   = 260
	nearUnseen = 400
)

func (t *tables) judgeSign(text []byte, group signGroup, start, end int, last *[signGroups]int) (f feature) {
	near := func(g signGroup, within int) bool { return start-last[g] < within }
	switch group {
	case signDrop:
		if drops(text[end:]) {
			f = featOverride
		}
	case signDropOther, signBefore, signOrders:
		if all(group, []signGroup{signDropOther, signBefore, signOrders}, near, nearOrders) {
			f = featOverride
		}
	case signTool:
		f = featTool
	case signNewTask:
		f = featNewTask
	case signJailbreak:
		f = featJailbreak
	case signSecrecy:
		if forbidden(text[max(0, start-40):start], text[start:end]) {
			f = featSecrecy
		}
	case signLink:
		f = carries(text, start)
	case signAddress, signDemand:
		if group == signAddress && near(signDemand, nearDemand/2) || group == signDemand && near(signAddress, nearDemand) {
			f = featDemand
		}
	case signSend, signPrecious, signTarget:
		f = sends(group, near)
	}
	if near(signUnseen, nearUnseen) && (f&(featOverride|featNewTask|featSecrecy|featDemand|featExfil) != 0 || group == signAddress) && t.unseen(text, last[signUnseen], start) {
		f |= featUnseen
	}
	return f
}

// all reports whether the other groups are near to this one.
func all(group signGroup, groups []signGroup, near func(signGroup, int) bool, within int) bool {
	for _, g := range groups {
		if g != group && !near(g, within) {
			return false
		}
	}
	return true
}

// sends: to send, what, and where to.
func sends(group signGroup, near func(signGroup, int) bool) (f feature) {
	if !all(group, []signGroup{signSend, signPrecious, signTarget}, near, nearSend) {
		return 0
	}
	f = featExfil
	if near(signAddress, 2*nearSend) || near(signNewTask, 2*nearSend) || near(signSecrecy, 2*nearSend) || near(signRole, 2*nearSend) {
		f |= featExfilTold
	}
	return f
}

// unseen reports whether what is hidden from people at from still is at to.
func (t *tables) unseen(text []byte, from, to int) bool {
	between := text[max(0, from):to]
	if from >= 4 && string(text[from-4:from]) == "<!--" {
		return !bytes.Contains(between, []byte("-->"))
	}
	return bytes.IndexByte(between, '>') >= 0 && !bytes.Contains(between, []byte("</")) || from > 0 && text[from-1] == '#' || from > 1 && string(text[from-2:from]) == "<>"
}

// drops reports whether the words behind "ignore" name what the reader was told:
// a thing, and that it came before or is the reader's own.
func drops(text []byte) bool {
	var told, orders, rules, all, before, any, own bool
	rest := text[:min(len(text), 96)]
	for range 9 {
		var w []byte
		if w, rest = nextWord(rest); len(w) == 0 {
			break
		}
		switch string(bytes.ToLower(w)) {
		case "instructions", "guidelines":
			told = true
		case "instruction", "directives", "directive", "programming", "training", "orders":
			orders = true
		case "prompt", "prompts", "rules", "commands", "context", "messages", "directions", "constraints", "restrictions", "conversation", "task", "tasks", "safety", "policies", "requests":
			rules = true
		case "everything":
			all = true
		case "previous", "prior", "above", "earlier", "preceding", "previously", "foregoing", "initial", "original", "system":
			before = true
		case "before":
			next, _ := nextWord(rest)
			before = before || len(next) == 0 || string(next) == "this" || string(next) == "now"
		case "all", "any", "every", "other", "these":
			any = true
		case "your":
			own = true
		}
		if told && (before || own || any) || orders && (before || own) || (rules || all) && before {
			return true
		}
	}
	return false
}

// nextWord returns the first word of text and what is behind it; none if a
// sentence ends first.
func nextWord(text []byte) (w, rest []byte) {
	i := 0
	for i < len(text) && !letter(text[i]) {
		if text[i] == '.' || text[i] == '!' || text[i] == '?' || text[i] == ';' || text[i] == '{' || text[i] == '=' {
			return nil, nil
		}
		i++
	}
	start := i
	for i < len(text) && (letter(text[i]) || text[i] == '\'') {
		i++
	}
	return text[start:i], text[i:]
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }

// forbidden reports whether a word of secrecy, such as "tell the user", is
// forbidden by what is before it; some are by themselves.
func forbidden(before, word []byte) bool {
	text := bytes.ToLower(word)
	switch {
	case text[0] >= utf8.RuneSelf:
		return true
	case bytes.HasPrefix(text, []byte("keep this")), bytes.HasPrefix(text, []byte("user ")), bytes.HasPrefix(text, []byte("dem ")), bytes.HasPrefix(text, []byte("ohne ")),
		bytes.HasPrefix(text, []byte("ne ")), bytes.HasPrefix(text, []byte("sans ")), bytes.HasPrefix(text, []byte("no le ")), bytes.HasPrefix(text, []byte("sin ")), bytes.HasPrefix(text, []byte("senza ")):
		return true
	case bytes.HasPrefix(text, []byte("silently")):
		return false // said of programs as well
	}
	near := bytes.ToLower(before)
	if i := bytes.LastIndexAny(near, ".!?\n"); i >= 0 {
		near = near[i+1:]
	}
	for _, no := range [...]string{"do not ", "don't ", "dont ", "never ", "without ", "must not ", "not to "} {
		if i := bytes.LastIndex(near, []byte(no)); i >= 0 && len(near)-i-len(no) < 20 {
			return true
		}
	}
	return false
}

// carries judges a link of Markdown at "](http": whether its address is to be
// filled with data.
func carries(text []byte, at int) feature {
	rest := text[at+2 : min(len(text), at+600)]
	if end := bytes.IndexAny(rest, ") \n"); end >= 0 {
		rest = rest[:end]
	}
	open := bytes.LastIndexByte(text[max(0, at-200):at], '[')
	picture := open > 0 && text[max(0, at-200)+open-1] == '!'
	query := bytes.IndexByte(rest, '?')
	if query < 0 {
		return 0
	}
	q := bytes.ToLower(rest[query:])
	fill := toFill(q)
	precious, own := false, false
	for _, name := range [...]string{"secret", "exfil", "leak", "payload", "conversation", "history", "stolen", "data="} {
		precious = precious || bytes.Contains(q, []byte(name))
	}
	for _, name := range [...]string{"prompt", "token", "key", "password"} {
		own = own || bytes.Contains(q, []byte(name))
	}
	switch {
	case precious && (picture || fill), own && fill:
		return featLink
	case fill && picture:
		return featLink
	case fill:
		return featLinkOpen
	}
	return 0
}

// toFill reports whether a query has a place to be filled: {name}, <name>, [NAME].
func toFill(q []byte) bool {
	i := bytes.IndexAny(q, "{<[")
	if i < 0 {
		return false
	}
	rest := bytes.TrimLeft(q[i:], "{<[")
	n := 0
	for n < len(rest) && (letter(rest[n]) || rest[n] == '_' || rest[n] == '-') {
		n++
	}
	return n > 2 && n < len(rest) && bytes.IndexByte([]byte("}>]"), rest[n]) >= 0
}

// disguised reports whether a text has letters that stand for those of ASCII:
// full width, or mathematical.
func disguised(text []byte) bool {
	count := 0
	for i := 0; i+3 < len(text); i++ {
		switch text[i] {
		case 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8, 0xE9: // none of them begins so
			if wide(text, i) {
				i += 2
			}
		case 0xEF:
			if text[i+1] == 0xBC && text[i+2] >= 0xA1 && text[i+2] <= 0xBA || text[i+1] == 0xBD && text[i+2] >= 0x81 && text[i+2] <= 0x9A {
				count++
			}
		case 0xF0:
			if text[i+1] == 0x9D && text[i+2] >= 0x90 && text[i+2] <= 0x9F {
				count++
			}
		case 0xE2:
			if text[i+1] == 0x80 && text[i+2] >= 0x8B && text[i+2] <= 0x8F || text[i+1] == 0x81 && text[i+2] >= 0xA0 {
				count++
			}
		case 0xC2:
			if text[i+1] == 0xAD {
				count++
			}
		case 0xF3:
			if text[i+1] == 0xA0 {
				count++
			}
		}
		if count > 3 {
			return true
		}
	}
	return false
}

// undisguise returns the text with such letters as those they stand for, without
// what is not seen, and with the text of tag characters.
func undisguise(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			out = append(out, byte(r-0xE0000))
		case unicode.Is(unicode.Cf, r), r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		default:
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return norm.NFKC.Bytes(out)
}
