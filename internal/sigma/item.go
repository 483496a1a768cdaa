package sigma

import (
	"slices"
	"strings"
)

// item is one field of a selection with its tests. Each group is one value; a
// group fits if one of its tests does.
type item struct {
	target target
	all    bool // all groups must fit, not one
	groups [][]test
}

// check says what is wrong with comparing a field with the values.
func check(to target, tests []test) (wrong string) {
	for i := range tests {
		if wrong = tests[i].fits(to); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (t *test) fits(to target) string {
	name := to.expression()
	switch {
	case t.op == "cidr" && name != "http.ip":
		return name + " is no address; cidr can be translated for http.ip only"
	case t.op == "exists" || t.op == "absent" || t.op == "null" || to.kind == jsonKind:
		return ""
	case (to.kind == number || to.kind == fraction) && t.number == "":
		return name + " is a number; compare it with one, without wildcards (lt, lte, gt, gte)"
	case to.kind == truth && t.truth == "":
		return name + " is true or false, and nothing else"
	case (to.kind == text || to.kind == texts) && (t.op == "<" || t.op == "<=" || t.op == ">" || t.op == ">="):
		return name + " is a text, and not a number"
	}
	return ""
}

// expression writes the item in CEL, in parentheses: false where the field is absent.
func (it *item) expression() string {
	if !it.all {
		return it.target.group(slices.Concat(it.groups...))
	}
	var parts []string
	for _, tests := range it.groups {
		parts = append(parts, it.target.group(tests))
	}
	return joined(parts, " && ")
}

// group writes alternatives in CEL, in parentheses.
func (t target) group(tests []test) string {
	var parts, present []string
	for _, one := range t.merged(tests) {
		switch one.op {
		case "exists":
			parts = append(parts, "("+t.there()+")")
		case "absent":
			parts = append(parts, "!("+t.there()+")")
		case "null":
			parts = append(parts, "!("+t.there()+")")
			if t.kind == jsonKind {
				present = append(present, t.expression()+" == null")
			}
		default:
			present = append(present, t.compare(&one))
		}
	}
	if len(present) > 0 {
		parts = append(parts, "("+t.there()+" && "+joined(present, " || ")+")")
	}
	return joined(parts, " || ")
}

// merged puts alternatives that are texts into one regular expression, so that a
// value is read once.
func (target) merged(tests []test) []test {
	var out []test
	for _, one := range tests {
		i := slices.IndexFunc(out, func(o test) bool {
			return o.op == "" && one.op == "" && o.free == one.free && o.cased == one.cased && o.flags == one.flags
		})
		if i < 0 || one.op != "" {
			out = append(out, one)
			continue
		}
		if !one.free {
			out[i].pattern += "|" + one.pattern
			continue
		}
		out[i].pattern = "(?:" + out[i].pattern + ")|(?:" + one.pattern + ")"
	}
	return out
}

// compare writes one test of a field that is there; what && or || joins is in parentheses.
func (t target) compare(with *test) string {
	x := t.expression()
	switch t.kind {
	case number:
		if strings.ContainsAny(with.number, ".e") {
			x = "double(" + x + ")"
		}
		return x + " " + with.op + " " + with.number
	case fraction:
		return x + " " + with.op + " double(" + with.number + ")"
	case truth:
		return x + " == " + with.truth
	case texts:
		return x + ".exists(e, " + with.onText("e") + ")"
	case jsonKind:
		// A list matches if one of its values does.
		return "(" + with.onJSON(x) + " || type(" + x + ") == list && " + x + ".exists(e, " + with.onJSON("e") + "))"
	default:
		return with.onText(x)
	}
}

func (t *test) onText(x string) string {
	if t.op == "cidr" {
		return "cidr(" + x + ", " + quote(t.prefix.String()) + ")"
	}
	return x + ".matches(" + quote(t.expression()) + ")"
}

// onJSON never asks of a value what its type cannot answer: that would be an error,
// and an error blocks.
func (t *test) onJSON(x string) string {
	switch {
	case t.truth != "":
		return x + " == " + t.truth + " || type(" + x + ") == string && " + t.onText(x)
	case t.op == "==":
		return x + " == " + t.number + " || type(" + x + ") == string && " + t.onText(x)
	case t.number != "":
		return "type(" + x + ") in [int, uint, double] && " + x + " " + t.op + " " + t.number
	default:
		return "type(" + x + ") == string && " + t.onText(x)
	}
}
