package approval

import (
	"bytes"
	"slices"

	"durward"
)

// Get returns all about a call that is parked. id may be a prefix of at least 4
// letters that only one has. What it returns is a copy, and redacted.
func (d *Desk) Get(id string) (*Detail, error) {
	out, err := d.copied(id)
	if err != nil {
		return nil, err
	}
	out.Arguments = d.redacted(out.Arguments)
	for i := range out.Changes {
		out.Changes[i].Old, out.Changes[i].New = d.redacted(out.Changes[i].Old), d.redacted(out.Changes[i].New)
	}
	return out, nil
}

func (d *Desk) redacted(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	return d.opt.Redact(raw)
}

// copied returns what is asked, before redaction, which takes its time.
func (d *Desk) copied(id string) (*Detail, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, err := d.find(id)
	if err != nil {
		return nil, err
	}
	arguments := p.arguments()
	return &Detail{
		Asked: p.asked(), Arguments: bytes.Clone(p.presentable()), Changes: p.changes(), Matches: slices.Clone(p.decision.Matches),
		Pin: pinOf(p.call), Digest: digest(arguments),
	}, nil
}

// presentable are the arguments as they may be kept, and shown: a plugin may have
// found in them what only the server is to get.
func (p *parked) presentable() []byte {
	if p.decision.Recorded != nil {
		return argumentsOf(p.call.Method, p.decision.Recorded)
	}
	return p.arguments()
}

// notShown stands for a value that nobody but the server is to get.
const notShown = `"(not shown)"`

// changes are what rules rewrote. If a plugin found what is not to be shown, only
// what is left of the new values is.
func (p *parked) changes() []durward.Change {
	var out []durward.Change
	for _, c := range p.question.Changes {
		c.Old, c.New = bytes.Clone(c.Old), bytes.Clone(c.New)
		if p.decision.Recorded != nil {
			if c.Old != nil {
				c.Old = []byte(notShown)
			}
			if at, ok := find(p.presentable(), c.Path); ok && c.New != nil {
				c.New = bytes.Clone(at.Of(p.presentable()))
			} else if c.New != nil {
				c.New = []byte(notShown)
			}
		}
		out = append(out, c)
	}
	return out
}
