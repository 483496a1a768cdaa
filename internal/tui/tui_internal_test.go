package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/goleak"

	"durward"
	"durward/client"
	"durward/internal/testkit/leftover"
)

var update = flag.Bool("update", false, "write the golden views")

func TestMain(m *testing.M) { goleak.VerifyTestMain(leftover.Awaited(m)) }

// fake is a service with questions.
type fake struct {
	details map[string]*client.ApprovalDetail
	err     error
	events  []client.ApprovalEvent // told at once, then it waits

	mu      sync.Mutex // guards all below
	answers []string
	told    func(client.ApprovalEvent) bool
}

func (f *fake) Approval(_ context.Context, id string) (*client.ApprovalDetail, error) {
	if d := f.details[id]; d != nil {
		return d, nil
	}
	return nil, durward.Errorf(durward.Conflict, "approval "+id, "it is over")
}

func (f *fake) Answer(_ context.Context, id string, a client.ApprovalAnswer) (*client.ApprovalRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status := "denied"
	if a.Approve {
		status = "approved"
	}
	f.answers = append(f.answers, strings.TrimSpace(id+" "+status+" "+string(a.Scope)))
	if f.err != nil {
		return nil, f.err
	}
	rec := &client.ApprovalRecord{ID: id, Status: status, By: "me", Scope: string(a.Scope)}
	if f.told != nil {
		f.told(client.ApprovalEvent{Type: client.ApprovalAnswered, Answer: rec})
	}
	return rec, nil
}

func (f *fake) WatchApprovals(ctx context.Context, tell func(client.ApprovalEvent) bool) error {
	f.mu.Lock()
	f.told = tell
	f.mu.Unlock()
	for _, e := range f.events {
		tell(e)
	}
	<-ctx.Done()
	return nil
}

func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// question is a question with an id.
func question(id string, change ...func(*client.ApprovalDetail)) *client.ApprovalDetail {
	d := &client.ApprovalDetail{
		Approval: client.Approval{
			ID: id, Asked: noon().Add(-12 * time.Second), Deadline: noon().Add(5*time.Minute - 12*time.Second), Principal: "alice", Entrance: "http", Session: "s1",
			Client: client.ClientSays{Name: "agent", Version: "1.2"}, Method: "tools/call", Server: "github", Tool: "push_files", FullName: "github__push_files",
			Risk: "critical", Rules: []string{"user/no-force-push"}, Reason: "force pushes need a person", Remember: durward.ScopeGrant,
		},
		Arguments: json.RawMessage(`{"branch":"main","force":false,"files":["a","b"]}`), Digest: "ab",
		Changes: []client.ArgumentChange{{Path: "/force", Rule: "user/soft", Old: json.RawMessage("true"), New: json.RawMessage("false")}},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

// screen is a model that is driven without a terminal.
type screen struct {
	*model
	fake *fake
	at   time.Time
	bell int
}

func newScreen(t *testing.T, questions ...*client.ApprovalDetail) *screen {
	t.Helper()
	s := &screen{fake: &fake{details: map[string]*client.ApprovalDetail{}}, at: noon()}
	s.model = newModel(t.Context(), Options{Service: s.fake, Now: func() time.Time { return s.at }, Width: 100, Height: 30})
	s.tell(beginMsg{})
	for _, q := range questions {
		s.fake.details[q.ID] = q
		s.tell(eventMsg{client.ApprovalEvent{Type: client.ApprovalPending, Approval: &q.Approval}})
	}
	return s
}

// tell has the model take in a message, and what comes of it.
func (s *screen) tell(msg tea.Msg) {
	_, cmd := s.Update(msg)
	if cmd == nil {
		return
	}
	s.done(cmd())
}

func (s *screen) done(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			if cmd != nil {
				s.done(cmd())
			}
		}
	case tea.RawMsg:
		s.bell++
	case tickMsg, nil:
	default:
		s.tell(msg)
	}
}

