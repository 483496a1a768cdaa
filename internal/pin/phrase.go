package pin

import (
	"slices"
	"strings"
)

// subject names what stands at a path, for a sentence.
func subject(kind string, path []string) string {
	if len(path) == 0 {
		if kind == KindInstructions {
			return "instructions"
		}
		return "all of it"
	}
	for i := range path {
		if what := member(path[:i]); what != "" {
			text := what + " `" + shown(path[i]) + "`"
			if rest := path[i+1:]; len(rest) > 0 {
				text += ": " + subject(kind, rest)
			}
			return text
		}
	}
	if path[0] == "annotations" && len(path) > 1 {
		return joined(path[1:])
	}
	return joined(path)
}

func joined(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = shown(clip(p, shownName))
	}
	return strings.Join(parts, ".")
}

// member says what the members of an object at a path are; "" if nothing special.
func member(path []string) string {
	switch {
	case slices.Equal(path, []string{"inputSchema", "properties"}):
		return "parameter"
	case slices.Equal(path, []string{"outputSchema", "properties"}):
		return "result member"
	case slices.Equal(path, []string{"arguments"}):
		return "argument"
	case len(path) > 0 && path[len(path)-1] == "properties":
		return "member"
	default:
		return ""
	}
}

// group reports whether an object that came or went is told member by member.
func group(path []string) bool {
	if len(path) != 1 {
		return false
	}
	switch path[0] {
	case "annotations", "_meta", "inputSchema", "outputSchema", "arguments":
		return true
	default:
		return false
	}
}

// properties compares the properties of two schemas, with what of them is required.
func (c *comparison) properties(path []string, a, b map[string]any) {
	x, y := withRequired(a), withRequired(b)
	c.object(path, x, y)
}

// requiredMark marks a property that withRequired found to be required.
const requiredMark = "\x00required"

// withRequired returns the properties of a schema; those that are required say so.
func withRequired(schema map[string]any) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	list, _ := schema["required"].([]any)
	out := make(map[string]any, len(properties))
	for name, p := range properties {
		needed := slices.Contains(list, any(name))
		o, ok := p.(map[string]any)
		if !ok {
			out[name] = p
			continue
		}
		marked := make(map[string]any, len(o)+1)
		for k, v := range o {
			marked[k] = v
		}
		marked[requiredMark] = needed
		out[name] = marked
	}
	return out
}

// parameter tells of one parameter, argument or member.
func (c *comparison) parameter(what string, path []string, name string, a, b map[string]any) {
	old, was := a[name]
	now, is := b[name]
	title := what + " `" + shown(name) + "`"
	switch {
	case was && is:
		x, isX := old.(map[string]any)
		y, isY := now.(map[string]any)
		if isX && isY {
			c.required(title, path, x, y)
			c.object(path, without(x), without(y))
			return
		}
		c.value(path, plainValue(old), plainValue(now))
	case is:
		c.add(path, title+" is new"+about(now), nil, plainValue(now))
	default:
		c.add(path, title+" is gone", plainValue(old), nil)
	}
}

// required tells if a parameter became required, or stopped to be.
func (c *comparison) required(title string, path []string, a, b map[string]any) {
	was, is := needed(a), needed(b)
	if was == is {
		return
	}
	if is {
		c.add(path, title+" is required now", was, is)
	} else {
		c.add(path, title+" is optional now", was, is)
	}
}

// needed reads the mark of withRequired, or what a prompt's argument says itself.
func needed(o map[string]any) bool {
	if mark, ok := o[requiredMark].(bool); ok {
		return mark
	}
	is, _ := o["required"].(bool)
	return is
}

// without returns an object without its mark, and without what needed read.
func without(o map[string]any) map[string]any {
	out := make(map[string]any, len(o))
	_, marked := o[requiredMark]
	for k, v := range o {
		if _, isBool := v.(bool); k == requiredMark || k == "required" && isBool && !marked {
			continue
		}
		out[k] = v
	}
	return out
}

func plainValue(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if _, marked := o[requiredMark]; !marked {
		return v
	}
	return without(o)
}

// about describes a new parameter: required, its type, what it is for.
func about(v any) string {
	o, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	text := ", optional"
	if needed(o) {
		text = ", required"
	}
	if kind, ok := o["type"].(string); ok {
		text += " (" + shown(kind) + ")"
	}
	if words, ok := o["description"].(string); ok {
		text += `: "` + shown(words) + `"`
	}
	return text
}
