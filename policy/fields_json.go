package policy

import (
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"durward/internal/wire"
)

// maxMembers is how many members of an object or elements of a list a condition may
// touch: more cannot be walked within the limit of its cost anyway.
const maxMembers = 200_000

// jsonValue returns a JSON value that was checked before; nil if raw is empty. Lists
// are decoded one level at once, objects member by member as they are asked for.
func jsonValue(raw []byte) ref.Val {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '{':
		return jsonObject(raw)
	case '[':
		return jsonList(raw)
	case '"':
		s, ok := wire.Unquote(raw)
		if !ok {
			return bad("a text that is none")
		}
		return types.String(s)
	case 't':
		return types.True
	case 'f':
		return types.False
	case 'n':
		return types.NullValue
	default:
		return jsonNumber(raw)
	}
}

func bad(format string, args ...any) ref.Val { return types.NewErr(format, args...) }

func jsonList(raw []byte) ref.Val {
	list := make([]ref.Val, 0, 8)
	for at := range wire.Elements(raw) {
		if len(list) == maxMembers {
			return bad("a list of more than %d elements, which no condition can look at", maxMembers)
		}
		val := jsonValue(at.Of(raw))
		if types.IsError(val) {
			return val // the library takes errors within lists for equal to anything
		}
		list = append(list, val)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, list)
}

// maxNumber is how long a number may be that can be held at all: the largest double
// has 309 digits, the smallest fraction a little more.
const maxNumber = 800

// jsonNumber returns a number if it can be held exactly: integers of 64 bits with and
// without sign, larger ones where they happen to be doubles, and decimal fractions
// that come out of a double as they went in. Everything else is an error:
// a condition must not decide by a number that the server never sees.
func jsonNumber(raw []byte) ref.Val {
	s := string(raw)
	if len(s) > maxNumber {
		return inexact(s)
	}
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return types.Int(i)
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return types.Uint(u)
		}
		i, ok := new(big.Int).SetString(s, 10)
		if !ok {
			return bad("%q is no number", shorten(s))
		}
		if f, accuracy := new(big.Float).SetInt(i).Float64(); accuracy == big.Exact && !math.IsInf(f, 0) {
			return types.Double(f)
		}
		return inexact(s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !sameDecimal(s, strconv.FormatFloat(f, 'e', -1, 64)) {
		return inexact(s)
	}
	return types.Double(f)
}

func inexact(s string) ref.Val {
	return bad("the number %s cannot be represented exactly", shorten(s))
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// sameDecimal reports whether two decimal numbers are the same.
func sameDecimal(a, b string) bool {
	da, pa := decimal(a)
	db, pb := decimal(b)
	return da == db && (pa == pb || strings.Trim(da, "-") == "")
}

// decimal takes a JSON number apart: its digits without zeros at either end, with
// the sign before them, and where the point stands.
func decimal(s string) (digits string, point int) {
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		point, _ = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+")) // an absurd exponent gives 0 and therefore no equality, or no number
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	point += len(whole)
	digits = whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	point -= len(digits) - len(trimmed)
	digits = strings.TrimRight(trimmed, "0")
	if negative {
		digits = "-" + digits
	}
	return digits, point
}

// object is a JSON object whose members are decoded when they are asked for, once. It belongs
// to one activation and therefore to one goroutine.
type object struct {
	raw     []byte
	members []jsonMember
	index   map[string]int // into members; nil while they are few
	whole   traits.Mapper  // with all members, for what asks for more than one of them
}

type jsonMember struct {
	name string
	raw  []byte
	val  ref.Val
}

// fewMembers is up to how many members are searched one by one.
const fewMembers = 12

// jsonObject finds the members of an object. A name that is there twice is an error:
// which of the two counts is for whoever reads it to decide.
func jsonObject(raw []byte) ref.Val {
	o := &object{raw: raw}
	for name, at := range wire.Members(raw) {
		if len(o.members) == maxMembers {
			return bad("an object of more than %d members, which no condition can look at", maxMembers)
		}
		if o.place(name) >= 0 {
			return bad("the name %q is there twice in one object", shorten(name))
		}
		if o.index != nil {
			o.index[name] = len(o.members)
		}
		o.members = append(o.members, jsonMember{name: name, raw: at.Of(raw)})
		if o.index == nil && len(o.members) > fewMembers {
			o.index = make(map[string]int, 4*fewMembers)
			for i := range o.members {
				o.index[o.members[i].name] = i
			}
		}
	}
	return o
}

// place returns where a member is; -1 if it is not there.
func (o *object) place(name string) int {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].name == name {
			return i
		}
	}
	return -1
}

