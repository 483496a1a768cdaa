package policy

import (
	"errors"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"durward"
)

// verdict is what came of a condition.
type verdict uint8

// The verdicts.
const (
	verdictNo     verdict = iota // false
	verdictAbsent                // touches something absent: does not match
	verdictMaybe                 // depends on what is not known yet
	verdictYes                   // true
	verdictFailed                // could not be evaluated
)

// condition is one compiled condition. It may be evaluated by many goroutines.
type condition struct {
	program
	looks   needs
	certain bool // it could be true for certain while it is decided what is listed
	fields  [numFields]bool
	only    map[field][]string // the values a field must have for the condition to match, where that can be seen
}

// program is one compiled expression, in up to two forms: plain, and with a counter
// that stops it at the limit of cost. The plain one, twice as fast, is for events so small
// that it cannot come near the limit.
type program struct {
	env     *environment
	plain   cel.Program
	counted cel.Program // nil: the plain one cannot reach the limit whatever the event is
	upTo    int         // bytes of an event for which the plain one is proven to stay below the limit
}

// run evaluates; an error says why that was not possible.
func (p *program) run(a *activation) (ref.Val, error) {
	a.names = p.env.names
	chosen := p.plain
	if p.counted != nil && a.bulk() > p.upTo {
		chosen = p.counted
	}
	val, _, err := chosen.Eval(a)
	if err != nil {
		return nil, err
	}
	if u, ok := val.(*types.Unknown); ok {
		if text, other := failureIn(u); !other {
			return nil, errors.New(text)
		}
	}
	return val, nil
}

// needs says what the condition looks at.
func (c *condition) needs() needs { return c.looks }

// uses says whether the condition names a field.
func (c *condition) uses(f field) bool { return c.fields[f] }

// values returns the texts of which a field must be one for the condition to match;
// false if that cannot be told from looking at the condition.
func (c *condition) values(f field) ([]string, bool) {
	list, ok := c.only[f]
	return list, ok
}

// judge evaluates the condition. The error belongs to verdictFailed, of kind
// Invalid, and to verdictAbsent, where it says what is absent.
func (c *condition) judge(a *activation) (verdict, error) {
	val, err := c.run(a)
	switch {
	case err == nil && val == types.True:
		return verdictYes, nil
	case err == nil && val == types.False:
		return verdictNo, nil
	case err == nil && types.IsUnknown(val):
		return verdictMaybe, nil
	case err == nil:
		return verdictFailed, durward.Errorf(durward.Invalid, "condition", "it gives a value of type %s, not true or false", kindOf(val.Type().TypeName()))
	case isAbsent(err):
		return verdictAbsent, err
	default:
		return verdictFailed, durward.Errorf(durward.Invalid, "condition", "%v", err)
	}
}

// eval reports whether the condition matches. What touches something absent does
// not match and is no error; see absent.go. Any other failure, the limit of cost included, is an
// error: the caller blocks. With an activation that has unknown fields, what depends on them does not match.
func (c *condition) eval(a *activation) (bool, error) {
	v, err := c.judge(a)
	if v == verdictFailed {
		return false, err
	}
	return v == verdictYes, nil
}

// may reports whether the condition could match once everything is known. It is
// also true if the condition fails: nobody is told that something cannot match which was not
// looked at.
func (c *condition) may(a *activation) bool {
	v, _ := c.judge(a)
	return v >= verdictMaybe
}

// must reports whether the condition matches whatever turns out.
func (c *condition) must(a *activation) bool {
	v, _ := c.judge(a)
	return v == verdictYes
}

// value is one compiled value of a rewrite. It may be evaluated by many goroutines.
type value struct {
	program
	looks  needs
	fields [numFields]bool
}

// needs says what the value looks at.
func (v *value) needs() needs { return v.looks }

// eval returns the value as JSON. [isAbsent] tells an error that says that something
// is absent; the kind of every other is Invalid.
func (v *value) eval(a *activation) ([]byte, error) {
	val, err := v.run(a)
	if err != nil {
		if isAbsent(err) {
			return nil, err
		}
		return nil, durward.Errorf(durward.Invalid, "value", "%v", err)
	}
	return appendJSON(nil, val, maxNesting)
}
