package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"durward"
	"durward/client"
	"durward/internal/control"
)

// asker has one question, and answers with what it was told.
type asker struct {
	mu       sync.Mutex // guards all below
	watchers int
	by       string
	answer   client.ApprovalAnswer
}

func (*asker) List() ([]client.Approval, error) {
	return []client.Approval{{ID: "a3f8c2d1e0", Rules: []string{}}}, nil
}

func (*asker) Show(id string) (*client.ApprovalDetail, error) {
	if id != "a3f8" {
		return nil, durward.Errorf(durward.Conflict, "", "it is over: denied by bob")
	}
	return &client.ApprovalDetail{
		Approval: client.Approval{ID: "a3f8c2d1e0", Rules: []string{}}, Arguments: json.RawMessage(`{"n":12345678901234567890,"t":"<&\u003e"}`),
		Changes: []client.ArgumentChange{{Path: "/n", Old: json.RawMessage("1.0")}}, Matches: []client.DecisionRecord{},
	}, nil
}

func (a *asker) Answer(_ context.Context, by durward.Caller, id string, in client.ApprovalAnswer) (*client.ApprovalRecord, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.by, a.answer = by.Principal, in
	return &client.ApprovalRecord{ID: id, Status: "approved"}, nil
}

func (a *asker) Watch(f func(client.ApprovalEvent)) (func(), error) {
	a.count(1)
	f(client.ApprovalEvent{Type: client.ApprovalPending, Approval: &client.Approval{ID: "a3f8c2d1e0"}})
	f(client.ApprovalEvent{Type: client.ApprovalAnswered, Answer: &client.ApprovalRecord{ID: "a3f8c2d1e0", Status: "denied"}})
	return func() { a.count(-1) }, nil
}

func (a *asker) count(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers += n
	return a.watchers
}

func (a *asker) Grants() control.Grants { return given{} }

type given struct{}

func (given) List() ([]client.Grant, error) {
	return []client.Grant{{ID: "k7m2", Rules: []string{}, Patterns: map[string]string{"/a": "*"}}}, nil
}

func (given) Revoke(_ context.Context, _ durward.Caller, id string) (*client.Grant, error) {
	if id != "k7m2" {
		return nil, durward.Errorf(durward.NotFound, "", "there is no grant %q", id)
	}
	return &client.Grant{ID: id, Rules: []string{}}, nil
}

