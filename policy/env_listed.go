package policy

import (
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// mayBeCertain reports whether the condition could be true for certain while it is
// decided what is listed, and nothing is known of what only a call has. It cannot where a part
// that is joined by && at the top hangs on such a field: then the rule need not be
// looked at, if only certainty counts. Doubt is true.
func (w *walker) mayBeCertain(e ast.Expr) bool {
	if e.Kind() == ast.CallKind {
		switch call := e.AsCall(); call.FunctionName() {
		case testFunction:
			return w.mayBeCertain(call.Args()[0])
		case operators.LogicalAnd:
			for _, arg := range call.Args() {
				if !w.mayBeCertain(arg) {
					return false
				}
			}
			return true
		}
	}
	strict, unlisted := w.hangs(e)
	return !strict || !unlisted
}

// hangs reports whether an expression is strict, so that it is unknown where a part of
// it is, and whether it has a part that only a call has.
func (w *walker) hangs(e ast.Expr) (strict, unlisted bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		return true, false
	case ast.IdentKind, ast.SelectKind:
		return w.hangsOnField(e)
	case ast.ListKind:
		return w.anyHangs(e.AsList().Elements())
	case ast.CallKind:
		call := e.AsCall()
		parts := call.Args()
		if call.IsMemberFunction() {
			parts = append([]ast.Expr{call.Target()}, parts...)
		}
		switch name := call.FunctionName(); {
		case name == testFunction:
			return w.hangs(parts[0])
		case name == operators.LogicalAnd, name == operators.LogicalOr, name == operators.Conditional, name == operators.NotStrictlyFalse, strings.HasPrefix(name, "@") && name != operators.In:
			return false, false
		}
		return w.anyHangs(parts)
	default:
		return false, false
	}
}

func (w *walker) anyHangs(parts []ast.Expr) (strict, unlisted bool) {
	for _, part := range parts {
		ok, un := w.hangs(part)
		if !ok {
			return false, false
		}
		unlisted = unlisted || un
	}
	return true, unlisted
}

// hangsOnField looks at a name, or at what is selected of another expression.
func (w *walker) hangsOnField(e ast.Expr) (strict, unlisted bool) {
	name, ok := pathOf(e)
	if !ok {
		if e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly() {
			return w.hangs(e.AsSelect().Operand())
		}
		return false, false
	}
	for at := len(name); at > 0; at = strings.LastIndexByte(name[:at], '.') {
		if f, known := w.env.names[name[:at]]; known {
			return true, !w.env.fields[f].listed
		}
	}
	return false, false // a variable of a macro
}
