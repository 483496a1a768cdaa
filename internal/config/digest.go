package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Digest returns the SHA-256, in hex, of what [Config.Settings] shows: the same
// for two configurations that say the same, wherever they say it. What may hold a
// secret is in it as it is shown, so that nobody can guess a secret by it.
func (c *Config) Digest() string {
	values := make([][2]string, 0, len(c.settings)) // sorted by path
	for _, s := range c.settings {
		values = append(values, [2]string{s.Path, s.Value})
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Differences lists the paths at which two configurations show different values.
func (c *Config) Differences(other *Config) []string {
	mine, theirs, paths := c.shown(), other.shown(), map[string]bool{}
	for path, value := range mine {
		if theirs[path] != value {
			paths[path] = true
		}
	}
	for path := range theirs {
		if _, there := mine[path]; !there {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

func (c *Config) shown() map[string]string {
	out := make(map[string]string, len(c.settings))
	for _, s := range c.settings {
		out[s.Path] = s.Value
	}
	return out
}