// press presses keys, a second after each other.
func (s *screen) press(keys ...string) {
	for _, key := range keys {
		s.at = s.at.Add(time.Second)
		k := tea.Key{Text: key, Code: []rune(key)[0]}
		switch key {
		case "down":
			k = tea.Key{Code: tea.KeyDown}
		case "enter":
			k = tea.Key{Code: tea.KeyEnter}
		case "esc":
			k = tea.Key{Code: tea.KeyEscape}
		case "space":
			k = tea.Key{Code: ' ', Text: " "}
		case "end":
			k = tea.Key{Code: tea.KeyEnd}
		}
		s.tell(tea.KeyPressMsg(k))
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// text is what the screen shows, without our own colours. Nothing else may be in it
// that a terminal would obey, or that nobody would see.
func (s *screen) text(t *testing.T) string {
	t.Helper()
	text := sgr.ReplaceAllString(s.View().Content, "")
	for _, r := range text {
		if r != '\n' && (!unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) && r != ' ') {
			t.Errorf("%U is on the screen", r)
		}
	}
	if rows := strings.Count(text, "\n") + 1; rows != s.height {
		t.Errorf("%d rows, the screen has %d", rows, s.height)
	}
	return text
}

func (s *screen) golden(t *testing.T, name string) {
	t.Helper()
	var out strings.Builder
	for _, row := range strings.Split(s.text(t), "\n") {
		out.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != out.String() {
		t.Errorf("%s (%v): run go test ./internal/tui -update and look at the difference; it is now:\n%s", file, err, out.String())
	}
}

func TestViews(t *testing.T) {
	newScreen(t).golden(t, "empty")
	second := question("k7m29xqd5w", func(d *client.ApprovalDetail) {
		d.FullName, d.Server, d.Tool, d.Risk, d.Changes, d.Remember, d.Session = "files__read", "files", "read", "low", nil, durward.ScopeCall, ""
		d.Arguments = nil
	})
	s := newScreen(t, question("a3f8c2d1e0"), second)
	s.golden(t, "list")
	s.press("down")
	s.golden(t, "second")
	s.press("?")
	s.golden(t, "help")
	s.press("x", "enter")
	s.golden(t, "full")
	if s.bell != 2 {
		t.Errorf("%d bells", s.bell)
	}
	s.tell(endMsg{errors.New("no service answers")})
	s.golden(t, "ended")
	s.tell(tea.WindowSizeMsg{Width: 40, Height: 12})
	s.tell(beginMsg{})
	s.tell(eventMsg{client.ApprovalEvent{Type: client.ApprovalPending, Approval: &second.Approval}})
	s.golden(t, "small")
}

// What agents and servers say can neither steer the terminal nor hide in it.
func TestForeignTextIsMadeVisible(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\u202eevil\u200b\u00a0\U000e0041\r\n\x9b31m"
	s := newScreen(t, question("a3f8c2d1e0", func(d *client.ApprovalDetail) {
		d.FullName, d.Principal, d.Reason, d.Client.Name, d.Rules[0], d.Tool, d.Process = evil, evil, evil, evil, evil, evil, evil
		d.Arguments = json.RawMessage(`{"text":"a` + "\u202e\u200b\U000e0041\x7f" + `b","` + "\u2066" + `":1}`)
		d.Changes[0].Path, d.Changes[0].New = evil, json.RawMessage(`"`+evil+`"`)
	}))
	s.golden(t, "foreign")
	s.tell(answeredMsg{id: evil, err: errors.New(evil)})
	if text := s.text(t); !strings.Contains(text, "<U+202E>evil<U+200B>") {
		t.Error(text)
	}
	s.tell(detailMsg{id: "a3f8c2d1e0", err: errors.New(evil)})
	s.text(t)
	s.tell(eventMsg{client.ApprovalEvent{Type: client.ApprovalAnswered, Answer: &client.ApprovalRecord{ID: "a3f8c2d1e0", Status: evil, By: evil}}})
	s.text(t)
	s.tell(endMsg{errors.New(evil)})
	s.text(t)
	for _, text := range Describe(question("a3f8c2d1e0", func(d *client.ApprovalDetail) { d.Reason, d.Arguments = evil, json.RawMessage(evil) })) {
		if strings.ContainsAny(text, "\x1b\x07\r\n\u202e\u200b") {
			t.Errorf("%q", text)
		}
	}
}

// What escapes hide from a reader is spelled out, and what reads as something else is told.
func TestArgumentsAreShownAsTheyRead(t *testing.T) {
	d := question("a3f8c2d1e0", func(d *client.ApprovalDetail) {
		d.Arguments = json.RawMessage(`{"cmd":"\u0072\u006d \u002drf\u200b \/","to":"p\u0430ypal","nul":"\u0000\n","half":"\ud800","quote":"\"\\","n":1e2}`)
		d.Changes[0].New = json.RawMessage(`"\u0061"`)
	})
	text := strings.Join(Describe(d), "\n")
	for _, want := range []string{
		`"cmd": "rm -rf<U+200B> /"`, `"to": "pаypal"`, `"pаypal" is not "paypal": U+0430`, "hidden characters in them: 1", `"nul": "\u0000\n"`,
		`"half": "\ud800"`, `"quote": "\"\\"`, `"n": 1e2`, `+ "a"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// FuzzSpelled: whatever JSON is, it means the same when it is spelled out.
func FuzzSpelled(f *testing.F) {
	for _, seed := range []string{`{"a":"\u0062"}`, `"\ud83d\ude00"`, `["\\","\""]`, `"\u`, `{"a\u0022":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := spelled(raw)
		if !json.Valid(raw) {
			return
		}
		var a, b any
		if err := json.Unmarshal(raw, &a); err != nil {
			return
		}
		if err := json.Unmarshal([]byte(out), &b); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%q became %q: %v", raw, out, err)
		}
	})
}

