package clientconf

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"durward"
	"durward/internal/clientconf/syntax"
)

// entryReader reads one server.
type entryReader struct {
	*reader
	Entry
	node   *syntax.Node
	path   Path
	offset int
	kind   string // the value of "type" or "transport"
	urlKey string // the key the address stood under
	noted  map[string]bool
}

func (e *entryReader) read() {
	e.noted = map[string]bool{}
	e.Name = e.names.name(e.Original)
	e.Command = e.node.Get("command").Str()
	e.Own = e.isOwn(e.Original, e.node)
	if e.Own {
		return
	}
	if e.Name != e.Original {
		e.say(Note, CodeName, e.offset, e.path, "is called %s in Durward, whose names are lower-case letters, digits and hyphens", e.Name)
	}
	for _, m := range e.node.Members {
		at := e.path.in(m.Name)
		if !e.readLocal(m, at) && !e.readRemote(m, at) && !e.readSwitch(m, at) && !e.readTools(m, at) {
			e.keep(m, at)
		}
	}
	e.readGeminiLists()
	e.decide()
}

// isOwn recognises an entry that runs Durward itself: by two of its name, its
// program and its argument.
func (t traits) isOwn(name string, entry *syntax.Node) bool {
	command := entry.Get("command").Str()
	if command == "" {
		return name == ownName && t.remoteKey != "" && entry.Get(t.remoteKey) != nil
	}
	signs := 0
	for _, sign := range []bool{name == ownName, baseName(command) == ownName, entry.Get("args").Holds("stdio")} {
		if sign {
			signs++
		}
	}
	return signs >= 2
}

// skip says why the entry cannot be served; the first reason stays.
func (e *entryReader) skip(code Code, offset int, at Path, why string) {
	if e.Skip == "" {
		e.Skip = why
	}
	e.sayPlanned(code, offset, at, "%s; the server is left out", why)
}

// attend says what a person has to complete.
func (e *entryReader) attend(code Code, offset int, at Path, what string) {
	if len(e.Attention) < maxAttention && !slices.Contains(e.Attention, what) {
		e.Attention = append(e.Attention, what)
		e.sayPlanned(code, offset, at, "%s; the server is taken switched off", what)
	}
}

// readLocal reads the keys of a server that is a program.
func (e *entryReader) readLocal(m syntax.Member, at Path) bool {
	v := m.Value
	switch m.Name {
	case "command":
		e.readCommand(v, at)
	case "args":
		e.readArgs(v, at)
	case "env":
		e.Env = append(e.Env, e.pairs("env", v, at)...)
	case "env_vars":
		e.readPassed(v, at)
	case "cwd":
		if text, ok := e.text("", "working directory", v, at); ok {
			e.Dir = text
		}
	case "envFile":
		if v.Kind == syntax.Text && v.Text != "" {
			e.attend(CodeKey, m.Start, at, "it reads variables from a file, which Durward does not; write them under env")
		}
	default:
		return false
	}
	return true
}

