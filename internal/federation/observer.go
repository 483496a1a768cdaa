package federation

import (
	"durward"
	"durward/internal/catalog"
	"durward/internal/exchange"
	"durward/internal/upstream"
	"durward/internal/wire"
)

// observer is the Set as its servers see it.
type observer Set

var _ upstream.Observer = (*observer)(nil)

// Catalog takes a server's full listing.
func (o *observer) Catalog(server string, l *upstream.Listing) {
	s := (*Set)(o)
	if _, known := s.Server(server); !known {
		return // removed while it listed
	}
	snapshot := catalog.Snapshot{
		Server: server, Tools: l.Tools, Prompts: l.Prompts, Resources: l.Resources, Templates: l.Templates,
		Capabilities: l.Capabilities, Info: l.Info, Instructions: l.Instructions, Era: l.Era, Complete: l.Complete,
		Overlay: l.Overlay,
	}
	if l.Overlay {
		s.offer.overlay(snapshot)
	} else {
		s.offer.put(snapshot)
		if l.Complete {
			s.offer.missing(server, "", "") // its state, which says so too, follows
			s.settle.settled(server)
		} else {
			s.settle.partly(server)
		}
	}
	s.offer.hub.announced(server, l.Overlay, Filter(l.Announced))
}

// State takes a server's new state: lists say which servers are missing and why.
func (o *observer) State(server string, st durward.ServerStatus) {
	s := (*Set)(o)
	if s.opt.State != nil {
		s.opt.State(st)
	}
	st.Reason = string(s.opt.Redact([]byte(st.Reason)))
	switch st.State {
	case durward.StateReady, durward.StateDegraded, durward.StateDisabled, durward.StateConfigured:
		s.offer.missing(server, "", "")
	case durward.StateConnecting:
		s.offer.missing(server, string(st.State), st.Reason)
	case durward.StateBackoff:
		s.offer.missing(server, string(st.State), st.Reason)
		s.settle.settled(server)
	}
	switch st.State {
	case durward.StateReady, durward.StateDegraded, durward.StateDisabled: // all its lists were read or failed
		s.settle.settled(server)
	}
}

// Notification takes what a server says outside of any call.
func (o *observer) Notification(server string, n exchange.Notification) {
	s := (*Set)(o)
	switch n.Method {
	case wire.NoteResourceUpdated:
		s.subs.updated(resourceOf(server), n)
	case wire.NoteTasks:
		s.subs.updated(taskOf(server), n)
	case wire.NoteTasksStatus:
		if s.opt.TaskStatus != nil {
			s.opt.TaskStatus(server, n.Params)
		}
	case wire.NoteElicitComplete:
		s.offer.hub.broadcast(n.Method, n.Params, func(route durward.Route) bool { return shows(route, server) })
	case wire.NoteProgress, wire.NoteMessage: // of a call that is over, or of nobody's
	default:
		// We do not know what it says, so it may name things as only the server's own route does.
		own := durward.Route{Kind: durward.RouteServer, Name: server}
		s.offer.hub.broadcast(n.Method, n.Params, func(route durward.Route) bool { return route == own })
	}
}
