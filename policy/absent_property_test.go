package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The slow reference of what is absent: it knows nothing of CEL. Values of leaves are
// given, and the rules of absent.go are applied word for word.
type refValue int

const (
	refFalse refValue = iota
	refAbsent
	refFailed
	refUnknown
	refTrue
)

// tree is an expression with its text and, per assignment, its value.
type tree struct {
	text string
	eval func(leaves map[string]refValue, element refValue) refValue
}

func refOr(list ...refValue) refValue {
	for _, v := range []refValue{refTrue, refUnknown, refFailed, refAbsent} {
		if slices.Contains(list, v) {
			return v
		}
	}
	return refFalse
}

func refNot(v refValue) refValue {
	switch v {
	case refTrue:
		return refFalse
	case refFalse:
		return refTrue
	default:
		return v
	}
}

func refAnd(list ...refValue) refValue {
	for i := range list {
		list[i] = refNot(list[i])
	}
	return refNot(refOr(list...))
}

func leafNames() []string { return []string{"a", "b", "c", "d"} }

func drawTree(t *rapid.T, depth int, inLoop, negated bool) tree {
	kinds := []string{"leaf", "leaf", "const", "absent"}
	if !negated {
		kinds = append(kinds, "has")
	}
	if inLoop {
		kinds = append(kinds, "element", "element")
	}
	if depth > 0 {
		kinds = append(kinds, "and", "and", "or", "or", "not", "cond")
		if !inLoop {
			kinds = append(kinds, "exists", "all")
		}
	}
	sub := func(negated bool) tree { return drawTree(t, depth-1, inLoop, negated) }
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "leaf":
		n := rapid.SampledFrom(leafNames()).Draw(t, "leaf")
		return tree{text: "(mcp.tool.arguments." + n + " > 1)", eval: func(l map[string]refValue, _ refValue) refValue { return l[n] }}
	case "element":
		return tree{text: "(x.v > 1)", eval: func(_ map[string]refValue, e refValue) refValue { return e }}
	case "const":
		v := rapid.Bool().Draw(t, "const")
		return tree{text: fmt.Sprint(v), eval: func(map[string]refValue, refValue) refValue {
			if v {
				return refTrue
			}
			return refFalse
		}}
	case "absent", "has":
		n := rapid.SampledFrom(leafNames()).Draw(t, "leaf")
		return tree{text: kind + "(mcp.tool.arguments." + n + ")", eval: func(l map[string]refValue, _ refValue) refValue {
			switch {
			case l[n] == refUnknown:
				return refUnknown
			case kind == "absent" && l[n] == refAbsent, kind == "has" && l[n] != refAbsent:
				return refTrue
			case kind == "absent":
				return refFalse
			default:
				return refAbsent
			}
		}}
	case "and", "or":
		return drawLogic(t, kind, sub, negated)
	case "not":
		s := sub(true)
		return tree{text: "!(" + s.text + ")", eval: func(l map[string]refValue, e refValue) refValue { return refNot(s.eval(l, e)) }}
	case "cond":
		c, a, b := sub(true), sub(negated), sub(negated)
		return tree{text: "(" + c.text + " ? " + a.text + " : " + b.text + ")", eval: func(l map[string]refValue, e refValue) refValue {
			switch v := c.eval(l, e); v {
			case refTrue:
				return a.eval(l, e)
			case refFalse:
				return b.eval(l, e)
			default:
				return v
			}
		}}
	default:
		return drawLoop(t, kind, depth, negated)
	}
}

func drawLogic(t *rapid.T, kind string, sub func(bool) tree, negated bool) tree {
	n := rapid.IntRange(2, 4).Draw(t, "n")
	list, texts := make([]tree, n), make([]string, n)
	for i := range list {
		list[i] = sub(negated)
		texts[i] = list[i].text
	}
	op, fold := " && ", refAnd
	if kind == "or" {
		op, fold = " || ", refOr
	}
	return tree{text: "(" + strings.Join(texts, op) + ")", eval: func(l map[string]refValue, e refValue) refValue {
		values := make([]refValue, n)
		for i := range list {
			values[i] = list[i].eval(l, e)
		}
		return fold(values...)
	}}
}

