package daemon

import (
	"context"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/internal/control"
	"durward/internal/pin"
	"durward/internal/reveal"
)

// pins are what is known of the definitions of servers, for the service API.
type pins Service

var _ control.Pins = (*pins)(nil)

// Bounds of what is told at once.
const (
	mostDiffs    = 100
	mostHeld     = 20 // in an event
	mostVerdicts = 50_000
)

// List implements control.Pins.
func (p *pins) List(server string) ([]client.Pin, error) {
	all := p.judge.pins.List(server)
	if len(all) == 0 && server != "" {
		if _, there := (*Service)(p).server(server); !there {
			return nil, durward.Errorf(durward.NotFound, "server "+server, "no server is called %q; see: durward server list", server)
		}
	}
	return pinned(all), nil
}

// Diff implements control.Pins.
func (p *pins) Diff(ctx context.Context, server, name string) (*client.PinDiffs, error) {
	if _, err := p.List(server); err != nil {
		return nil, err
	}
	out := &client.PinDiffs{Diffs: []client.PinDiff{}}
	for _, t := range p.judge.pins.List(server) {
		if name == "" && (t.State == pin.Accepted || t.State == pin.Rejected) || name != "" && !called(&t, name) {
			continue
		}
		if len(out.Diffs) == mostDiffs {
			out.More++
			continue
		}
		d, err := p.diff(ctx, t)
		if durward.KindOf(err) == durward.NotFound && err != nil {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, err
		}
		out.Diffs = append(out.Diffs, *d)
	}
	if name != "" && len(out.Diffs) == 0 {
		return nil, durward.Errorf(durward.NotFound, "pins of "+server, "nothing of it is called %q; see: durward pins list %s", name, server)
	}
	return out, nil
}

// called reports whether a thing is meant by a name, which may say the kind before
// a colon.
func called(t *pin.Thing, name string) bool {
	if t.Kind == pin.KindInstructions {
		return name == pin.KindInstructions
	}
	return name == t.Name || name == t.Kind+":"+t.Name
}

func (p *pins) diff(ctx context.Context, t pin.Thing) (*client.PinDiff, error) {
	old, now, err := p.judge.pins.Definitions(ctx, t)
	if err != nil {
		return nil, err
	}
	s := (*Service)(p)
	d := &client.PinDiff{Pin: pinOf(&t), Differences: []client.PinDifference{}, Warnings: []string{}}
	for _, one := range pin.Differences(t.Kind, old, now) {
		d.Differences = append(d.Differences, client.PinDifference{
			Path: one.Path, Text: s.redacted(one.Text), Old: s.redacted(one.Old), New: s.redacted(one.New),
		})
	}
	for _, text := range pin.Warnings(t.Kind, now) {
		d.Warnings = append(d.Warnings, s.redacted(text))
	}
	return d, nil
}

// Decide implements control.Pins.
func (p *pins) Decide(ctx context.Context, by durward.Caller, in client.PinVerdict) ([]client.Pin, error) {
	if len(in.Choices) > mostVerdicts {
		return nil, durward.Errorf(durward.Invalid, "pins", "%d definitions are more than the %d that can be decided at once", len(in.Choices), mostVerdicts)
	}
	s := (*Service)(p)
	v := pin.Verdict{Server: in.Server, Accept: in.Accept, By: answerer(&by)}
	chosen := map[pin.Choice]bool{}
	for _, c := range in.Choices {
		choice := pin.Choice{Kind: c.Kind, Name: c.Name, Hash: c.Hash}
		v.Choices = append(v.Choices, choice)
		chosen[choice] = true
	}
	what := "pins reject"
	if in.Accept {
		what = "pins accept"
	}
	err := p.judge.pins.Decide(ctx, v, func(e pin.Effect) error {
		c := changed(&by, what, in.Server)
		c.Who, c.OldHash, c.NewHash = v.By, e.Old, e.New
		c.Detail = clipDetail(reveal.Line(strings.Join(e.Names, ", ")))
		return s.record(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	s.gateway.PinsChanged(in.Server)
	var of []pin.Thing
	for _, t := range p.judge.pins.List(in.Server) {
		if chosen[pin.Choice{Kind: t.Kind, Name: t.Name, Hash: t.Hash}] {
			of = append(of, t)
		}
	}
	return pinned(of), nil
}

// clipDetail cuts the detail of a change to what a record has room for.
func clipDetail(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	return strings.ToValidUTF8(text[:maxDetail], "") + "…"
}

func pinned(things []pin.Thing) []client.Pin {
	out := make([]client.Pin, len(things))
	for i := range things {
		out[i] = pinOf(&things[i])
	}
	return out
}

func pinOf(t *pin.Thing) client.Pin {
	return client.Pin{
		Server: t.Server, Kind: t.Kind, Name: t.Name, State: t.State, Held: pin.IsHeld(t.State), Hash: t.Hash, Old: t.Old,
		Seen: t.Seen, Decided: t.Decided, By: t.By, Listed: t.Listed, Legacy: t.Legacy,
	}
}

// pinsHeld tells watchers that a server changed what it offers, and that this is held.
func (s *Service) pinsHeld(server string, things []pin.Thing) {
	held := &client.PinsHeld{Server: server, Held: pinned(things[:min(len(things), mostHeld)])}
	held.More = len(things) - len(held.Held)
	s.events.tell(client.Event{Type: client.EventPins, At: time.Now(), Pins: held})
}