func TestOneKeyAnswers(t *testing.T) {
	for key, want := range map[string]string{"a": "approved call", "s": "approved session", "g": "approved grant", "d": "denied"} {
		s := newScreen(t, question("a3f8c2d1e0"))
		s.press(key)
		if got := fmt.Sprint(s.fake.answers); got != "[a3f8c2d1e0 "+want+"]" {
			t.Errorf("%s: %s", key, got)
		}
		s.fake.err = durward.Errorf(durward.Conflict, "", "it is over: denied by bob")
		s.press(key)
		if text := s.text(t); !strings.Contains(text, "denied by bob") {
			t.Error(text)
		}
	}
}

func TestNoKeyApprovesWhatWasNotSeen(t *testing.T) {
	long := `{"padding":[` + strings.Repeat("1,", 100) + `1],"command":"rm -rf /"}`
	s := newScreen(t, question("a3f8c2d1e0", func(d *client.ApprovalDetail) { d.Arguments = json.RawMessage(long) }))
	s.press("a")
	if text := s.text(t); len(s.fake.answers) != 0 || !strings.Contains(text, "lines of it were not shown") {
		t.Error(s.fake.answers, text)
	}
	s.press("s") // another key than before
	if len(s.fake.answers) != 0 {
		t.Error(s.fake.answers)
	}
	s.press("s")
	if len(s.fake.answers) != 1 {
		t.Error(s.fake.answers)
	}
	// Who has scrolled through it needs one key.
	s.tell(tea.WindowSizeMsg{Width: 90, Height: 30})
	s.press("end")
	s.press("a")
	if len(s.fake.answers) != 2 || !strings.Contains(s.text(t), "rm -rf /") {
		t.Error(s.fake.answers)
	}
	// What cannot be shown can be denied.
	s = newScreen(t, question("a3f8c2d1e0"))
	s.tell(detailMsg{id: "a3f8c2d1e0", err: errors.New("no")})
	s.press("a")
	if len(s.fake.answers) != 0 {
		t.Error(s.fake.answers)
	}
	s.press("d")
	if fmt.Sprint(s.fake.answers) != "[a3f8c2d1e0 denied]" {
		t.Error(s.fake.answers)
	}
}

