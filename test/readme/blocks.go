package readme

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what is done with a block.
type Kind uint8

// The kinds.
const (
	Shown      Kind = iota // data, a picture, other languages: nothing is done
	Run                    // run in the foreground; Exit is the status it must end with
	Background             // started, and interrupted later
	NotRun                 // a command that is not run; Reason says why
	Output                 // what the last Run block must have printed
)

// Block is one fenced block of a document.
type Block struct {
	Kind   Kind
	Line   int // of the opening fence, counted from 1
	Text   string
	Exit   int
	Reason string
}

// Parse returns the fenced blocks of a Markdown document in order. It refuses a
// fence that is not closed, shell blocks that are not called sh, words after sh
// that it does not know, and output that follows no command.
func Parse(markdown string) ([]Block, error) {
	var blocks []Block
	lines := strings.Split(markdown, "\n")
	for i := 0; i < len(lines); i++ {
		indent, info, ok := fence(lines[i])
		if !ok {
			continue
		}
		block, err := open(info, i+1)
		if err != nil {
			return nil, err
		}
		body := i + 1
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			lines[i] = strings.TrimPrefix(lines[i], indent)
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block is not closed", block.Line)
		}
		block.Text = strings.Join(lines[body:i], "\n") + "\n"
		if block.Kind == Output && (len(blocks) == 0 || blocks[len(blocks)-1].Kind != Run) {
			return nil, fmt.Errorf("line %d: output must follow a block that is run", block.Line)
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// fence takes an opening fence apart.
func fence(line string) (indent, info string, ok bool) {
	rest := strings.TrimLeft(line, " ")
	info, ok = strings.CutPrefix(rest, "```")
	return line[:len(line)-len(rest)], strings.TrimSpace(info), ok
}

// open reads what a fence says about its block.
func open(info string, line int) (Block, error) {
	b := Block{Line: line}
	language, rest, _ := strings.Cut(info, " ")
	switch language {
	case "sh":
		return command(b, rest)
	case "bash", "shell", "console", "zsh", "shell-session", "sh-session":
		return b, fmt.Errorf("line %d: commands stand in blocks called sh, not %s", line, language)
	case "text":
		if rest == "output" {
			b.Kind = Output
		} else if rest != "" {
			return b, fmt.Errorf("line %d: %q is not known after text", line, rest)
		}
	}
	return b, nil
}

func command(b Block, rest string) (Block, error) {
	reason, unrun := strings.CutPrefix(rest, "no-run:")
	status, exits := strings.CutPrefix(rest, "exit ")
	var err error
	switch {
	case rest == "":
		b.Kind = Run
	case rest == "background":
		b.Kind = Background
	case unrun && strings.TrimSpace(reason) != "":
		b.Kind, b.Reason = NotRun, strings.TrimSpace(reason)
	case exits:
		b.Kind = Run
		if b.Exit, err = strconv.Atoi(status); err != nil {
			return b, fmt.Errorf("line %d: %q is no exit status", b.Line, status)
		}
	default:
		return b, fmt.Errorf("line %d: %q is not known after sh", b.Line, rest)
	}
	return b, nil
}

// Matches reports whether a command printed what a document shows. Spaces at the
// ends of lines do not count.
func Matches(shown, printed string) bool {
	return matchLines(split(shown), split(printed))
}

const anything = "…"

func split(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return lines
}

func matchLines(shown, printed []string) bool {
	for len(shown) > 0 {
		if strings.TrimSpace(shown[0]) == anything {
			for skip := range len(printed) + 1 {
				if matchLines(shown[1:], printed[skip:]) {
					return true
				}
			}
			return false
		}
		if len(printed) == 0 || !matchLine(shown[0], printed[0]) {
			return false
		}
		shown, printed = shown[1:], printed[1:]
	}
	return len(printed) == 0
}

func matchLine(shown, printed string) bool {
	parts := strings.Split(shown, anything)
	rest, ok := strings.CutPrefix(printed, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}
