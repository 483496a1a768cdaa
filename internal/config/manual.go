package config

import (
	"fmt"
	"strings"

	"durward"
)

// Manual returns the reference of all keys, in Markdown.
func Manual() []byte {
	var b strings.Builder
	b.WriteString(manualHead)
	for _, key := range Keys() {
		depth := min(strings.Count(key.Path, "."), 3)
		fmt.Fprintf(&b, "\n%s `%s`\n\n%s\n", strings.Repeat("#", depth+2), key.Path, escaped(key.Doc))
		if facts := key.facts(); facts != "" {
			b.WriteString("\n" + facts + "\n")
		}
	}
	return []byte(b.String())
}

const manualHead = `<!-- Generated from the comments in internal/config; "make docs" writes it anew. -->

# Configuration

One YAML file, ` + "`$XDG_CONFIG_HOME/durward/durward.yaml`" + ` (` + "`~/.config/durward/durward.yaml`" + `), or the one named with
` + "`--config`" + `. It is read strictly: an unknown key, a key given twice or a value of another type is an error with file, line
and column, all of them at once, each with a code that [config-errors.md](config-errors.md) explains.
` + "`durward config validate`" + ` checks a file, ` + "`durward config explain KEY`" + ` shows what a key means and where its value comes from,
` + "`durward config schema`" + ` prints a JSON Schema for editors.

## Values

Durations have a unit (` + "`500ms`, `30s`, `5m`, `1h`, `90d`" + `), sizes may have one (` + "`1024`, `64KiB`, `32MiB`, `5GiB`" + ` or ` + "`5G`" + `). A mapping or
list without a value is an empty one. Paths are relative to the file they stand in.

Where a key says that references are replaced:

| reference | stands for |
|---|---|
| ` + "`${env:NAME}`" + ` | the variable NAME of the service's environment; an error if it is not set |
| ` + "`${env:NAME:-default}`" + ` | the same, or the default if it is not set or empty |
| ` + "`${file:PATH}`" + ` | the content of a file of at most 64 KiB, without the line break at its end |
| ` + "`${secret:NAME}`" + ` | a secret from the service's secret store |
| ` + "`$${`" + ` | the characters ` + "`${`" + ` themselves |

References are replaced once: what comes out is not looked at again. A reference that cannot be replaced is an error; a
placeholder is never passed on. What references were replaced with is masked wherever Durward shows text.

## Layers

| layer | file |
|---|---|
| default | none: the defaults named below |
| user | your own file |
| corp | ` + "`" + CorpFile + "`" + `; it must belong to root and not be writable by others, else nothing starts |

A higher layer wins:

- a single value or a list replaces that of a lower layer; an empty list is a value too;
- ` + "`limits`, `defaults`, `ledger` and `log`" + ` are merged key by key;
- ` + "`servers`, `toolsets` and `principals`" + ` are merged by name; an entry of a higher layer replaces one of the same name as a whole;
- ` + "`telemetry.otlp`" + ` of a higher layer replaces that of a lower one as a whole;
- keys named in ` + "`locked`" + ` (corp layer only) must not be in the user's file at all.

## A broken file

A file that becomes invalid while the service runs changes nothing: the service goes on with the configuration it has, and
` + "`durward status`" + ` says what is wrong. At start a broken file is refused: a service that starts with something other than what
its file says would be a surprise. ` + "`durward serve --last-good`" + ` starts with a copy of your file as it was when it last
worked (kept in the state directory, mode 0600); the corp layer is always read as it is now.

## Keys

NAME stands for a name that you choose.
`

// escaped keeps what Markdown would take for its own.
func escaped(text string) string {
	return strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "|", `\|`).Replace(text)
}

// facts is a line of what the comment says as well, for the eye.
func (k Key) facts() string {
	parts := []string{k.Type}
	if k.Required {
		parts = append(parts, "required")
	}
	if k.References {
		parts = append(parts, "references are replaced")
	}
	if len(k.Enum) > 0 {
		parts = append(parts, "`"+strings.Join(k.Enum, "`, `")+"`")
	}
	if k.Min != "" || k.Max != "" {
		parts = append(parts, "`"+k.Min+"` to `"+k.Max+"`")
	}
	if k.Default != "" {
		parts = append(parts, "default `"+k.Default+"`")
	}
	return "*" + strings.Join(parts, " · ") + "*"
}

// ErrorManual returns the reference of all codes, in Markdown. The messages in it
// are what Load really says of the examples.
func ErrorManual() []byte {
	var b strings.Builder
	b.WriteString(errorHead)
	for _, f := range Faults() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", f.Code, strings.ToLower(string(f.Code)), escaped(first(f.Meaning)))
	}
	for _, f := range Faults() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n**What to do:** %s\n", f.Code, escaped(f.Meaning), escaped(f.Fix))
		if f.Example != "" {
			fmt.Fprintf(&b, "\n```yaml\n%s```\n", f.Example)
			if f.Corp != "" {
				fmt.Fprintf(&b, "\nwith the corp layer\n\n```yaml\n%s```\n", f.Corp)
			}
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", f.message())
		}
	}
	return []byte(b.String())
}

const errorHead = `<!-- Generated from the table in internal/config/codes.go; "make docs" writes it anew. -->

# Errors of the configuration

Every problem has a place (file, line and column), a code that stays the same from version to version, the path of the key,
and a message that says what to do. The line itself is shown unless it may hold a secret. All problems of a file are
reported at once.

| code | meaning |
|---|---|
`

// first returns the first sentence.
func first(text string) string {
	sentence, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(sentence, ".")
}

// message is what Load says of the example.
func (f Fault) message() string {
	docs := []document{{layer: LayerUser, name: "durward.yaml", dir: ".", data: []byte(f.Example)}}
	if f.Corp != "" {
		docs = append(docs, document{layer: LayerCorp, name: CorpFile, dir: ".", data: []byte(f.Corp)})
	}
	_, err := parse(docs, Options{})
	if err == nil {
		return durward.Errorf(durward.Internal, "", "the example of %s is valid", f.Code).Error()
	}
	return err.Error()
}

// References returns the files that are generated below docs/reference, by name.
func References() map[string][]byte {
	return map[string][]byte{
		"configuration.md":   Manual(),
		"config-errors.md":   ErrorManual(),
		"config.schema.json": Schema(),
	}
}
