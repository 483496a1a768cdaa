package upstream

import "bytes"

// talker is a connection whose server has a stderr.
type talker interface {
	// Stderr returns a copy of the end of it, also after the server has ended.
	Stderr() []byte
}

// Stderr implements talker.
func (c *child) Stderr() []byte { return c.process.Stderr() }

// Stderr returns the end of what the server wrote to its stderr: of the process
// that runs, or of the last one that ran. It is empty for a server without one.
func (s *Server) Stderr() []byte {
	s.mu.Lock()
	c, kept := s.primary.up, s.lastStderr
	if c == nil {
		c = s.primary.last
	}
	s.mu.Unlock()
	if c == nil {
		return bytes.Clone(kept)
	}
	<-c.attached // it was ready once, so this does not wait
	if t, ok := c.wire.(talker); ok {
		return t.Stderr()
	}
	return nil
}

// keepStderr keeps the last words of a primary connection that has ended.
func (c *conn) keepStderr() {
	t, ok := c.wire.(talker)
	if !ok {
		return
	}
	said := t.Stderr()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.link == c.s.primary && len(said) > 0 {
		c.s.lastStderr = said
	}
}