// A question that came up under the finger is not answered by a key that was meant
// for the one before it.
func TestNoKeyAnswersWhatOnlyJustCameUp(t *testing.T) {
	s := newScreen(t, question("a3f8c2d1e0"), question("k7m29xqd5w"))
	s.at = s.at.Add(time.Second)
	s.tell(eventMsg{client.ApprovalEvent{Type: client.ApprovalAnswered, Answer: &client.ApprovalRecord{ID: "a3f8c2d1e0", Status: "denied", By: "bob"}}})
	if s.selected != "k7m29xqd5w" || !strings.Contains(s.text(t), "denied by bob") {
		t.Error(s.selected)
	}
	s.at = s.at.Add(100 * time.Millisecond)
	for _, key := range []rune{'a', 'd'} {
		s.tell(tea.KeyPressMsg{Text: string(key), Code: key})
	}
	if len(s.fake.answers) != 0 {
		t.Error(s.fake.answers)
	}
	s.at = s.at.Add(time.Second)
	s.tell(tea.KeyPressMsg{Text: "a", Code: 'a', IsRepeat: true}) // held down
	s.tell(tea.PasteMsg{Content: "a"})
	if len(s.fake.answers) != 0 {
		t.Error(s.fake.answers)
	}
	s.press("a")
	if fmt.Sprint(s.fake.answers) != "[k7m29xqd5w approved call]" {
		t.Error(s.fake.answers)
	}
	s.press("enter", "j", "k", "space", "b", "esc")
	s.tell(eventMsg{client.ApprovalEvent{Type: client.ApprovalAnswered, Answer: &client.ApprovalRecord{ID: "k7m29xqd5w", Status: "expired", By: "durward"}}})
	s.press("a", "d", "j", "enter")
	if len(s.fake.answers) != 1 || s.selected != "" {
		t.Error(s.fake.answers, s.selected)
	}
}

func TestKeysReachNoFurtherThanTheRules(t *testing.T) {
	for _, tt := range []struct {
		remember durward.Scope
		session  durward.SessionID
		want     string
	}{
		{durward.ScopeCall, "s1", ""}, {durward.ScopeSession, "s1", "s"}, {durward.ScopeGrant, "s1", "sg"}, {durward.ScopeGrant, "", "g"},
	} {
		got := ""
		for _, key := range []string{"s", "g"} {
			s := newScreen(t, question("a3f8c2d1e0", func(d *client.ApprovalDetail) { d.Remember, d.Session = tt.remember, tt.session }))
			if s.press(key); len(s.fake.answers) > 0 {
				got += key
			} else if !s.warned {
				t.Error("nothing says why")
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// The whole program: it shows what comes, answers, and leaves.
func TestTheProgramRuns(t *testing.T) {
	q := question("a3f8c2d1e0")
	f := &fake{details: map[string]*client.ApprovalDetail{q.ID: q}, events: []client.ApprovalEvent{{Type: client.ApprovalPending, Approval: &q.Approval}}}
	in, keys := io.Pipe()
	out := &output{want: map[string]func(){}, text: &bytes.Buffer{}}
	var clock struct {
		sync.Mutex
		at time.Time
	}
	clock.at = noon()
	type_ := func(key string) func() {
		return func() {
			clock.Lock()
			clock.at = clock.at.Add(time.Minute)
			clock.Unlock()
			go func() { _, _ = keys.Write([]byte(key)) }()
		}
	}
	out.want[`"main"`] = type_("a")
	left := 2
	both := func() { // the bell may come late: nothing waits for it
		if left--; left == 0 {
			type_("q")()
		}
	}
	out.want["approved"], out.want["\a"] = both, both
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err := Run(ctx, Options{Service: f, In: in, Out: out, Width: 100, Height: 30, Now: func() time.Time {
		clock.Lock()
		defer clock.Unlock()
		return clock.at
	}})
	_ = keys.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	out.mu.Lock()
	defer out.mu.Unlock()
	if err != nil || ctx.Err() != nil || fmt.Sprint(f.answers) != "[a3f8c2d1e0 approved call]" {
		t.Errorf("%v %v\n%q", err, f.answers, out.text)
	}
	if len(out.want) > 0 {
		t.Errorf("not shown: %d in %q", len(out.want), out.text)
	}
}

// windowTitle is what sets the title of the window, which ends with a bell that nobody hears.
var windowTitle = regexp.MustCompile("\x1b\\][^\a]*\a")

// output does something once when a text was written.
type output struct {
	mu   sync.Mutex // guards all below
	text *bytes.Buffer
	want map[string]func()
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	shown := windowTitle.ReplaceAllString(o.text.String(), "")
	for text, do := range o.want {
		if strings.Contains(shown, text) {
			delete(o.want, text)
			do()
		}
	}
	return len(p), nil
}
