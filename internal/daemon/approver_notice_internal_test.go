package daemon

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"durward"
	"durward/internal/approval"
)

// posted is what a webhook got.
type posted struct {
	header http.Header
	body   string
}

func newTestNotices(t *testing.T, s noticesSettings, show func(string, string) error) *notices {
	t.Helper()
	n, err := newNotices(noticesOptions{
		Settings: func() noticesSettings { return s }, Version: "test", Log: slog.New(slog.DiscardHandler), Show: show,
		Desktop: func() bool { return true },
		Redact:  func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "***")) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waits(id string) approval.Asked {
	return approval.Asked{
		ID: id, Call: "c", At: time.Now(), Deadline: time.Now().Add(time.Minute), Caller: durward.Caller{Principal: "alice"}, Method: "tools/call",
		Server: "files", Tool: "write", FullName: "files__<b>\x1bwrite", Risk: durward.RiskHigh, Rules: []string{"user/ask"}, Text: "because of hunter2",
	}
}

func TestNoticesReachPeople(t *testing.T) {
	got := make(chan posted, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case got <- posted{r.Header, string(body)}:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer web.Close()
	shown := make(chan string, 1)
	n := newTestNotices(t, noticesSettings{Webhook: web.URL}, func(title, text string) error {
		shown <- title + "|" + text
		return errors.New("no desktop after all")
	})
	if !n.reach() {
		t.Error("nobody is reached")
	}
	n.tell(waits("a3f8c2d1e0"))
	if text := <-shown; !strings.Contains(text, "files__·b··write for alice, risk high. durward approve a3f8c2d1e0") {
		t.Errorf("%q", text)
	}
	p := <-got
	if err := n.close(); err != nil {
		t.Error(err)
	}
	var sent struct {
		Text     string
		Type     string
		Approval map[string]any
	}
	if err := json.Unmarshal([]byte(p.body), &sent); err != nil || sent.Type != "pending" || sent.Approval["id"] != "a3f8c2d1e0" || sent.Approval["reason"] != "because of ***" || !strings.Contains(sent.Text, "durward approve") {
		t.Errorf("%v %s", err, p.body)
	}
	if _, has := sent.Approval["arguments"]; has || p.header.Get("Content-Type") != "application/json" || strings.Contains(p.body, "hunter2") {
		t.Errorf("%s %v", p.body, p.header)
	}
}

// A receiver that does not answer holds nobody up, and its end is not waited for.
func TestNoticesBlockNobody(t *testing.T) {
	begun, release := make(chan struct{}, 1), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case begun <- struct{}{}:
		default: // another one, if the first was given up
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer web.Close()
	defer close(release)
	n := newTestNotices(t, noticesSettings{Webhook: web.URL, Desktop: "off"}, nil)
	n.tell(waits("a3f8c2d1e0"))
	<-begun
	for range 10 * noticesWaiting {
		n.tell(waits("k7m29xqd5w"))
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

func TestTheWebhookIsTheOneThatTheOperatorNamed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	web := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	n := newTestNotices(t, noticesSettings{}, nil)
	defer n.close()
	q := waits("a3f8c2d1e0")
	if err := n.post(t.Context(), web.URL, &q); err == nil || !strings.Contains(err.Error(), "307") {
		t.Error(err)
	}
	if err := n.post(t.Context(), "::", &q); err == nil {
		t.Error("no URL")
	}
}

func TestWhoIsReached(t *testing.T) {
	for _, tt := range []struct {
		s       noticesSettings
		desktop bool
		want    bool
	}{
		{noticesSettings{}, false, false}, {noticesSettings{}, true, true}, {noticesSettings{Desktop: "auto"}, true, true}, {noticesSettings{Desktop: "off"}, true, false},
		{noticesSettings{Desktop: "on"}, false, true}, {noticesSettings{Attended: true, Desktop: "off"}, false, true}, {noticesSettings{Webhook: "https://x", Desktop: "off"}, false, true},
	} {
		n := &notices{opt: noticesOptions{Settings: func() noticesSettings { return tt.s }, Desktop: func() bool { return tt.desktop }}}
		if n.reach() != tt.want {
			t.Errorf("%+v", tt)
		}
	}
}
