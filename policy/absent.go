package policy

import (
	"errors"
	"math"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/containers"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// Conditions have a logic of five values, of which a call sees four: true, false,
// absent, failed. While it is decided what is listed there is a fifth: unknown.
//
//   - What reads an absent field, a missing key or an index beyond the end is
//     absent, and so is everything strict around it, up to the smallest boolean
//     expression: a comparison, a call, a negation.
//   - a || b is true if either is. Otherwise it is unknown if either is, then failed, then
//     absent, then false.
//   - a && b is false if either is. Otherwise it is unknown if either is, then failed, then
//     absent, then true.
//   - all and exists are the same over many.
//   - A condition matches if it is true. Absent does not match; failed is an error.
//
// CEL has this logic with two exceptions, which are made good here. It knows no
// difference between an absence and a failure, so that in a || b an absent a would hide
// that b failed, and a caller could turn off the second half of a rule by leaving
// something out. That is why the operands of || and && that can fail pass through
// testFunction, which turns a failure into one of CEL's unknowns: those are
// stronger than errors, which are left to absences. And has() is false for what is absent,
// so that !has(x) would match because of a missing key: here has() is true or absent, and
// who wants to ask says absent(x), which is true or false.

// The functions that only rewriting makes, and the macros' names.
const (
	testFunction   = "@test"
	hasFunction    = "@has"
	absentFunction = "@absent"
	hasMacro       = "has"
	absentMacro    = "absent"
)

// failureID marks the unknowns that are failures. Ids of expressions are positive.
const failureID = math.MinInt64

// errAbsent is what a value that is absent says: a condition around it does not match.
var errAbsent = errors.New("absent")

// absentValue is the value of every absent field. The id is set already: the
// interpreter would otherwise write it, from many goroutines.
var absentValue = types.NewErrWithNodeID(-1, "%w", errAbsent)

// missingType is the type of the errors by which the interpreter says that there is
// no such key, index or name. It is not exported, so it is shown one.
var missingType = func() reflect.Type {
	registry := types.NewEmptyRegistry()
	names := interpreter.NewAttributeFactory(containers.DefaultContainer, registry, registry)
	_, err := names.AbsoluteAttribute(1, "missing").Resolve(cel.NoVars())
	return reflect.TypeOf(err)
}()

// The library shares this error between all evaluations, and writes the id into it
// when it is met first. It is met here, before there are goroutines.
var _ = types.LabelErrNode(-1, types.NoSuchOverloadErr())

// isAbsent tells what is absent from what failed.
func isAbsent(err error) bool {
	for err != nil {
		if err == errAbsent || reflect.TypeOf(err) == missingType { //nolint:errorlint // walks the chain itself, by identity: the library compares texts
			return true
		}
		err = errors.Unwrap(err)
	}
	return false
}

// failure makes a failure stronger than an absence.
func failure(err error) ref.Val {
	return types.NewUnknown(failureID, types.NewAttributeTrail(err.Error()))
}

// failureIn returns what failed in an unknown value; other says whether something in
// it is not known, which is the stronger.
func failureIn(u *types.Unknown) (text string, other bool) {
	for _, id := range u.IDs() {
		if id != failureID {
			return "", true
		}
		if trails, ok := u.GetAttributeTrails(id); ok && len(trails) > 0 {
			text = trails[0].Variable()
		}
	}
	return text, false
}

// test is testFunction.
func test(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.Bool, *types.Unknown:
		return v
	case *types.Err:
		if isAbsent(v) {
			return v
		}
		return failure(v)
	default:
		return failure(errors.New("a value of type " + kindOf(v.Type().TypeName()) + " where true or false is needed"))
	}
}

// isThere is hasFunction: true, or absent like its argument.
func isThere(ref.Val) ref.Val { return types.True }

// isMissing is absentFunction.
func isMissing(v ref.Val) ref.Val {
	switch v := v.(type) {
	case *types.Unknown:
		return v
	case *types.Err:
		if isAbsent(v) {
			return types.True
		}
		return v
	default:
		return types.False
	}
}

// absentLibrary declares the functions and macros of this file.
func absentLibrary() cel.EnvOption {
	return join(
		cel.Function(testFunction, decls.DisableTypeGuards(true),
			cel.Overload("policy_test", []*types.Type{types.BoolType}, types.BoolType, cel.UnaryBinding(test), cel.OverloadIsNonStrict())),
		function(hasFunction, "policy_has", []*types.Type{types.DynType}, types.BoolType, cel.UnaryBinding(isThere)),
		cel.Function(absentFunction, decls.DisableTypeGuards(true),
			cel.Overload("policy_absent", []*types.Type{types.DynType}, types.BoolType, cel.UnaryBinding(isMissing), cel.OverloadIsNonStrict())),
		cel.Macros(
			cel.GlobalMacro(hasMacro, 1, presence(hasFunction)),
			cel.GlobalMacro(absentMacro, 1, presence(absentFunction)),
		),
	)
}

// presence expands has(x) and absent(x), where x is a name, a key or an index.
func presence(name string) cel.MacroFactory {
	return func(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
		if !isPath(args[0]) {
			return nil, eh.NewError(args[0].ID(), "what is asked for must be a field, or a key or place in one, such as mcp.tool.arguments.force or mcp.tool.arguments[\"x-y\"]")
		}
		return eh.NewCall(name, args[0]), nil
	}
}

// isPath tells names and what is selected from them by constants.
func isPath(e ast.Expr) bool {
	switch e.Kind() {
	case ast.IdentKind:
		return true
	case ast.SelectKind:
		return isPath(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		return call.FunctionName() == "_[_]" && len(call.Args()) == 2 && call.Args()[1].Kind() == ast.LiteralKind && isPath(call.Args()[0])
	default:
		return false
	}
}
