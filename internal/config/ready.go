package config

import (
	"bytes"
	"strconv"
	"strings"

	"durward"
	"durward/docs/policies"
	"durward/internal/yamlx"
)

// ReadyPolicy returns a ready-made policy as what stands below the key policy, with
// its comments. destructive is what happens before something is destroyed: remember
// (a person is asked, whose answer may hold again), always (asked each time), block,
// or never (nobody is asked).
func ReadyPolicy(name, destructive string) (string, error) {
	data, ok := policies.Text(name)
	if !ok {
		return "", durward.Errorf(durward.NotFound, "policy "+name, "there is no such policy; there are %s", strings.Join(policies.Names(), ", "))
	}
	// What introduces the file is about the file.
	if _, rest, found := bytes.Cut(data, []byte("\n\n")); found {
		data = append([]byte("# The policy "+name+", written by durward init; every line of it is yours to change.\n"), rest...)
	}
	editor, err := yamlx.Edit(name, data, limitsOf())
	if err != nil {
		return "", err
	}
	at := yamlx.Path{"rules"}
	for i := range editor.Len(at) {
		rule := at.In(strconv.Itoa(i))
		if id, _ := editor.Text(rule.In("id")); id != "destructive" {
			continue
		}
		if err := setDestructive(editor, rule, destructive); err != nil {
			return "", err
		}
	}
	return string(editor.Bytes()), nil
}

func setDestructive(editor *yamlx.Editor, rule yamlx.Path, how string) error {
	action, remember := "ask", ""
	switch how {
	case "remember":
		remember = "grant"
	case "always":
		remember = "call"
	case "block":
		action = "block"
	case "never":
		action = "allow"
	default:
		return durward.Errorf(durward.Invalid, "policy", "before something is destroyed it is one of remember, always, block, never, not %q", how)
	}
	if err := editor.Set(rule.In("action"), action); err != nil {
		return err
	}
	ask := rule.In("ask")
	switch {
	case remember == "" && editor.Has(ask):
		return editor.Remove(ask)
	case remember == "":
		return nil
	case editor.Has(ask):
		return editor.Set(ask.In("remember"), remember)
	default:
		return editor.Insert(ask, "{remember: "+remember+"}")
	}
}
