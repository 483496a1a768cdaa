package upstream_test

import "strings"

func contains(s, word string) bool { return strings.Contains(s, word) }
