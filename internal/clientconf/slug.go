package clientconf

import (
	"strconv"
	"strings"

	"durward"
)

// maxName bounds a server name (names-and-limits, "Names").
const maxName = 32

// namer gives out server names, each once.
type namer struct {
	taken   map[string]bool
	claimed map[string]bool // names that some entry has exactly; others keep away from them
}

func newNamer(taken []string) namer {
	n := namer{taken: make(map[string]bool, len(taken)), claimed: map[string]bool{}}
	for _, name := range taken {
		n.taken[name] = true
	}
	return n
}

// claim keeps a name for the entry that is called so already.
func (n namer) claim(original string) {
	if durward.CheckServerName(original) == nil {
		n.claimed[original] = true
	}
}

// name returns a server name that is like original and not taken yet.
func (n namer) name(original string) string {
	base := slug(original)
	name := base
	for i := 2; n.taken[name] || n.claimed[name] && name != original; i++ {
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
