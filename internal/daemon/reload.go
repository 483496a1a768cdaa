package daemon

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/paths"
	"durward/ledger"
)

// configOptions say where the configuration comes from. A file that was there
// once may not be missing later: that is a mishap, not a wish.
func (s *Service) configOptions() config.Options {
	opt := config.Options{User: s.opt.ConfigFile, Demo: s.opt.Demo, Corp: config.CorpFile, Env: os.LookupEnv}
	if opt.User == "" {
		s.mu.Lock()
		had := s.config != nil && s.config.HasUserFile()
		s.mu.Unlock()
		opt.User, opt.Optional = paths.Config(), !had
	}
	return opt
}

// load reads the configuration the service is started with.
func (s *Service) load() (*config.Config, error) {
	opt := s.configOptions()
	if s.opt.LastGood && !opt.Demo {
		var err error
		if opt.LastGood, err = config.LastGoodPath(paths.State(), opt.User); err != nil {
			return nil, err
		}
	}
	return config.Load(opt)
}

// Reload reads the configuration anew, because somebody sent a signal. A file with
// problems changes nothing: what runs goes on, and Status tells the problem.
func (s *Service) Reload() error { return s.reloadFor(bySignal) }

// ReloadBy implements control.Configuration.
func (s *Service) ReloadBy(by durward.Caller) error { return s.reloadFor(who(&by)) }

func (s *Service) reloadFor(who string) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	return s.reload(who)
}

// reload needs changes.
func (s *Service) reload(who string) error {
	files, patterns := s.files()
	seen := look(files, patterns)
	next, err := config.Load(s.configOptions())
	if err == nil && !slices.Equal(files, s.filesOf(next)) { // what was looked at is to be what was read
		seen = look(s.filesOf(next), next.Policy.Patterns)
		next, err = config.Load(s.configOptions())
	}
	if err == nil {
		err = s.take(context.Background(), next, &ledger.Change{Who: who, What: "config reload", Target: s.file()})
	}
	s.mu.Lock()
	s.seen, s.problem = seen, err
	s.mu.Unlock()
	e := client.Event{Type: client.EventReload, At: time.Now(), Reload: &client.Reloaded{File: s.file()}}
	if err != nil {
		s.log.Error("the configuration was not reloaded; the old one runs on", "file", s.file(), "error", err)
		e.Reload.Problem = err.Error()
	} else {
		s.log.Info("configuration reloaded", "file", s.file(), "servers", len(next.Servers))
		e.Reload.Servers = len(next.Servers)
	}
	s.events.tell(e)
	return err
}

// take takes a configuration into use, once that is on record. changes is held.
func (s *Service) take(ctx context.Context, next *config.Config, c *ledger.Change) error {
	s.mu.Lock()
	old := s.config
	s.mu.Unlock()
	if err := fixed(old, next); err != nil {
		return err
	}
	keys, err := sealingOf(next)
	if err != nil {
		return err
	}
	plugins, err := s.pluginsOf(next.Policy.Rules)
	if err != nil {
		return err
	}
	s.retire(old, next)
	before := s.secrets.Swap(s.secretsOf(next, keys)) // a server that fails at once may print what it was given
	differences(c, old, next)
	if err := s.record(ctx, c); err != nil {
		s.secrets.Store(before)
		return errors.Join(err, plugins.Close())
	}
	decidedBefore := s.decideBy(next.Policy.Rules, plugins) // before a new server can be called
	if err := s.gateway.Reload(s.gatewayOptions(next)); err != nil {
		s.secrets.Store(before)
		s.judge.retire(s.decideBy(old.Policy.Rules, decidedBefore))
		s.undone(*c, "undone", err.Error())
		return err
	}
	s.judge.believe(next)
	if old.Policy.Rules.Digest() != next.Policy.Rules.Digest() {
		s.lint(next)
	}
	s.judge.retire(decidedBefore)
	if err := s.useSealing(keys); err != nil {
		return err
	}
	s.mu.Lock()
	s.config, s.loaded, s.problem = next, time.Now(), nil
	s.mu.Unlock()
	s.keepGood(next)
	return nil
}

// keepGood keeps a copy of what runs, for a start with the last good configuration.
func (s *Service) keepGood(c *config.Config) {
	if s.opt.Demo {
		return
	}
	if err := c.KeepLastGood(paths.State()); err != nil {
		s.log.Warn("no copy of the configuration was kept", "error", err)
	}
}

// watchFiles reloads when the files change, until Close.
func (s *Service) watchFiles() {
	if s.opt.Demo {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := config.Watch(ctx, s.files, s.changed); err != nil {
			s.log.Warn("the configuration is not watched", "error", err)
		}
	})
	s.later(func() error {
		cancel()
		done.Wait()
		return nil
	})
}

// files are those that the configuration which runs is read from, and patterns of
// those that would be.
func (s *Service) files() (files, patterns []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filesOf(s.config), s.config.Policy.Patterns
}

// filesOf are the files that a configuration is read from.
func (s *Service) filesOf(c *config.Config) []string {
	return append([]string{s.file(), config.CorpFile}, c.Policy.Files...)
}

// changed reloads if the files are not as they were when they were last read.
func (s *Service) changed() {
	s.changes.Lock()
	defer s.changes.Unlock()
	now := look(s.files())
	s.mu.Lock()
	same := now == s.seen
	s.mu.Unlock()
	if !same {
		_ = s.reload(byFile) // it logs what happened, and status shows it
	}
}

// fingerprint tells whether the configuration files changed.
type fingerprint [sha256.Size]byte

// look reads what files hold now, and which ones fit patterns; a file that cannot be
// read counts as empty.
func look(files, patterns []string) fingerprint {
	h := sha256.New()
	for _, pattern := range patterns {
		more, _ := filepath.Glob(pattern) // a bad one was refused
		files = append(slices.Clip(files), more...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			data = []byte(err.Error())
		}
		sum := sha256.Sum256(data)
		h.Write([]byte(file))
		h.Write(sum[:])
	}
	return fingerprint(h.Sum(nil))
}
