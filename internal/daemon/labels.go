package daemon

import (
	"context"

	"durward"
	"durward/client"
	"durward/internal/control"
	"durward/policy"
)

// labels are what sessions were marked with, for the service API.
type labels Service

var _ control.Labels = (*labels)(nil)

// changeUnmark is what the record calls it when somebody takes the labels from a session.
const changeUnmark = "labels clear"

// List implements control.Labels.
func (l *labels) List(context.Context) []client.Labelled {
	out := []client.Labelled{}
	for _, m := range l.judge.engine.Marked() {
		out = append(out, labelledOf(&m))
	}
	return out
}

func labelledOf(m *policy.Labelled) client.Labelled {
	return client.Labelled{Session: m.ID, Labels: m.Labels, Calls: m.Calls, Used: m.Used}
}

// Clear implements control.Labels. It is on record before it holds.
func (l *labels) Clear(ctx context.Context, by durward.Caller, session string) (*client.Labelled, error) {
	s := (*Service)(l)
	for _, m := range l.judge.engine.Marked() {
		if m.ID != session {
			continue
		}
		if err := s.record(ctx, changed(&by, changeUnmark, session)); err != nil {
			return nil, err
		}
		l.judge.engine.Unmark(session)
		out := labelledOf(&m)
		return &out, nil
	}
	return nil, durward.Errorf(durward.NotFound, "labels", "no session %.64q has labels; see: durward labels", session)
}
