package config_test

import (
	"slices"
	"testing"
)

// A configuration is identified by what it says, not by how, and never by a secret.
func TestDigest(t *testing.T) {
	base := "version: 1\nservers: {a: {command: x, env: {TOKEN: \"${env:TOKEN}\"}}}"
	a := parse(t, base)
	for text, want := range map[string][]string{
		base: nil,
		"# the same\nversion: 1\nlimits: {sessions: 10000}\nservers:\n  a:\n    env: {TOKEN: \"${env:TOKEN}\"}\n    command: x": nil,
		"version: 1\nservers: {a: {command: y, env: {TOKEN: \"${env:TOKEN}\"}}}":                                                {"servers.a.command"},
		"version: 1\nservers: {a: {command: x, env: {TOKEN: \"${env:HOST}\"}}}":                                                 {"servers.a.env.TOKEN"},
		"version: 1\nlimits: {sessions: 5}\nservers: {b: {command: x}}":                                                         {"limits.sessions", "servers.a.command", "servers.a.env.TOKEN", "servers.b.command"},
	} {
		b := parse(t, text)
		if got := a.Differences(b); !slices.Equal(got, want) || !slices.Equal(b.Differences(a), want) {
			t.Errorf("%s: %q", text, got)
		}
		if same := a.Digest() == b.Digest(); same != (want == nil) || len(b.Digest()) != 64 {
			t.Errorf("%s: %s, %s", text, a.Digest(), b.Digest())
		}
	}
	// A secret that is written out can be replaced by another of its length: the digest must not tell which it is.
	if one, other := parse(t, "version: 1\nservers: {a: {command: x, env: {K: aaaaaaaa}}}"), parse(t, "version: 1\nservers: {a: {command: x, env: {K: bbbbbbbb}}}"); one.Digest() != other.Digest() {
		t.Error("the digest depends on a secret")
	}
}
