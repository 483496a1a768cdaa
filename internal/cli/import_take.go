package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"durward"
	"durward/internal/clientconf"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/internal/reveal"
	"durward/internal/yamlx"
)

// taker writes the servers of a plan into a configuration file.
type taker struct {
	file    string
	data    []byte
	servers []string // that are there
}

func newTaker(file string) (*taker, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the user's own, or the one that is named
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = []byte("version: 1\n")
	case err != nil:
		return nil, durward.Errorf(durward.Invalid, "config "+file, "it cannot be read: %w", err)
	}
	if _, err := config.Check(loadOptions(file), data); err != nil {
		return nil, withHint(err, "%s", configHint(err))
	}
	editor, err := yamlx.Edit(file, data, yamlx.Limits{})
	if err != nil {
		return nil, err
	}
	return &taker{file: file, data: data, servers: editor.Keys(yamlx.Path{"servers"})}, nil
}

// secrets are the names of the secrets that are kept.
func (t *taker) secrets() []string {
	var names []string
	entries, _ := os.ReadDir(paths.Secrets()) // without the directory there are none
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// takeIf takes what a plan says, if it is wanted. Nothing is written unless all of
// it can be.
func (t *taker) takeIf(wanted bool, plan *clientconf.Plan, std Streams) error {
	if !wanted {
		return nil
	}
	values, err := answers(plan, std)
	if err != nil {
		return err
	}
	data := t.data
	var taken, left []string
	for _, s := range plan.Servers {
		next, why, err := t.insert(data, s, plan, values)
		switch {
		case err != nil:
			return err
		case why != "":
			left = append(left, s.Name+": "+why)
		default:
			data, taken = next, append(taken, s.Name)
		}
	}
	if err := t.write(data, values, taken); err != nil {
		return err
	}
	for _, why := range left {
		_, _ = fmt.Fprintln(std.Out, "left out:", why) // the last line tells whether it was printed
	}
	_, err = fmt.Fprintf(std.Out, "%d servers were taken into %s\n", len(taken), t.file)
	return err
}

// answers are the values of secrets by name: those that were found, and those
// that a person at a terminal gives for what the clients ask for. Secrets are not
// shown while they are typed.
func answers(plan *clientconf.Plan, std Streams) (map[string]string, error) {
	values := map[string]string{}
	for _, s := range plan.Secrets {
		values[s.Name] = s.Value.Reveal()
	}
	d, ok := openDialogue(std)
	if !ok {
		return values, nil
	}
	defer d.close()
	for _, p := range plan.Prompts {
		line, err := d.line(fmt.Sprintf("%s (%s, for %s; empty: leave it out): ", paint(d.out, bold, p.Name), reveal.Text(p.Description), p.Entry), p.Secret)
		switch {
		case errors.Is(err, io.EOF): // nothing more will be answered
			return values, nil
		case err != nil:
			return nil, err
		case line != "":
			values[p.Name] = line
		}
	}
	return values, nil
}

// insert returns data with one more server, or why it is left out.
func (t *taker) insert(data []byte, s clientconf.Planned, plan *clientconf.Plan, values map[string]string) (next []byte, why string, err error) {
	text := string((&clientconf.Plan{Servers: []clientconf.Planned{s}}).YAML())
	for _, p := range plan.Prompts {
		if _, answered := values[p.Name]; answered || !hasReference(text, "secret:"+p.Name) && !hasReference(text, "env:"+p.Name) {
			continue
		}
		if _, set := os.LookupEnv(p.Name); !p.Secret && set {
			continue
		}
		return nil, "it needs a value for " + p.Name + " (" + p.Description + ")", nil
	}
	for name := range values {
		text = replaceReference(text, "secret:"+name, "${file:"+secretFile(name)+"}")
		if slices.ContainsFunc(plan.Prompts, func(p clientconf.Prompt) bool { return p.Name == name && !p.Secret }) {
			text = replaceReference(text, "env:"+name, "${file:"+secretFile(name)+"}")
		}
	}
	if missing := unresolved(text, values); missing != "" {
		return nil, missing + ", and a placeholder must never be sent", nil
	}
	editor, err := yamlx.Edit(t.file, data, yamlx.Limits{})
	if err != nil {
		return nil, "", err
	}
	if err := editor.Insert(yamlx.Path{"servers", s.Name}, block(text)); err != nil {
		return nil, "", withHint(err, "write servers: as a block in %s, one server below the other", t.file)
	}
	return editor.Bytes(), "", nil
}

// block is the body of the one server in the text of a plan: its comments, and its
// keys without indentation.
func block(text string) string {
	var comments, keys []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n")[1:] {
		switch {
		case strings.HasPrefix(line, "  #"):
			comments = append(comments, line[2:])
		case strings.HasPrefix(line, "    "):
			keys = append(keys, line[4:])
		}
	}
	return strings.Join(append(comments, keys...), "\n") + "\n"
}

// hasReference reports whether text has ${ref}, not escaped.
func hasReference(text, ref string) bool { return replaceReference(text, ref, "") != text }

// replaceReference replaces ${ref} by other; $${ref} stands for the characters.
func replaceReference(text, ref, other string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, "${"+ref+"}")
		if i < 0 {
			return b.String() + text
		}
		end := i + len("${"+ref+"}")
		b.WriteString(text[:i])
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[i:end])
		} else {
			b.WriteString(other)
		}
		text = text[end:]
	}
}

// write keeps the secrets and writes the file, or nothing if the result would
// have problems.
func (t *taker) write(data []byte, values map[string]string, taken []string) error {
	if len(taken) == 0 {
		return nil
	}
	var made []string
	undo := func(err error) error {
		for _, file := range made {
			err = errors.Join(err, os.Remove(file))
		}
		return err
	}
	for name, value := range values {
		file := secretFile(name)
		if !strings.Contains(string(data), "${file:"+file+"}") {
			continue
		}
		if err := config.Write(file, []byte(value)); err != nil {
			return undo(err)
		}
		made = append(made, file)
	}
	if _, err := config.Check(loadOptions(t.file), data); err != nil {
		return undo(withHint(err, "nothing was changed; durward import --dry-run --json shows all of what was read"))
	}
	if err := config.Write(t.file, data); err != nil {
		return undo(err)
	}
	return nil
}

// unresolved says which reference of a server's entry cannot be resolved here;
// "" when all can. A reference with a default always can.
func unresolved(text string, values map[string]string) string {
	reference := regexp.MustCompile(`(^|[^$])\$\{(env|file):([^}]*)\}`)
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		kind, name := m[2], m[3]
		switch {
		case kind == "env" && !strings.Contains(name, ":-"):
			if _, set := os.LookupEnv(name); !set {
				return "the variable " + name + " is not set"
			}
		case kind == "file" && !slices.ContainsFunc(slices.Collect(maps.Keys(values)), func(v string) bool { return secretFile(v) == name }):
			if _, err := os.Stat(name); err != nil {
				return "the file " + name + " cannot be read"
			}
		}
	}
	return ""
}
