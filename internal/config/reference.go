package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"durward"
	"durward/internal/secret"
)

// references replaces ${env:NAME}, ${env:NAME:-default}, ${file:PATH} and
// ${secret:NAME} in one pass: what a reference gives is not looked at again.
// $${ stands for ${.
type references struct {
	lookup Env
	store  secret.Store
	values []secret.Value // what must not be shown
}

// expand returns text with its references replaced; what is wrong with the
// first reference that cannot be is an error that names it. Relative paths in it
// are relative to dir.
func (r *references) expand(dir, text string) (string, error) {
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
		value, err := r.resolve(dir, inner)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = rest
	}
}

func (r *references) resolve(dir, inner string) (string, error) {
	kind, what, _ := strings.Cut(inner, ":")
	switch kind {
	case "env":
		return r.variable(what)
	case "file":
		return r.file(dir, what)
	case "secret":
		return r.secret(what)
	default:
		return "", fmt.Errorf("the reference ${%s} is of no known kind; write ${env:NAME}, ${file:PATH} or ${secret:NAME}, or $${ for the characters themselves", clip(inner))
	}
}

// variable follows the shell: the default stands for a variable that is unset or empty.
func (r *references) variable(what string) (string, error) {
	name, otherwise, hasDefault := strings.Cut(what, ":-")
	if !isVariable(name) {
		return "", fmt.Errorf("the reference ${env:%s} names no variable; names are letters, digits and _", clip(what))
	}
	value, ok := "", false
	if r.lookup != nil {
		value, ok = r.lookup(name)
	}
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
func (r *references) file(dir, path string) (string, error) {
	if path == "" {
		return "", errors.New("the reference ${file:} names no file")
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
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

// secret asks the store.
func (r *references) secret(name string) (string, error) {
	if err := secret.CheckName(name); err != nil {
		return "", fmt.Errorf("the reference ${secret:%s} names no secret: %s", clip(name), message(err))
	}
	if r.store == nil {
		return "", fmt.Errorf("the secret %s cannot be read: this service has no secret store; use ${env:NAME} or ${file:PATH} instead", name)
	}
	value, err := r.store.Lookup(name)
	switch {
	case durward.KindOf(err) == durward.NotFound && err != nil:
		return "", secret.Missing(name)
	case err != nil:
		return "", fmt.Errorf("the secret %s cannot be read: %s", name, message(err))
	}
	r.remember(value.Reveal())
	return value.Reveal(), nil
}

// remember keeps a value that was put in, to mask it wherever it shows up.
func (r *references) remember(value string) { r.values = append(r.values, secret.New(value)) }

// rememberLiteral keeps a value that was written out, if its name says that it is
// a credential; with a header also what stands behind the scheme.
func (r *references) rememberLiteral(name, value string) {
	if !isCredential.MatchString(name) {
		return
	}
	_, behind, _ := strings.Cut(value, " ")
	for _, text := range []string{value, behind} {
		if len(text) >= minLiteral {
			r.remember(text)
		}
	}
}

// minLiteral is the length below which a value is a word rather than a
// credential, whatever its name says (TOKENIZERS: true).
const minLiteral = 8

var isCredential = regexp.MustCompile(`(?i)token|secret|passw|api.?key|access.?key|private.?key|credential|authorization|cookie`)

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
