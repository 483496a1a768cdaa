package policy

import (
	"net/netip"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"golang.org/x/text/unicode/norm"

	"durward"
)

// ownFunction describes a function of the language that is not CEL's.
type ownFunction struct {
	name, form, doc string
	args            []*types.Type
	result          *types.Type
	call            func(args []string) (ref.Val, error)
	cost            float64 // per character of the first argument; a call costs 1 besides
	product         bool    // the characters of the second argument multiply that
}

// ownFunctions is the table of functions; the reference comes from it.
func ownFunctions() []ownFunction {
	one, two := []*types.Type{types.StringType}, []*types.Type{types.StringType, types.StringType}
	return []ownFunction{
		{name: "glob", form: "glob(text, pattern)", args: two, result: types.BoolType, cost: 0.1, product: true,
			doc:  "The whole text fits the pattern, in which `*` stands for any characters, none included, `?` for one character, and everything else for itself. Slashes are nothing special.",
			call: func(a []string) (ref.Val, error) { return types.Bool(fits(a[0], a[1])), nil }},
		{name: "fold", form: "fold(text)", args: one, result: types.StringType, cost: 0.2,
			doc:  "The text without differences of case: `fold(a) == fold(b)` compares without regard to them, in every script.",
			call: func(a []string) (ref.Val, error) { return types.String(foldCase(a[0])), nil }},
		{name: "normalized", form: "normalized(text)", args: one, result: types.StringType, cost: 1,
			doc: "The text as it reads: compatibility forms (full-width letters, ligatures, mathematical letters) become plain ones, case is folded, accents are kept, " +
				"what is not visible (zero-width, bidirectional and tag characters, variation selectors, controls) is left out, and every run of white space is one blank, with none at the ends. Look-alikes of other scripts stay what they are.",
			call: func(a []string) (ref.Val, error) { return types.String(normalizeText(a[0])), nil }},
		{name: "host", form: "host(text)", args: one, result: types.StringType, cost: 0.5,
			doc:  "The host of a URL, of `host:port`, or of a host, in its one spelling: lower case, no dot at the end, international names as `xn--…`, IPv6 without brackets, every old spelling of an IPv4 address (`0x7f.1`, `017700000001`) as four decimal numbers. What is no host fails.",
			call: func(a []string) (ref.Val, error) { h, err := hostOf(a[0]); return types.String(h), err }},
		{name: "ip_public", form: "ip_public(text)", args: one, result: types.BoolType, cost: 0.5,
			doc: "The host in the text, as `host()` finds it, is an address of the public internet: not loopback, private, link-local, shared, reserved, multicast, nor one that carries such an IPv4 address in IPv6. " +
				"A name is false: it says nothing about where it leads; `http.ip_public` does.",
			call: func(a []string) (ref.Val, error) { h, err := hostOf(a[0]); return types.Bool(publicHost(h)), err }},
		{name: "cidr", form: "cidr(text, network)", args: two, result: types.BoolType, cost: 0.5,
			doc:  "The host in the text is an address in the network (`10.0.0.0/8`, `fd00::/8`); false for names.",
			call: func(a []string) (ref.Val, error) { return inNetwork(a[0], a[1]) }},
		{name: "risk_at_least", form: "risk_at_least(risk, risk)", args: two, result: types.BoolType, cost: 0.1,
			doc:  "The first risk is the second or a higher one: `risk_at_least(mcp.tool.risk, \"high\")`.",
			call: func(a []string) (ref.Val, error) { return riskAtLeast(a[0], a[1]) }},
	}
}

// functionLibrary declares them, with what they cost.
func functionLibrary() cel.EnvOption {
	var options []cel.EnvOption
	for _, f := range ownFunctions() {
		id := "policy_" + f.name
		options = append(options, function(f.name, id, f.args, f.result, cel.FunctionBinding(f.bind)), cel.CostModel(f.model(id)))
	}
	return join(options...)
}

