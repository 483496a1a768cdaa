package clientconf

import (
	"cmp"
	"slices"
	"strings"
)

// PlanOptions says what is there already.
type PlanOptions struct {
	Servers []string // names of servers in Durward's configuration
	Secrets []string // names of secrets in Durward's store
}

// Plan is what an import would do. It can be printed and encoded: it holds
// references, and secrets only as [Value].
type Plan struct {
	Servers []Planned `json:"servers"`
	Left    []Left    `json:"left_out,omitempty"`
	Secrets []Secret  `json:"secrets,omitempty"` // to be stored before the servers are used
	Prompts []Prompt  `json:"prompts,omitempty"` // to be asked for
	Notes   Problems  `json:"notes,omitempty"`   // what was found in the files
}

// Planned is a server that will be taken.
type Planned struct {
	Entry
	Sources []Origin `json:"sources"` // where it is; more than one if they say the same
}

// Left is an entry that will not be taken, and why.
type Left struct {
	Origin
	Reason string `json:"reason"`
}

// Origin is a place in a client's file.
type Origin struct {
	Client Client   `json:"client"`
	File   string   `json:"file"`
	Pos    Position `json:"position"`
	Path   Path     `json:"path"`            // of the entry
	Name   string   `json:"name"`            // as the client calls it
	Scope  string   `json:"scope,omitempty"` // the project it is for
}

// NewPlan puts the entries of files together: entries that say the same become
// one server, other names that meet are numbered, and so are names of secrets.
// The files stay as they are.
func NewPlan(files []*File, o PlanOptions) *Plan {
	b := planner{plan: &Plan{}, names: newNamer(o.Servers), secrets: map[string]Value{}, servers: map[string]int{}}
	for _, name := range o.Secrets {
		b.secrets[name] = Value{} // another value than any that was found
	}
	for _, f := range files {
		for _, e := range f.Entries {
			if e.Skip == "" && !e.Own {
				b.names.claim(e.Original)
			}
		}
	}
	for _, f := range files {
		b.file(f)
	}
	return b.plan
}

type planner struct {
	plan    *Plan
	names   namer
	secrets map[string]Value // by the name in the plan
	servers map[string]int   // by fingerprint
}

func (b *planner) file(f *File) {
	b.plan.Notes = append(b.plan.Notes, f.Problems...)
	b.noteEnvironment(f)
	for _, p := range f.Prompts { // those of variables; those of secrets follow their references
		if !p.Secret && !slices.ContainsFunc(b.plan.Prompts, func(o Prompt) bool { return o.Name == p.Name && !o.Secret }) {
			b.plan.Prompts = append(b.plan.Prompts, p)
		}
	}
	values := make(map[string]string, len(f.Secrets))
	for _, s := range f.Secrets {
		values[s.Name] = s.Value.Reveal()
	}
	renamed := map[string]string{}
	for _, e := range f.Entries {
		from := Origin{Client: f.Client, File: f.Path, Pos: e.Pos, Path: e.Path, Name: e.Original, Scope: e.Scope}
		switch {
		case e.Own:
			b.plan.Left = append(b.plan.Left, Left{from, "it is Durward itself"})
			continue
		case e.Skip != "":
			b.plan.Left = append(b.plan.Left, Left{from, e.Skip})
			continue
		}
		key := fingerprint(e, values)
		if at, there := b.servers[key]; there {
			p := &b.plan.Servers[at]
			p.Sources = append(p.Sources, from)
			p.Disabled = p.Disabled && e.Disabled // it is on where anybody has it on
			continue
		}
		b.servers[key] = len(b.plan.Servers)
		b.plan.Servers = append(b.plan.Servers, Planned{Entry: b.take(e, f, renamed), Sources: []Origin{from}})
	}
}

// noteEnvironment says that servers will see less than they did.
func (b *planner) noteEnvironment(f *File) {
	t, _ := f.Client.traits()
	if t.inherits && slices.ContainsFunc(f.Entries, func(e Entry) bool { return e.Command != "" && e.Skip == "" && !e.Own }) {
		b.plan.Notes = append(b.plan.Notes, Problem{
			Severity: Note, Code: CodeAdvice, File: f.Path,
			Message: t.title + " gives its servers its whole environment; Durward gives them PATH, HOME, LANG, TMPDIR, USER and what stands under env",
		})
	}
}

