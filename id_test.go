package durward_test

import (
	"regexp"
	"testing"
	"time"

	"durward"
)

func TestIdentifiersAreUUIDv7InOrderOfTime(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 10_000 {
		for _, id := range []string{string(durward.NewCallID()), string(durward.NewSessionID())} {
			if !shape.MatchString(id) || seen[id] {
				t.Fatalf("%s is malformed or was given twice", id)
			}
			seen[id] = true
		}
	}
	first := durward.NewCallID()
	time.Sleep(2 * time.Millisecond) // the clock of the identifiers has steps of one
	if second := durward.NewCallID(); second <= first {
		t.Errorf("%s does not sort behind %s", second, first)
	}
}
