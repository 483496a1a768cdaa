package control

import (
	"context"
	"net/http"

	"durward"
	"durward/client"
)

// Policy shows and changes what decides calls. An edit is checked as a whole
// before anything is written, is a row of the record with the digests before and
// after, and returns when every call is decided under the new policy.
type Policy interface {
	// Rules are the rules in effect.
	Rules(ctx context.Context) (*client.PolicyRules, error)
	// Effective is the merged policy; session may be empty, and is NotFound if it is not known.
	Effective(ctx context.Context, session string) (*client.EffectivePolicy, error)
	// Explain decides an event with the running policy; nothing else comes of it.
	Explain(ctx context.Context, by durward.Caller, r client.ExplainRequest) (*client.Explanation, error)
	// AddRule adds a rule to the user's configuration file.
	AddRule(ctx context.Context, by durward.Caller, r client.NewRule) (*client.PolicyEdit, error)
	// SetTool writes the default of tools into the user's configuration file.
	SetTool(ctx context.Context, by durward.Caller, t client.ToolAction) (*client.PolicyEdit, error)
}

// policyAPI returns what decides, if the service lets it be looked at.
func (a *api) policyAPI() (Policy, error) {
	if a.opt.Policy == nil {
		return nil, durward.Errorf(durward.Unavailable, "policy", "this service has no policy")
	}
	return a.opt.Policy, nil
}

func (a *api) policyRules(w http.ResponseWriter, r *request) error {
	p, err := a.policyAPI()
	if err != nil {
		return err
	}
	rules, err := p.Rules(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, rules)
}

func (a *api) effectivePolicy(w http.ResponseWriter, r *request) error {
	p, err := a.policyAPI()
	if err != nil {
		return err
	}
	effective, err := p.Effective(r.Context(), r.URL.Query().Get("session"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, effective)
}

func (a *api) explainPolicy(w http.ResponseWriter, r *request) error {
	var in client.ExplainRequest
	if err := r.body(&in); err != nil {
		return err
	}
	p, err := a.policyAPI()
	if err != nil {
		return err
	}
	explanation, err := p.Explain(r.Context(), r.caller, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, explanation)
}

func (a *api) addRule(w http.ResponseWriter, r *request) error {
	var in client.NewRule
	if err := r.body(&in); err != nil {
		return err
	}
	p, err := a.policyAPI()
	if err != nil {
		return err
	}
	edit, err := p.AddRule(r.Context(), r.caller, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, edit)
}

func (a *api) setToolAction(w http.ResponseWriter, r *request) error {
	var in client.ToolAction
	if err := r.body(&in); err != nil {
		return err
	}
	p, err := a.policyAPI()
	if err != nil {
		return err
	}
	edit, err := p.SetTool(r.Context(), r.caller, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, edit)
}
