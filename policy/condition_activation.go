package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// unknownValue is the value of every field that is not known yet.
var unknownValue = types.NewUnknown(1, types.NewAttributeTrail("not known yet"))

// activation is an event as conditions see it. Each field is converted once, when the
// first condition asks for it, for all conditions that are evaluated with it. It belongs to one goroutine.
type activation struct {
	ev      *Event
	names   map[string]field
	listing bool
	size    int // of ev, in bytes; -1: not counted yet
	values  [numFields]any
}

// newActivation returns the activation of an event, which must not change as long
// as it is used. With listing, the fields that only a call has (arguments, result,
// the id, labels, times) are not known.
func newActivation(ev *Event, listing bool) *activation {
	a := new(activation)
	a.reset(ev, listing)
	return a
}

// reset makes the activation that of another event, without allocating.
func (a *activation) reset(ev *Event, listing bool) {
	*a = activation{ev: ev, names: a.names, listing: listing, size: -1}
}

// hide makes a field unknown.
func (a *activation) hide(f field) { a.values[f] = unknownValue }

// ResolveName returns the value of a field for the interpreter.
func (a *activation) ResolveName(name string) (any, bool) {
	f, ok := a.names[name]
	if !ok {
		return nil, false
	}
	if v := a.values[f]; v != nil {
		return v, true
	}
	return a.resolve(f), true
}

func (a *activation) resolve(f field) any {
	var v any = absentValue
	if a.listing && !listed(f) {
		v = unknownValue
	} else if val := fieldValue(a.ev, f); val != nil {
		v = val
	}
	a.values[f] = v
	return v
}

// Parent is part of the interface.
func (a *activation) Parent() cel.Activation { return nil }

func (a *activation) bulk() int {
	if a.size < 0 {
		a.size = bulk(a.ev)
	}
	return a.size
}

func listed(f field) bool { return !onlyCalls(f) }

// onlyCalls tells the fields that only a call has. A test holds it to the table.
func onlyCalls(f field) bool {
	switch f {
	case fieldEventID, fieldEventTime, fieldNow, fieldRequestID, fieldToolArguments, fieldPromptArguments,
		fieldInputMethod, fieldInputMode, fieldInputURL, fieldSessionLabels, fieldSessionCalls, fieldSessionStarted:
		return true
	default:
		return fieldResultIsError <= f && f <= fieldResultScore || fieldHTTPMethod <= f && f <= fieldOpImage
	}
}
