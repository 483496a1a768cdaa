package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// references replaces ${env:NAME}, ${env:NAME:-default} and ${file:PATH} in one
// pass: what a reference gives is not looked at again. $${ stands for ${.
type references struct {
	dir    string // what a relative path in ${file:…} is relative to
	lookup Env
	values []string // what came from the environment and from files, for Redact
}

func newReferences(dir string, lookup Env) *references {
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	return &references{dir: dir, lookup: lookup}
}

// expand returns text with its references replaced; what is wrong with the
// first reference that cannot be is an error that names it.
func (r *references) expand(text string) (string, error) {
	var out strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			out.WriteString(text)
			return out.String(), nil
		}
		if start > 0 && text[start-1] == '$' {
			out.WriteString(text[:start-1] + "${")
			text = text[start+2:]
			continue
		}
		out.WriteString(text[:start])
		inner, rest, closed := strings.Cut(text[start+2:], "}")
		if !closed {
			return "", errors.New("the reference that begins with ${ has no closing brace; write $${ for the characters themselves")
		}
		value, err := r.resolve(inner)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = rest
	}
}

func (r *references) resolve(inner string) (string, error) {
	kind, what, _ := strings.Cut(inner, ":")
	switch kind {
	case "env":
		return r.variable(what)
	case "file":
		return r.file(what)
	default:
		return "", fmt.Errorf("the reference ${%s} is of no known kind; write ${env:NAME} or ${file:PATH}, or $${ for the characters themselves", clip(inner))
	}
}

// variable follows the shell: the default stands for a variable that is unset or empty.
func (r *references) variable(what string) (string, error) {
	name, otherwise, hasDefault := strings.Cut(what, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf("the reference ${env:%s} names no variable; names are letters, digits and _", clip(what))
	}
	value, ok := r.lookup(name)
	switch {
	case ok && (value != "" || !hasDefault):
		r.remember(value)
		return value, nil
	case hasDefault:
		return otherwise, nil
	}
	return "", fmt.Errorf("the environment variable %s is not set for the service; set it, or give a default: ${env:%s:-default}", name, name)
}

// maxReferenced bounds a file that a reference names: it is to hold a token or a key.
const maxReferenced = 64 << 10

// file returns the content without the newline at its end.
func (r *references) file(path string) (string, error) {
	if path == "" {
		return "", errors.New("the reference ${file:} names no file")
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(r.dir, full)
	}
	info, err := os.Stat(full) // before opening: opening a pipe would wait
	if err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("the reference ${file:%s} does not name a regular file", clip(path))
	}
	var content []byte
	if err == nil {
		content, err = readAtMost(full, maxReferenced)
	}
	if err != nil {
		return "", fmt.Errorf("the reference ${file:%s} cannot be read: %w", clip(path), reason(err))
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	r.remember(text)
	return text, nil
}

func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it is larger than the limit of %d bytes", limit)
	}
	return content, err
}

// reason drops the path from an error of the os package: the message has it already.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// remember keeps what was put in, longest first, so that a value that contains
// another is redacted as a whole.
func (r *references) remember(value string) {
	if len(value) < minSecret {
		return
	}
	at, found := slices.BinarySearchFunc(r.values, value, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	if !found {
		r.values = slices.Insert(r.values, at, value)
	}
}

func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// clip keeps a message short.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
