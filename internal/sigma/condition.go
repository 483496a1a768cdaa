package sigma

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// maxNesting bounds the parentheses of a condition.
const maxNesting = 64

// condition reads a condition and writes it in CEL. Selections are put in where
// they are named.
type condition struct {
	words  []word
	at     int
	depth  int
	known  []string          // names of the selections, in the order of the document
	means  map[string]string // each in CEL, in parentheses
	used   map[string]bool
	wrong  string
	column int // of what is wrong, from 0
}

// word is one token with where it begins, in characters.
type word struct {
	text   string
	column int
}

// translate returns the condition in CEL.
func (c *condition) translate(source string) string {
	c.words, c.used = split(source), map[string]bool{}
	if len(c.words) == 0 {
		c.fail("is empty")
		return ""
	}
	out := c.either()
	if c.at < len(c.words) && c.words[c.at].text == "|" {
		c.fail("what is counted over several events (| count …) cannot be translated; a rule's limit counts")
	}
	if c.at < len(c.words) {
		c.fail("%q is not expected here; it wants and, or, not, 1 of, all of, names of selections and parentheses", c.words[c.at].text)
	}
	return out
}

func split(source string) []word {
	var words []word
	runes := []rune(source)
	for i := 0; i < len(runes); {
		switch r := runes[i]; {
		case unicode.IsSpace(r):
			i++
		case r == '(' || r == ')' || r == '|':
			words = append(words, word{string(r), i})
			i++
		default:
			from := i
			for i < len(runes) && !unicode.IsSpace(runes[i]) && !strings.ContainsRune("()|", runes[i]) {
				i++
			}
			words = append(words, word{string(runes[from:i]), from})
		}
	}
	return words
}

func (c *condition) fail(format string, args ...any) {
	if c.wrong != "" {
		return
	}
	c.wrong = fmt.Sprintf(format, args...)
	if len(c.words) > 0 {
		c.column = c.words[min(c.at, len(c.words)-1)].column
	}
}

// next takes the next word if it is one of those wanted, in any case.
func (c *condition) next(wanted ...string) bool {
	if c.at < len(c.words) && slices.Contains(wanted, strings.ToLower(c.words[c.at].text)) {
		c.at++
		return true
	}
	return false
}

func (c *condition) either() string {
	parts := []string{c.both()}
	for c.wrong == "" && c.next("or") {
		parts = append(parts, c.both())
	}
	return joined(parts, " || ")
}

func (c *condition) both() string {
	parts := []string{c.negated()}
	for c.wrong == "" && c.next("and") {
		parts = append(parts, c.negated())
	}
	return joined(parts, " && ")
}

// joined puts several parts in parentheses; each part is in its own.
func joined(parts []string, join string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, join) + ")"
}

func (c *condition) negated() string {
	if c.depth++; c.depth > maxNesting {
		c.fail("is nested more than %d levels deep", maxNesting)
		return ""
	}
	defer func() { c.depth-- }()
	if c.next("not") {
		return "!" + c.negated()
	}
	return c.primary()
}

func (c *condition) primary() string {
	if c.at >= len(c.words) {
		c.fail("ends too early")
		return ""
	}
	if c.next("(") {
		inner := c.either()
		if c.wrong == "" && !c.next(")") {
			c.fail("a closing parenthesis is missing")
		}
		return inner
	}
	name := c.words[c.at].text
	if c.at+1 < len(c.words) && strings.EqualFold(c.words[c.at+1].text, "of") {
		return c.quantified(strings.ToLower(name))
	}
	means, ok := c.means[name]
	if !ok {
		c.fail("no selection is called %q; there are %s", name, strings.Join(c.known, ", "))
		return ""
	}
	c.at++
	c.used[name] = true
	return means
}

// quantified reads "1 of NAME*", "all of NAME*", "1 of them" and "all of them".
func (c *condition) quantified(how string) string {
	join := " || "
	switch how {
	case "1", "any":
	case "all":
		join = " && "
	default:
		c.fail("%q of cannot be translated; 1 of and all of can", how)
		return ""
	}
	if c.at += 2; c.at >= len(c.words) {
		c.fail("of what? Give the name of selections, with * in it, or them")
		return ""
	}
	pattern := c.words[c.at].text
	var parts []string
	for _, name := range c.known {
		fits := false
		if strings.EqualFold(pattern, "them") {
			fits = !strings.HasPrefix(name, "_") // those are for other selections only
		} else if !strings.ContainsAny(pattern, `?[\`) {
			fits, _ = path.Match(pattern, name) // a pattern of nothing but stars is sound
		}
		if fits {
			parts = append(parts, c.means[name])
			c.used[name] = true
		}
	}
	if len(parts) == 0 {
		c.fail("%q is the name of no selection; there are %s", pattern, strings.Join(c.known, ", "))
		return ""
	}
	c.at++
	return joined(parts, join)
}
