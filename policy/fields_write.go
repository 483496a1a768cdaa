package policy

import (
	"math"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"durward"
	"durward/internal/wire"
)

// appendJSON appends a value as JSON. What came from an event as an object is
// appended byte for byte.
func appendJSON(dst []byte, val ref.Val, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, durward.Errorf(durward.Invalid, "value", "it is nested more than %d deep", maxNesting)
	}
	switch v := val.(type) {
	case *object:
		return append(dst, v.raw...), nil
	case types.Null:
		return append(dst, "null"...), nil
	case types.Bool:
		return strconv.AppendBool(dst, bool(v)), nil
	case types.Int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case types.Uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, durward.Errorf(durward.Invalid, "value", "%v is no number in JSON", float64(v))
		}
		return strconv.AppendFloat(dst, float64(v), 'g', -1, 64), nil
	case types.String:
		return wire.AppendQuote(dst, string(v)), nil
	case types.Timestamp:
		return wire.AppendQuote(dst, v.Format(time.RFC3339Nano)), nil
	case *types.Err:
		return nil, durward.Errorf(durward.Invalid, "value", "%v", v)
	case traits.Lister:
		return appendList(dst, v, depth-1)
	case traits.Mapper:
		return appendMap(dst, v, depth-1)
	case *types.Unknown:
		return nil, durward.Errorf(durward.Invalid, "value", "it depends on what is not known yet")
	default:
		return nil, durward.Errorf(durward.Invalid, "value", "a value of type %s cannot be written as JSON", kindOf(val.Type().TypeName()))
	}
}

func appendList(dst []byte, list traits.Lister, depth int) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for it, first := list.Iterator(), true; it.HasNext() == types.True; first = false {
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, it.Next(), depth); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m traits.Mapper, depth int) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	for it, first := m.Iterator(), true; it.HasNext() == types.True; first = false {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, durward.Errorf(durward.Invalid, "value", "the key %v is no text", key)
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendQuote(dst, string(name)), ':')
		val, _ := m.Find(key)
		if dst, err = appendJSON(dst, val, depth); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
