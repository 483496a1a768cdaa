package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"durward"
)

// What a condition may be, as text.
const (
	maxSource       = 64 << 10 // characters
	maxNodes        = 10_000   // operations, literals and names
	maxNesting      = 100
	maxRegexProgram = 10_000 // instructions of one regular expression
	maxRange        = 10_000 // numbers made by lists.range
)

// environment is the language of conditions: fields, functions, macros. It is made
// once for every set of rules, and may be used by many goroutines.
type environment struct {
	cel    *cel.Env
	fields [numFields]fieldInfo
	names  map[string]field // aliases included
	roots  map[string]bool  // first words of names
	groups map[string]bool  // what stands before the last word of names
}

// newEnvironment returns the language. It fails only when the table of fields and
// the library do not fit together.
func newEnvironment() (*environment, error) {
	env := &environment{
		fields: fieldTable(), names: fieldAliases(),
		roots: make(map[string]bool), groups: make(map[string]bool),
	}
	for f := range numFields {
		env.names[env.fields[f].name] = f
	}
	var options []cel.EnvOption
	for name, f := range env.names {
		env.addGroups(name)
		options = append(options, cel.Variable(name, celType(env.fields[f].kind)))
	}
	options = append(options, library()...)
	var err error
	if env.cel, err = cel.NewEnv(options...); err != nil {
		return nil, durward.Errorf(durward.Internal, "policy", "the language of conditions cannot be set up: %v", err)
	}
	return env, nil
}

func (env *environment) addGroups(name string) {
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		if !env.groups[name[:i]] && len(env.groups) < 64 {
			env.groups[name[:i]] = true
		}
	}
	env.roots[firstWord(name)] = true
}

// library is everything that is no field. Macros are CEL's own but for has, which
// here makes what is absent so that nothing around it matches; see absent.go.
func library() []cel.EnvOption {
	return []cel.EnvOption{
		cel.ClearMacros(),
		cel.Macros(cel.AllMacro, cel.ExistsMacro, cel.ExistsOneMacro, cel.MapMacro, cel.MapFilterMacro, cel.FilterMacro),
		cel.OptionalTypes(),
		ext.Strings(), ext.Regex(), ext.Sets(), ext.Math(), ext.Encoders(), ext.Bindings(),
		ext.Lists(ext.ListsMaxRangeSize(maxRange)),
		cel.CrossTypeNumericComparisons(true),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(maxSource),
		cel.ParserRecursionLimit(maxNesting),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegexProgram),
		absentLibrary(),
		functionLibrary(),
	}
}

// join makes one option of several.
func join(options ...cel.EnvOption) cel.EnvOption {
	return func(e *cel.Env) (*cel.Env, error) {
		var err error
		for _, option := range options {
			if e, err = option(e); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
}

// function declares a function of one form.
func function(name, id string, args []*types.Type, result *types.Type, options ...decls.OverloadOpt) cel.EnvOption {
	return cel.Function(name, cel.Overload(id, args, result, options...))
}

func firstWord(name string) string {
	for i := range len(name) {
		if name[i] == '.' {
			return name[:i]
		}
	}
	return name
}
