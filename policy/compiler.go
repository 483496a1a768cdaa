package policy

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"durward/internal/yamlx"
)

// compiler turns documents into a set.
type compiler struct {
	set      *Set
	doc      *Document // the one at work
	before   int       // problems of its source before it was looked at
	plugins  []string  // names that rules may run, sorted
	count    [layers]int
	problems yamlx.Problems

	conditions map[string]compiled[*condition]
	values     map[string]compiled[*value]
}

// compiled is what came of a text.
type compiled[T any] struct {
	out   T
	fault *fault
}

func itoa(i int) string { return strconv.Itoa(i) }

func (c *compiler) begin(doc *Document) {
	c.doc = doc
	if doc.Src != nil {
		c.before = doc.Src.Count()
	}
}

func (c *compiler) end() {
	if c.doc.Src != nil {
		c.problems = append(c.problems, c.doc.Src.Since(c.before)...)
	}
}

func (c *compiler) report(code yamlx.Code, path yamlx.Path, format string, args ...any) {
	if c.doc.Src != nil {
		c.doc.Src.Report(code, path, format, args...)
		return
	}
	c.problems = append(c.problems, yamlx.Problem{Code: code, File: c.doc.Name, Line: 1, Column: 1, Path: path.String(), Message: fmt.Sprintf(format, args...)})
}

func (c *compiler) reportKey(code yamlx.Code, path yamlx.Path, format string, args ...any) {
	if c.doc.Src != nil {
		c.doc.Src.ReportKey(code, path, format, args...)
		return
	}
	c.report(code, path, format, args...)
}

// pos is where a key or an element stands.
func (c *compiler) pos(path yamlx.Path) Pos {
	p := Pos{File: c.doc.Name}
	if c.doc.Src != nil {
		p.Line, p.Column = c.doc.Src.Where(path)
	}
	return p
}

// where is the end of a message that points at a place.
func (p Pos) where() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf(", at %s:%d:%d", p.File, p.Line, p.Column)
}

// compileAll compiles every condition and value once, on all processors: that is
// nearly all the work of a large set.
func (c *compiler) compileAll(docs []Document) {
	conditions, values := make(map[string]bool), make(map[string]bool)
	for i := range docs {
		for j := range docs[i].Spec.Rules {
			r := &docs[i].Spec.Rules[j]
			if r.When != "" && len(r.When) <= maxCondition {
				conditions[r.When] = true
			}
			for _, src := range r.Set {
				if src != "" && len(src) <= maxCondition {
					values[src] = true
				}
			}
		}
	}
	if len(conditions)+len(values) == 0 {
		return
	}
	env, err := newEnvironment()
	if err != nil {
		c.problems = append(c.problems, yamlx.Problem{Code: CodeCondition, File: docs[0].Name, Line: 1, Column: 1, Message: err.Error()})
		return
	}
	c.conditions = compileEach(conditions, env.compile)
	c.values = compileEach(values, env.compileValue)
}

func compileEach[T any](texts map[string]bool, compile func(string) (T, *fault)) map[string]compiled[T] {
	out := make(map[string]compiled[T], len(texts))
	todo := make(chan string)
	var mu sync.Mutex // guards out
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(texts)) {
		wg.Go(func() {
			for text := range todo {
				v, f := compile(text)
				mu.Lock()
				out[text] = compiled[T]{v, f}
				mu.Unlock()
			}
		})
	}
	for text := range texts {
		todo <- text
	}
	close(todo)
	wg.Wait()
	return out
}

func (c *compiler) checkWhen(r *rule, path yamlx.Path) {
	path = path.In("when")
	switch {
	case r.src.When == "":
		return
	case len(r.src.When) > maxCondition:
		c.report(yamlx.CodeSize, path, "has %d bytes, more than %d; use several rules", len(r.src.When), maxCondition)
		return
	}
	done := c.conditions[r.src.When]
	if done.fault != nil {
		c.fault(path, done.fault)
		return
	}
	r.when = done.out
	c.checkNeeds(r, path)
}

// checkNeeds refuses a rule of the request phase that looks at the result.
func (c *compiler) checkNeeds(r *rule, path yamlx.Path) {
	if !r.response && r.needs()&needResult != 0 {
		c.report(CodeNever, path, "mcp.result exists in the response phase only; add phase: response")
		return
	}
	if why := r.contradiction(); why != "" {
		c.report(CodeNever, path, "the rule can never match: %s", why)
	}
}

// fault reports what is wrong with a condition or value at its place in it.
func (c *compiler) fault(path yamlx.Path, f *fault) {
	if c.doc.Src == nil {
		c.report(CodeCondition, path, "%s", f.Error())
		return
	}
	c.doc.Src.ReportWithin(CodeCondition, path, f.line, f.column-1, f.width, "%s", f.text())
}

func (c *compiler) value(src string, path yamlx.Path) *value {
	if len(src) > maxCondition {
		c.report(yamlx.CodeSize, path, "has %d bytes, more than %d", len(src), maxCondition)
		return nil
	}
	done := c.values[src]
	if done.fault != nil {
		c.fault(path, done.fault)
		return nil
	}
	return done.out
}