// take returns an entry with its names as they are in the plan.
func (b *planner) take(e Entry, f *File, renamed map[string]string) Entry {
	e.Name = b.names.name(cmp.Or(e.Original, e.Name))
	move := func(text string) string { return b.rename(text, e.Name, f, renamed) }
	e.Command, e.Dir, e.URL = move(e.Command), move(e.Dir), move(e.URL)
	e.Args = slices.Clone(e.Args)
	for i := range e.Args {
		e.Args[i] = move(e.Args[i])
	}
	e.Env, e.Headers = slices.Clone(e.Env), slices.Clone(e.Headers)
	for _, pairs := range [][]Pair{e.Env, e.Headers} {
		for i := range pairs {
			pairs[i].Value = move(pairs[i].Value)
		}
	}
	return e
}

// rename puts the plan's names of secrets in place of the file's.
func (b *planner) rename(text, entry string, f *File, renamed map[string]string) string {
	return eachSecret(text, func(name string) string {
		if _, done := renamed[name]; !done {
			renamed[name] = b.adopt(name, entry, f)
		}
		return secretMark + renamed[name] + "}"
	})
}

const secretMark = "${secret:"

// eachSecret replaces the references to secrets in a text of the configuration.
func eachSecret(text string, by func(name string) string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, secretMark)
		if at < 0 {
			return out.String() + text
		}
		name, rest, _ := strings.Cut(text[at+len(secretMark):], "}")
		out.WriteString(text[:at])
		if strings.HasSuffix(text[:at], "$") { // an escape: the characters themselves
			out.WriteString(secretMark)
			text = text[at+len(secretMark):]
			continue
		}
		out.WriteString(by(name))
		text = rest
	}
}

// adopt takes a secret or a prompt of a file over, under a free name.
func (b *planner) adopt(name, entry string, f *File) string {
	prefix := strings.ToUpper(strings.ReplaceAll(entry, "-", "_"))
	if i := slices.IndexFunc(f.Secrets, func(s Secret) bool { return s.Name == name }); i >= 0 {
		s := f.Secrets[i]
		s.Name = freeName(b.secrets, name, prefix, s.Value)
		s.Entry = entry
		if _, there := b.secrets[s.Name]; !there {
			b.secrets[s.Name] = s.Value
			b.plan.Secrets = append(b.plan.Secrets, s)
		}
		return s.Name
	}
	i := slices.IndexFunc(f.Prompts, func(p Prompt) bool { return p.Name == name && p.Secret })
	if i < 0 {
		return name // a reference that the file itself held
	}
	p := f.Prompts[i]
	p.Entry = entry
	if _, taken := b.secrets[name]; taken && !slices.ContainsFunc(b.plan.Prompts, func(o Prompt) bool { return o.Name == name }) {
		p.Name = freeName(b.secrets, name, prefix, Value{})
	}
	b.secrets[p.Name] = Value{}
	if !slices.ContainsFunc(b.plan.Prompts, func(o Prompt) bool { return o.Name == p.Name && o.Secret }) {
		b.plan.Prompts = append(b.plan.Prompts, p)
	}
	return p.Name
}

// fingerprint is equal for entries that do the same. It holds values and never
// leaves this package.
func fingerprint(e Entry, values map[string]string) string {
	var b strings.Builder
	field := func(texts ...string) {
		for _, text := range texts {
			text = eachSecret(text, func(name string) string { return "\x00" + values[name] + "\x00" })
			b.WriteString(quoteYAML(text) + ",")
		}
		b.WriteByte(';')
	}
	field(string(e.Transport), e.Command, e.Dir, e.URL)
	field(e.Args...)
	for _, pairs := range [][]Pair{e.Env, e.Headers} {
		sorted := slices.SortedFunc(slices.Values(pairs), func(a, b Pair) int { return cmp.Compare(a.Name, b.Name) })
		for _, p := range sorted {
			field(p.Name, p.Value)
		}
		field("")
	}
	field(slices.Sorted(slices.Values(e.Allow))...)
	field(slices.Sorted(slices.Values(e.Deny))...)
	return b.String()
}
