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
