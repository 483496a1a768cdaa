package main

import (
	"fmt"
	"sort"
	"strings"
)

// difference is one check that came out otherwise through the gateway.
type difference struct {
	scenario, check string
	direct, gateway string // statuses; "absent" when the check was not made
	message         string
	details         string
}

func (d difference) worse() bool { return rank(d.gateway) < rank(d.direct) }

func (d difference) String() string {
	s := fmt.Sprintf("%s/%s direct=%s gateway=%s", d.scenario, d.check, d.direct, d.gateway)
	if d.message != "" {
		s += ": " + d.message
	}
	return s
}

const absent = "absent"

// rank orders the statuses: less is worse. INFO, SKIPPED and an absent check say
// that something was not looked at, which is worse than having passed.
func rank(status string) int {
	switch status {
	case "SUCCESS":
		return 3
	case "FAILURE":
		return 0
	case "WARNING":
		return 1
	default:
		return 2
	}
}

// compare returns the differences between the direct run and one through the
// gateway, sorted. Checks that inform on both sides are no difference: they
// record traffic, and traffic may differ.
func compare(direct, gateway map[string][]check) []difference {
	var all []difference
	for _, name := range sortedKeys(direct, gateway) {
		split := several(direct[name], gateway[name])
		d, g := keyed(direct[name], split), keyed(gateway[name], split)
		for _, key := range sortedKeys(d, g) {
			diff := difference{
				scenario: name, check: key, direct: status(d, key), gateway: status(g, key),
				message: g[key].Message, details: string(g[key].Details),
			}
			if rank(diff.direct) != rank(diff.gateway) {
				all = append(all, diff)
			}
		}
	}
	return all
}

func status(m map[string]check, key string) string {
	if c, ok := m[key]; ok {
		return c.Status
	}
	return absent
}

// several finds the ids that one run uses for checks of several names: there the
// id alone does not say which check it is.
func several(runs ...[]check) map[string]bool {
	split := make(map[string]bool)
	for _, checks := range runs {
		name := make(map[string]string)
		for _, c := range checks {
			if known, ok := name[c.ID]; ok && known != c.Name {
				split[c.ID] = true
			}
			name[c.ID] = c.Name
		}
	}
	return split
}

// keyed names each check by its id, with its name where the id has several, and
// by its occurrence when a scenario makes the same check several times.
func keyed(checks []check, split map[string]bool) map[string]check {
	m := make(map[string]check, len(checks))
	seen := make(map[string]int)
	for _, c := range checks {
		key := c.ID
		if split[c.ID] {
			key += "/" + c.Name
		}
		seen[key]++
		if n := seen[key]; n > 1 {
			key = fmt.Sprintf("%s#%d", key, n)
		}
		m[key] = c
	}
	return m
}

func sortedKeys[V any](maps ...map[string]V) []string {
	set := make(map[string]bool)
	for _, m := range maps {
		for k := range m {
			set[k] = true
		}
	}
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// baseName is the check without the occurrence.
func baseName(key string) string {
	id, _, _ := strings.Cut(key, "#")
	return id
}