// drawLoop makes a loop over the list of arguments, whose elements are true, false, absent or failed.
func drawLoop(t *rapid.T, kind string, depth int, negated bool) tree {
	body := drawTree(t, depth-1, true, negated)
	fold := refAnd
	if kind == "exists" {
		fold = refOr
	}
	return tree{text: "mcp.tool.arguments.list." + kind + "(x, " + body.text + ")", eval: func(l map[string]refValue, _ refValue) refValue {
		if l["list"] == refUnknown {
			return refUnknown
		}
		var values []refValue
		for i := 0; ; i++ {
			v, ok := l[fmt.Sprint("list", i)]
			if !ok {
				return fold(values...)
			}
			values = append(values, body.eval(l, v))
		}
	}}
}

// jsonOf writes leaves as arguments: 2 is true, 1 is false, a text fails when it is
// compared with a number, and what is absent is not there.
func jsonOf(leaves map[string]refValue) string {
	literal := map[refValue]string{refTrue: "2", refFalse: "1", refFailed: `"x"`}
	var members, elements []string
	for _, n := range leafNames() {
		if v := leaves[n]; v != refAbsent {
			members = append(members, fmt.Sprintf("%q:%s", n, literal[v]))
		}
	}
	for i := 0; ; i++ {
		v, ok := leaves[fmt.Sprint("list", i)]
		if !ok {
			break
		}
		if v == refAbsent {
			elements = append(elements, "{}")
		} else {
			elements = append(elements, `{"v":`+literal[v]+`}`)
		}
	}
	return "{" + strings.Join(append(members, `"list":[`+strings.Join(elements, ",")+"]"), ",") + "}"
}

func drawLeaves(t *rapid.T) map[string]refValue {
	any := rapid.SampledFrom([]refValue{refTrue, refFalse, refAbsent, refFailed})
	leaves := make(map[string]refValue)
	for _, n := range leafNames() {
		leaves[n] = any.Draw(t, n)
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
		leaves[fmt.Sprint("list", i)] = any.Draw(t, "element")
	}
	return leaves
}

// TestAbsentIsWhatTheReferenceSays holds the language to the slow reference: each
// verdict while everything is known, and that what may or must match while arguments are unknown is
// never contradicted by a call.
func TestAbsentIsWhatTheReferenceSays(t *testing.T) {
	env := testEnvironment(t)
	verdicts := map[refValue]verdict{refTrue: verdictYes, refFalse: verdictNo, refAbsent: verdictAbsent, refFailed: verdictFailed}
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTree(t, 3, false, false)
		c, f := env.compile(tr.text)
		if f != nil {
			if !strings.Contains(f.message, "never match") {
				t.Fatalf("%s: %v", tr.text, f)
			}
			for range 3 { // refused because it never matches: then it must not
				if leaves := drawLeaves(t); tr.eval(leaves, refAbsent) == refTrue {
					t.Fatalf("%s is refused and yet matches %s", tr.text, jsonOf(leaves))
				}
			}
			return
		}
		list := newActivation(callEvent(`{}`), true)
		may, must := c.may(list), c.must(list)
		for range 3 {
			leaves := drawLeaves(t)
			want := tr.eval(leaves, refAbsent)
			args := jsonOf(leaves)
			got, err := c.judge(newActivation(callEvent(args), false))
			if got != verdicts[want] {
				t.Fatalf("%s with %s: %v, want %v (%v)", tr.text, args, got, verdicts[want], err)
			}
			counted := condition{program: program{env: env, plain: countedProgram(env, tr.text)}}
			if again, _ := counted.judge(newActivation(callEvent(args), false)); again != got {
				t.Fatalf("%s with %s: with the counter %v", tr.text, args, again)
			}
			if want == refTrue && !may || want != refTrue && must {
				t.Fatalf("%s with %s: may %v, must %v, and it is %v", tr.text, args, may, must, want)
			}
		}
	})
}
