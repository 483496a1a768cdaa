package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"durward"
	"durward/client"
	"durward/internal/paths"
	"durward/internal/private"
	"durward/internal/reveal"
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
	startMost    = 3 // attempts, when others win the race for the state directory and end again
	idleExit     = 10 * time.Minute
)

// startService starts the service in the background and waits until it answers.
// One that somebody else is starting, or is ending, is waited for: of those that
// start it this way one has its turn at a time, and a service holds a lock from
// before it listens until after it has ended.
func startService(ctx context.Context, service *client.Client) error {
	return startServiceWithin(ctx, service, startTimeout)
}

func startServiceWithin(ctx context.Context, service *client.Client, within time.Duration) error {
	limit, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	s := starter{within: within}
	defer s.release()
	for {
		if _, err := service.Status(limit); err == nil {
			return nil
		}
		if err := s.step(); err != nil {
			return err
		}
		select {
		case <-limit.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return s.late()
		case <-tick.C:
		}
	}
}

// starter starts the service when it is its turn and nobody else has.
type starter struct {
	within  time.Duration // for how long it is tried
	unlock  func() error  // ends its turn; nil: it is somebody else's
	ended   chan error    // how the one that it started ended; nil: none runs
	started int           // how often
	before  int64         // where the log of the last one began
}

func (s *starter) release() {
	if s.unlock != nil {
		_ = s.unlock() // the system does, with this process
	}
}

// step does what can be done now, and does not wait.
func (s *starter) step() error {
	if s.unlock == nil {
		var err error
		s.unlock, err = private.Lock(paths.StartLock(), 0)
		if err != nil && durward.KindOf(err) == durward.Conflict {
			return nil
		}
		if err != nil {
			return cannotStart(err)
		}
	}
	var how error
	if s.ended != nil {
		select {
		case how = <-s.ended:
			s.ended = nil
		default:
			return nil
		}
	}
	held, err := serviceHeld()
	if held || err != nil {
		return err // one that is about to answer, or to end
	}
	if s.started > 0 && (s.started >= startMost || !lostRace(how)) {
		return withHint(durward.Errorf(durward.Unavailable, "", "the service ended as soon as it was started; it said:\n%s", lastWords(s.before)),
			"durward config validate checks the configuration, durward serve shows the service in the foreground")
	}
	return s.start()
}

// lostRace reports whether a service ended because another one had the state directory.
func lostRace(how error) bool {
	var exit *exec.ExitError
	return how == nil || errors.As(how, &exit) && exit.ExitCode() == exitStatus(durward.Errorf(durward.Conflict, "", ""))
}

// serviceHeld reports whether a service runs, or begins or ends to.
func serviceHeld() (bool, error) {
	unlock, err := private.Lock(paths.Lock(), 0)
	switch {
	case err == nil:
		return false, unlock()
	case durward.KindOf(err) == durward.Conflict:
		return true, nil
	default:
		return false, cannotStart(err)
	}
}

// late says why no service answers.
func (s *starter) late() error {
	if held, err := serviceHeld(); held && err == nil && s.ended == nil {
		return withHint(durward.Errorf(durward.Unavailable, "", "a service runs (%s is locked), and did not answer on %s within %s", paths.Lock(), paths.Socket(), s.within),
			"durward doctor looks for the cause")
	}
	return durward.Errorf(durward.Unavailable, "", "the service did not come up within %s; see %s", s.within, paths.ServiceLog())
}

func (s *starter) start() error {
	self, err := os.Executable()
	if err != nil {
		return cannotStart(err)
	}
	if err := os.MkdirAll(filepath.Dir(paths.ServiceLog()), 0o700); err != nil {
		return cannotStart(err)
	}
	log, err := os.OpenFile(paths.ServiceLog(), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return cannotStart(err)
	}
	defer log.Close() // the service has its own descriptor
	if s.before, err = log.Seek(0, 2); err != nil {
		return cannotStart(err)
	}
	cmd := exec.Command(self, "serve", "--idle-exit", idleExit.String()) //nolint:gosec,noctx // ourselves; it outlives us
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, detached()
	if err := cmd.Start(); err != nil {
		return cannotStart(err)
	}
	s.started++
	s.ended = make(chan error, 1)
	go func(ended chan<- error) { ended <- cmd.Wait() }(s.ended) // it outlives us, or its end is looked at
	return nil
}

func cannotStart(err error) error {
	return durward.Errorf(durward.Unavailable, "", "the service cannot be started: %w", err)
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
	return strings.ToValidUTF8(reveal.Text(string(data)), "�")
}