func (o *object) at(i int) ref.Val {
	m := &o.members[i]
	if m.val == nil {
		m.val = jsonValue(m.raw)
	}
	return m.val
}

// FindStringKey is what the interpreter asks when a key is a constant.
func (o *object) FindStringKey(name string) (any, bool) {
	i := o.place(name)
	if i < 0 {
		return nil, false
	}
	return o.at(i), true
}

// Find returns the value of a key.
func (o *object) Find(key ref.Val) (ref.Val, bool) {
	if types.IsUnknownOrError(key) {
		return key, false
	}
	name, ok := key.(types.String) // no key of a JSON object is anything but text
	if !ok {
		return nil, false
	}
	i := o.place(string(name))
	if i < 0 {
		return nil, false
	}
	return o.sound(i), true
}

// sound returns a member for what looks at the object as a whole. The library takes errors
// within maps for equal to anything, or to nothing, so there the evaluation must end:
// the panic is one that the interpreter makes an error of, as when the limit of cost is reached.
func (o *object) sound(i int) ref.Val {
	val := o.at(i)
	if err, ok := val.(*types.Err); ok {
		panic(interpreter.EvalCancelledError{Message: err.Error()})
	}
	return val
}

// all returns the object with all members decoded, as the library's own map.
func (o *object) all() traits.Mapper {
	if o.whole == nil {
		members := make(map[ref.Val]ref.Val, len(o.members))
		for i := range o.members {
			members[types.String(o.members[i].name)] = o.sound(i)
		}
		o.whole = types.NewRefValMap(types.DefaultTypeAdapter, members)
	}
	return o.whole
}

// Get returns the value of a key, an error if there is none.
func (o *object) Get(key ref.Val) ref.Val {
	if val, _ := o.Find(key); val != nil {
		return val
	}
	return absentValue
}

// Contains says whether there is a key, whatever its value.
func (o *object) Contains(key ref.Val) ref.Val {
	if types.IsUnknownOrError(key) {
		return key
	}
	name, ok := key.(types.String)
	return types.Bool(ok && o.place(string(name)) >= 0)
}

// Iterator walks the keys in the order of the text.
func (o *object) Iterator() traits.Iterator {
	names := make([]ref.Val, len(o.members))
	for i := range o.members {
		names[i] = types.String(o.members[i].name)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, names).Iterator()
}

// Fold walks keys and values in the order of the text.
func (o *object) Fold(f traits.Folder) {
	for i := range o.members {
		if !f.FoldEntry(types.String(o.members[i].name), o.at(i)) {
			return
		}
	}
}

// Size returns the number of members.
func (o *object) Size() ref.Val { return types.Int(len(o.members)) }

// Equal compares all members.
func (o *object) Equal(other ref.Val) ref.Val {
	if b, ok := other.(*object); ok {
		return o.all().Equal(b.all())
	}
	return o.all().Equal(other)
}

// ConvertToNative converts to Go values, for functions of the library that want those.
func (o *object) ConvertToNative(t reflect.Type) (any, error) { return o.all().ConvertToNative(t) }

// ConvertToType converts to a map or to its type.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return o
	case types.TypeType:
		return types.MapType
	default:
		return bad("an object cannot become %s", kindOf(t.TypeName()))
	}
}

// Type is that of maps.
func (o *object) Type() ref.Type { return types.MapType }

// Value returns the members as Go values.
func (o *object) Value() any { return o.all().Value() }
