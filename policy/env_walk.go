package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"durward/internal/yamlx"
)

// walker looks at a parsed expression before its types are checked: which fields it
// names, and whether those exist; and it prepares the expression for what is absent.
type walker struct {
	env    *environment
	src    string
	tree   *ast.AST
	make   ast.ExprFactory
	nextID int64
	used   [numFields]bool
	bound  map[string]int // variables of macros, by how often they are bound

	only          map[field][]string // the values a field must have for the condition to match
	contradiction *fault             // there are none
	certain       bool               // the condition could be true for certain while it is decided what is listed
}

func newWalker(env *environment, src string, tree *ast.AST) *walker {
	return &walker{env: env, src: src, tree: tree, make: ast.NewExprFactory(), nextID: ast.MaxID(tree) + 1, bound: make(map[string]int)}
}

// walk returns the first fault. After that the types are to be checked.
func (w *walker) walk() *fault { return w.expr(w.tree.Expr(), true) }

// needs is the sum of what the fields need.
func (w *walker) needs() needs {
	var sum needs
	for f := range numFields {
		if w.used[f] {
			sum |= w.env.fields[f].needs
		}
	}
	return sum
}

// expr looks at e. Rising says that e can only be true for the whole to be true: then
// it makes no difference whether has() is false or absent.
func (w *walker) expr(e ast.Expr, rising bool) *fault {
	switch e.Kind() {
	case ast.IdentKind, ast.SelectKind:
		return w.path(e)
	case ast.CallKind:
		return w.call(e, rising)
	case ast.ListKind:
		return w.each(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			m := entry.AsMapEntry()
			if f := w.each([]ast.Expr{m.Key(), m.Value()}); f != nil {
				return f
			}
		}
		return nil
	case ast.StructKind:
		return w.at(e, "objects of type "+e.AsStruct().TypeName()+" cannot be made", "")
	case ast.ComprehensionKind:
		return w.comprehension(e, rising)
	default:
		return nil
	}
}

func (w *walker) each(list []ast.Expr) *fault {
	for _, e := range list {
		if f := w.expr(e, false); f != nil {
			return f
		}
	}
	return nil
}

func (w *walker) call(e ast.Expr, rising bool) *fault {
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		for _, arg := range args {
			if f := w.expr(arg, rising); f != nil {
				return f
			}
		}
		w.prepare(e)
		return nil
	case operators.Conditional:
		if f := w.expr(args[0], false); f != nil {
			return f
		}
		for _, arg := range args[1:] {
			if f := w.expr(arg, rising); f != nil {
				return f
			}
		}
		return nil
	case operators.Equals, operators.NotEquals, operators.In:
		if f := w.possible(e, args); f != nil {
			return f
		}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		if f := w.ordered(e, args); f != nil {
			return f
		}
	case hasFunction:
		if !rising {
			name := w.written(args[0])
			return w.at(args[0], "has("+name+") is never false: what is absent makes everything around it not match", "write absent("+name+"), or !absent("+name+"), to ask for it")
		}
	}
	if call.IsMemberFunction() && !w.env.qualified(call) {
		if f := w.expr(call.Target(), false); f != nil {
			return f
		}
	}
	return w.each(args)
}

// qualified tells functions with a dot in their name from those that belong to a value.
func (env *environment) qualified(call ast.CallExpr) bool {
	name, ok := pathOf(call.Target())
	return ok && env.cel.HasFunction(name+"."+call.FunctionName())
}

func (w *walker) comprehension(e ast.Expr, rising bool) *fault {
	c := e.AsComprehension()
	for _, part := range []ast.Expr{c.IterRange(), c.AccuInit()} {
		if f := w.expr(part, false); f != nil {
			return f
		}
	}
	names := []string{c.IterVar(), c.AccuVar()}
	if c.HasIterVar2() {
		names = append(names, c.IterVar2())
	}
	for _, name := range names {
		if w.env.roots[name] {
			return w.at(e, "a variable cannot be called "+name+", as fields are", "choose another name")
		}
		w.bound[name]++
	}
	defer func() {
		for _, name := range names {
			w.bound[name]--
		}
	}()
	if f := w.expr(c.LoopCondition(), false); f != nil {
		return f
	}
	if f := w.expr(c.LoopStep(), rising); f != nil {
		return f
	}
	return w.expr(c.Result(), rising)
}

// path looks at a name, or at what is selected from something.
func (w *walker) path(e ast.Expr) *fault {
	name, ok := pathOf(e)
	if !ok {
		return w.expr(e.AsSelect().Operand(), false)
	}
	first := firstWord(name)
	if w.bound[first] > 0 || strings.HasPrefix(first, "@") {
		return nil
	}
	if !w.env.roots[first] {
		return w.unknownRoot(e, name, first)
	}
	known := name
	for {
		if f, ok := w.env.names[known]; ok {
			return w.named(e, f, name, known)
		}
		i := strings.LastIndexByte(known, '.')
		if i < 0 {
			return w.unknownField(e, name)
		}
		known = known[:i]
	}
}

