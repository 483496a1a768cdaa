package control

import (
	"context"
	"net/http"
	"time"

	"durward"
	"durward/client"
)

// Approvals are the questions to people, and their answers. Who answers is told for
// the record.
type Approvals interface {
	List() ([]client.Approval, error)
	Show(id string) (*client.ApprovalDetail, error)
	Answer(ctx context.Context, by durward.Caller, id string, a client.ApprovalAnswer) (*client.ApprovalRecord, error)
	// Watch has f called with each question and answer until stop is called. f does
	// not block.
	Watch(f func(client.ApprovalEvent)) (stop func(), err error)
	Grants() Grants
}

// Grants are the answers that hold again.
type Grants interface {
	List() ([]client.Grant, error)
	Revoke(ctx context.Context, by durward.Caller, id string) (*client.Grant, error)
}

// desk returns who asks people; an error of kind NotFound if nobody does.
func (a *api) desk() (Approvals, error) {
	if a.opt.Approvals == nil {
		return nil, durward.Errorf(durward.NotFound, "approvals", "nobody is asked anything here")
	}
	return a.opt.Approvals, nil
}

func (a *api) listApprovals(w http.ResponseWriter, _ *request) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	all, err := desk.List()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.ApprovalList{Approvals: all})
}

func (a *api) showApproval(w http.ResponseWriter, r *request) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	d, err := desk.Show(r.PathValue("id"))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store") // what a tool would be given
	return writeJSON(w, http.StatusOK, d)
}

func (a *api) answerApproval(w http.ResponseWriter, r *request) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	var in client.ApprovalAnswer
	if err := r.body(&in); err != nil {
		return err
	}
	step, err := desk.Answer(r.Context(), r.caller, r.PathValue("id"), in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, step)
}

func (a *api) watchApprovals(w http.ResponseWriter, r *request) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	s := newStream(w, r, a.opt)
	stop, err := desk.Watch(func(e client.ApprovalEvent) { s.put(e.Type, e) })
	if err != nil {
		return err
	}
	defer stop()
	s.run(func(n int) event {
		return event{client.ApprovalLost, client.ApprovalEvent{Type: client.ApprovalLost, At: time.Now(), Lost: n}}
	})
	return nil
}

func (a *api) listGrants(w http.ResponseWriter, _ *request) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	all, err := desk.Grants().List()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.GrantList{Grants: all})
}

func (a *api) revokeGrant(w http.ResponseWriter, r *request) error {
	desk, err := a.desk()
	if err != nil {
		return err
	}
	g, err := desk.Grants().Revoke(r.Context(), r.caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, g)
}
