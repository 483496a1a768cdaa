// Package policies holds the ready-made policies: what durward init writes, and
// what the documents show. Each has a table of tests beside it.
package policies

import (
	"embed"
	"slices"
)

//go:embed *.yaml
var files embed.FS //nolint:gochecknoglobals // embedded; it cannot be changed

// Names are the policies that durward init offers, from the most open.
func Names() []string { return []string{"personal", "team", "locked-down"} }

// Text returns the policy of a name: what stands below the key policy. False: there is none.
func Text(name string) ([]byte, bool) {
	if !slices.Contains(append(Names(), "data-flow"), name) {
		return nil, false
	}
	data, err := files.ReadFile(name + ".yaml")
	return data, err == nil
}