func (w *walker) named(e ast.Expr, f field, name, known string) *fault {
	w.used[f] = true
	if name == known {
		return nil
	}
	rest := name[len(known)+1:]
	if f == fieldToolAnnotations {
		for _, hint := range []string{"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if rest != hint && strings.EqualFold(strings.ReplaceAll(rest, "_", ""), hint) {
				return w.at(e, fmt.Sprintf("no annotation is called %s", rest), "did you mean "+known+"."+hint+"?")
			}
		}
	}
	if kind := w.env.fields[f].kind; kind != kindObject && kind != kindAny {
		return w.at(e, fmt.Sprintf("%s is %s and has no fields", known, article(kind)), "")
	}
	return nil
}

func article(kind string) string {
	if kind == kindInt {
		return "an int"
	}
	return "a " + kind
}

// unknownRoot reports a name that begins with no word that fields begin with. Names of
// types are left to the library.
func (w *walker) unknownRoot(e ast.Expr, name, first string) *fault {
	if _, ok := w.env.cel.CELTypeProvider().FindIdent(name); ok {
		return nil
	}
	if w.env.cel.HasFunction(name) {
		return w.at(e, name+" is a function", "write "+name+"(…)")
	}
	return w.at(e, fmt.Sprintf("no field or variable is called %s", first), w.env.suggest(name))
}

func (w *walker) unknownField(e ast.Expr, name string) *fault {
	if w.env.groups[name] {
		return w.at(e, name+" is a group of fields, no field", "name one of them: "+w.env.inGroup(name))
	}
	return w.at(e, "no field is called "+name, w.env.suggest(name))
}

func (env *environment) inGroup(group string) string {
	var list []string
	for f := range numFields {
		if strings.HasPrefix(env.fields[f].name, group+".") {
			list = append(list, env.fields[f].name)
		}
	}
	for name := range env.names {
		if strings.HasPrefix(name, group+".") && !slices.Contains(list, name) && len(list) == 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// suggest says which field was probably meant.
func (env *environment) suggest(name string) string {
	// What was meant may have keys behind it: mcp.tool.argument.force.
	for cut := len(name); cut > 0; cut = strings.LastIndexByte(name[:cut], '.') {
		best, keys := env.closest(name[:cut], true), name[cut:]
		if best == "" {
			continue
		}
		if kind := env.fields[env.names[best]].kind; keys == "" || kind == kindObject || kind == kindAny {
			return "did you mean " + best + keys + "?"
		}
	}
	if best := env.closest(name, false); best != "" {
		return "did you mean " + best + "?"
	}
	return "durward rule fields lists all fields"
}

// closest returns the field that is spelled most like name, of those with as many
// words or of all; or else the one that ends in name.
func (env *environment) closest(name string, asLong bool) string {
	known := make([]string, 0, len(env.names))
	for f := range numFields {
		if candidate := env.fields[f].name; !asLong || strings.Count(candidate, ".") == strings.Count(name, ".") {
			known = append(known, candidate)
		}
	}
	if _, said, ok := strings.Cut(yamlx.DidYouMean(name, known), "did you mean \""); ok {
		said, _, _ = strings.Cut(said, "\"")
		return said
	}
	for _, candidate := range known {
		if strings.HasSuffix(candidate, "."+name) {
			return candidate
		}
	}
	return ""
}

// pathOf returns a.b.c for what is written so.
func pathOf(e ast.Expr) (string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return strings.TrimPrefix(e.AsIdent(), "."), true
	case ast.SelectKind:
		before, ok := pathOf(e.AsSelect().Operand())
		return before + "." + e.AsSelect().FieldName(), ok
	default:
		return "", false
	}
}

// prepare makes the operands of && and || that may fail say so; see absent.go.
func (w *walker) prepare(e ast.Expr) {
	call := e.AsCall()
	args := slices.Clone(call.Args())
	changed := false
	for i, arg := range args {
		if w.safe(arg) {
			continue
		}
		id := w.nextID
		w.nextID++
		if r, ok := w.tree.SourceInfo().GetOffsetRange(arg.ID()); ok {
			w.tree.SourceInfo().SetOffsetRange(id, r)
		}
		args[i] = w.make.NewCall(id, testFunction, arg)
		changed = true
	}
	if changed {
		e.SetKindCase(w.make.NewCall(e.ID(), call.FunctionName(), args...))
	}
}

// safe reports whether an operand cannot fail: it is true, false or absent, if its
// types are right, which is checked later.
func (w *walker) safe(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.IdentKind, ast.SelectKind:
		name, ok := pathOf(e)
		if !ok || w.bound[firstWord(name)] > 0 {
			return false
		}
		f, ok := w.env.names[name]
		return ok && w.env.fields[f].kind != kindAny && w.env.fields[f].kind != kindObject
	case ast.ListKind:
		return len(e.AsList().OptionalIndices()) == 0 && w.allSafe(e.AsList().Elements())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr:
			return true // its operands are prepared
		case operators.Equals, operators.NotEquals, operators.In, operators.LogicalNot,
			operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
			return w.allSafe(call.Args())
		case "startsWith", "endsWith", "contains":
			return call.IsMemberFunction() && w.safe(call.Target()) && w.allSafe(call.Args())
		}
	}
	return false
}

