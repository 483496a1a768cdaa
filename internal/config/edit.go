package config

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"durward"
	"durward/internal/yamlx"
)

// Entry is a server as it is written in the file. References may stand where the
// reference of the configuration says so.
type Entry struct {
	Command   string
	Args      []string
	Env       map[string]string
	Dir       string
	URL       string
	Transport string
	Headers   map[string]string
}

// AddServer writes a server into a user's file and keeps the rest of it, comments
// included. Empty data is a new file; name stands for the file in messages. A
// name that is taken is a Conflict.
func AddServer(name string, data []byte, server string, e Entry) ([]byte, error) {
	if err := durward.CheckServerName(server); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("version: 1\n")
	}
	editor, err := yamlx.Edit(name, data, limitsOf())
	if err != nil {
		return nil, err
	}
	at := yamlx.Path{"servers", server}
	if editor.Has(at) {
		return nil, durward.Errorf(durward.Conflict, "server "+server, "the name is taken, see %s line %d; choose another, or remove that one first: durward server remove %s", name, editor.Line(at), server)
	}
	if err = editor.Insert(at, e.block()); err == nil {
		return editor.Bytes(), nil
	}
	if out, ok := insertInBraces(name, data, editor.Line(at[:1]), at, yamlx.Quote(server)+": "+e.braces()); ok {
		return out, nil
	}
	return nil, err
}

// RemoveServer takes a server out of a user's file.
func RemoveServer(name string, data []byte, server string) ([]byte, error) {
	editor, at, err := editServer(name, data, server)
	if err != nil {
		return nil, err
	}
	if err := editor.Remove(at); err != nil {
		return nil, err
	}
	return editor.Bytes(), nil
}

// SetDisabled writes whether a server is disabled.
func SetDisabled(name string, data []byte, server string, disabled bool) ([]byte, error) {
	editor, at, err := editServer(name, data, server)
	if err != nil {
		return nil, err
	}
	word := "false"
	if disabled {
		word = "true"
	}
	at = at.In("disabled")
	if now, ok := editor.Text(at); ok {
		if now == word {
			return data, nil
		}
		err = editor.Set(at, word)
		return editor.Bytes(), err
	}
	if !disabled {
		return data, nil
	}
	if err = editor.Insert(at, word); err == nil {
		return editor.Bytes(), nil
	}
	if out, ok := insertInBraces(name, data, editor.Line(at[:2]), at, "disabled: "+word); ok {
		return out, nil
	}
	return nil, err
}

func editServer(name string, data []byte, server string) (*yamlx.Editor, yamlx.Path, error) {
	editor, err := yamlx.Edit(name, data, limitsOf())
	if err != nil {
		return nil, nil, err
	}
	at := yamlx.Path{"servers", server}
	if !editor.Has(at) {
		return nil, nil, durward.Errorf(durward.NotFound, "server "+server, "it does not stand in %s", name)
	}
	return editor, at, nil
}

// insertInBraces puts text in front of what stands in the braces that a mapping on
// one line is written in: {a: 1} becomes {text, a: 1}. It reports whether the
// result has at, which is a key of the mapping on that line.
func insertInBraces(name string, data []byte, line int, at yamlx.Path, text string) ([]byte, bool) {
	lines := strings.Split(string(data), "\n")
	if line < 1 || line > len(lines) {
		return nil, false
	}
	head, rest, found := strings.Cut(lines[line-1], "{")
	if !found || strings.Contains(head, "#") {
		return nil, false
	}
	if !strings.HasPrefix(strings.TrimSpace(rest), "}") {
		text += ", "
	}
	lines[line-1] = head + "{" + text + rest
	out := []byte(strings.Join(lines, "\n"))
	now, err := yamlx.Edit(name, out, limitsOf())
	return out, err == nil && now.Has(at)
}

// keys are the keys of the entry with their values as YAML in braces.
func (e Entry) keys() (keys, values []string) {
	add := func(key, value string) {
		keys, values = append(keys, key), append(values, value)
	}
	for _, one := range []struct{ key, text string }{
		{"command", e.Command}, {"url", e.URL}, {"transport", e.Transport}, {"dir", e.Dir},
	} {
		if one.text != "" {
			add(one.key, yamlx.Quote(one.text))
		}
	}
	if len(e.Args) > 0 {
		args := make([]string, len(e.Args))
		for i, arg := range e.Args {
			args[i] = yamlx.Quote(arg)
		}
		add("args", "["+strings.Join(args, ", ")+"]")
	}
	for _, all := range []struct {
		key    string
		values map[string]string
	}{{"env", e.Env}, {"headers", e.Headers}} {
		if len(all.values) == 0 {
			continue
		}
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(all.values)) {
			pairs = append(pairs, yamlx.Quote(name)+": "+yamlx.Quote(all.values[name]))
		}
		add(all.key, "{"+strings.Join(pairs, ", ")+"}")
	}
	return keys, values
}

// block writes the entry one key a line.
func (e Entry) block() string {
	var b strings.Builder
	keys, values := e.keys()
	for i, key := range keys {
		b.WriteString(key + ": " + values[i] + "\n")
	}
	return b.String()
}

// braces writes the entry on one line.
func (e Entry) braces() string {
	keys, values := e.keys()
	for i, key := range keys {
		keys[i] = key + ": " + values[i]
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// Check is [Load] as it would be with data as the content of the user's file,
// which need not exist.
func Check(opt Options, data []byte) (*Config, error) {
	full, err := filepath.Abs(opt.User)
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, "config "+opt.User, "its directory cannot be found: %w", err)
	}
	docs := []document{{layer: LayerUser, name: opt.User, dir: filepath.Dir(full), data: data}}
	if opt.Corp != "" {
		corp, err := readCorp(opt.Corp)
		switch {
		case err == nil:
			docs = append(docs, corp)
		case durward.KindOf(err) != durward.NotFound:
			return nil, err
		}
	}
	return parse(docs, opt)
}

// Write replaces the user's file in one step and keeps its mode; a new one is for
// its owner only (0600). A symbolic link stays one: what it leads to is replaced.
func Write(path string, data []byte) error {
	op := "config " + path
	if end, err := filepath.EvalSymlinks(path); err == nil {
		path = end
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, op, "it cannot be written: %w", reason(err))
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".durward-*") // 0600
	if err != nil {
		return durward.Errorf(durward.Unavailable, op, "it cannot be written: %w", reason(err))
	}
	_, err = temporary.Write(data)
	if err == nil {
		err = errors.Join(temporary.Chmod(mode), temporary.Sync())
	}
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // what failed is told below
		return durward.Errorf(durward.Unavailable, op, "it cannot be written: %w", reason(err))
	}
	return nil
}
