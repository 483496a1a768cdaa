package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/internal/paths"
)

// connect returns a client of the service, which is started in the background if
// none runs and the environment names no other.
func connect(ctx context.Context, std Streams) (*client.Client, error) {
	service, err := serviceAPI()
	if err != nil {
		return nil, err
	}
	_, err = service.Status(ctx)
	if os.Getenv(envAPI) != "" {
		return service, err // who names a service wants that one, not another
	}
	if durward.KindOf(err) == durward.Unavailable && err != nil {
		note(std, "no service runs; starting one in the background …")
		err = startService(ctx, service)
	}
	return service, err
}

// Bounds of a start in the background.
const (
	startTimeout = 15 * time.Second
	startPoll    = 20 * time.Millisecond
	startOther   = 2 * time.Second // for another one that won the race to start
	idleExit     = 10 * time.Minute
)

// startService starts the service in the background and waits until it answers.
// Of several that start at the same time the state lock lets one live; the
// others' clients then use that one.
func startService(ctx context.Context, service *client.Client) error {
	self, err := os.Executable()
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(paths.ServiceLog()), 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	log, err := os.OpenFile(paths.ServiceLog(), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	defer log.Close() // the service has its own descriptor
	before, err := log.Seek(0, 2)
	if err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	cmd := exec.Command(self, "serve", "--idle-exit", idleExit.String()) //nolint:gosec,noctx // ourselves; it outlives us
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, detached()
	if err := cmd.Start(); err != nil {
		return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	return awaitService(ctx, service, ended, before)
}

// awaitService waits until the service answers. before is where its log began.
func awaitService(ctx context.Context, service *client.Client, ended <-chan struct{}, before int64) error {
	limit, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	var other <-chan time.Time // runs from when ours ended
	for {
		if _, err := service.Status(limit); err == nil {
			return nil
		}
		select {
		case <-limit.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return durward.Errorf(durward.Unavailable, "", "the service did not come up within %s; see %s", startTimeout, paths.ServiceLog())
		case <-ended:
			ended, other = nil, time.After(startOther) // another one may hold the lock and be about to answer
		case <-other:
			return withHint(durward.Errorf(durward.Unavailable, "", "the service ended as soon as it was started; it said:\n%s", lastWords(before)),
				"durward config validate checks the configuration, durward serve shows the service in the foreground")
		case <-tick.C:
		}
	}
}

// lastWords is the end of what the service logged from a place on.
func lastWords(from int64) string {
	const most = 2 << 10
	data, err := os.ReadFile(paths.ServiceLog())
	if err != nil || int64(len(data)) < from {
		return "(nothing)"
	}
	data = bytes.TrimSpace(data[from:])
	if len(data) > most {
		data = data[len(data)-most:]
	}
	return strings.ToValidUTF8(visible(string(data)), "�")
}
