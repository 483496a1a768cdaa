package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"durward"
	"durward/client"
	"durward/internal/daemon"
	"durward/internal/paths"
	"durward/internal/testkit/rawclient"
	"durward/internal/wire"
	"durward/ledger"
)

// asking is a service whose calls of local__echo wait for an answer.
const asking = `version: 1
listen: 127.0.0.1:0
limits: {ledger_wait: 1m}
api: {listen: 127.0.0.1:0}
principals: {bob: {token: bobs-own-token-0123456789}}
policy:
  approvals: {attended: true, desktop: "off"}
  rules:
  - {id: echoes, on: [tools/call], servers: [local], tools: [echo], action: ask, ask: {remember: grant}, reason: echoes need a person}
`

// desk is a service that asks, and what there is around it.
type desk struct {
	*daemon.Service
	approver *client.Client // with the approver credential
	owner    *client.Client // of the unix socket, without
	api      string         // address of the service API by TCP
	done     chan *rawclient.Answer
}

func newDesk(t *testing.T, text string) *desk {
	t.Helper()
	home(t)
	d := &desk{Service: started(t, configured(t, text)), owner: client.New(paths.Socket()), done: make(chan *rawclient.Answer, 10)}
	var err error
	if d.approver, err = d.owner.WithToken(tokenIn(t, paths.ApproverToken())); err != nil {
		t.Fatal(err)
	}
	st, err := d.owner.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.api = st.APIAddress
	return d
}

func (d *desk) mcp(token string) *rawclient.Client {
	return &rawclient.Client{URL: "http://" + d.Address() + "/mcp", Token: token}
}

// legacy is a client of a legacy session.
func (d *desk) legacy(t *testing.T) *rawclient.Client {
	t.Helper()
	c := d.mcp(token(t))
	if _, err := c.Initialize(t.Context(), `{"elicitation":{}}`); err != nil {
		t.Fatal(err)
	}
	return c
}

// call calls in the background; the answer comes by done.
func (d *desk) call(ctx context.Context, t *testing.T, c *rawclient.Client, message string) {
	t.Helper()
	go func() {
		a, err := c.CallTool(ctx, "local__echo", `{"message":`+wire.Quote(message)+`}`)
		if err != nil {
			a = &rawclient.Answer{Status: -1, Body: []byte(err.Error())}
		}
		d.done <- a
	}()
}

// waiting returns the first call that waits; it waits for one itself.
func (d *desk) waiting(t *testing.T) client.Approval {
	t.Helper()
	var got client.Approval
	err := d.approver.WatchApprovals(t.Context(), func(e client.ApprovalEvent) bool {
		if e.Approval != nil {
			got = *e.Approval
		}
		return e.Approval == nil
	})
	if err != nil || got.ID == "" {
		t.Fatalf("%+v %v", got, err)
	}
	return got
}

func (d *desk) answer(t *testing.T, id string, a client.ApprovalAnswer) {
	t.Helper()
	if _, err := d.approver.Answer(t.Context(), id, a); err != nil {
		t.Fatal(err)
	}
}

// approvalsIn are the steps of questions that are on record.
func approvalsIn(all []ledger.Record) (steps []string) {
	for _, r := range all {
		if a, ok := r.(*ledger.Approval); ok {
			steps = append(steps, a.ID+" "+a.Status)
		}
	}
	return steps
}

