package ledger

// normal is a record as a store is given it, if it is not one of a call: those are
// made by intent and outcome.
func (l *Ledger) normal(r Record) Record {
	switch r := r.(type) {
	case *SessionStart:
		c := *r
		c.ID, c.At = text(c.ID), micro(c.At)
		c.Principal, c.Entrance, c.Process, c.Era = text(c.Principal), text(c.Entrance), text(c.Process), text(c.Era)
		c.Sandbox, c.Policy = text(c.Sandbox), text(c.Policy)
		l.hide(&c.Client.Name, &c.Client.Version, &c.Route)
		return &c
	case *SessionEnd:
		c := *r
		c.ID, c.At = text(c.ID), micro(c.At)
		l.hide(&c.Reason)
		return &c
	case *Decision:
		c := *r
		c.Call, c.At, c.Detail = text(c.Call), micro(c.At), l.long(c.Detail)
		c.Stage, c.Layer, c.Rule = text(c.Stage), text(c.Layer), text(c.Rule)
		c.Action, c.Effective, c.Detection = text(c.Action), text(c.Effective), text(c.Detection)
		return &c
	case *Approval:
		c := *r
		c.ID, c.Call, c.At = text(c.ID), text(c.Call), micro(c.At)
		c.Status, c.Scope = text(c.Status), text(c.Scope)
		l.hide(&c.By, &c.Reason) // who answers may be a client, by the name that it gives itself
		return &c
	case *Change:
		c := *r
		c.At, c.Who, c.What = micro(c.At), text(c.Who), text(c.What)
		c.OldHash, c.NewHash, c.Detail = text(c.OldHash), text(c.NewHash), l.long(c.Detail)
		l.hide(&c.Target)
		return &c
	case *Flow:
		c := *r
		c.Call, c.At, c.Server, c.Method = text(c.Call), micro(c.At), text(c.Server), text(c.Method)
		c.IP, c.Decision = text(c.IP), text(c.Decision)
		l.hide(&c.Host, &c.Path)
		return &c
	case *Event:
		c := *r
		c.At, c.Layer, c.Sandbox, c.Session = micro(c.At), text(c.Layer), text(c.Sandbox), text(c.Session)
		c.Detail = l.long(c.Detail)
		l.hide(&c.What)
		return &c
	case *Note:
		c := *r
		c.At, c.What, c.Detail = micro(c.At), text(c.What), l.long(c.Detail)
		return &c
	default:
		return r
	}
}
