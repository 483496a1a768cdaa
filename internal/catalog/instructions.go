package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// mergedInstructions puts the servers' instructions one after the other, each
// under a heading that says how its names begin. Together they have at most
// InstructionsCap bytes; when they do not fit, each server gets a fair share and
// what was cut is said.
func (v *View) mergedInstructions() string {
	var sections []section
	for _, p := range v.parts {
		if s, ok := v.section(p); ok {
			sections = append(sections, s)
		}
	}
	most := v.opt.InstructionsCap - markerSize
	share := fairShare(sections, most)
	var b strings.Builder
	for i, s := range sections {
		text := s.render(share)
		if b.Len()+len(text) > most { // not even the headings fit
			fmt.Fprintf(&b, "[cut: the instructions of %d more servers]", len(sections)-i)
			break
		}
		b.WriteString(text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// section is one server's part of the merged instructions.
type section struct{ server, heading, text string }

func (v *View) section(p part) (section, bool) {
	st := p.member.stock
	if st == nil || p.member.holds.instructions() || strings.TrimSpace(st.instructions) == "" || v.toolset != nil && len(p.shelf.lists[Tool]) == 0 {
		return section{}, false
	}
	name := p.member.spec.Name
	heading := "# " + name
	if v.naming == prefixed {
		heading += " (names here begin with " + name + separator + ")"
	}
	return section{name, heading + "\n\n", demote(strings.TrimSpace(strings.ToValidUTF8(st.instructions, "\uFFFD")))}, true
}

// demote moves a text's own headings below ours, so that no server can begin a
// section in another one's name.
func demote(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
			lines[i] = "#" + strings.TrimLeft(line, " \t")
		}
	}
	return strings.Join(lines, "\n")
}

// render writes the section with at most share bytes of text.
func (s section) render(share int) string {
	text := s.text
	if len(text) > share {
		kept := clip(text, max(share-markerSize, 0))
		text = fmt.Sprintf("%s\n[cut: %d of %d bytes; all of it is on /servers/%s/mcp]", kept, len(kept), len(s.text), s.server)
	}
	return s.heading + text + "\n\n"
}

// markerSize bounds the line that says what was cut.
const markerSize = 120

// fairShare returns the largest number of bytes per text with which all sections
// fit into most: short texts stay whole and leave their rest to the long ones.
func fairShare(sections []section, most int) int {
	rest := most
	sizes := make([]int, len(sections))
	for i, s := range sections {
		rest -= len(s.heading) + len("\n\n")
		sizes[i] = len(s.text)
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		share := rest / (len(sizes) - i)
		if size > share {
			return max(share, 0)
		}
		rest -= size
	}
	return most
}
