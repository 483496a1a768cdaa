package catalog

import (
	"maps"
	"path"
	"slices"
	"strings"

	"durward"
)

// rules are an operator's ToolRules, checked and ready to apply.
type rules struct {
	allow, deny []string // glob patterns; see glob
	describe    map[string]string
	rename      map[string]string
	risk        durward.Risk            // floor
	risks       map[string]durward.Risk // of tools, by glob
}

func compileRules(spec *durward.Server) (*rules, error) {
	r := &rules{describe: maps.Clone(spec.Tools.Describe), rename: maps.Clone(spec.Tools.Rename), risk: spec.Risk}
	if r.risk == durward.RiskUnset {
		r.risk = durward.RiskHigh
	}
	var err error
	if r.allow, err = compileGlobs("server "+spec.Name+" tools.allow", spec.Tools.Allow); err != nil {
		return nil, err
	}
	if r.deny, err = compileGlobs("server "+spec.Name+" tools.deny", spec.Tools.Deny); err != nil {
		return nil, err
	}
	for pattern, risk := range spec.Tools.Risk {
		globs, err := compileGlobs("server "+spec.Name+" tools.risk", []string{pattern})
		if err != nil {
			return nil, err
		}
		if r.risks == nil {
			r.risks = map[string]durward.Risk{}
		}
		r.risks[globs[0]] = risk
	}
	return r, nil
}

// set is the risk that the operator says a tool has; RiskUnset: nothing was said.
func (r *rules) set(name string) durward.Risk {
	risk := durward.RiskUnset
	for glob, one := range r.risks {
		if one > risk && matchAny([]string{glob}, name) {
			risk = one
		}
	}
	return risk
}

// allows reports whether the tool is offered at all: deny beats allow, no allow means all.
func (r *rules) allows(name string) bool {
	if matchAny(r.deny, name) {
		return false
	}
	return len(r.allow) == 0 || matchAny(r.allow, name)
}

// owners returns for each name that a rename gives away the tool that gets it.
// Where two renames want the same name, the tool that sorts first has it, so that
// the answer depends on the configuration alone.
func (r *rules) owners(offered func(name string) string) map[string]string {
	if len(r.rename) == 0 {
		return nil
	}
	natives := make([]string, 0, len(r.rename))
	for native := range r.rename {
		natives = append(natives, native)
	}
	slices.Sort(natives)
	owners := make(map[string]string, len(natives))
	for _, native := range natives {
		if r.rename[native] == "" {
			continue
		}
		name := offered(r.rename[native])
		if _, taken := owners[name]; !taken {
			owners[name] = native
		}
	}
	return owners
}

// A glob is a pattern of path.Match to which a slash is a character like any
// other: a server must not escape the rule "*" by a slash in a tool's name.
func compileGlobs(op string, patterns []string) ([]string, error) {
	globs := make([]string, len(patterns))
	for i, p := range patterns {
		globs[i] = hideSlash(p)
		if _, err := path.Match(globs[i], ""); err != nil {
			return nil, durward.Errorf(durward.Invalid, op, "the pattern %q is malformed: see path.Match (*, ?, [a-z], \\ to escape)", p)
		}
	}
	return globs, nil
}

func matchAny(globs []string, name string) bool {
	name = hideSlash(name)
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}

func hideSlash(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// same reports whether two rule sets treat every tool alike.
func (r *rules) same(other *rules) bool {
	return r.risk == other.risk && slices.Equal(r.allow, other.allow) && slices.Equal(r.deny, other.deny) &&
		maps.Equal(r.describe, other.describe) && maps.Equal(r.rename, other.rename) && maps.Equal(r.risks, other.risks)
}
