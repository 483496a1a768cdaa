package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"durward"
	"durward/client"
)

// pressed does what a key says.
func (m *model) pressed(key tea.KeyPressMsg) tea.Cmd {
	name := key.String()
	if m.help {
		m.help = false
		if name != "ctrl+c" {
			return nil
		}
	}
	switch name {
	case "q", "ctrl+c":
		return tea.Quit
	case "?":
		m.help = true
	case "esc":
		m.full, m.sure = false, ""
	case "enter":
		m.full = !m.full && m.selected != ""
	case "up", "k":
		return m.move(-1)
	case "down", "j":
		return m.move(1)
	case "pgdown", "space", "ctrl+d":
		m.scroll += max(1, m.paneHeight()-1)
	case "pgup", "b", "ctrl+u":
		m.scroll -= max(1, m.paneHeight()-1)
	case "home":
		m.scroll = 0
	case "end":
		m.scroll = len(m.pane)
	case "a", "s", "g", "d":
		if !key.Key().IsRepeat { // a key that is held down answers once
			return m.decide(name)
		}
	}
	return nil
}

// move selects another question.
func (m *model) move(by int) tea.Cmd {
	if len(m.all) == 0 {
		return nil
	}
	m.note = ""
	return m.choose(m.all[max(0, min(m.index()+by, len(m.all)-1))].ID)
}

// decide answers the question on the screen, if it is certain that it is meant.
func (m *model) decide(key string) tea.Cmd {
	at := m.index()
	if at < 0 {
		return nil
	}
	if m.now().Sub(m.since) < justNow {
		m.say(true, "this one only just came up; press "+key+" again")
		return nil
	}
	if key == "d" {
		return m.answer(client.ApprovalAnswer{})
	}
	if m.detail == nil {
		m.say(true, "what it would do is not shown yet; it can be denied, not approved")
		return nil
	}
	scope := map[string]durward.Scope{"a": durward.ScopeCall, "s": durward.ScopeSession, "g": durward.ScopeGrant}[key]
	if why := forbids(&m.all[at], scope); why != "" {
		m.say(true, why)
		return nil
	}
	if hidden := m.unseen(); hidden != "" && m.sure != key {
		m.sure = key
		m.say(true, hidden+"; "+key+" again approves all the same")
		return nil
	}
	return m.answer(client.ApprovalAnswer{Approve: true, Scope: scope})
}

// forbids says why an answer cannot reach that far; empty if it can.
func forbids(a *client.Approval, scope durward.Scope) string {
	switch {
	case scope == durward.ScopeCall:
		return ""
	case a.Remember == durward.ScopeCall, a.Remember == durward.ScopeSession && scope == durward.ScopeGrant:
		return "its rules permit an answer for this " + string(a.Remember) + " at most"
	case scope == durward.ScopeSession && a.Session == "":
		return "its client has no session; answer once, or with a grant"
	default:
		return ""
	}
}

// helpText is what ? shows.
const helpText = `Answers, for the question that is shown:

  a        approve this call
  s        approve it, and the same call again in this session
  g        approve it, and the same call again for 30 days
  d        deny it

"The same call" is the same tool as it is now defined, with the same arguments,
for the same principal. Rules say how far an answer may reach.
durward approve ID --for 12h --args-pattern /path='src/*' says more than a key can,
durward grants lists what holds, and revokes it.

Looking around:

  ↑ ↓ k j          another question
  space b          further down, and up, in what it would do
  home end         to its beginning, its end
  enter            without the list, and with it
  q                leave; calls go on waiting only while somebody could answer

Characters that nobody would see stand in texts as <U+200B>, line ends as ⏎.`

func helpLines() []line {
	var out []line
	for _, text := range strings.Split(helpText, "\n") {
		out = append(out, line{text, plain})
	}
	return out
}
