package daemon

import (
	"context"

	"durward"
	"durward/client"
	"durward/internal/config"
	"durward/internal/control"
	"durward/internal/paths"
	"durward/internal/seal"
)

// keys looks at and rotates the keys that seal what clients carry, for the
// service API.
type keys Service

var _ control.Keys = (*keys)(nil)

// sealing are the keys in use, the one that seals first, and the file they are
// from; without one they stand in the configuration. It is immutable.
type sealing struct {
	keys []seal.FileKey
	file string
}

// sealingOf returns the keys that a configuration wants: its own, or else those
// of the key file, which is made if there is none.
func sealingOf(c *config.Config) (*sealing, error) {
	if len(c.SealKeys) == 0 {
		return fileSealing()
	}
	s := &sealing{}
	for _, k := range c.SealKeys {
		s.keys = append(s.keys, seal.FileKey{Key: k})
	}
	return s, nil
}

func fileSealing() (*sealing, error) {
	file := paths.SealKeys()
	if _, err := seal.LoadFile(file); err != nil {
		return nil, err
	}
	all, err := seal.ListFile(file)
	if err != nil {
		return nil, err
	}
	return &sealing{keys: all, file: file}, nil
}

// secrets are the keys alone.
func (s *sealing) secrets() []durward.SealKey {
	var all []durward.SealKey
	for _, k := range s.keys {
		all = append(all, k.Key)
	}
	return all
}

// useSealing takes keys into use. changes is held, or the service starts.
func (s *Service) useSealing(next *sealing) error {
	if err := s.gateway.SetSealKeys(next.secrets()); err != nil {
		return err
	}
	before := s.sealing.Swap(next)
	if id := seal.ID(next.keys[0].Key); before != nil && id != seal.ID(before.keys[0].Key) {
		s.log.Info("another key seals from now on", "key", id, "active", len(next.keys))
	}
	return nil
}

// List implements control.Keys.
func (k *keys) List() client.Keys {
	now := k.sealing.Load()
	out := client.Keys{Source: client.KeysFromConfiguration, File: now.file, Keys: []client.Key{}}
	if now.file != "" {
		out.Source = client.KeysFromFile
	}
	for i, key := range now.keys {
		out.Keys = append(out.Keys, client.Key{ID: seal.ID(key.Key), Created: key.Created, Seals: i == 0})
	}
	return out
}

// Rotate implements control.Keys.
func (k *keys) Rotate(by durward.Caller) (client.Keys, error) {
	s := (*Service)(k)
	s.changes.Lock()
	defer s.changes.Unlock()
	if s.sealing.Load().file == "" {
		return client.Keys{}, durward.Errorf(durward.Conflict, "keys", "they stand in the configuration (seal_keys), which all replicas share, and cannot be rotated here: "+
			"put a new one (durward keys new) behind the others on every replica, then in front, then remove the oldest")
	}
	c := changed(&by, "keys rotate", paths.SealKeys())
	c.OldHash = seal.ID(s.sealing.Load().keys[0].Key)
	if err := s.record(context.Background(), c); err != nil {
		return client.Keys{}, err
	}
	next, err := s.rotated()
	if err != nil {
		s.undone(*c, "failed", err.Error())
		return client.Keys{}, err
	}
	c.NewHash = seal.ID(next.keys[0].Key)
	s.undone(*c, "done", "")
	return k.List(), nil
}

// rotated rotates the key file and takes its keys into use. changes is held.
func (s *Service) rotated() (*sealing, error) {
	if _, err := seal.RotateFile(paths.SealKeys()); err != nil {
		return nil, err
	}
	next, err := fileSealing()
	if err != nil {
		return nil, err
	}
	s.secrets.Store(s.secretsOf(s.config, next)) // changes is held, so config does not change
	return next, s.useSealing(next)
}
