package policy

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

func TestNumbersAreExactOrErrors(t *testing.T) {
	for in, want := range map[string]ref.Val{
		"0": types.Int(0), "-0": types.Int(0), "9007199254740993": types.Int(9007199254740993), "-9223372036854775808": types.Int(math.MinInt64),
		"9223372036854775807": types.Int(math.MaxInt64), "9223372036854775808": types.Uint(1 << 63), "18446744073709551615": types.Uint(math.MaxUint64),
		"18446744073709551616": types.Double(1 << 64), "-9223372036854775809": nil, "18446744073709551617": nil, "100000000000000000000": types.Double(1e20),
		"123456789012345678901234567890": nil, "0.1": types.Double(0.1), "0.10": types.Double(0.1), "1.0": types.Double(1), "1e3": types.Double(1000), "1E+3": types.Double(1000),
		"1.50e-2": types.Double(0.015), "-0.0": types.Double(math.Copysign(0, -1)), "0e5": types.Double(0), "0.000": types.Double(0), "1e308": types.Double(1e308), "5e-324": types.Double(5e-324),
		"9007199254740993.0": nil, "0.1000000000000000055": nil, "1e309": nil, "1e-400": nil, "-1e400": nil, "1e99999999999999999999": nil, "0.30000000000000004": types.Double(0.30000000000000004),
		"1" + strings.Repeat("0", 308): nil, "1" + strings.Repeat("0", 1000): nil, "1e-99999999999999999999": nil,
	} {
		got := jsonNumber([]byte(in))
		if want == nil {
			if !types.IsError(got) {
				t.Errorf("%s: %v, want an error", in, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%s: %T %v, want %T %v", in, got, got, want, want)
		}
	}
}

// TestWhatCannotBeRepresentedFails: a condition that touches it fails, and one that does not is not disturbed.
func TestWhatCannotBeRepresentedFails(t *testing.T) {
	env := testEnvironment(t)
	args := `{"big":123456789012345678901234567890,"ok":1,"twice":{"a":1,"a":2},"list":[1,1e999],"deep":{"a":{"b":1e999}},"deeper":[{"a":{"b":1e999}},{"a":{"b":2}}],"long":[` + strings.Repeat("0,", maxMembers) + `0]}`
	for src, want := range map[string]verdict{
		`mcp.tool.arguments.ok == 1`:                                      verdictYes,
		`mcp.tool.arguments.big == 1`:                                     verdictFailed,
		`mcp.tool.arguments.big > 1`:                                      verdictFailed,
		`mcp.tool.arguments.ok == 1 || mcp.tool.arguments.big > 1`:        verdictYes,
		`mcp.tool.arguments.ok == 2 || mcp.tool.arguments.big > 1`:        verdictFailed,
		`has(mcp.tool.arguments.big)`:                                     verdictFailed,
		`absent(mcp.tool.arguments.big)`:                                  verdictFailed,
		`"big" in mcp.tool.arguments`:                                     verdictYes,
		`mcp.tool.arguments.twice.a == 1`:                                 verdictFailed,
		`mcp.tool.arguments.twice.b == 1`:                                 verdictFailed,
		`mcp.tool.arguments.list.exists(x, x == 1)`:                       verdictFailed,
		`mcp.tool.arguments.list.size() == 2`:                             verdictFailed,
		`2 in mcp.tool.arguments.list`:                                    verdictFailed,
		`mcp.tool.arguments.list == [1, 2]`:                               verdictFailed,
		`[1, 2] != mcp.tool.arguments.list`:                               verdictFailed,
		`mcp.tool.arguments.deep == {"a": {"b": 1}}`:                      verdictFailed,
		`{"a": {"b": 1}} != mcp.tool.arguments.deep`:                      verdictFailed,
		`[mcp.tool.arguments.deep] == [{"a": {"b": 1}}]`:                  verdictFailed,
		`{"a": {"b": 1}} in mcp.tool.arguments.deeper`:                    verdictFailed,
		`mcp.tool.arguments.deeper == [{"a": {"b": 1}}, {"a": {"b": 2}}]`: verdictFailed,
		`sets.contains(mcp.tool.arguments.deeper, [{"a": {"b": 1}}])`:     verdictFailed,
		`mcp.tool.arguments.deeper.exists(x, x == {"a": {"b": 1}})`:       verdictFailed,
		`mcp.tool.arguments.deeper[1].a.b == 2`:                           verdictYes,
		`mcp.tool.arguments.long.size() > 1`:                              verdictFailed,
	} {
		c, f := env.compile(src)
		if f != nil {
			t.Errorf("%s: %v", src, f)
			continue
		}
		if got, err := c.judge(newActivation(callEvent(args), false)); got != want {
			t.Errorf("%s: %v, want %v (%v)", src, got, want, err)
		}
	}
}

func TestObjectsWithManyMembers(t *testing.T) {
	env := testEnvironment(t)
	for _, n := range []int{1, fewMembers - 1, fewMembers, fewMembers + 1, 1000} {
		args := "{" + manyMembers(n) + `"last":true}`
		for src, want := range map[string]verdict{
			`mcp.tool.arguments.last == true`:                             verdictYes,
			`mcp.tool.arguments.k0 == 0`:                                  verdictYes,
			`mcp.tool.arguments.gone == 0`:                                verdictAbsent,
			fmt.Sprintf(`mcp.tool.arguments.size() == %d`, n+1):           verdictYes,
			`mcp.tool.arguments.all(k, k == "last" || k.startsWith("k"))`: verdictYes,
			`mcp.tool.arguments == {"last": true}`:                        verdictNo,
			`mcp.tool.arguments[mcp.tool.name] == 1`:                      verdictAbsent,
		} {
			c, f := env.compile(src)
			if f != nil {
				t.Fatal(src, f)
			}
			if got, err := c.judge(newActivation(callEvent(args), false)); got != want {
				t.Errorf("%d members: %s: %v, want %v (%v)", n, src, got, want, err)
			}
		}
		if got := jsonObject([]byte("{" + manyMembers(n) + `"k0":1}`)); !types.IsError(got) {
			t.Errorf("%d members: a name that is there twice passes", n)
		}
	}
}