func TestB23_ARealCallWaitsAndRepeatsOnlyAsItWasApproved(t *testing.T) {
	d := newDesk(t, asking)
	ctx := t.Context()
	c := d.legacy(t)
	d.call(ctx, t, c, "one")
	q := d.waiting(t)
	if q.FullName != "local__echo" || q.Principal != "local" || fmt.Sprint(q.Rules) != "[user/echoes]" || q.Reason != "echoes need a person" || q.Remember != durward.ScopeGrant {
		t.Errorf("%+v", q)
	}
	if all, err := d.owner.Approvals(ctx); err != nil || len(all) != 1 || all[0].ID != q.ID {
		t.Errorf("%+v %v", all, err)
	}
	if detail, err := d.approver.Approval(ctx, q.ID[:4]); err != nil || string(detail.Arguments) != `{"message":"one"}` || len(detail.Matches) == 0 {
		t.Errorf("%+v %v", detail, err)
	}
	d.answer(t, q.ID, client.ApprovalAnswer{Approve: true, For: "1h", Reason: "fine"})
	if a := <-d.done; a.Text() != "one" {
		t.Fatalf("%+v %s", a, a.Body)
	}
	// The same call passes, from another session and spelled otherwise; another does not.
	if a, err := d.legacy(t).CallTool(ctx, "local__echo", `{ "mess\u0061ge" : "\u006fne" }`); err != nil || a.Text() != "one" {
		t.Fatalf("%+v %v", a, err)
	}
	d.call(ctx, t, c, "two")
	second := d.waiting(t)
	d.answer(t, second.ID, client.ApprovalAnswer{})
	if a := <-d.done; a.Code() != wire.CodeDeniedByPerson || strings.Contains(a.Message(), "fine") {
		t.Errorf("%+v %s", a, a.Message())
	}
	// Another principal is asked about the same call.
	bob := d.mcp("bobs-own-token-0123456789")
	bob.Modern = true
	d.call(ctx, t, bob, "one")
	if third := d.waiting(t); third.Principal != "bob" {
		t.Errorf("%+v", third)
	} else {
		d.answer(t, third.ID, client.ApprovalAnswer{})
	}
	if a := <-d.done; a.Code() != wire.CodeDeniedByPerson {
		t.Errorf("%+v", a)
	}
	grants, err := d.owner.Grants(ctx)
	if err != nil || len(grants) != 1 || grants[0].ID != q.ID || grants[0].Preview != `{"message":"one"}` || !strings.Contains(grants[0].By, "approver credential") {
		t.Fatalf("%+v %v", grants, err)
	}
	if _, err := d.approver.RevokeGrant(ctx, grants[0].ID); err != nil {
		t.Fatal(err)
	}
	d.call(ctx, t, c, "one")
	d.answer(t, d.waiting(t).ID, client.ApprovalAnswer{})
	if a := <-d.done; a.Code() != wire.CodeDeniedByPerson {
		t.Errorf("after it was revoked: %+v", a)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	all := records(t)
	if steps := approvalsIn(all); len(steps) != 8 || steps[0] != q.ID+" pending" || steps[1] != q.ID+" approved" || steps[3] != second.ID+" denied" {
		t.Errorf("%q", steps)
	}
	if changes := changesIn(all); changes[len(changes)-1].What != "grant revoke" {
		t.Errorf("%+v", changes[len(changes)-1])
	}
}

// Nobody answers who asks: not the session, not a token of a client or of the
// service API, not the owner of the socket without the credential.
func TestWhoAsksCannotAnswer(t *testing.T) {
	d := newDesk(t, asking)
	ctx := t.Context()
	c := d.legacy(t)
	d.call(ctx, t, c, "one")
	q := d.waiting(t)
	approver := tokenIn(t, paths.ApproverToken())
	tokens := map[string]string{
		"": "", "operate": tokenIn(t, paths.APIToken()), "read": tokenIn(t, paths.APIReadToken()), "mcp": token(t), "bob": "bobs-own-token-0123456789",
		"part": approver[1:], "session": c.Session,
	}
	for name, secret := range tokens {
		header := http.Header{}
		if secret != "" {
			header.Set("Authorization", "Bearer "+secret)
		}
		for _, path := range []string{"/approvals/" + q.ID, "/approvals/events", "/grants/abcd"} {
			for place, want := range map[string]int{d.api: http.StatusUnauthorized, d.Address(): http.StatusNotFound} {
				if place == d.api && (name == "operate" || name == "read") {
					want = http.StatusForbidden
				}
				method := http.MethodPost
				if strings.HasSuffix(path, "events") {
					method = http.MethodGet
				}
				if strings.HasPrefix(path, "/grants") {
					method = http.MethodDelete
				}
				status, body := answerWith(t, method, "http://"+place+"/api/v1"+path, header, `{"approve":true}`)
				if status != want && (status != http.StatusUnauthorized || place == d.api) {
					t.Errorf("%s: %s %s: %d %s", name, method, path, status, body)
				}
				if want == http.StatusForbidden && !strings.Contains(body, "approver-token") {
					t.Errorf("it does not say what it takes: %s", body)
				}
			}
		}
	}
	// The owner of the socket, without the credential, with a wrong one and with another one.
	for _, secret := range []string{"", approver + "0", tokens["operate"]} {
		owner := d.owner
		if secret != "" {
			var err error
			if owner, err = d.owner.WithToken(secret); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := owner.Answer(ctx, q.ID, client.ApprovalAnswer{Approve: true}); durward.KindOf(err) != durward.Denied || !strings.Contains(err.Error(), "approver-token") {
			t.Error(err)
		}
		if _, err := owner.Approval(ctx, q.ID); durward.KindOf(err) != durward.Denied {
			t.Error(err)
		}
	}
	d.noMethodAnswers(t, c, q.ID, approver)
	if all, err := d.owner.Approvals(ctx); err != nil || len(all) != 1 {
		t.Fatalf("it was answered: %+v %v", all, err)
	}
	// By TCP the credential answers, and does nothing else but look.
	web, err := client.NewTCP(d.api, approver)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := web.Status(ctx); err != nil {
		t.Error(err)
	}
	for _, only := range []*client.Client{web, d.approver} {
		if _, err := only.Call(ctx, client.CallRequest{Name: "local__echo", Arguments: json.RawMessage(`{"message":"x"}`)}, nil); durward.KindOf(err) != durward.Denied {
			t.Error("an approver calls:", err)
		}
		if _, err := only.Reload(ctx); durward.KindOf(err) != durward.Denied {
			t.Error("an approver changes the configuration:", err)
		}
	}
	if _, err := web.Answer(ctx, q.ID, client.ApprovalAnswer{Approve: true}); err != nil || (<-d.done).Text() != "one" {
		t.Error(err)
	}
}

// noMethodAnswers tries what a client of an MCP entrance can send.
func (d *desk) noMethodAnswers(t *testing.T, c *rawclient.Client, id, approver string) {
	t.Helper()
	ctx := t.Context()
	for _, method := range []string{"approvals/answer", "approvals/approve", "durward/approve", "elicitation/create", "dev.durward/approve"} {
		if a, err := c.Do(ctx, method, `{"id":"`+id+`","approve":true,"action":"accept","content":{"approve":true}}`); err != nil || a.Msg.Result != nil {
			t.Errorf("%s: %+v %v", method, a, err)
		}
	}
	for _, tool := range []string{"approve", "local__approve", "durward__approve", "local__approvals"} {
		if a, err := c.CallTool(ctx, tool, `{"id":"`+id+`","approve":true}`); err != nil || a.Msg.Error == nil && !strings.Contains(string(a.Msg.Result), `"isError":true`) {
			t.Errorf("%s: %+v %v", tool, a, err)
		}
	}
	// An answer to a question that it was not asked.
	for _, raw := range []string{id, "durward-approval", "1"} {
		if _, err := c.Send(ctx, `{"jsonrpc":"2.0","id":`+wire.Quote(raw)+`,"result":{"action":"accept","content":{"approve":true}}}`, "", ""); err != nil {
			t.Error(err)
		}
	}
	// And the approver credential opens no MCP entrance.
	for _, modern := range []bool{true, false} {
		wrong := d.mcp(approver)
		wrong.Modern = modern
		if a, err := wrong.CallTool(ctx, "local__echo", `{"message":"x"}`); err != nil || a.Status != http.StatusUnauthorized {
			t.Errorf("%+v %v", a, err)
		}
	}
}

// answerWith sends a request with a body and returns what came back.
func answerWith(t *testing.T, method, url string, header http.Header, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK { // a stream would not end
		return resp.StatusCode, ""
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestARestartDeniesWhatWaits(t *testing.T) {
	d := newDesk(t, asking)
	d.call(context.Background(), t, d.legacy(t), "one")
	q := d.waiting(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-d.done; a.Msg.Result != nil {
		t.Errorf("%+v", a)
	}
	all := records(t)
	if steps := approvalsIn(all); fmt.Sprint(steps) != "["+q.ID+" pending "+q.ID+" denied]" {
		t.Errorf("%q", steps)
	}
	for _, r := range all {
		if o, ok := r.(*ledger.Outcome); ok && o.Call == q.Call && o.Status != durward.StatusDenied {
			t.Errorf("%+v", o)
		}
	}
}

// A call that waits ends with its client: when that cancels it, ends its session, or
// goes away, if it is one that cannot come back for the answer.
func TestAClientThatLeavesCancelsItsQuestion(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, d *desk, c *rawclient.Client){
		"a modern client hangs up": nil,
		"a legacy client cancels": func(t *testing.T, _ *desk, c *rawclient.Client) {
			t.Helper()
			if _, err := c.Send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call"}}`, "", ""); err != nil {
				t.Error(err)
			}
		},
		"a legacy client ends its session": func(t *testing.T, d *desk, c *rawclient.Client) {
			t.Helper()
			header := http.Header{"Authorization": {"Bearer " + token(t)}, "Mcp-Session-Id": {c.Session}}
			if status, body := answerWith(t, http.MethodDelete, "http://"+d.Address()+"/mcp", header, ""); status >= 300 {
				t.Error(status, body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, asking)
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			c := d.mcp(token(t))
			if c.Modern = leave == nil; !c.Modern {
				c = d.legacy(t)
			}
			go func() {
				params := `{"name":"local__echo","arguments":{"message":"one"}}`
				if c.Modern {
					_, _ = c.Do(ctx, wire.MethodToolsCall, params) // it is cut off
				} else {
					_, _ = c.Send(ctx, `{"jsonrpc":"2.0","id":"call","method":"tools/call","params":`+params+`}`, "", "") // it may have no answer
				}
				d.done <- nil
			}()
			q, status := d.waiting(t), ""
			err := d.approver.WatchApprovals(t.Context(), func(e client.ApprovalEvent) bool {
				switch {
				case e.Answer != nil:
					status = e.Answer.Status
				case leave == nil:
					hangUp() // now the watch is open
				default:
					leave(t, d, c)
				}
				return e.Answer == nil
			})
			if err != nil || status != "cancelled" {
				t.Error(status, err)
			}
			<-d.done
			if _, err := d.approver.Answer(t.Context(), q.ID, client.ApprovalAnswer{Approve: true}); durward.KindOf(err) != durward.Conflict {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			for _, r := range records(t) {
				if o, ok := r.(*ledger.Outcome); ok && o.Call == q.Call && (o.Status != durward.StatusCancelled || !o.Dispatched.IsZero()) {
					t.Errorf("%+v", o)
				}
			}
		})
	}
}

// Where nobody could answer a call is denied at once; a stream that is open is
// somebody who can.
func TestWithoutAnybodyToAnswerACallIsDenied(t *testing.T) {
	d := newDesk(t, strings.Replace(asking, "attended: true, ", "", 1))
	c := d.legacy(t)
	d.call(t.Context(), t, c, "one")
	if a := <-d.done; a.Code() != wire.CodeDeniedByPerson || !strings.Contains(string(a.Msg.Error), "unattended") {
		t.Errorf("%+v %s", a, a.Msg.Error)
	}
	ctx, stop := context.WithCancel(t.Context())
	watched, over := make(chan string, 10), make(chan struct{})
	go func() {
		defer close(over)
		_ = d.approver.WatchApprovals(ctx, func(e client.ApprovalEvent) bool {
			if e.Approval != nil {
				watched <- e.Approval.ID
			}
			return true
		})
	}()
	for id := ""; id == ""; { // until the stream is open
		d.call(t.Context(), t, c, "two")
		select {
		case a := <-d.done:
			if a.Code() != wire.CodeDeniedByPerson {
				t.Fatalf("%+v", a)
			}
		case id = <-watched:
			d.answer(t, id, client.ApprovalAnswer{Approve: true})
			if a := <-d.done; a.Text() != "two" {
				t.Errorf("%+v", a)
			}
		}
	}
	stop()
	<-over
}

// A webhook is somebody who can answer: a call waits, and the webhook is told how.
func TestAWebhookIsToldOfACallThatWaits(t *testing.T) {
	told := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case told <- string(body):
		case <-r.Context().Done():
		}
	}))
	defer hook.Close()
	d := newDesk(t, strings.Replace(asking, "attended: true", "webhook: "+hook.URL, 1))
	d.call(t.Context(), t, d.legacy(t), "for nobody else")
	var said struct {
		Text     string
		Approval client.Approval
	}
	body := <-told
	if err := json.Unmarshal([]byte(body), &said); err != nil || !strings.Contains(said.Text, "durward approve "+said.Approval.ID) || strings.Contains(body, "for nobody else") {
		t.Fatalf("%v: %s", err, body)
	}
	d.answer(t, said.Approval.ID, client.ApprovalAnswer{Approve: true})
	if a := <-d.done; a.Text() != "for nobody else" {
		t.Errorf("%+v", a)
	}
}

func TestTheApproverCredentialIsNobodyElses(t *testing.T) {
	for name, text := range map[string]string{
		"a principal's": asking,
		"the client's":  strings.Replace(asking, "api: {listen: 127.0.0.1:0}\n", "", 1),
	} {
		home(t)
		opt := configured(t, text)
		secret := "bobs-own-token-0123456789"
		if name == "the client's" {
			started(t, opt).Close()
			secret = token(t)
		}
		if err := os.MkdirAll(paths.State(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths.ApproverToken(), []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := daemon.Start(opt); durward.KindOf(err) != durward.Conflict || err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				_ = s.Close()
			}
		}
	}
	home(t)
	if err := os.MkdirAll(paths.State(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths.ApproverToken(), []byte("a-token-that-others-read\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := daemon.Start(configured(t, asking)); durward.KindOf(err) != durward.Denied || err == nil {
		t.Error(err)
		if err == nil {
			_ = s.Close()
		}
	}
}
