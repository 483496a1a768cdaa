package upstream

import (
	"context"
	"errors"
	"time"

	"durward"
	"durward/internal/exchange"
	"durward/internal/wire"
)

// SubscribeAs asks the server to report changes of a resource to the requester:
// by the connection that its calls go to, since another process of the server may
// know nothing of what they do. unsubscribe takes it back; it may be called once.
func (s *Server) SubscribeAs(ctx context.Context, key Key, client *exchange.Client, uri string) (unsubscribe func(), err error) {
	l, c, err := s.connFor(ctx, key, client)
	if err != nil {
		return nil, err
	}
	if l == s.primary || c.opened.Era != wire.Legacy {
		if err := s.Subscribe(ctx, uri); err != nil {
			return nil, err
		}
		return func() { s.Unsubscribe(uri) }, nil
	}
	if err := s.subscribeOn(ctx, l, c, uri); err != nil {
		return nil, err
	}
	return func() { s.unsubscribeOn(l, uri) }, nil
}

// connFor returns the link that a requester's calls go to, and its connection,
// waiting for it if necessary.
func (s *Server) connFor(ctx context.Context, key Key, client *exchange.Client) (*link, *conn, error) {
	base := false
	for range 3 {
		s.mu.Lock()
		l, a, err := s.find(key, client, base)
		if err == nil && a == nil {
			c := l.up
			l.idleSince = time.Time{}
			s.mu.Unlock()
			return l, c, nil
		}
		s.mu.Unlock()
		if a != nil {
			err = s.await(ctx, a, time.Time{})
		}
		switch {
		case err == nil || errors.As(err, new(errAborted)):
		case l != nil && l.key.era != wire.EraUnknown && ctx.Err() == nil:
			base = true // as for calls: the server's own era serves as well
		default:
			return nil, nil, err
		}
	}
	return nil, nil, durward.Errorf(durward.Unavailable, s.op(), "the connection is lost again as soon as it is opened; see its status")
}

// subscribeOn subscribes on a connection besides the primary one.
func (s *Server) subscribeOn(ctx context.Context, l *link, c *conn, uri string) error {
	if err := s.lockSub(ctx); err != nil {
		return err
	}
	defer s.unlockSub()
	s.mu.Lock()
	if l.uris[uri] == 0 {
		if err := s.fullOfSubscriptions(); err != nil {
			s.mu.Unlock()
			return err
		}
		if l.uris == nil {
			l.uris = map[string]int{}
		}
		s.elsewhere++
	}
	l.uris[uri]++
	known := l.uris[uri] > 1
	s.mu.Unlock()
	if known {
		return nil
	}
	_, err := c.call(ctx, wire.MethodSubscribe, uriParams(uri))
	if err != nil {
		s.forget(l, uri)
	}
	return err
}

// forget takes one subscription of a link back, and reports whether it was the last.
func (s *Server) forget(l *link, uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.idleSince = time.Time{}
	if l.uris[uri]--; l.uris[uri] > 0 {
		return false
	}
	delete(l.uris, uri)
	s.elsewhere--
	return true
}

// unsubscribeOn takes a subscription back. The server is told in the background.
func (s *Server) unsubscribeOn(l *link, uri string) {
	if !s.forget(l, uri) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.tasks.Go(func() { s.unsubscribe(l, uri) })
}

// unsubscribe tells a legacy server, unless somebody has subscribed again meanwhile.
func (s *Server) unsubscribe(l *link, uri string) {
	if s.lockSub(s.ctx) != nil {
		return
	}
	defer s.unlockSub()
	s.mu.Lock()
	c, again := l.up, s.subscriptions(l)[uri] > 0
	s.mu.Unlock()
	if c == nil || again || c.opened.Era != wire.Legacy {
		return
	}
	if _, err := c.call(s.ctx, wire.MethodUnsubscribe, uriParams(uri)); err != nil {
		s.count("unsubscribe-failed", 1)
	}
}

// subscriptions are the resources that a link's connection reports. mu is held.
func (s *Server) subscriptions(l *link) map[string]int {
	if l == s.primary {
		return s.uris
	}
	return l.uris
}
