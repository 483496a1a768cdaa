package sigma

import (
	"strings"

	"durward/internal/yamlx"
)

// Render writes rules as a document with the one key rules, as policy.files takes
// it. What comes from foreign files stands in quotes.
func Render(rules []Rule) []byte {
	var b strings.Builder
	b.WriteString("# Translated from Sigma rules by durward rule import.\nrules:\n")
	if len(rules) == 0 {
		return []byte("rules: []\n")
	}
	for i := range rules {
		b.WriteString(rules[i].yaml())
	}
	return []byte(b.String())
}

// yaml writes one rule as an element of a list.
func (r *Rule) yaml() string {
	reason := r.Title
	if r.SigmaID != "" {
		reason += " (Sigma " + r.SigmaID + ")"
	}
	lines := []string{"id: " + yamlx.Quote(r.ID)}
	if len(r.On) > 0 {
		lines = append(lines, "on: ["+strings.Join(r.On, ", ")+"]")
	}
	lines = append(lines, "when: |-", "  "+r.When, "action: "+r.Action)
	if r.Phase != "request" {
		lines = append(lines, "phase: "+r.Phase)
	}
	lines = append(lines, "detection: "+r.Detection, "reason: "+yamlx.Quote(reason))
	return "  - " + strings.Join(lines, "\n    ") + "\n"
}
