package clientconf

import (
	"strings"
	"time"

	"durward"
)

// Source says which file of which client is read.
type Source struct {
	Client Client `json:"client"`
	// Path of the file, for messages.
	Path string `json:"path"`
	// Dir is the project the file belongs to: what ${workspaceFolder} means, and
	// where its servers start. Empty for a user's file.
	Dir string `json:"dir,omitempty"`
}

// File is what a client's file says about servers. It holds no secret that
// could be printed: texts carry references, values are in Secrets.
type File struct {
	Source
	Entries []Entry  `json:"entries"`
	Secrets []Secret `json:"secrets,omitempty"`
	Prompts []Prompt `json:"prompts,omitempty"`
	// Problems is everything there is to know about the file.
	Problems Problems `json:"problems,omitempty"`
}

// Entry is one server of a client, in Durward's terms.
type Entry struct {
	Name     string   `json:"name"`     // ^[a-z][a-z0-9-]{0,31}$, not reserved, once in its file
	Original string   `json:"original"` // what the client calls it
	Path     Path     `json:"path"`     // where it is in the file
	Pos      Position `json:"position"`
	Scope    string   `json:"scope,omitempty"` // the project it is for; empty: all

	Transport durward.Transport `json:"transport,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       []Pair            `json:"env,omitempty"`
	Dir       string            `json:"dir,omitempty"`
	URL       string            `json:"url,omitempty"`
	Headers   []Pair            `json:"headers,omitempty"`
	Disabled  bool              `json:"disabled,omitempty"`

	Allow        []string `json:"allow,omitempty"` // names of the only tools that are offered; empty: all
	Deny         []string `json:"deny,omitempty"`  // names of tools that are never offered
	StartTimeout Duration `json:"start_timeout,omitempty"`
	CallTimeout  Duration `json:"call_timeout,omitempty"`

	// Own is set for an entry that runs Durward itself.
	Own bool `json:"own,omitempty"`
	// Skip says why the entry cannot be served; empty if it can.
	Skip string `json:"skip,omitempty"`
	// Attention says what a person has to complete before it works; an entry
	// with any is imported switched off.
	Attention []string `json:"attention,omitempty"`
	// Kept are the keys that mean nothing to Durward, with their text.
	Kept []Field `json:"kept,omitempty"`
}

// Pair is a variable or a header, in the order of the file.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Field is a key of an entry that was not taken, as it stands in the file. Its
// text may hold secrets, hence the type.
type Field struct {
	Key  string   `json:"key"`
	Text Value    `json:"text"`
	Pos  Position `json:"position"`
}

// Duration is a time.Duration that is written as text ("30s").
type Duration time.Duration

// MarshalText writes it as time.ParseDuration reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String writes it as time.ParseDuration reads it, without zero units.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Secret is a literal secret that was found in a file. Texts refer to it as
// ${secret:NAME}.
type Secret struct {
	Name  string   `json:"name"` // ^[A-Z][A-Z0-9_]*$
	Value Value    `json:"value"`
	Entry string   `json:"entry"` // the server it was found in
	Where string   `json:"where"` // "env GITHUB_TOKEN", "argument 3", …
	Pos   Position `json:"position"`
}

// Prompt is a value that the file does not hold: the client asks for it, or a
// placeholder stands in its place. Texts refer to it as ${secret:NAME}, or as
// ${env:NAME} if it is no secret.
type Prompt struct {
	Name        string   `json:"name"`
	Secret      bool     `json:"secret"`
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default,omitempty"`
	Options     []string `json:"options,omitempty"`
	Entry       string   `json:"entry"` // the first server that needs it
	Pos         Position `json:"position"`
}

// Server returns the entry as Durward's configuration has it: texts still hold
// their references.
func (e Entry) Server() durward.Server {
	s := durward.Server{
		Name: e.Name, Transport: e.Transport, Disabled: e.Disabled || len(e.Attention) > 0,
		Command: e.Command, Args: e.Args, Dir: e.Dir, URL: e.URL,
		StartTimeout: time.Duration(e.StartTimeout), CallTimeout: time.Duration(e.CallTimeout),
		Tools: durward.ToolRules{Allow: literalGlobs(e.Allow), Deny: literalGlobs(e.Deny)},
	}
	s.Env, s.Headers = pairMap(e.Env), pairMap(e.Headers)
	return s
}

func pairMap(pairs []Pair) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	out := make(map[string]string, len(pairs))
	for _, p := range pairs {
		out[p.Name] = p.Value
	}
	return out
}

// literalGlobs makes patterns that match only the names themselves.
func literalGlobs(names []string) []string {
	r := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	var out []string
	for _, name := range names {
		out = append(out, r.Replace(name))
	}
	return out
}
