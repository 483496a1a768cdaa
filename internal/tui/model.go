package tui

import (
	"context"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"durward/client"
	"durward/internal/reveal"
)

// justNow is how long a question must have been on the screen before a key answers
// it: whoever typed meant the one before.
const justNow = 700 * time.Millisecond

// answerWithin bounds the wait for the service to take an answer.
const answerWithin = 45 * time.Second

// model is the state of the screen. It is changed by Update alone.
type model struct {
	ctx     context.Context //nolint:containedctx // that of the program; commands have no other
	service Service
	now     func() time.Time

	width, height int
	all           []client.Approval // that wait, oldest first
	ended         error             // the service does not tell; nil: it does
	selected      string            // id; empty if none waits
	since         time.Time         // when it came up
	detail        *client.ApprovalDetail
	failed        error  // the detail cannot be shown
	pane          []line // of the detail, as wide as the screen
	scroll        int    // the first line of the pane that is shown
	seen          int    // how many lines were
	full          bool   // no list
	help          bool
	note          string // of what was done last
	warned        bool   // the note is a warning
	sure          string // what is done when its key is pressed again
}

func newModel(ctx context.Context, opt Options) *model {
	return &model{ctx: ctx, service: opt.Service, now: opt.Now, width: max(opt.Width, 80), height: max(opt.Height, 24)}
}

// The messages of commands.
type (
	detailMsg struct {
		id     string
		detail *client.ApprovalDetail
		err    error
	}
	answeredMsg struct {
		id  string
		rec *client.ApprovalRecord
		err error
	}
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.lay()
	case tickMsg: // ages are shown anew
	case beginMsg:
		m.all, m.ended = nil, nil
		cmd = m.choose("")
	case endMsg:
		m.ended, m.all = msg.err, nil
		cmd = m.choose("")
	case eventMsg:
		cmd = m.happened(&msg.ApprovalEvent)
	case detailMsg:
		if msg.id == m.selected {
			m.detail, m.failed = msg.detail, msg.err
			m.lay()
		}
	case answeredMsg:
		m.answered(msg)
	case tea.KeyPressMsg:
		cmd = m.pressed(msg)
	}
	m.look()
	return m, cmd
}

// happened takes in what the service tells.
func (m *model) happened(e *client.ApprovalEvent) tea.Cmd {
	switch {
	case e.Type == client.ApprovalPending && e.Approval != nil:
		m.all = append(m.all, *e.Approval)
		var cmd tea.Cmd
		if m.index() < 0 {
			cmd = m.choose(m.all[0].ID)
		}
		return tea.Batch(tea.Raw("\a"), cmd)
	case e.Type == client.ApprovalAnswered && e.Answer != nil:
		at := slices.IndexFunc(m.all, func(a client.Approval) bool { return a.ID == e.Answer.ID })
		if at < 0 {
			return nil
		}
		m.say(false, e.Answer.ID+" ("+called(&m.all[at])+"): "+e.Answer.Status+" by "+e.Answer.By)
		m.all = slices.Delete(m.all, at, at+1)
		switch {
		case e.Answer.ID != m.selected:
			return nil
		case len(m.all) == 0:
			return m.choose("")
		default:
			return m.choose(m.all[min(at, len(m.all)-1)].ID)
		}
	}
	return nil
}

// index is where the selected question is among all; -1 if it is not.
func (m *model) index() int {
	return slices.IndexFunc(m.all, func(a client.Approval) bool { return a.ID == m.selected })
}

// choose shows another question; none with an empty id.
func (m *model) choose(id string) tea.Cmd {
	if id == m.selected {
		return nil
	}
	m.selected, m.since, m.detail, m.failed, m.sure = id, m.now(), nil, nil, ""
	m.scroll, m.seen, m.pane = 0, 0, nil
	if id == "" {
		m.full = false
		return nil
	}
	ctx, service := m.ctx, m.service
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		d, err := service.Approval(ctx, id)
		return detailMsg{id, d, err}
	}
}

// answer sends an answer to the question on the screen.
func (m *model) answer(a client.ApprovalAnswer) tea.Cmd {
	id, ctx, service := m.selected, m.ctx, m.service
	m.sure = ""
	m.say(false, "answering "+id+" …")
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		rec, err := service.Answer(ctx, id, a)
		return answeredMsg{id, rec, err}
	}
}

// answered says what came of an answer. The list is changed by the event that tells
// of it.
func (m *model) answered(msg answeredMsg) {
	if msg.err != nil {
		m.say(true, msg.id+": "+msg.err.Error())
		return
	}
	text := msg.id + ": " + msg.rec.Status
	if msg.rec.Scope != "" {
		text += ", for this " + msg.rec.Scope
	}
	m.say(false, text)
}

// say shows a line of text, which may be foreign.
func (m *model) say(warn bool, text string) { m.note, m.warned = reveal.Line(text), warn }

// look notes how much of the pane was on the screen.
func (m *model) look() {
	m.scroll = max(0, min(m.scroll, len(m.pane)-m.paneHeight()))
	if m.detail != nil && !m.help {
		m.seen = max(m.seen, min(len(m.pane), m.scroll+m.paneHeight()))
	}
}

// lay breaks the detail into lines as wide as the screen. What was seen of it begins
// anew: lines are other ones now.
func (m *model) lay() {
	m.pane, m.seen = nil, 0
	switch {
	case m.failed != nil:
		m.pane = wrap([]line{{reveal.Line(m.failed.Error()), warning}}, m.width)
	case m.detail != nil:
		m.pane = wrap(detailLines(m.detail), m.width)
	}
}

// unseen says how much of the question was not shown; empty if all was.
func (m *model) unseen() string {
	if n := len(m.pane) - m.seen; n > 0 {
		return strconv.Itoa(n) + " lines of it were not shown (space scrolls)"
	}
	return ""
}
