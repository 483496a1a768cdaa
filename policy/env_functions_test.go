package policy

import (
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	env := testEnvironment(t)
	for src, want := range map[string]verdict{
		`glob("/etc/passwd", "/etc/*")`: verdictYes, `glob("/etc/a/b", "/etc/*")`: verdictYes, `glob("/etc", "/etc/*")`: verdictNo, `glob("", "*")`: verdictYes, `glob("", "?")`: verdictNo,
		`glob("äb", "?b")`: verdictYes, `glob("a*b", "a*b")`: verdictYes, `glob("abcbd", "a*b?")`: verdictYes, `glob("x[1]", "x[1]")`: verdictYes, `glob("aaab", "*a*b*")`: verdictYes, `glob("aaa", "*b")`: verdictNo,
		`fold("STRASSE") == fold("strasse")`: verdictYes, `fold("\u212A") == "k"`: verdictYes, `fold("ΣΑΣ") == fold("σας")`: verdictYes, `fold("a") == fold("b")`: verdictNo,
		`normalized("  Ignore\u200b  PREVIOUS\n\tinstructions ") == "ignore previous instructions"`: verdictYes,
		`normalized("ｒｍ　－ｒｆ　／") == "rm -rf /"`:                                                      verdictYes, `normalized("𝐫𝐦") == "rm"`: verdictYes, `normalized("ﬁle") == "file"`: verdictYes,
		`normalized("r\u202em\u00ad\ufe0f\U000e0041") == "rm"`: verdictYes, `normalized("é") == "é" && normalized("e\u0301") == "é"`: verdictYes, `normalized("e\u200b\u0301") == "é"`: verdictYes,
		`normalized("рm") == "pm"`: verdictNo, `normalized("\u2003\u00a0") == ""`: verdictYes,
		`host("https://Example.COM./x") == "example.com"`: verdictYes, `host("a b") == "x"`: verdictFailed,
		`ip_public("http://8.8.8.8/")`: verdictYes, `ip_public("http://0x7f.1/")`: verdictNo, `ip_public("example.com")`: verdictNo, `ip_public("")`: verdictFailed,
		`cidr("10.1.2.3", "10.0.0.0/8")`: verdictYes, `cidr("167772161", "10.0.0.0/8")`: verdictYes, `cidr("[::ffff:10.1.2.3]:80", "10.0.0.0/8")`: verdictYes, `cidr("fd00::1", "fd00::/8")`: verdictYes,
		`cidr("11.0.0.1", "10.0.0.0/8")`: verdictNo, `cidr("example.com", "10.0.0.0/8")`: verdictNo, `cidr("10.1.2.3", "10.0.0.0")`: verdictFailed,
		`risk_at_least("critical", "high")`: verdictYes, `risk_at_least("high", "high")`: verdictYes, `risk_at_least("medium", "high")`: verdictNo, `risk_at_least("hihg", "high")`: verdictFailed, `risk_at_least("", "high")`: verdictFailed,
		`regex.extract("a=1", "a=(\\d)").orValue("") == "1"`: verdictYes, `sets.intersects([1,2],[2])`: verdictYes, `"a,b".split(",").size() == 2`: verdictYes, `"AbC".lowerAscii() == "abc"`: verdictYes,
		`cel.bind(n, mcp.tool.name, n == "push" && n != "x")`: verdictYes, `math.greatest(1, 2) == 2`: verdictYes, `base64.encode(b"x") == "eA=="`: verdictYes,
	} {
		// Joined by something unknown at load, so that constants are not refused as such.
		c, f := env.compile(`mcp.tool.name == "push" && (` + src + `)`)
		if f != nil {
			if !strings.Contains(f.message, "never match") || want == verdictYes {
				t.Errorf("%s: %v", src, f)
			}
			continue
		}
		if got, err := c.judge(newActivation(callEvent(`{}`), false)); got != want {
			t.Errorf("%s: %v, want %v (%v)", src, got, want, err)
		}
	}
}