// approver is a client of an API where the caller has a scope.
func approver(t *testing.T, desk control.Approvals, scope control.Scope) *client.Client {
	t.Helper()
	web := httptest.NewServer(control.New(control.Options{
		Approvals: desk,
		Authorize: func(*http.Request) (durward.Caller, control.Scope, error) {
			return durward.Caller{Principal: "local"}, scope, nil
		},
	}))
	t.Cleanup(web.Close)
	c, err := client.NewTCP(strings.TrimPrefix(web.URL, "http://"), "0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnApproverAnswers(t *testing.T) {
	desk := &asker{}
	c := approver(t, desk, control.Approve)
	ctx := t.Context()
	if all, err := c.Approvals(ctx); err != nil || len(all) != 1 || all[0].ID != "a3f8c2d1e0" {
		t.Errorf("%+v %v", all, err)
	}
	// Arguments come as they are.
	if d, err := c.Approval(ctx, "a3f8"); err != nil || string(d.Arguments) != `{"n":12345678901234567890,"t":"<&\u003e"}` || string(d.Changes[0].Old) != "1.0" || d.Changes[0].New != nil {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := c.Approval(ctx, "b"); durward.KindOf(err) != durward.Conflict {
		t.Error(err)
	}
	want := client.ApprovalAnswer{Approve: true, Scope: durward.ScopeGrant, For: "30d", Patterns: map[string]string{"/a": "<*>"}, Reason: "so"}
	if r, err := c.Answer(ctx, "a3f8", want); err != nil || r.Status != "approved" || desk.by != "local" || fmt.Sprint(desk.answer) != fmt.Sprint(want) {
		t.Errorf("%+v %+v %v", r, desk.answer, err)
	}
	if all, err := c.Grants(ctx); err != nil || len(all) != 1 || all[0].Patterns["/a"] != "*" {
		t.Errorf("%+v %v", all, err)
	}
	if g, err := c.RevokeGrant(ctx, "k7m2"); err != nil || g.ID != "k7m2" {
		t.Errorf("%+v %v", g, err)
	}
	if _, err := c.RevokeGrant(ctx, "none"); durward.KindOf(err) != durward.NotFound {
		t.Error(err)
	}
}

func TestTheStreamOfApprovalsIsOpenForAsLongAsItIsRead(t *testing.T) {
	desk := &asker{}
	var got []string
	err := approver(t, desk, control.Approve).WatchApprovals(t.Context(), func(e client.ApprovalEvent) bool {
		if desk.count(0) != 1 {
			t.Error("nobody counts as watching")
		}
		if got = append(got, e.Type); e.Type == client.ApprovalAnswered {
			got = append(got, e.Answer.Status)
		}
		return e.Type != client.ApprovalAnswered
	})
	if err != nil || fmt.Sprint(got) != "[pending answered denied]" {
		t.Errorf("%v %v", got, err)
	}
}

// What answers takes the scope approve; which no other scope includes.
func TestNoOtherScopeAnswers(t *testing.T) {
	for _, scope := range []control.Scope{control.Read, control.Operate, "", "admin"} {
		desk := &asker{}
		c := approver(t, desk, scope)
		ctx := t.Context()
		_, shown := c.Approval(ctx, "a3f8")
		_, answered := c.Answer(ctx, "a3f8", client.ApprovalAnswer{Approve: true})
		_, revoked := c.RevokeGrant(ctx, "k7m2")
		watched := c.WatchApprovals(ctx, func(client.ApprovalEvent) bool { return false })
		for what, err := range map[string]error{"show": shown, "answer": answered, "revoke": revoked, "watch": watched} {
			if durward.KindOf(err) != durward.Denied {
				t.Errorf("%q may %s: %v", scope, what, err)
			}
			if (scope == control.Read || scope == control.Operate) && !strings.Contains(err.Error(), "approver-token") {
				t.Errorf("it does not say what it takes: %v", err)
			}
		}
		if desk.answer.Approve || desk.by != "" {
			t.Errorf("%q answered", scope)
		}
	}
}

func TestWhereNobodyIsAsked(t *testing.T) {
	c := approver(t, nil, control.Approve)
	_, listed := c.Approvals(t.Context())
	_, shown := c.Approval(t.Context(), "a")
	_, answered := c.Answer(t.Context(), "a", client.ApprovalAnswer{})
	_, grants := c.Grants(t.Context())
	_, revoked := c.RevokeGrant(t.Context(), "a")
	watched := c.WatchApprovals(t.Context(), func(client.ApprovalEvent) bool { return true })
	for i, err := range []error{listed, shown, answered, grants, revoked, watched} {
		if durward.KindOf(err) != durward.NotFound {
			t.Error(i, err)
		}
	}
}

func TestAnswersAreReadAsAWholeOrRefused(t *testing.T) {
	desk := &asker{}
	h := control.New(control.Options{Approvals: desk, Authorize: func(*http.Request) (durward.Caller, control.Scope, error) {
		return durward.Caller{Principal: "local"}, control.Approve, nil
	}})
	for _, body := range []string{"", "{", `{"approved":true}`, `{"approve":"yes"}`, `{"approve":true}{}`, `{"approve":true,"for":30}`, "[]"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/approvals/a3f8", strings.NewReader(body)))
		if w.Code != http.StatusBadRequest || desk.by != "" {
			line, _ := bufio.NewReader(w.Body).ReadString('\n')
			t.Errorf("%q: %d %s", body, w.Code, line)
		}
	}
}
