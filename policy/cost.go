package policy

import (
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

const (
	// costLimit is what one evaluation of a condition may cost (names-and-limits.md).
	costLimit = 1_000_000
	// maxEstimate is what it may cost at worst with a typical event, or it is refused
	// when it is loaded; see typical.
	maxEstimate = 10 * costLimit
)

// provenSizes are the sizes of events for which it is tried to prove that a condition
// cannot reach the limit, from small to the largest that a message can be by default.
func provenSizes() []int {
	return []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20}
}

// program plans an expression in the forms it needs.
func (env *environment) program(checked *cel.Ast, w *walker) (*program, *fault) {
	estimate, err := env.cel.EstimateCost(checked, typical{})
	if err != nil {
		return nil, w.whole("what it costs cannot be estimated: "+err.Error(), "")
	}
	if estimate.Max > maxEstimate {
		return nil, w.whole(fmt.Sprintf("it may cost %s units with an ordinary call, more than %d", count(estimate.Max), maxEstimate),
			"nest fewer loops, or compare with fixed texts")
	}
	p := &program{env: env}
	if p.plain, err = env.cel.Program(checked, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, env.planFault(w, err)
	}
	sizesOf := provenSizes()
	for _, n := range sizesOf {
		worst, err := env.cel.EstimateCost(checked, sizes(n)) //nolint:gosec // from the table above
		if err != nil || worst.Max > costLimit {
			break
		}
		p.upTo = n
	}
	if p.upTo == sizesOf[len(sizesOf)-1] {
		return p, nil
	}
	if p.counted, err = env.cel.Program(checked, cel.EvalOptions(cel.OptOptimize), cel.CostTracking(nil), cel.CostLimit(costLimit)); err != nil {
		return nil, env.planFault(w, err)
	}
	return p, nil
}

// planFault is for what is found when constants are computed: a regular expression
// that is none.
func (env *environment) planFault(w *walker, err error) *fault {
	f := w.whole(err.Error(), "")
	f.help(w.src)
	return f
}

func count(n uint64) string {
	if n > 1<<62 {
		return "any number of"
	}
	return fmt.Sprint(n)
}

// neverMatches finds conditions that are not true whatever the event is.
func (c *condition) neverMatches(w *walker) *fault {
	a := newActivation(&Event{}, true)
	for f := range numFields {
		a.hide(f)
	}
	switch v, err := c.judge(a); v {
	case verdictNo:
		return w.whole("the condition can never match: it is always false", "to switch a rule off, remove it or give it an end: until: 2026-01-31")
	case verdictAbsent, verdictFailed:
		return w.whole("the condition can never match: "+err.Error(), "")
	default:
		return nil
	}
}

// sizes is the size of an event from which the worst is computed: no text is longer than
// the whole event, and no list has more elements than it has bytes. It is a bound, and a loose
// one where lists of long texts are concerned, which cannot all be as long as the event.
type sizes uint64

// maxHint is how deep lists within lists are given a size. The library would ask
// for more and more of them otherwise.
const maxHint = 6

// EstimateSize is asked for what is named, or selected from it.
func (s sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	return estimateSize(node, func(*types.Type, int) uint64 { return uint64(s) })
}

// EstimateCallCost leaves calls to the library and to what functions say of themselves.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// typical is an event larger than most: texts of 16 KiB, arguments and lists of 512
// characters or elements, of which each is 128, and what is in those 32. It tells conditions that
// nobody can afford from those that a hostile call alone makes dear, which the counter stops.
type typical struct{}

// EstimateSize is asked for what is named, or selected from it.
func (typical) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	return estimateSize(node, func(t *types.Type, depth int) uint64 {
		switch {
		case depth == 0 && t.Kind() == types.StringKind:
			return 16 << 10
		case depth == 0:
			return 512
		case depth == 1:
			return 128
		default:
			return 32
		}
	})
}

// EstimateCallCost leaves calls to the library and to what functions say of themselves.
func (typical) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

func estimateSize(node cost.AstNode, most func(t *types.Type, depth int) uint64) *cost.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	depth := 0
	for _, step := range node.Path() {
		if step == "@items" || step == "@values" || step == "@keys" {
			depth++
		}
	}
	size := sizeOf(node.Type(), depth, most)
	return &size
}

// sizeOf is the size of a value of a type, in lists of as many levels as depth says.
func sizeOf(t *types.Type, depth int, most func(t *types.Type, depth int) uint64) cost.SizeEstimate {
	if t == nil {
		t = types.DynType
	}
	size := cost.RangedSizeEstimate(0, most(t, depth))
	switch t.Kind() {
	case types.StringKind, types.BytesKind:
		return size
	case types.DynKind, types.AnyKind, types.ListKind, types.MapKind:
		if depth >= maxHint {
			return size
		}
		inner := sizeOf(types.DynType, depth+1, most)
		size.Elem = &inner
		if t.Kind() != types.ListKind {
			key := cost.RangedSizeEstimate(0, most(types.StringType, depth+1))
			size.Key = &key
		}
		return size
	default:
		return cost.FixedSizeEstimate(1)
	}
}
