package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"durward"
	"durward/internal/reveal"
)

// The rows of the screen besides list and pane: the title, the head of the list, the
// bar between the two, the note, the keys.
const rowsAround = 5

// listHeight is how many questions the list shows at a time.
func (m *model) listHeight() int {
	if m.full {
		return 0
	}
	return max(1, min(len(m.all), (m.height-rowsAround)/3))
}

// paneHeight is how many lines the pane shows at a time.
func (m *model) paneHeight() int { return max(1, m.height-rowsAround-m.listHeight()) }

// View implements tea.Model.
func (m *model) View() tea.View {
	rows := []string{m.titleRow()}
	if m.help {
		rows = append(rows, rendered(wrap(helpLines(), m.width))...)
	} else {
		rows = append(rows, m.listRows()...)
		rows = append(rows, m.barRow())
		shown := m.pane[min(m.scroll, len(m.pane)):min(m.scroll+m.paneHeight(), len(m.pane))]
		rows = append(rows, rendered(shown)...)
	}
	for len(rows) < m.height-2 {
		rows = append(rows, "")
	}
	if len(rows) > max(1, m.height-2) {
		rows = rows[:max(1, m.height-2)]
	}
	v := tea.NewView(strings.Join(append(rows, m.noteRow(), m.keysRow()), "\n"))
	v.AltScreen = true
	v.WindowTitle = fmt.Sprintf("%d waiting - durward approvals", len(m.all))
	return v
}

func (m *model) titleRow() string {
	text := "Approvals: "
	switch n := len(m.all); n {
	case 0:
		text += "nothing waits for an answer"
	case 1:
		text += "1 call waits for your answer"
	default:
		text += fmt.Sprintf("%d calls wait for your answer", n)
	}
	return styleOf(title).Render(pad(text, m.width))
}

// columns of the list. The last one takes what is left.
func columns(width int) []int {
	all := []int{6, 6, 10, 8, 22, 8, 10, 0}
	left := width
	for i := range len(all) - 1 {
		all[i] = max(0, min(all[i], left-2))
		left -= all[i] + 2
	}
	all[len(all)-1] = max(0, left)
	return all
}

func (m *model) listRows() []string {
	if m.full {
		return []string{""}
	}
	if len(m.all) == 0 {
		return []string{"", m.emptyRow()}
	}
	rows := []string{styleOf(faint).Render(m.row("AGE", "LEFT", "ID", "RISK", "CALL", "FOR", "CLIENT", "RULES"))}
	first := max(0, min(m.index()-m.listHeight()/2, len(m.all)-m.listHeight()))
	now := m.now()
	for i := first; i < min(first+m.listHeight(), len(m.all)); i++ {
		a := &m.all[i]
		text := m.row(span(now.Sub(a.Asked)), span(a.Deadline.Sub(now)), a.ID, a.Risk, called(a), a.Principal, clientName(a), strings.Join(a.Rules, " "))
		switch {
		case a.ID == m.selected:
			text = lipgloss.NewStyle().Reverse(true).Render(text)
		case a.Risk == "critical" || a.Risk == "high":
			text = styleOf(warning).Render(text)
		}
		rows = append(rows, text)
	}
	return rows
}

// row sets texts, which may be foreign, in columns.
func (m *model) row(cells ...string) string {
	var out []string
	for i, width := range columns(m.width) {
		out = append(out, pad(reveal.Line(cells[i]), width))
	}
	return pad(strings.Join(out, "  "), m.width)
}

func (m *model) emptyRow() string {
	if m.ended != nil {
		return styleOf(warning).Render(pad("The service does not answer; it is asked again: "+reveal.Line(m.ended.Error()), m.width))
	}
	return styleOf(faint).Render(pad("It is shown here, with a bell, when something does.", m.width))
}

// bar names the question that is shown, and how much of it.
func (m *model) barRow() string {
	if m.selected == "" {
		return ""
	}
	text := "── " + m.selected + " "
	switch last := min(len(m.pane), m.scroll+m.paneHeight()); {
	case m.detail == nil && m.failed == nil:
		text += "── … "
	case last < len(m.pane) || m.scroll > 0:
		text += fmt.Sprintf("── lines %d to %d of %d ", m.scroll+1, last, len(m.pane))
	}
	return styleOf(faint).Render(text + strings.Repeat("─", max(0, m.width-lipgloss.Width(text))))
}

func (m *model) noteRow() string {
	if m.warned {
		return styleOf(warning).Render(pad(m.note, m.width))
	}
	return pad(m.note, m.width)
}

func (m *model) keysRow() string {
	keys := "? help  q quit"
	if at := m.index(); at >= 0 {
		text := "a approve once"
		if forbids(&m.all[at], durward.ScopeSession) == "" {
			text += "  s for the session"
		}
		if forbids(&m.all[at], durward.ScopeGrant) == "" {
			text += "  g grant 30d"
		}
		keys = text + "  d deny  " + keys
	}
	return styleOf(faint).Render(pad(keys, m.width))
}

// span is a time in two figures or so.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

func rendered(lines []line) []string {
	var out []string
	for _, l := range lines {
		if l.kind == plain {
			out = append(out, l.text)
			continue
		}
		out = append(out, styleOf(l.kind).Render(l.text))
	}
	return out
}

// styleOf is how a kind of line looks, in the sixteen colours that every terminal
// has; none where NO_COLOR is set.
func styleOf(k kind) lipgloss.Style {
	s := lipgloss.NewStyle()
	switch k {
	case title:
		return s.Bold(true)
	case warning:
		return s.Foreground(lipgloss.Yellow)
	case added:
		return s.Foreground(lipgloss.Green)
	case removed:
		return s.Foreground(lipgloss.Red)
	case faint:
		return s.Faint(true)
	default:
		return s
	}
}
