package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gen2brain/beeep"

	"durward"
	"durward/client"
	"durward/internal/approval"
	"durward/internal/egress"
)

// noticesSettings say how people learn that a call waits.
type noticesSettings struct {
	Attended bool   // somebody looks at any time
	Desktop  string // auto, on, off
	Webhook  string // URL; empty: none
}

// noticesOptions configure notices. All are required but those that say otherwise.
type noticesOptions struct {
	Settings func() noticesSettings // as they are now
	Redact   func([]byte) []byte
	Version  string
	Log      *slog.Logger
	Show     func(title, text string) error // on the desktop; default: there
	Desktop  func() bool                    // whether there is one; default: as the environment says
}

// Bounds of notices. They are a convenience: what is too much is left out.
const (
	noticesWaiting = 32               // that wait to be sent
	noticeTimeout  = 10 * time.Second // for the webhook to answer
)

// notices tell people outside that a call waits for them. Telling never blocks.
type notices struct {
	opt   noticesOptions
	http  *http.Client
	queue chan approval.Asked
	stop  context.CancelFunc
	over  sync.WaitGroup
}

func newNotices(opt noticesOptions) (*notices, error) {
	if opt.Show == nil {
		opt.Show = showOnDesktop
	}
	if opt.Desktop == nil {
		opt.Desktop = hasDesktop
	}
	transport, err := egress.Dialer{}.RoundTripper(durward.Server{Name: "policy.approvals.webhook"})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	n := &notices{
		opt: opt, queue: make(chan approval.Asked, noticesWaiting), stop: stop,
		http: &http.Client{
			Transport: transport, Timeout: noticeTimeout,
			// Where a question is told is the operator's choice, not the receiver's.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	n.over.Go(func() { n.run(ctx) })
	return n, nil
}

// close ends what is being sent, and drops what waits.
func (n *notices) close() error {
	n.stop()
	n.over.Wait()
	n.http.CloseIdleConnections()
	return nil
}

// reach reports whether somebody may answer who watches nothing.
func (n *notices) reach() bool {
	s := n.opt.Settings()
	return s.Attended || s.Webhook != "" || n.onDesktop(s)
}

func (n *notices) onDesktop(s noticesSettings) bool {
	return s.Desktop == "on" || s.Desktop != "off" && n.opt.Desktop()
}

// tell has people told of a question, some time.
func (n *notices) tell(q approval.Asked) {
	select {
	case n.queue <- q:
	default:
		n.opt.Log.Warn("nobody was told that a call waits: too many notices wait to be sent", "approval", q.ID)
	}
}

func (n *notices) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-n.queue:
			n.send(ctx, &q)
		}
	}
}

func (n *notices) send(ctx context.Context, q *approval.Asked) {
	s := n.opt.Settings()
	if n.onDesktop(s) {
		if err := n.opt.Show("Durward: a call waits for your answer", noticeText(q)); err != nil {
			n.opt.Log.Warn("a notice could not be shown on the desktop", "approval", q.ID, "error", err)
		}
	}
	if s.Webhook != "" {
		if err := n.post(ctx, s.Webhook, q); err != nil && ctx.Err() == nil {
			n.opt.Log.Warn("the webhook of approvals could not be told", "approval", q.ID, "error", string(n.opt.Redact([]byte(err.Error()))))
		}
	}
}

// notice is what a webhook gets: the question as the list has it, without
// arguments, and a line of text for chat programs.
type notice struct {
	Text string `json:"text"`
	client.ApprovalEvent
}

func (n *notices) post(ctx context.Context, url string, q *approval.Asked) error {
	body, err := json.Marshal(notice{
		Text:          "Durward: a call waits for your answer: " + noticeText(q),
		ApprovalEvent: client.ApprovalEvent{Type: client.ApprovalPending, At: q.At, Approval: asked(q)},
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(n.opt.Redact(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "durward/"+n.opt.Version)
	resp, err := n.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	if resp.StatusCode >= http.StatusMultipleChoices {
		return durward.Errorf(durward.Unavailable, "", "it answered %s", resp.Status)
	}
	return nil
}

// noticeText is one line about a question. Names in it are foreign: only letters
// that mean nothing to a desktop or a chat program stay.
func noticeText(q *approval.Asked) string {
	name := q.FullName
	if name == "" {
		name = q.Method
	}
	text := plain(name) + " for " + plain(q.Caller.Principal)
	if risk := q.Risk.String(); risk != "" {
		text += ", risk " + risk
	}
	return text + ". durward approve " + q.ID + " or durward deny " + q.ID
}

// plain is a foreign name without what steers its reader, at most 80 characters.
func plain(name string) string {
	out := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./: ", r) {
			return r
		}
		return '·'
	}, name)
	if runes := []rune(out); len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return out
}

func showOnDesktop(title, text string) error { return beeep.Notify(title, text, "") }

// hasDesktop reports whether there is a desktop that shows notices.
func hasDesktop() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	default:
		return os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" && (os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "")
	}
}
