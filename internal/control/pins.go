package control

import (
	"context"
	"net/http"

	"durward"
	"durward/client"
)

// Pins shows what is known of the definitions of servers, and takes verdicts.
type Pins interface {
	// List lists what is known of a server, of all without a name.
	List(server string) ([]client.Pin, error)
	// Diff says what is new in what nobody accepted, or in what is called name.
	Diff(ctx context.Context, server, name string) (*client.PinDiffs, error)
	// Decide accepts or rejects. The verdict is on record before it holds.
	Decide(ctx context.Context, by durward.Caller, v client.PinVerdict) ([]client.Pin, error)
}

// book returns who keeps pins; an error of kind NotFound if nobody does.
func (a *api) book() (Pins, error) {
	if a.opt.Pins == nil {
		return nil, durward.Errorf(durward.NotFound, "pins", "nothing that servers offer is recorded here")
	}
	return a.opt.Pins, nil
}

func (a *api) listPins(w http.ResponseWriter, r *request) error {
	book, err := a.book()
	if err != nil {
		return err
	}
	pins, err := book.List(r.URL.Query().Get("server"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.PinList{Pins: pins})
}

func (a *api) diffPins(w http.ResponseWriter, r *request) error {
	book, err := a.book()
	if err != nil {
		return err
	}
	query := r.URL.Query()
	diffs, err := book.Diff(r.Context(), query.Get("server"), query.Get("name"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, diffs)
}

func (a *api) decidePins(w http.ResponseWriter, r *request) error {
	book, err := a.book()
	if err != nil {
		return err
	}
	var in client.PinVerdict
	if err := r.body(&in); err != nil {
		return err
	}
	pins, err := book.Decide(r.Context(), r.caller, in)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, client.PinList{Pins: pins})
}
