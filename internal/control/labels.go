package control

import (
	"context"
	"net/http"

	"durward"
	"durward/client"
)

// Labels shows what sessions were marked with, and takes that from them.
type Labels interface {
	// List lists the sessions that have labels.
	List(ctx context.Context) []client.Labelled
	// Clear takes all labels from a session and returns what it had. It is on record
	// before it holds. The error is NotFound where the session has none.
	Clear(ctx context.Context, by durward.Caller, session string) (*client.Labelled, error)
}

// labelRoutes show labels. To take them away widens what a session may do, and so
// takes the approver credential.
func labelRoutes() []route {
	return []route{
		{method: "GET", path: "/api/v1/labels", id: "listLabels", scope: Read, summary: "The sessions that have labels.",
			answer: client.LabelList{}, serve: (*api).listLabels},
		{method: "DELETE", path: "/api/v1/labels", id: "clearLabels", scope: Approve, summary: "Take all labels from a session.",
			query:  []query{{"session", "Its id; PRINCIPAL/ENTRANCE for calls that belong to none."}},
			answer: client.Labelled{}, serve: (*api).clearLabels},
	}
}

func (a *api) labels() (Labels, error) {
	if a.opt.Labels == nil {
		return nil, durward.Errorf(durward.Unavailable, "labels", "this service has no policy")
	}
	return a.opt.Labels, nil
}

func (a *api) listLabels(w http.ResponseWriter, r *request) error {
	l, err := a.labels()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.LabelList{Sessions: l.List(r.Context())})
}

func (a *api) clearLabels(w http.ResponseWriter, r *request) error {
	l, err := a.labels()
	if err != nil {
		return err
	}
	had, err := l.Clear(r.Context(), r.caller, r.URL.Query().Get("session"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, had)
}
