package daemon

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/control"
	"durward/ledger"
)

// servers changes the user's configuration file, for the service API.
type servers Service

var _ control.Servers = (*servers)(nil)

// Add implements control.Servers.
func (sv *servers) Add(ctx context.Context, by durward.Caller, n client.NewServer) (*client.Server, error) {
	s := (*Service)(sv)
	s.changes.Lock()
	defer s.changes.Unlock()
	entry := config.Entry{
		Command: n.Command, Args: n.Args, Env: n.Env, Dir: n.Dir, URL: n.URL, Transport: n.Transport, Headers: n.Headers,
	}
	c := changed(&by, "server add", n.Name)
	before, after, err := s.edit(ctx, c, func(file string, data []byte) ([]byte, error) { return config.AddServer(file, data, n.Name, entry) })
	if err != nil {
		return nil, err
	}
	st := s.try(ctx, n.Name)
	if n.Keep || st.State == durward.StateReady || st.State == durward.StateDegraded {
		return (*steering)(s).Show(ctx, n.Name)
	}
	reason := st.Reason
	if reason == "" {
		reason = "it is " + string(st.State)
	}
	c.Detail = "it did not come up: " + reason
	if err := s.undoAdd(*c, before, after); err != nil {
		return nil, err
	}
	return nil, durward.Errorf(durward.Unavailable, "server "+n.Name, "it did not come up and was not added: %s", reason)
}

// undoAdd takes a server that was just added out again. changes is held.
func (s *Service) undoAdd(c ledger.Change, before, after []byte) error {
	c.What += " undone"
	_, _, err := s.edit(context.Background(), &c, func(file string, data []byte) ([]byte, error) {
		if bytes.Equal(data, after) {
			return before, nil
		}
		return config.RemoveServer(file, data, c.Target) // somebody else changed the file meanwhile
	})
	return err
}

// Remove implements control.Servers.
func (sv *servers) Remove(ctx context.Context, by durward.Caller, name string) error {
	s := (*Service)(sv)
	s.changes.Lock()
	defer s.changes.Unlock()
	_, _, err := s.edit(ctx, changed(&by, "server remove", name), func(file string, data []byte) ([]byte, error) { return config.RemoveServer(file, data, name) })
	return s.elsewhere(name, err)
}

// Enable implements control.Servers.
func (sv *servers) Enable(ctx context.Context, by durward.Caller, name string, enabled bool) (*client.Server, error) {
	s := (*Service)(sv)
	s.changes.Lock()
	defer s.changes.Unlock()
	what := "server disable"
	if enabled {
		what = "server enable"
	}
	_, _, err := s.edit(ctx, changed(&by, what, name), func(file string, data []byte) ([]byte, error) { return config.SetDisabled(file, data, name, !enabled) })
	if err != nil {
		return nil, s.elsewhere(name, err)
	}
	if enabled {
		s.try(ctx, name)
	}
	return (*steering)(s).Show(ctx, name)
}

// elsewhere explains why a server that is there does not stand in the user's file.
func (s *Service) elsewhere(name string, err error) error {
	if durward.KindOf(err) != durward.NotFound {
		return err
	}
	st, there := s.server(name)
	switch {
	case !there:
		return durward.Errorf(durward.NotFound, "server "+name, "no server is called %q; see: durward server list", name)
	case st.Transport == durward.TransportBuiltin:
		return durward.Errorf(durward.Conflict, "server "+name, "it is Durward's own; builtin: false in %s takes it away", s.file())
	default:
		return durward.Errorf(durward.Conflict, "server "+name, "it does not stand in %s but in a higher layer; see: durward config explain servers.%s", s.file(), name)
	}
}

// edit changes the user's file and takes the result into use. A result with
// problems is refused before anything is written, and what cannot be taken into
// use is written back. changes is held.
func (s *Service) edit(ctx context.Context, c *ledger.Change, change func(file string, data []byte) ([]byte, error)) (before, after []byte, err error) {
	if s.opt.Demo {
		return nil, nil, durward.Errorf(durward.Conflict, "config", "the demonstration has no file that could be changed; start the service without --demo")
	}
	file := s.file()
	before, err = os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, durward.Errorf(durward.Unavailable, "config "+file, "it cannot be read: %w", err)
	}
	there := err == nil
	if after, err = change(file, before); err != nil {
		return nil, nil, err
	}
	if there && bytes.Equal(before, after) {
		return before, after, nil
	}
	opt := s.configOptions()
	next, err := check(opt, after)
	if err != nil {
		return nil, nil, err
	}
	if err := write(file, after); err != nil {
		return nil, nil, err
	}
	if err := s.take(ctx, next, c); err != nil {
		return nil, nil, errors.Join(err, write(file, before))
	}
	s.mu.Lock()
	s.seen = look(s.filesOf(s.config), s.config.Policy.Patterns)
	s.mu.Unlock()
	s.log.Info("configuration changed by the service API", "file", file, "servers", len(next.Servers))
	return before, after, nil
}

// check checks what the file is to hold; nothing means that there is to be none.
func check(opt config.Options, data []byte) (*config.Config, error) {
	if len(data) == 0 {
		opt.User, opt.Optional = opt.User+".none", true
		return config.Load(opt)
	}
	return config.Check(opt, data)
}

// write writes the file; nothing means that there is to be none.
func write(file string, data []byte) error {
	if len(data) == 0 {
		return ignoreMissing(os.Remove(file))
	}
	return config.Write(file, data)
}
