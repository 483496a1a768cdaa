package yamlx

import (
	"reflect"
	"strings"
)

// field is what the tags of one struct field say.
type field struct {
	name      string
	index     []int
	required  bool
	sensitive bool
	rules     rules
}

// rules bound a value, or every element of a list or mapping.
type rules struct {
	min, max string // of a number, size or duration, as it would be written
	enum     []string
}

// fields lists the fields of a struct type in their order, inline ones included.
func fields(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if options == "inline" {
			for _, inner := range fields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				out = append(out, inner)
			}
			continue
		}
		if name == "" {
			continue
		}
		out = append(out, field{
			name: name, index: []int{i},
			required:  options == "required",
			sensitive: f.Tag.Get("sensitive") == "true",
			rules:     rulesOf(f.Tag),
		})
	}
	return out
}

// Field is what the tags of a struct say of one key, for those who describe a
// format: a reference, a JSON Schema.
type Field struct {
	Name      string       // the key
	Owner     reflect.Type // the struct that declares it, which for inline fields is the inner one
	GoName    string       // of the field in Owner
	Index     []int        // of the field in the outer struct
	Type      reflect.Type
	Tag       reflect.StructTag
	Required  bool
	Sensitive bool
	Min, Max  string // as they would be written
	Enum      []string
}

// Fields lists the keys of a struct type in the order of declaration.
func Fields(t reflect.Type) []Field {
	var out []Field
	for _, f := range fields(t) {
		owner := t
		for _, i := range f.index[:len(f.index)-1] {
			owner = owner.Field(i).Type
		}
		declared := t.FieldByIndex(f.index)
		out = append(out, Field{
			Name: f.name, Owner: owner, GoName: declared.Name, Index: f.index, Type: declared.Type, Tag: declared.Tag,
			Required: f.required, Sensitive: f.sensitive, Min: f.rules.min, Max: f.rules.max, Enum: f.rules.enum,
		})
	}
	return out
}

func rulesOf(tag reflect.StructTag) rules {
	r := rules{min: tag.Get("min"), max: tag.Get("max")}
	if words := tag.Get("enum"); words != "" {
		r.enum = strings.Split(words, "|")
	}
	return r
}

func names(fs []field) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.name
	}
	return out
}