func (w *walker) allSafe(list []ast.Expr) bool {
	for _, e := range list {
		if !w.safe(e) {
			return false
		}
	}
	return true
}

// at makes a fault that points at an expression.
func (w *walker) at(e ast.Expr, message, suggestion string) *fault {
	start, end := w.span(e)
	f := &fault{offset: start, line: 1, column: start + 1, width: max(1, end-start), message: message, suggestion: suggestion}
	n := 0
	for _, r := range w.src {
		if n == start {
			break
		}
		n++
		if r == '\n' {
			f.line++
			f.column = start - n + 1
		}
	}
	return f
}

// whole makes a fault that points at the whole condition.
func (w *walker) whole(message, suggestion string) *fault {
	text := strings.TrimRight(w.src, " \t\r\n")
	before := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	f := &fault{offset: before, line: 1 + strings.Count(text[:before], "\n"), message: message, suggestion: suggestion}
	f.column = before - strings.LastIndexByte(text[:before], '\n')
	line, _, _ := strings.Cut(text[before:], "\n")
	f.width = max(1, utf8.RuneCountInString(line))
	return f
}

// span returns where an expression begins and ends, in characters.
func (w *walker) span(e ast.Expr) (start, end int) {
	start, end = utf8.RuneCountInString(w.src), 0
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(part ast.Expr) {
		if r, ok := w.tree.SourceInfo().GetOffsetRange(part.ID()); ok {
			start, end = min(start, int(r.Start)), max(end, int(r.Stop))
			if part.Kind() == ast.SelectKind {
				end = max(end, int(r.Start)+1+utf8.RuneCountInString(part.AsSelect().FieldName()))
			}
		}
	}))
	if start >= end {
		return 0, utf8.RuneCountInString(w.src)
	}
	return start, end
}

// written returns the text of an expression.
func (w *walker) written(e ast.Expr) string {
	start, end := w.span(e)
	runes := []rune(w.src)
	return string(runes[start:min(end, len(runes))])
}

// ordered reports comparisons of risks by their letters, by which critical is the least.
func (w *walker) ordered(e ast.Expr, args []ast.Expr) *fault {
	for _, arg := range args {
		name, isName := pathOf(arg)
		if f, ok := w.env.names[name]; isName && ok && slices.Equal(w.env.fields[f].values, risks()) {
			return w.at(e, name+" is a word, and words are compared by their letters: \"critical\" is less than \"low\"", "write risk_at_least("+name+", \"high\")")
		}
	}
	return nil
}

// possible reports comparisons of a field that has few values with none of them.
func (w *walker) possible(e ast.Expr, args []ast.Expr) *fault {
	f, list, ok := w.comparison(args)
	if !ok || w.env.fields[f].values == nil {
		return nil
	}
	for _, s := range list {
		if !slices.Contains(w.env.fields[f].values, s) {
			return w.at(e, fmt.Sprintf("this can never match: %s is never %q", w.env.fields[f].name, s), "it is one of "+strings.Join(w.env.fields[f].values, ", "))
		}
	}
	return nil
}

// onlyValues collects for which values of fields the condition can be true: from
// what is joined by && at the top.
func (w *walker) onlyValues() {
	w.only = make(map[field][]string)
	w.contradiction = w.conjunct(w.tree.Expr(), w.only)
	w.certain = w.mayBeCertain(w.tree.Expr())
}

func (w *walker) conjunct(e ast.Expr, only map[field][]string) *fault {
	if e.Kind() != ast.CallKind {
		return nil
	}
	call := e.AsCall()
	args := call.Args()
	switch call.FunctionName() {
	case testFunction:
		return w.conjunct(args[0], only)
	case operators.LogicalAnd:
		for _, arg := range args {
			if f := w.conjunct(arg, only); f != nil {
				return f
			}
		}
	case operators.Equals, operators.In:
		f, list, ok := w.comparison(args)
		if !ok {
			return nil
		}
		if before, ok := only[f]; ok {
			list = slices.DeleteFunc(slices.Clone(before), func(s string) bool { return !slices.Contains(list, s) })
		}
		if len(list) == 0 {
			return w.at(e, "this can never match: "+w.env.fields[f].name+" cannot be all of that at once", "join the parts by || instead of &&")
		}
		only[f] = list
	}
	return nil
}

// comparison recognises field == "text" and field in ["a", "b"], in either order.
func (w *walker) comparison(args []ast.Expr) (f field, list []string, ok bool) {
	for i, arg := range args {
		name, isName := pathOf(arg)
		if f, ok = w.env.names[name]; isName && ok && w.env.fields[f].kind == kindText {
			list, ok = literals(args[1-i])
			return f, list, ok
		}
	}
	return 0, nil, false
}

func literals(e ast.Expr) (list []string, ok bool) {
	if e.Kind() == ast.ListKind {
		for _, item := range e.AsList().Elements() {
			one, ok := literals(item)
			if !ok || item.Kind() != ast.LiteralKind {
				return nil, false
			}
			list = append(list, one...)
		}
		return list, true
	}
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	s, ok := e.AsLiteral().(types.String)
	return []string{string(s)}, ok
}
