package tui

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"durward/client"
	"durward/internal/reveal"
	"durward/internal/wire"
)

// kind is how a line looks.
type kind uint8

const (
	plain kind = iota
	title
	warning
	added
	removed
	faint
)

// line is one line of text that a terminal may be given, and how it looks.
type line struct {
	text string
	kind kind
}

// Describe returns all about a question as lines of plain text, in which everything
// is visible. No line is cut.
func Describe(d *client.ApprovalDetail) []string {
	var out []string
	for _, l := range detailLines(d) {
		out = append(out, l.text)
	}
	return out
}

// detailLines are all about a question. What it would do comes first that people
// decide by: who, what, why, and what was changed; then the arguments.
func detailLines(d *client.ApprovalDetail) []line {
	var out []line
	field := func(name, text string) {
		if text != "" {
			out = append(out, line{pad(name, 10) + reveal.Line(text), plain})
		}
	}
	field("call", calledFully(&d.Approval))
	field("for", forWhom(&d.Approval))
	field("risk", d.Risk)
	field("rules", strings.Join(d.Rules, ", "))
	field("why", d.Reason)
	field("may hold", holds(&d.Approval))
	if len(d.Changes) > 0 {
		out = append(out, line{}, line{"rewritten by rules", title})
		for i := range d.Changes {
			out = append(out, changeLines(&d.Changes[i])...)
		}
	}
	out = append(out, line{})
	return append(out, argumentLines(d)...)
}

func holds(a *client.Approval) string {
	switch a.Remember {
	case "session":
		return "this call, this session"
	case "grant":
		return "this call, this session, or until a grant runs out"
	default:
		return "this call only"
	}
}

func changeLines(c *client.ArgumentChange) []line {
	out := []line{{"  " + reveal.Line(c.Path) + "  (" + reveal.Line(c.Rule) + ")", plain}}
	if c.Old != nil {
		out = append(out, line{"  - " + reveal.Line(spelled(c.Old)), removed})
	}
	if c.New != nil {
		out = append(out, line{"  + " + reveal.Line(spelled(c.New)), added})
	}
	return out
}

func argumentLines(d *client.ApprovalDetail) []line {
	if d.Arguments == nil {
		return []line{{"without arguments", title}}
	}
	out := []line{{"arguments, " + strconv.Itoa(len(d.Arguments)) + " bytes", title}}
	text := spelled(d.Arguments)
	if n := reveal.Hidden(text); n > 0 {
		out = append(out, line{"hidden characters in them: " + strconv.Itoa(n) + "; they stand there as <U+…>", warning})
	}
	for _, l := range reveal.LookAlikes(text) {
		out = append(out, line{l.String(), warning})
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(text), "", "  "); err != nil {
		return append(out, line{reveal.Line(text), plain})
	}
	for _, text := range strings.Split(pretty.String(), "\n") {
		out = append(out, line{reveal.Line(text), plain})
	}
	return out
}

// spelled is JSON with the characters of its strings instead of escapes, which could
// hide what they say from a reader. What a string cannot hold stays escaped.
func spelled(raw []byte) string {
	var out strings.Builder
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			out.WriteByte(raw[i])
			i++
			continue
		}
		end := i + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(raw))
		text, ok := wire.Unquote(raw[i:end])
		if !ok || strings.ContainsRune(text, utf8.RuneError) {
			out.Write(raw[i:end])
		} else {
			out.WriteString(wire.Quote(text))
		}
		i = end
	}
	return out.String()
}

// called names what is called, as short as can be.
func called(a *client.Approval) string {
	switch {
	case a.FullName != "":
		return a.FullName
	case a.Tool != "":
		return a.Tool
	default:
		return a.Method
	}
}

// calledFully names it with its server and the server's own name.
func calledFully(a *client.Approval) string {
	text := called(a)
	if a.Method != "tools/call" {
		text += ", " + a.Method
	}
	if a.Server != "" {
		text += "  (server " + a.Server
		if a.Tool != "" && a.Tool != a.FullName {
			text += ": " + a.Tool
		}
		text += ")"
	}
	return text
}

func forWhom(a *client.Approval) string {
	text := a.Principal
	if name := clientName(a); name != "" {
		text += ", client " + name + " (by its own word)"
	}
	text += ", by " + string(a.Entrance)
	if a.Process != "" {
		text += ", " + a.Process
	}
	return text
}

func clientName(a *client.Approval) string {
	return strings.TrimSpace(a.Client.Name + " " + a.Client.Version)
}

// wrap breaks lines that are wider than the screen. Those that go on are indented.
func wrap(lines []line, width int) []line {
	width = max(width, 20)
	var out []line
	for _, l := range lines {
		for first := true; ; first = false {
			room := width
			if !first {
				room -= 2
			}
			head, rest := split(l.text, room)
			if !first {
				head = "  " + head
			}
			out = append(out, line{head, l.kind})
			if rest == "" {
				break
			}
			l.text = rest
		}
	}
	return out
}

// split returns as much of a text as fits, and the rest.
func split(text string, width int) (head, rest string) {
	if len(text) <= width {
		return text, ""
	}
	used := 0
	for i, r := range text {
		w := 1
		if r >= utf8.RuneSelf {
			w = lipgloss.Width(string(r))
		}
		if used+w > width && i > 0 {
			return text[:i], text[i:]
		}
		used += w
	}
	return text, ""
}

// pad fills a text with blanks to a width, and cuts it there.
func pad(text string, width int) string {
	if width <= 0 {
		return ""
	}
	if lipgloss.Width(text) > width {
		head, _ := split(text, width-1)
		text = head + "…"
	}
	return text + strings.Repeat(" ", max(0, width-lipgloss.Width(text)))
}
