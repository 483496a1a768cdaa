package yamlx

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// scalar decodes a single value; values are quoted in messages unless sensitive.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path Path, r rules) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.s.problem(CodeType, n, path, "must be %s, is %s", wanted(v), describe(n))
		return
	}
	u, custom := textUnmarshaler(v)
	switch {
	case custom:
		if err := u.UnmarshalText([]byte(n.Value)); err != nil {
			d.s.problem(CodeValue, n, path, "%v", err)
		}
	case isText(v):
		v.SetString(n.Value)
		d.checkEnum(n, path, r)
	case v.Kind() == reflect.String:
		d.text(n, v, path, r)
	case v.Kind() == reflect.Bool:
		d.truth(n, v, path)
	case v.Kind() == reflect.Float64:
		d.float(n, v, path, r)
	default:
		d.number(n, v, path, r)
	}
}

func wanted(v reflect.Value) string {
	_, custom := textUnmarshaler(v)
	switch {
	case isDuration(v):
		return "a duration with a unit (500ms, 30s, 5m, 1h)"
	case isSize(v):
		return "a size (1024, 64KiB, 32MiB)"
	case custom || v.Kind() == reflect.String:
		return "a text"
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.Kind() == reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}

// show quotes what stands in the file.
func (d *decoder) show(n *yaml.Node) string {
	if d.hiding {
		return "something else"
	}
	value := []rune(n.Value)
	if len(value) > 60 {
		value = append(value[:60], '…')
	}
	return strconv.Quote(string(value))
}

func (d *decoder) wrong(n *yaml.Node, v reflect.Value, path Path) {
	d.s.problem(CodeType, n, path, "must be %s, is %s", wanted(v), d.show(n))
}

func (d *decoder) text(n *yaml.Node, v reflect.Value, path Path, r rules) {
	if n.Tag != "!!str" && n.Tag != "!!timestamp" {
		d.s.problem(CodeType, n, path, "must be a text, is %s; put it in quotes", describe(n))
		return
	}
	v.SetString(n.Value)
	d.checkEnum(n, path, r)
}

func (d *decoder) checkEnum(n *yaml.Node, path Path, r rules) {
	if len(r.enum) == 0 || slices.Contains(r.enum, n.Value) {
		return
	}
	hint := ""
	if guess := suggest(n.Value, r.enum); guess != "" {
		hint = "; did you mean " + strconv.Quote(guess) + "?"
	}
	d.s.problem(CodeValue, n, path, "must be one of %s, is %s%s", strings.Join(r.enum, ", "), d.show(n), hint)
}

func (d *decoder) truth(n *yaml.Node, v reflect.Value, path Path) {
	if n.Tag != "!!bool" || n.Value != "true" && n.Value != "false" {
		d.wrong(n, v, path)
		return
	}
	v.SetBool(n.Value == "true")
}

func (d *decoder) float(n *yaml.Node, v reflect.Value, path Path, r rules) {
	f, err := strconv.ParseFloat(n.Value, 64)
	if err != nil || n.Tag != "!!int" && n.Tag != "!!float" || math.IsInf(f, 0) || math.IsNaN(f) {
		d.wrong(n, v, path)
		return
	}
	low, errLow := strconv.ParseFloat(r.min, 64)
	high, errHigh := strconv.ParseFloat(r.max, 64)
	if errLow == nil && f < low || errHigh == nil && f > high {
		d.outOfRange(n, path, r)
		return
	}
	v.SetFloat(f)
}

// number decodes integers, sizes and durations, which all are int64 in the end.
func (d *decoder) number(n *yaml.Node, v reflect.Value, path Path, r rules) {
	parse := func(text string) (int64, bool) { return parseInt(text) }
	quotable := false // a unit makes a text of it
	switch {
	case isSize(v):
		quotable = true
		parse = func(text string) (int64, bool) { s, ok := ParseSize(text); return int64(s), ok }
	case isDuration(v):
		quotable = true
		parse = func(text string) (int64, bool) { t, ok := ParseDuration(text); return int64(t), ok }
	}
	i, ok := parse(n.Value)
	if !ok || !quotable && n.Tag != "!!int" {
		d.wrong(n, v, path)
		return
	}
	low, okLow := parse(r.min)
	high, okHigh := parse(r.max)
	if okLow && i < low || okHigh && i > high || !fits(v, i) {
		d.outOfRange(n, path, r)
		return
	}
	if v.CanInt() {
		v.SetInt(i)
	} else {
		v.SetUint(uint64(i))
	}
}

func fits(v reflect.Value, i int64) bool {
	if v.CanInt() {
		return !v.OverflowInt(i)
	}
	return i >= 0 && !v.OverflowUint(uint64(i))
}

func (d *decoder) outOfRange(n *yaml.Node, path Path, r rules) {
	bound := "is out of range"
	switch {
	case r.min != "" && r.max != "":
		bound = "must be between " + r.min + " and " + r.max
	case r.min != "":
		bound = "must be at least " + r.min
	case r.max != "":
		bound = "must be at most " + r.max
	}
	d.s.problem(CodeRange, n, path, "%s, is %s", bound, d.show(n))
}
