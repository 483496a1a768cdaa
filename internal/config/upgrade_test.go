package config_test

import (
	"strings"
	"testing"

	"durward"
	"durward/internal/config"
)

const oldFile = `# My configuration.
version: 1 # the first

limits:
  message: 16MiB   # enough
  # Few people here.
  sessions: 20     # for now

# TLS comes later.
insecure: true

servers:
  # The files.
  files:
    command: 'npx'
    dir: "/srv"    # all of it
  other: {command: x, dir: y}
`

const newFile = `# My configuration.
version: 3 # the first

limits:
  message: 16MiB   # enough
  # Few people here.
  legacy_sessions: 20     # for now


servers:
  # The files.
  files:
    command: 'npx'
    directory: "/srv"    # all of it
  other: {command: x, directory: y}
`

func TestUpgradeKeepsCommentsAndLayout(t *testing.T) {
	got, changes, err := config.UpgradeToThree("durward.yaml", []byte(oldFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != newFile {
		t.Errorf("got\n%s", got)
	}
	want := []config.Change{
		{Line: 7, Path: "limits.sessions", Message: "renamed to legacy_sessions: modern clients have none"},
		{Line: 10, Path: "insecure", Message: "removed: it is decided by tls"},
		{Line: 2, Path: "version", Message: "changed from 1 to 2: the format has a new version"},
		{Line: 14, Path: "servers.files.dir", Message: "renamed to directory: words are written out"},
		{Line: 15, Path: "servers.other.dir", Message: "renamed to directory: words are written out"},
		{Line: 2, Path: "version", Message: "changed from 2 to 3: the format has a new version"},
	}
	if diff := differ(want, changes); diff != "" {
		t.Error(diff)
	}
	again, changes, err := config.UpgradeToThree("durward.yaml", got)
	if err != nil || string(again) != newFile || len(changes) != 0 {
		t.Errorf("a second time: %s, %v, %v", again, changes, err)
	}
	// Line endings and a byte order mark are layout too.
	windows := "\ufeff" + strings.ReplaceAll(oldFile, "\n", "\r\n")
	got, _, err = config.UpgradeToThree("durward.yaml", []byte(windows))
	if err != nil || string(got) != "\ufeff"+strings.ReplaceAll(newFile, "\n", "\r\n") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestUpgradeOfTheNewestVersionChangesNothing(t *testing.T) {
	got, changes, err := config.Upgrade("durward.yaml", []byte(oldFile))
	if err != nil || string(got) != oldFile || len(changes) != 0 {
		t.Errorf("%s, %v, %v", got, changes, err)
	}
}

func TestUpgradeRefusesWhatItDoesNotKnow(t *testing.T) {
	for text, want := range map[string]string{
		"version: 4":             `its version is "4"; this Durward knows 1 to 3`,
		"version: 0":             `its version is "0"`,
		"listen: x":              `its version is ""`,
		"version: [1]":           `its version is ""`,
		"version: 1\nlimits: {":  "E_SYNTAX",
		"":                       "E_EMPTY",
		"version: 1\nversion: 1": "",
	} {
		_, _, err := config.UpgradeToThree("durward.yaml", []byte(text))
		if want == "" {
			continue // what Load refuses need not be refused here; it must not panic
		}
		if err == nil || durward.KindOf(err) != durward.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	_, _, err := config.UpgradeToThree("durward.yaml", []byte("version: 1\nlimits: {sessions: 1, legacy_sessions: 2}"))
	if durward.KindOf(err) != durward.Conflict || !strings.Contains(err.Error(), "limits.legacy_sessions is there already") {
		t.Errorf("%v", err)
	}
}

// Every version but the newest has its step, in order.
func TestStepsLeadToTheNewestVersion(t *testing.T) {
	steps := config.Steps()
	if len(steps) != config.Version-1 {
		t.Fatalf("%d steps to version %d", len(steps), config.Version)
	}
	for i, from := range steps {
		if from != i+1 {
			t.Errorf("step %d is from version %d", i, from)
		}
	}
}
