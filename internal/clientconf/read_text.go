package clientconf

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"durward/internal/clientconf/syntax"
)

// pairs reads variables or headers.
func (e *entryReader) pairs(what string, v *syntax.Node, at Path) []Pair {
	if v.Kind != syntax.Object {
		if v.Kind != syntax.Null {
			e.skip(CodeShape, v.Start, at, "its "+what+" entries must be an object of names and texts, not "+v.Kind.String())
		}
		return nil
	}
	if len(v.Members) > maxItems {
		e.skip(CodeSize, v.Start, at, "it has more "+what+" entries than the limit of "+strconv.Itoa(maxItems))
		return nil
	}
	var out []Pair
	for i, m := range v.Members {
		here := at.in(m.Name)
		if v.Index(m.Name) != i {
			e.say(Warning, CodeDuplicate, m.Start, here, "is there twice; the later one counts")
			continue
		}
		if text, ok := e.text(m.Name, what+" "+clip(m.Name), m.Value, here); ok {
			out = append(out, Pair{m.Name, text})
		} else if m.Value.Kind != syntax.Null { // null: VS Code takes the variable away, which here is never there
			e.skip(CodeShape, m.Value.Start, here, "its value must be text, not "+m.Value.Kind.String())
		}
	}
	return out
}

// text reads a text (or a number or truth value that stands for one) and
// translates its variables and secrets. key is what the text is the value of,
// where how it is called in messages.
func (e *entryReader) text(key, where string, v *syntax.Node, at Path) (string, bool) {
	switch v.Kind {
	case syntax.Bool, syntax.Number:
		return v.Text, true
	case syntax.Text:
		if len(v.Text) > maxText {
			e.skip(CodeSize, v.Start, at, "a text in it is longer than the limit of 64 KiB")
			return "", true
		}
		return e.translate(key, where, v, at), true
	}
	return "", false
}

func (e *entryReader) translate(key, where string, v *syntax.Node, at Path) string {
	raw := []piece{{pieceLiteral, v.Text}}
	switch {
	case e.variables.bare && isSecretKey(key) && !strings.Contains(v.Text, "${") && !isReference(v.Text):
		// a password with a $ in it
	case e.variables.expands || !isShell(e.Command):
		raw = e.variables.split(v.Text)
	}
	var out []piece
	for _, p := range raw {
		switch p.kind {
		case pieceLiteral:
			name := key
			if len(raw) > 1 && isSecretKey(key) {
				name = "" // "Bearer ${TOKEN}": what stands beside the variable is no secret by its key
			}
			if strings.Contains(p.text, "${") && !isShell(e.Command) {
				e.attend(CodeVariable, v.Start, at, "a variable within a variable, or one without an end, means nothing to Durward; write the value in its place")
			}
			out = append(out, e.hide(name, where, p.text, v, at)...)
		case pieceInput:
			out = append(out, e.input(p.text, key, v, at))
		default:
			out = append(out, e.variable(p, key, v, at))
		}
	}
	text, ok := join(out)
	if !ok {
		e.attend(CodeVariable, v.Start, at, "a $ directly before a variable cannot be written in Durward's configuration; change the "+where)
	}
	return text
}