func (f ownFunction) bind(args ...ref.Val) ref.Val {
	list := make([]string, len(args))
	for i, arg := range args {
		list[i] = string(arg.(types.String))
	}
	out, err := f.call(list)
	if err != nil {
		return types.NewErr("%s: %v", f.name, err)
	}
	return out
}

// maxGrowth is how many times longer a text can become by normalisation to NFKC
// (UAX #15): U+FDFA, of 3 bytes, becomes 33; as characters, 1 becomes 18.
const maxGrowth = 18

func (f ownFunction) model(id string) cost.OverloadModel {
	work := cost.Scale(cost.Length(cost.Arg(0)), f.cost)
	if f.product {
		work = cost.Mul(cost.Scale(cost.Sum(cost.Length(cost.Arg(0)), cost.Const(1)), f.cost), cost.Sum(cost.Length(cost.Arg(1)), cost.Const(1)))
	}
	options := []cost.OverloadModelOption{cost.EvalCost(cost.Sum(cost.Const(cost.CallCost), work))}
	if f.result == types.StringType {
		options = append(options, cost.ResultSize(cost.AtMost(cost.Scale(cost.Length(cost.Arg(0)), maxGrowth))))
	}
	return cost.Overload(id, options...)
}

// fits matches a text against a pattern of * and ?. It goes back to the last * only,
// so that it takes at most as many steps as both lengths multiplied.
func fits(text, pattern string) bool {
	t, p := []rune(text), []rune(pattern)
	i, j, star, mark := 0, 0, -1, 0
	for i < len(t) {
		switch {
		case j < len(p) && p[j] == '*':
			star, mark = j, i
			j++
		case j < len(p) && (p[j] == '?' || p[j] == t[i]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j] == '*' {
		j++
	}
	return j == len(p)
}

// foldCase makes texts equal that differ in case only: each character becomes the lower
// case of the first of those that differ from it in case only, so that k and the Kelvin sign are one.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, s)
}

// normalizeText writes a text as it reads.
func normalizeText(s string) string {
	var b strings.Builder
	blank := false
	for _, r := range foldCase(norm.NFKC.String(s)) {
		switch {
		case unicode.IsSpace(r):
			blank = true
		case invisible(r):
		default:
			if blank && b.Len() > 0 {
				b.WriteByte(' ')
			}
			blank = false
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String()) // what was left out may have kept apart what belongs together
}

// invisible tells characters that leave no mark on paper.
func invisible(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2800:
		return true // soft hyphen, joiners and fillers, and the empty braille pattern
	case 0x180B <= r && r <= 0x180F, 0xFE00 <= r && r <= 0xFE0F, 0xE0000 <= r && r <= 0xE0FFF:
		return true // variation selectors, tags
	default:
		return unicode.In(r, unicode.Cf, unicode.Cc)
	}
}

func inNetwork(text, network string) (ref.Val, error) {
	prefix, err := netip.ParsePrefix(network)
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "network", "%q is none; write it like 10.0.0.0/8", shorten(network))
	}
	h, err := hostOf(text)
	if err != nil {
		return nil, err
	}
	ip, err := netip.ParseAddr(h)
	if err != nil {
		return types.False, nil //nolint:nilerr // a name is in no network
	}
	return types.Bool(prefix.Contains(ip.WithZone("").Unmap()) || prefix.Contains(ip.WithZone(""))), nil
}

func riskAtLeast(a, b string) (ref.Val, error) {
	ra, err := durward.ParseRisk(a)
	if err != nil {
		return nil, err
	}
	rb, err := durward.ParseRisk(b)
	if err != nil {
		return nil, err
	}
	if ra == durward.RiskUnset || rb == durward.RiskUnset {
		return nil, durward.Errorf(durward.Invalid, "risk", "an empty text is no risk")
	}
	return types.Bool(ra >= rb), nil
}
