package config

import (
	"bytes"
	"strconv"

	"durward"
	"durward/internal/yamlx"
)

// AddRule appends a rule, a mapping in YAML with an id, to policy.rules of a user's
// file and keeps the rest of it, comments included. Empty data is a new file. It
// returns the line where the rule stands. An id that is taken is a Conflict. Whether
// the rule is sound is found out by [Check].
func AddRule(name string, data []byte, rule string) (out []byte, line int, err error) {
	src := yamlx.Parse("rule", []byte(rule), limitsOf())
	root := src.Tree()
	if root == nil {
		return nil, 0, src.Err()
	}
	id := root.Get("id")
	if root.Kind != yamlx.Mapping || id == nil {
		return nil, 0, durward.Errorf(durward.Invalid, "rule", "one rule is expected: a mapping with id and action")
	}
	editor, err := editOrNew(name, data)
	if err != nil {
		return nil, 0, err
	}
	at := yamlx.Path{"policy", "rules"}
	n := editor.Len(at)
	for i := range n {
		one := at.In(strconv.Itoa(i), "id")
		if text, ok := editor.Text(one); ok && text == id.Text {
			return nil, 0, durward.Errorf(durward.Conflict, "rule "+id.Text, "there is a rule with this id, see %s line %d; choose another, or change that one", name, editor.Line(one))
		}
	}
	if err := editor.Append(at, rule); err != nil {
		return nil, 0, err
	}
	return editor.Bytes(), editor.Line(at.In(strconv.Itoa(n))), nil
}

// SetTool writes what happens by default with the tools of a server that a pattern
// fits (policy.tools) into a user's file, and returns the line.
func SetTool(name string, data []byte, server, tool, action string) (out []byte, line int, err error) {
	editor, err := editOrNew(name, data)
	if err != nil {
		return nil, 0, err
	}
	at := yamlx.Path{"policy", "tools", server, tool}
	switch now, there := editor.Text(at); {
	case there && now == action:
		return data, editor.Line(at), nil
	case editor.Has(at):
		err = editor.Set(at, action)
	default:
		err = editor.Insert(at, action)
	}
	if err == nil {
		return editor.Bytes(), editor.Line(at), nil
	}
	for depth := len(at) - 1; depth > 1; depth-- { // what is in braces takes it at their beginning
		if !editor.Has(at[:depth]) {
			continue
		}
		text := action
		for i := len(at) - 1; i > depth; i-- {
			text = "{" + yamlx.Quote(at[i]) + ": " + text + "}"
		}
		if out, ok := insertInBraces(name, data, editor.Line(at[:depth]), at, yamlx.Quote(at[depth])+": "+text); ok {
			return out, editor.Line(at[:depth]), nil
		}
		break
	}
	return nil, 0, err
}

// editOrNew starts to edit a file; nothing is a new one.
func editOrNew(name string, data []byte) (*yamlx.Editor, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("version: 1\n")
	}
	return yamlx.Edit(name, data, limitsOf())
}

// SetPolicy makes text, the keys of a policy one a line, the key policy of a user's
// file. A policy that the file has is a Conflict, unless replace is set: then it is
// gone, with its comments.
func SetPolicy(name string, data []byte, text string, replace bool) ([]byte, error) {
	editor, err := editOrNew(name, data)
	if err != nil {
		return nil, err
	}
	at := yamlx.Path{"policy"}
	if editor.Has(at) && !replace {
		return nil, durward.Errorf(durward.Conflict, "policy", "there is a policy in %s, line %d", name, editor.Line(at))
	}
	if editor.Has(at) {
		if err := editor.Remove(at); err != nil {
			return nil, err
		}
	}
	if err := editor.Insert(at, text); err != nil {
		return nil, err
	}
	return editor.Bytes(), nil
}

// SetMissing writes a single value into a user's file unless the file says
// something there already.
func SetMissing(name string, data []byte, value string, path ...string) ([]byte, error) {
	editor, err := editOrNew(name, data)
	if err != nil || editor.Has(path) {
		return data, err
	}
	if err := editor.Insert(path, value); err != nil {
		return nil, err
	}
	return editor.Bytes(), nil
}