// variable translates a variable of the client.
func (e *entryReader) variable(p piece, key string, v *syntax.Node, at Path) piece {
	switch p.kind {
	case pieceEnv:
		e.noteVariable(p.text, v, at)
		if name, fallback, _ := strings.Cut(p.text, ":-"); len(secretSpans(key, fallback)) > 0 {
			e.say(Warning, CodeSecret, v.Start, at, "has a secret as the default of %s, which is not taken; set the variable for Durward's service", clip(name))
			p.text = name
		}
	case pieceHome:
		p = piece{pieceEnv, "HOME"}
	case pieceSlash:
		p = piece{pieceLiteral, "/"}
	case pieceProject, pieceBaseName:
		dir := e.project()
		if dir == "" {
			e.attend(CodeVariable, v.Start, at, "the folder that is open in "+e.title+" is not known here; write a path in its place")
			return piece{pieceUnknown, "${workspaceFolder}"}
		}
		if p.kind == pieceBaseName {
			dir = dir[strings.LastIndexAny(dir, `/\`)+1:]
		}
		return piece{pieceLiteral, dir}
	case pieceUnknown:
		if !isShell(e.Command) {
			e.attend(CodeVariable, v.Start, at, "Durward knows no variable "+clip(p.text)+"; write its value in its place")
		}
	}
	return p
}

// noteVariable says once for each server where a variable comes from.
func (e *entryReader) noteVariable(text string, v *syntax.Node, at Path) {
	name, _, _ := strings.Cut(text, ":-")
	if e.noted[name] {
		return
	}
	e.noted[name] = true
	if e.variables.expands {
		e.say(Note, CodeVariable, v.Start, at, "takes %s from the environment, in Durward from that of its service", clip(name))
		return
	}
	e.say(Note, CodeVariable, v.Start, at, "holds ${%s}, which %s passes on as it is; Durward puts the variable in", clip(name), e.title)
}

// input translates a value that VS Code asks for.
func (e *entryReader) input(id, key string, v *syntax.Node, at Path) piece {
	in, defined := e.inputs[id]
	name := e.promptName("input "+id, inputName(id), "INPUT")
	if !defined || in.kind == "command" {
		e.attend(CodeInput, v.Start, at, "the value of ${input:"+clip(id)+"} is known to "+e.title+" alone; give it to Durward")
	}
	prompt := Prompt{
		Name: name, Description: cmp.Or(in.description, id), Options: in.options, Entry: e.Name, Pos: e.position(v.Start),
		Secret: in.password || isSecretKey(id) || isSecretKey(key),
	}
	if prompt.Secret {
		e.ask(prompt)
		e.say(Note, CodeInput, v.Start, at, "is asked for by %s; it becomes ${secret:%s}", e.title, name)
		return piece{pieceSecret, name}
	}
	prompt.Default = in.fallback
	e.ask(prompt)
	e.say(Note, CodeInput, v.Start, at, "is asked for by %s; it becomes ${env:%s}", e.title, name)
	if in.fallback != "" && !strings.ContainsAny(in.fallback, "${}") {
		return piece{pieceEnv, name + ":-" + in.fallback}
	}
	return piece{pieceEnv, name}
}

// promptName returns the name of a value that has to be asked for; the same for
// everything that needs the same value.
func (e *entryReader) promptName(need, proposal, prefix string) string {
	if name, there := e.asked[need]; there {
		return name
	}
	name := proposal
	if _, taken := e.secrets[name]; taken {
		name = freeName(e.secrets, proposal, prefix, Value{})
	}
	e.asked[need], e.secrets[name] = name, Value{}
	return name
}

// ask adds a prompt unless it is there already.
func (e *entryReader) ask(p Prompt) {
	if !slices.ContainsFunc(e.file.Prompts, func(o Prompt) bool { return o.Name == p.Name && o.Secret == p.Secret }) {
		e.file.Prompts = append(e.file.Prompts, p)
	}
}

// hide moves the secrets of a literal text out.
func (e *entryReader) hide(key, where, text string, v *syntax.Node, at Path) []piece {
	var out []piece
	rest := 0
	for _, s := range secretSpans(key, text) {
		value := text[s.start:s.end]
		if s.start > rest {
			out = append(out, piece{pieceLiteral, text[rest:s.start]})
		}
		rest = s.end
		out = append(out, piece{pieceSecret, e.secret(cmp.Or(s.name, "TOKEN"), where, value, v, at)})
	}
	if rest < len(text) || text == "" {
		out = append(out, piece{pieceLiteral, text[rest:]})
	}
	return out
}

// secret records a secret and returns the name it goes by.
func (e *entryReader) secret(proposal, where, value string, v *syntax.Node, at Path) string {
	prefix := strings.ToUpper(strings.ReplaceAll(e.Name, "-", "_"))
	if isPlaceholder(value) {
		name := e.promptName(e.Name+" "+proposal, secretName(proposal, prefix), prefix)
		e.ask(Prompt{Name: name, Secret: true, Description: where + " of " + e.Name, Entry: e.Name, Pos: e.position(v.Start)})
		e.sayPlanned(CodeInput, v.Start, at, "holds only a placeholder; give the real value to ${secret:%s}", name)
		return name
	}
	if len(e.file.Secrets) >= maxSecrets {
		e.skip(CodeSize, v.Start, at, "the file holds more secrets than the limit of "+strconv.Itoa(maxSecrets))
		return "TOO_MANY"
	}
	secret := NewValue(value)
	name := freeName(e.secrets, proposal, prefix, secret)
	if _, there := e.secrets[name]; !there {
		e.secrets[name] = secret
		e.file.Secrets = append(e.file.Secrets, Secret{Name: name, Value: secret, Entry: e.Name, Where: where, Pos: e.position(v.Start)})
	}
	e.say(Note, CodeSecret, v.Start, at, "holds a secret; it is moved to ${secret:%s}", name)
	if strings.HasPrefix(where, "argument") && !e.noted["argument"] {
		e.noted["argument"] = true
		e.say(Warning, CodeAdvice, v.Start, at, "a secret among the arguments is visible to every program of this machine; use env if the server can")
	}
	return name
}

// maxSecretName bounds the name of a secret.
const maxSecretName = 64

// freeName returns a name for a secret: the one it has already, or one that no
// other secret has. prefix is the server's name in capitals.
func freeName(taken map[string]Value, proposal, prefix string, value Value) string {
	base := secretName(proposal, prefix)
	name := base
	for i := 2; ; i++ {
		if other, there := taken[name]; !there || value.Reveal() != "" && other.Equal(value) {
			return name
		}
		suffix := "_" + strconv.Itoa(i)
		name = base[:min(len(base), maxSecretName-len(suffix))] + suffix
	}
}

// secretName makes a name for a secret: the words of its key, with the server's
// name before them unless they begin with its first word.
func secretName(words, prefix string) string {
	first, _, _ := strings.Cut(prefix, "_")
	if start, _, _ := strings.Cut(words, "_"); start != first {
		words = strings.TrimSuffix(prefix+"_"+words, "_")
	}
	return strings.TrimRight(words[:min(len(words), maxSecretName)], "_")
}

// inputName makes a name for what the client asks for.
func inputName(id string) string {
	words := wordsOf(id)
	if words == "" || words[0] <= '9' {
		words = strings.TrimSuffix("INPUT_"+words, "_")
	}
	return strings.TrimRight(words[:min(len(words), maxSecretName)], "_")
}
