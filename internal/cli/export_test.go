package cli

import (
	"context"
	"encoding/json"
	"time"

	"durward/client"
)

// What the tests of this package look at besides the commands.
var (
	ReplaceReference = replaceReference
	SystemdQuote     = systemdQuote
	ShellQuote       = shellQuote
	Extension        = extension
	Distance         = distance
)

// StartService starts the service in the background, however busy the machine is.
func StartService(ctx context.Context, service *client.Client) error {
	return startServiceWithin(ctx, service, 2*time.Minute)
}

// LaunchdUnit is the file for launchd.
func LaunchdUnit(self, home, path string) (file, unit string) {
	m := launchd(self, home, path)
	return m.file, m.unit
}

// Value reads the text of an argument by its property's schema.
func Value(schema, text string) (string, error) {
	s := inputSchema{Properties: map[string]json.RawMessage{"a": json.RawMessage(schema)}}
	raw, err := s.value("a", text)
	return string(raw), err
}
