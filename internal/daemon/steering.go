package daemon

import (
	"context"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/internal/control"
)

// steering looks at servers and steers them, for the service API.
type steering Service

var _ control.Steering = (*steering)(nil)

// Show implements control.Steering.
func (st *steering) Show(ctx context.Context, name string) (*client.Server, error) {
	s := (*Service)(st)
	status, ok := s.server(name)
	if !ok {
		return nil, durward.Errorf(durward.NotFound, "server "+name, "no server is called %q; see: durward server list", name)
	}
	shown := &client.Server{Status: status, Settings: []client.Setting{}, Tools: []client.Item{}}
	for _, setting := range s.Config().Settings {
		if strings.HasPrefix(setting.Path, "servers."+name+".") {
			shown.Settings = append(shown.Settings, setting)
		}
	}
	if status.State != durward.StateReady && status.State != durward.StateDegraded && status.State != durward.StateConfigured {
		return shown, nil
	}
	caller := durward.Caller{Principal: "local", Entrance: durward.EntranceConsole}
	var err error
	shown.Tools, err = (*offer)(s).items(ctx, caller, durward.Route{}, "tools", name)
	return shown, err
}

// Refresh implements control.Steering.
func (st *steering) Refresh(ctx context.Context, name string) error {
	return st.explain(st.gateway.RefreshServer(ctx, name))
}

// Restart implements control.Steering.
func (st *steering) Restart(ctx context.Context, name string) error {
	return st.explain(st.gateway.RestartServer(ctx, name))
}

// explain takes known secrets out of an error that quotes a server.
func (st *steering) explain(err error) error {
	if err == nil {
		return nil
	}
	return &durward.Error{Kind: durward.KindOf(err), Message: (*Service)(st).redacted(err.Error())}
}

// Stderr implements control.Steering.
func (st *steering) Stderr(name string) (string, error) {
	said, err := st.gateway.ServerStderr(name)
	if err != nil {
		return "", err
	}
	return (*Service)(st).redacted(strings.ToValidUTF8(string(said), "�")), nil
}

func (s *Service) redacted(text string) string {
	s.mu.Lock()
	c := s.config
	s.mu.Unlock()
	return c.Redact(text)
}

// server returns the status of one server.
func (s *Service) server(name string) (durward.ServerStatus, bool) {
	for _, st := range s.Status().Servers {
		if st.Name == name {
			return st, true
		}
	}
	return durward.ServerStatus{}, false
}

// Bounds of trying a server that was added or enabled.
const (
	tryMore  = 5 * time.Second       // besides its start time-out: for the lists
	lastWord = 2 * time.Second       // for the stderr of one that died
	lookAt   = 20 * time.Millisecond // how often its state is looked at
	tryLeast = 35 * time.Second      // with the default start time-out
)

// try waits until a server has come up or failed, and returns its state then.
func (s *Service) try(ctx context.Context, name string) durward.ServerStatus {
	limit := tryLeast
	s.mu.Lock()
	for _, spec := range s.config.Servers {
		if spec.Name == name && spec.StartTimeout > 0 {
			limit = spec.StartTimeout + tryMore
		}
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.gateway.AwaitServer(ctx, name, limit)
	// A list that is there is offered while others are still read.
	st := s.await(ctx, name, func(st durward.ServerStatus) bool { return st.State != durward.StateConnecting })
	if st.State != durward.StateBackoff || st.Transport != durward.TransportStdio {
		return st
	}
	ctx, cancel = context.WithTimeout(ctx, lastWord)
	defer cancel()
	// What it said last is known once it is gone.
	return s.await(ctx, name, func(st durward.ServerStatus) bool {
		return st.State != durward.StateBackoff || strings.Contains(st.Reason, "\n")
	})
}

// await looks at a server's state until it is one that is waited for, and returns the
// last: nothing tells of what is waited for here.
func (s *Service) await(ctx context.Context, name string, ok func(durward.ServerStatus) bool) durward.ServerStatus {
	tick := time.NewTicker(lookAt)
	defer tick.Stop()
	for {
		st, _ := s.server(name)
		if ok(st) {
			return st
		}
		select {
		case <-ctx.Done():
			return st
		case <-tick.C:
		}
	}
}
