package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"time"

	"durward/internal/yamlx"
)

// Schema returns a JSON Schema (draft 7, which editors know best) of the
// configuration file, for completion and checks while typing. It takes every
// file that [Load] takes; Load finds more, as much lies between keys.
func Schema() []byte {
	schema := tree().schema()
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Durward configuration"
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // maps, texts and numbers always encode
	}
	return append(out, '\n')
}

type object = map[string]any

func (n *node) schema() object {
	s := n.shape()
	if n.key.Doc != "" {
		s["description"] = n.key.Doc
	}
	if value, ok := n.defaultValue(); ok {
		s["default"] = value
	}
	maps.Copy(s, special()[n.key.Path])
	return s
}

// special is what the types of the fields do not say, by path.
func special() map[string]object {
	name := object{"pattern": toolsetName.String()}
	return map[string]object{
		"version":  {"const": version},
		"prefix":   {"const": ""},
		"toolsets": {"propertyNames": name},
		"servers":  {"propertyNames": object{"allOf": []any{name, object{"not": object{"enum": []string{"local", "builtin", "durward", "host"}}}}}},
		"principals": {"propertyNames": object{"allOf": []any{
			object{"pattern": principalName.String()}, object{"not": object{"const": principalLocal}},
		}}},
		"servers.NAME": {"oneOf": []any{
			object{"required": []string{"command"}},
			object{"required": []string{"url"}},
		}},
	}
}

func (n *node) shape() object {
	if s, ok := scalarShape(n.typ, n.key); ok {
		return s
	}
	switch {
	case n.free:
		return object{"type": []string{"object", "null"}, "additionalProperties": n.below[0].schema()}
	case n.list:
		return object{"type": []string{"array", "null"}, "items": n.members()}
	case n.typ.Kind() == reflect.Slice:
		items, _ := scalarShape(n.typ.Elem(), n.key)
		return object{"type": []string{"array", "null"}, "items": items}
	}
	return n.members()
}

// members is the shape of a mapping with keys of its own.
func (n *node) members() object {
	properties, required := object{}, []string{}
	for _, child := range n.below {
		properties[child.name] = child.schema()
		if child.key.Required {
			required = append(required, child.name)
		}
	}
	s := object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["type"], s["required"] = "object", required
	}
	return s
}

const (
	durationPattern = `^(0|[1-9][0-9]*)d$|^((0|[1-9][0-9]*)d)?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`
	sizePattern     = `^(0|[1-9][0-9]*) *([KMGT](iB)?)?$`
)

// scalarShape is the shape of what is written as one value; false for the rest.
func scalarShape(t reflect.Type, key Key) (object, bool) {
	text := func(pattern string) object { return object{"type": "string", "pattern": pattern} }
	switch {
	case len(key.Enum) > 0:
		return object{"enum": key.Enum}, true
	case t == reflect.TypeFor[time.Duration]():
		return text(durationPattern), true
	case t == reflect.TypeFor[callTimeout]():
		return object{"anyOf": []any{object{"const": "none"}, text(durationPattern)}}, true
	case t == reflect.TypeFor[idleStop]():
		return object{"anyOf": []any{object{"const": "never"}, text(durationPattern)}}, true
	case t == reflect.TypeFor[keepTime]():
		return object{"anyOf": []any{object{"const": "forever"}, text(durationPattern)}}, true
	case t == reflect.TypeFor[yamlx.Size]():
		return object{"anyOf": []any{object{"type": "integer", "minimum": 0}, text(sizePattern)}}, true
	case t == reflect.TypeFor[keepSize]():
		return object{"anyOf": []any{object{"const": "none"}, object{"type": "integer", "minimum": leastKept}, text(sizePattern)}}, true
	case t == reflect.TypeFor[yamlx.Text]():
		return object{"type": []string{"string", "number", "boolean"}}, true
	case isText(t) || t.Kind() == reflect.String || t.Kind() == reflect.Pointer:
		return object{"type": "string"}, true
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}, true
	case t.Kind() == reflect.Int:
		return bounded("integer", key), true
	case t.Kind() == reflect.Float64:
		return bounded("number", key), true
	}
	return nil, false
}

func bounded(kind string, key Key) object {
	s := object{"type": kind}
	if least, err := strconv.Atoi(key.Min); err == nil {
		s["minimum"] = least
	}
	if most, err := strconv.Atoi(key.Max); err == nil {
		s["maximum"] = most
	}
	return s
}

func (n *node) defaultValue() (any, bool) {
	switch {
	case n.key.Default == "":
		return nil, false
	case n.typ.Kind() == reflect.Bool:
		return n.key.Default == "true", true
	case n.typ.Kind() == reflect.Int && n.typ == reflect.TypeFor[int]():
		number, err := strconv.Atoi(n.key.Default)
		return number, err == nil
	case n.typ.Kind() == reflect.Float64:
		number, err := strconv.ParseFloat(n.key.Default, 64)
		return number, err == nil
	}
	return n.key.Default, true
}
