package clientconf

import (
	"strconv"
	"strings"

	"durward"
)

// maxName bounds a server name (names-and-limits, "Names").
const maxName = 32

// namer gives out server names, each once.
type namer struct{ taken map[string]bool }

func newNamer(taken []string) namer {
	n := namer{taken: make(map[string]bool, len(taken))}
	for _, name := range taken {
		n.taken[name] = true
	}
	return n
}

// name returns a server name that is like original and not taken yet.
func (n namer) name(original string) string {
	base := slug(original)
	name := base
	for i := 2; n.taken[name]; i++ {
		suffix := "-" + strconv.Itoa(i)
		name = strings.TrimRight(base[:min(len(base), maxName-len(suffix))], "-") + suffix
	}
	n.taken[name] = true
	return name
}

// slug turns a client's name for a server into one that Durward permits.
func slug(original string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(original) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= maxName {
			break
		}
	}
	name := strings.Trim(b.String(), "-")
	switch {
	case name == "":
		name = "server"
	case name[0] <= '9':
		name = strings.TrimRight(("mcp-" + name)[:min(len(name)+4, maxName)], "-")
	}
	if durward.CheckServerName(name) != nil { // only a reserved name is left
		name += "-server"
	}
	return name
}