// readCommand reads a program. Zed once wrote an object with path, args and env.
func (e *entryReader) readCommand(v *syntax.Node, at Path) {
	if v.Kind == syntax.Object {
		for _, m := range v.Members {
			switch m.Name {
			case "path":
				e.readCommand(m.Value, at.in(m.Name))
			case "args", "env":
				e.readLocal(m, at.in(m.Name))
			default:
				e.keep(m, at.in(m.Name))
			}
		}
		return
	}
	text, ok := e.text("", "command", v, at)
	if !ok {
		return
	}
	e.Command = text
	if strings.ContainsAny(text, " \t") && !strings.ContainsAny(text, `/\`) {
		e.say(Warning, CodeAdvice, v.Start, at, "holds a space and is taken as the name of one program; put what follows it into args")
	}
}

func (e *entryReader) readArgs(v *syntax.Node, at Path) {
	if v.Kind != syntax.List {
		if v.Kind != syntax.Null {
			e.skip(CodeShape, v.Start, at, "args must be a list of texts, one for each argument, not "+v.Kind.String())
		}
		return
	}
	if len(v.Elems) > maxItems {
		e.skip(CodeSize, v.Start, at, "it has more arguments than the limit of "+strconv.Itoa(maxItems))
		return
	}
	option := "" // the option whose value the next argument is
	for i, elem := range v.Elems {
		here := at.in(strconv.Itoa(i))
		key := option
		option = ""
		if elem.Kind == syntax.Text && strings.HasPrefix(elem.Text, "-") {
			key = ""
			if !strings.ContainsAny(elem.Text, "= ") {
				option = strings.TrimLeft(elem.Text, "-")
			}
		}
		if text, ok := e.text(key, "argument "+strconv.Itoa(i+1), elem, here); ok {
			e.Args = append(e.Args, text)
		} else {
			e.skip(CodeShape, elem.Start, here, "an argument must be text, not "+elem.Kind.String())
		}
	}
}

// readPassed reads Codex's names of variables that are passed on.
func (e *entryReader) readPassed(v *syntax.Node, at Path) {
	for i, elem := range v.Elems {
		name := elem.Str()
		if name == "" {
			name = elem.Get("name").Str()
		}
		if !variableName.MatchString(name) {
			e.say(Warning, CodeShape, elem.Start, at.in(strconv.Itoa(i)), "must be the name of a variable; it is left out")
			continue
		}
		e.Env = append(e.Env, Pair{name, "${env:" + name + "}"})
	}
}

// readRemote reads the keys of a server that is an address.
func (e *entryReader) readRemote(m syntax.Member, at Path) bool {
	v := m.Value
	switch m.Name {
	case "url", "httpUrl", "serverUrl":
		text, ok := e.text("", "address", v, at)
		if ok && text != "" && (e.urlKey == "" || m.Name == "httpUrl") {
			e.URL, e.urlKey = text, m.Name
		}
	case "headers", "http_headers":
		e.Headers = append(e.Headers, e.pairs("header", v, at)...)
	case "env_http_headers":
		for _, h := range v.Members {
			if name := h.Value.Str(); variableName.MatchString(name) {
				e.Headers = append(e.Headers, Pair{h.Name, "${env:" + name + "}"})
			} else {
				e.say(Warning, CodeShape, h.Value.Start, at.in(h.Name), "must be the name of a variable; the header is left out")
			}
		}
	case "bearer_token_env_var":
		if name := v.Str(); variableName.MatchString(name) {
			e.Headers = append(e.Headers, Pair{"Authorization", "Bearer ${env:" + name + "}"})
		} else {
			e.say(Warning, CodeShape, v.Start, at, "must be the name of a variable; the header is left out")
		}
	case "bearer_token":
		if text, ok := e.text("token", "bearer token", v, at); ok && text != "" {
			e.Headers = append(e.Headers, Pair{"Authorization", "Bearer " + text})
		}
	default:
		return false
	}
	return true
}

// readSwitch reads what kind of entry it is, and whether it is on.
func (e *entryReader) readSwitch(m syntax.Member, at Path) bool {
	v := m.Value
	switch m.Name {
	case "type", "transport":
		e.kind = strings.ToLower(v.Str())
		if v.Kind == syntax.Object { // {"transport": {"type": …, "url": …}}
			for _, inner := range v.Members {
				if here := at.in(inner.Name); !e.readRemote(inner, here) && !e.readSwitch(inner, here) {
					e.keep(inner, here)
				}
			}
		}
	case "disabled":
		e.Disabled = e.Disabled || v.Is(true)
	case "enabled":
		e.Disabled = e.Disabled || v.Is(false)
	case "builtin":
		if v.Is(true) {
			e.skip(CodeTransport, m.Start, at, "it is built into the other program; Durward has tools of its own")
		}
	case "source":
		if v.Str() == "extension" && e.node.Get("command") == nil {
			e.skip(CodeTransport, m.Start, at, "it belongs to an extension of "+e.title+"; add its server by its own command")
		}
	case "id", "name":
		return v.Kind == syntax.Text
	case "timeout":
		e.readTimeout(&e.CallTimeout, v, at, time.Millisecond)
	case "startup_timeout_ms":
		e.readTimeout(&e.StartTimeout, v, at, time.Millisecond)
	case "startup_timeout_sec":
		e.readTimeout(&e.StartTimeout, v, at, time.Second)
	case "tool_timeout_sec":
		e.readTimeout(&e.CallTimeout, v, at, time.Second)
	default:
		return false
	}
	return true
}

// Bounds of time-outs in Durward's configuration.
const (
	minTimeout = 100 * time.Millisecond
	maxTimeout = time.Hour
)

func (e *entryReader) readTimeout(to *Duration, v *syntax.Node, at Path, unit time.Duration) {
	n, err := strconv.ParseFloat(v.Text, 64)
	if v.Kind != syntax.Number || err != nil || n <= 0 {
		e.say(Warning, CodeShape, v.Start, at, "must be a number above 0; Durward's default applies")
		return
	}
	d := time.Duration(min(n*float64(unit), float64(maxTimeout)))
	*to = Duration(max(d, minTimeout).Round(time.Millisecond))
}

// readTools reads which tools are offered.
func (e *entryReader) readTools(m syntax.Member, at Path) bool {
	var to *[]string
	switch m.Name {
	case "includeTools", "enabled_tools":
		to = &e.Allow
	case "excludeTools", "disabled_tools", "disabledTools":
		to = &e.Deny
	default:
		return false
	}
	for i, elem := range m.Value.Elems {
		name := elem.Str()
		if cut := strings.IndexByte(name, '('); cut > 0 { // Gemini: run(with arguments)
			name = name[:cut]
		}
		if name == "" {
			e.say(Warning, CodeShape, elem.Start, at.in(strconv.Itoa(i)), "must be the name of a tool; it is left out")
			continue
		}
		*to = append(*to, name)
	}
	return true
}

// keep remembers a key that Durward does not use, and says so.
func (e *entryReader) keep(m syntax.Member, at Path) {
	e.Kept = append(e.Kept, Field{Key: strings.Join(at[len(e.path):], "."), Text: NewValue(string(e.data[m.Value.Start:m.Value.End])), Pos: e.position(m.Start)})
	why := "is no key that Durward knows; it stays in the file and is not taken"
	switch m.Name {
	case "trust", "alwaysAllow", "autoApprove", "autoApprovedTools", "default_tools_approval_mode", "tools":
		why = "is not taken: Durward asks by its own rules"
	case "oauth", "auth", "authProviderType", "headersHelper", "scopes", "oauth_resource", "targetAudience", "targetServiceAccount":
		why = "is not taken: signing in has to be done again for Durward"
	case "description", "gallery", "version", "dev", "required", "settings", "remote", "extensionName", "alwaysLoad",
		"supports_parallel_tool_calls", "experimental_environment", "sandbox", "sandboxEnabled":
		why = "has no meaning for Durward and is not taken"
	}
	e.say(Note, CodeKey, m.Start, at, "%s", why)
}

// readGeminiLists applies Gemini's lists of permitted and excluded servers.
func (e *entryReader) readGeminiLists() {
	if e.client != Gemini {
		return
	}
	allowed := e.root.At(Path{"mcp", "allowed"})
	listed := allowed == nil || allowed.Kind != syntax.List || allowed.Holds(e.Original)
	e.Disabled = e.Disabled || !listed || e.root.At(Path{"mcp", "excluded"}).Holds(e.Original)
}

// decide settles how the server is reached.
func (e *entryReader) decide() {
	if e.Skip != "" {
		return
	}
	switch {
	case e.Command != "" && e.URL != "":
		e.skip(CodeTransport, e.offset, e.path, "it has both a command and an address")
	case e.Command != "":
		e.decideLocal()
	case e.URL != "":
		e.decideRemote()
	case e.node.Get("tcp") != nil:
		e.skip(CodeTransport, e.offset, e.path, "Durward does not speak MCP over WebSocket")
	case e.node.Get("settings") != nil:
		e.skip(CodeTransport, e.offset, e.path, "it belongs to an extension of "+e.title+"; add its server by its own command")
	default:
		e.skip(CodeShape, e.offset, e.path, "it has neither a command nor an address")
	}
}

func (e *entryReader) decideLocal() {
	e.Transport = durward.TransportStdio
	if e.kind != "" && e.kind != "stdio" && e.kind != "local" {
		e.say(Warning, CodeTransport, e.offset, e.path, "has the type %q but a command; it is taken as stdio", clip(e.kind))
	}
	e.decideDir()
	for _, arg := range e.Args {
		if strings.HasPrefix(arg, "mcp-remote@") || arg == "mcp-remote" {
			e.say(Note, CodeAdvice, e.offset, e.path, "reaches a remote server through mcp-remote; Durward can do that itself, with url")
		}
	}
	if len(e.Headers) > 0 {
		e.say(Warning, CodeKey, e.offset, e.path, "has headers, which mean nothing to a server that is a program; they are not taken")
		e.Headers = nil
	}
}

// decideDir makes the working directory absolute: a client starts the servers of
// a project in the project.
func (e *entryReader) decideDir() {
	project := e.project()
	switch {
	case project != "" && e.Dir == "":
		e.Dir = project
	case project != "" && isRelative(e.Dir):
		e.Dir = strings.TrimRight(project, `/\`) + "/" + strings.TrimPrefix(e.Dir, "./")
	case isRelative(e.Dir):
		e.attend(CodeAdvice, e.offset, e.path, "its working directory is relative to wherever "+e.title+" is started; write the whole path")
	case e.Dir == "" && isRelative(e.Command) && strings.HasPrefix(e.Command, "."):
		e.attend(CodeAdvice, e.offset, e.path, "its command is relative to wherever "+e.title+" is started; write the whole path")
	}
}

// isRelative reports whether a path is relative on either kind of system.
func isRelative(path string) bool {
	drive := len(path) > 2 && path[1] == ':'
	return path != "" && !drive && !strings.ContainsAny(path[:1], `/\~$`)
}

func (e *entryReader) decideRemote() {
	path, _, _ := strings.Cut(e.URL, "?")
	switch e.kind {
	case "sse":
		e.Transport = durward.TransportSSE
	case "", "remote":
		e.Transport = durward.TransportHTTP
		if strings.HasSuffix(path, "/sse") && e.urlKey != "httpUrl" {
			e.Transport = durward.TransportSSE
		}
	case "http", "streamable-http", "streamable_http", "streamablehttp", "http-stream", "httpstream":
		e.Transport = durward.TransportHTTP
	case "stdio", "local":
		e.say(Warning, CodeTransport, e.offset, e.path, "has the type %q but an address; it is taken as http", e.kind)
		e.Transport = durward.TransportHTTP
	default:
		e.skip(CodeTransport, e.offset, e.path, "Durward has no transport "+strconv.Quote(clip(e.kind)))
		return
	}
	if len(e.Env)+len(e.Args) > 0 {
		e.say(Warning, CodeKey, e.offset, e.path, "has args or env, which mean nothing to a server at an address; they are not taken")
	}
	e.Args, e.Env, e.Dir = nil, nil, ""
	if strings.HasPrefix(e.URL, "${") {
		return // it is known only when it runs
	}
	u, err := url.Parse(strings.NewReplacer("${", "", "}", "").Replace(e.URL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.skip(CodeShape, e.offset, e.path, "its address is none of http or https")
	}
}

// project returns the directory of the project the entry is for.
func (e *entryReader) project() string {
	if e.Scope != "" {
		return e.Scope
	}
	return e.file.Dir
}
