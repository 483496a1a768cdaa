package clientconf

import (
	"regexp"
	"strings"
)

// dialect says which variables a client puts into texts.
type dialect struct {
	expands  bool // ${NAME} or ${env:NAME} at all
	bare     bool // $NAME
	defaults bool // ${NAME:-default}
	files    bool // ${file:PATH}
}

// pieceKind is what a piece of a text is.
type pieceKind uint8

const (
	pieceLiteral  pieceKind = iota
	pieceEnv                // text: NAME or NAME:-default
	pieceInput              // text: the id of an input
	pieceHome               // the user's home directory
	pieceProject            // the project's directory
	pieceBaseName           // the name of the project's directory
	pieceSlash              // the separator of paths
	pieceFile               // text: the path of a file
	pieceUnknown            // text: the whole variable
	pieceSecret             // text: the name of a secret
)

// piece is a part of a text: characters or a variable.
type piece struct {
	kind pieceKind
	text string
}

var (
	bracedVariable = regexp.MustCompile(`\$\{([^{}]*)\}`)
	bareVariable   = regexp.MustCompile(`\$\{([^{}]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
	variableName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	onlyVariable   = regexp.MustCompile(`^(?:[A-Za-z-]+ )?(?:\$\{[^{}]*\}|\$[A-Za-z_][A-Za-z0-9_]*)$`)
)

// isReference reports whether a text is a variable and nothing else, besides the
// word that HTTP wants before a token.
func isReference(text string) bool {
	return onlyVariable.MatchString(text) && !strings.Contains(text, ":-") // a default can be the secret
}

// split cuts a text of a client into pieces.
func (d dialect) split(text string) []piece {
	pattern := bracedVariable
	if d.bare {
		pattern = bareVariable
	}
	var out []piece
	rest := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		if m[0] > rest {
			out = append(out, piece{pieceLiteral, text[rest:m[0]]})
		}
		rest = m[1]
		if m[2] < 0 {
			out = append(out, piece{pieceEnv, text[m[4]:m[5]]})
			continue
		}
		p := d.variable(text[m[2]:m[3]])
		if p.kind == pieceUnknown {
			p.text = text[m[0]:m[1]]
		}
		out = append(out, p)
	}
	if rest < len(text) {
		out = append(out, piece{pieceLiteral, text[rest:]})
	}
	return out
}

// variable reads what stands between ${ and }.
func (d dialect) variable(inner string) piece {
	switch inner {
	case "userHome":
		return piece{kind: pieceHome}
	case "workspaceFolder", "workspaceRoot":
		return piece{kind: pieceProject}
	case "workspaceFolderBasename":
		return piece{kind: pieceBaseName}
	case "pathSeparator", "/":
		return piece{kind: pieceSlash}
	}
	kind, what, tagged := strings.Cut(inner, ":")
	switch {
	case tagged && kind == "input" && what != "":
		return piece{pieceInput, what}
	case tagged && kind == "file" && d.files && what != "":
		return piece{pieceFile, what}
	case tagged && kind == "env" && !strings.HasPrefix(what, "-"):
		inner = what
	}
	name, fallback, hasDefault := strings.Cut(inner, ":-")
	if !variableName.MatchString(name) || hasDefault && (!d.defaults || strings.Contains(fallback, "$")) {
		return piece{kind: pieceUnknown}
	}
	return piece{pieceEnv, inner}
}

// join writes pieces as a text of Durward's configuration. A $ directly before
// a reference would read as an escape; such a text is not expressible.
func join(pieces []piece) (text string, ok bool) {
	var b strings.Builder
	ok = true
	for _, p := range pieces {
		ref := ""
		switch p.kind {
		case pieceLiteral, pieceUnknown:
			b.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
			continue
		case pieceEnv:
			ref = "${env:" + p.text + "}"
		case pieceSecret:
			ref = "${secret:" + p.text + "}"
		case pieceFile:
			ref = "${file:" + p.text + "}"
		}
		if ref != "" && strings.HasSuffix(b.String(), "$") {
			ok = false
		}
		b.WriteString(ref)
	}
	return b.String(), ok
}

// isShell reports whether a command is a shell, in whose arguments ${NAME} is
// the shell's own business.
func isShell(command string) bool {
	switch baseName(command) {
	case "sh", "bash", "zsh", "dash", "fish", "ksh", "cmd", "powershell", "pwsh", "wsl":
		return true
	}
	return false
}

// baseName returns the name of a program without directory and .exe, in lower
// case, on either kind of system.
func baseName(command string) string {
	name := strings.ToLower(command[strings.LastIndexAny(command, `/\`)+1:])
	return strings.TrimSuffix(name, ".exe")
}
