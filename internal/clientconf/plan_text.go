package clientconf

import (
	"encoding/json"
	"fmt"
	"strings"

	"durward"
)

// Text renders the plan for people, one paragraph for each thing to know.
func (p *Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s to take\n", count(len(p.Servers), "server"))
	for _, s := range p.Servers {
		b.WriteString(s.text())
	}
	if len(p.Left) > 0 {
		fmt.Fprintf(&b, "\n%s left out\n", count(len(p.Left), "entry"))
		for _, l := range p.Left {
			fmt.Fprintf(&b, "  %s (%s): %s\n", l.Name, l.place(), l.Reason)
		}
	}
	if len(p.Secrets) > 0 {
		fmt.Fprintf(&b, "\n%s moved out of the files' text into Durward's store\n", count(len(p.Secrets), "secret"))
		for _, s := range p.Secrets {
			fmt.Fprintf(&b, "  %s: %s of %s\n", s.Name, s.Where, s.Entry)
		}
	}
	if len(p.Prompts) > 0 {
		fmt.Fprintf(&b, "\n%s to give\n", count(len(p.Prompts), "value"))
		for _, q := range p.Prompts {
			fmt.Fprintf(&b, "  %s: %s, for %s\n", q.Name, q.Description, q.Entry)
		}
	}
	b.WriteString(p.notes())
	return b.String()
}

// notes renders warnings and errors; plain notes are in the JSON form only.
func (p *Plan) notes() string {
	var b strings.Builder
	for _, n := range p.Notes {
		if n.Severity == Note || n.planned {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\nTo look at\n")
		}
		b.WriteString("  " + n.String() + "\n")
	}
	return b.String()
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s Planned) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s", s.Name)
	if s.Name != s.Original {
		fmt.Fprintf(&b, " (called %q there)", clip(s.Original))
	}
	switch {
	case len(s.Attention) > 0:
		b.WriteString(", switched off until it is completed")
	case s.Disabled:
		b.WriteString(", switched off as it is there")
	}
	b.WriteByte('\n')
	if s.Command != "" {
		fmt.Fprintf(&b, "    runs %s\n", commandLine(s.Command, s.Args))
	} else {
		fmt.Fprintf(&b, "    reaches %s (%s)\n", s.URL, s.Transport)
	}
	for _, o := range s.Sources {
		fmt.Fprintf(&b, "    from %s\n", o.place())
	}
	for _, what := range s.Attention {
		fmt.Fprintf(&b, "    to do: %s\n", what)
	}
	return b.String()
}

func (o Origin) place() string {
	text := fmt.Sprintf("%s, %s:%d", o.Client.Title(), o.File, o.Pos.Line)
	if o.Scope != "" {
		text += ", project " + o.Scope
	}
	return text
}

// commandLine renders a command for people; it is not meant for a shell.
func commandLine(command string, args []string) string {
	words := make([]string, 0, len(args)+1)
	for _, w := range append([]string{command}, args...) {
		if w == "" || strings.ContainsAny(w, " \t\r\n\"'") {
			w = quoteYAML(w)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// JSON renders the plan as one JSON document, indented.
func (p *Plan) JSON() ([]byte, error) {
	out, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, durward.Errorf(durward.Internal, "import plan", "cannot be written as JSON: %w", err)
	}
	return append(out, '\n'), nil
}

// YAML renders the servers as the entries below servers: in Durward's
// configuration, each with a comment that names its source. Only the syntax is
// sure; whether the configuration accepts it is for the configuration to say.
func (p *Plan) YAML() []byte {
	var b strings.Builder
	b.WriteString("servers:\n")
	if len(p.Servers) == 0 {
		return []byte("servers: {}\n")
	}
	for i, s := range p.Servers {
		if i > 0 {
			b.WriteByte('\n')
		}
		s.yaml(&b)
	}
	return []byte(b.String())
}

func (s Planned) yaml(b *strings.Builder) {
	for _, o := range s.Sources {
		fmt.Fprintf(b, "  # %s", comment(o.place()))
		if o.Name != s.Name {
			fmt.Fprintf(b, ", called %s there", comment(quoteYAML(clip(o.Name))))
		}
		b.WriteByte('\n')
	}
	for _, what := range s.Attention {
		fmt.Fprintf(b, "  # To do: %s.\n", comment(what))
	}
	w := yamlWriter{b: b}
	fmt.Fprintf(b, "  %s:\n", plainYAML(s.Name))
	w.scalar("command", s.Command)
	w.list("args", s.Args)
	w.pairs("env", s.Env)
	w.scalar("dir", s.Dir)
	w.scalar("url", s.URL)
	if s.Transport == durward.TransportSSE {
		w.scalar("transport", string(s.Transport))
	}
	w.pairs("headers", s.Headers)
	if s.Disabled || len(s.Attention) > 0 {
		b.WriteString("    disabled: true\n")
	}
	if s.StartTimeout > 0 {
		w.scalar("start_timeout", s.StartTimeout.String())
	}
	if s.CallTimeout > 0 {
		w.scalar("call_timeout", s.CallTimeout.String())
	}
	if len(s.Allow)+len(s.Deny) > 0 {
		b.WriteString("    tools:\n")
		w.indent = "  "
		w.list("allow", literalGlobs(s.Allow))
		w.list("deny", literalGlobs(s.Deny))
	}
}
