package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"durward"
)

// LastGoodPath returns where the last good copy of a user's file is kept below a
// state directory. Each file has its own, by its absolute path.
func LastGoodPath(state, user string) (string, error) {
	full, err := filepath.Abs(user)
	if err != nil {
		return "", durward.Errorf(durward.Invalid, "config "+user, "its directory cannot be found: %w", err)
	}
	sum := sha256.Sum256([]byte(full))
	return filepath.Join(state, "last-good", hex.EncodeToString(sum[:4])+".yaml"), nil
}

// KeepLastGood writes a copy (0600) of the user's file that c was loaded from, as
// it was read, for a start with [Options.LastGood]. Call it once the service runs
// with c. Without a user's file it does nothing. References are kept, not what
// they stand for; of the corp layer nothing is kept, as only its present word counts.
func (c *Config) KeepLastGood(state string) error {
	if c.source == nil || c.source.copied {
		return nil
	}
	path, err := LastGoodPath(state, c.source.name)
	if err != nil {
		return err
	}
	op := "config " + path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return durward.Errorf(durward.Unavailable, op, "the last good copy cannot be kept: %w", reason(err))
	}
	// Written beside and renamed, so that a crash leaves the old copy.
	temporary, err := os.CreateTemp(filepath.Dir(path), "new-*") // 0600
	if err != nil {
		return durward.Errorf(durward.Unavailable, op, "the last good copy cannot be kept: %w", reason(err))
	}
	_, err = temporary.Write(c.source.data)
	if err == nil {
		err = temporary.Sync()
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // what failed is told below
		return durward.Errorf(durward.Unavailable, op, "the last good copy cannot be kept: %w", reason(err))
	}
	return nil
}
