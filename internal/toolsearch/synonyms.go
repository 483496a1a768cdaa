package toolsearch

import "slices"

// sameMeaning are words that mean the same, or nearly, when tools are named. A
// query for one finds the others, at a lower weight.
func sameMeaning() [][]string {
	return [][]string{
		{"create", "add", "new", "make", "insert", "open"},
		{"delete", "remove", "drop", "destroy", "erase", "purge"},
		{"update", "edit", "modify", "change", "set", "alter", "patch"},
		{"get", "read", "fetch", "retrieve", "show", "view", "load"},
		{"list", "show", "enumerate", "browse", "all"},
		{"search", "find", "lookup", "query", "locate"},
		{"send", "post", "publish", "write"},
		{"run", "execute", "invoke", "trigger", "start", "launch"},
		{"stop", "cancel", "kill", "terminate", "abort", "halt"},
		{"copy", "duplicate", "clone"},
		{"move", "rename"},
		{"upload", "attach", "import", "put"},
		{"download", "export", "save"},
		{"describe", "details", "info", "information", "inspect", "explain"},
		{"check", "status", "verify", "validate"},
		{"message", "chat", "dm"},
		{"email", "mail", "gmail", "inbox"},
		{"repo", "repository"},
		{"pr", "pull"},
		{"directory", "folder", "dir"},
		{"file", "document", "doc"},
		{"database", "db"},
		{"image", "picture", "photo"},
		{"screenshot", "capture"},
		{"user", "member", "person", "people", "account", "teammate"},
		{"ticket", "issue", "bug", "task"},
		{"event", "meeting", "appointment"},
		{"channel", "room"},
		{"page", "website", "site", "web", "url"},
		{"pod", "container"},
		{"deploy", "release", "rollout"},
		{"config", "configuration", "settings"},
		{"env", "environment"},
		{"comment", "reply", "note"},
		{"log", "logs", "trace"},
		{"metric", "statistics", "stats", "usage"},
		{"payment", "charge"},
		{"invoice", "bill"},
		{"customer", "client"},
		{"directions", "route"},
		{"place", "location", "address"},
		{"kubernetes", "k8s", "kubectl"},
		{"assign", "assignee"},
		{"history", "log", "previous"},
		{"diff", "compare", "difference", "changes"},
		{"worker", "function", "lambda"},
		{"sheet", "spreadsheet"},
		{"row", "record"},
		{"memory", "knowledge", "remember"},
	}
}

// synonyms returns the folded words that mean the same, by folded word.
func synonyms() map[string][]string {
	all := map[string][]string{}
	for _, group := range sameMeaning() {
		for _, w := range group {
			term := fold(w)
			for _, other := range group {
				if alt := fold(other); alt != term && !slices.Contains(all[term], alt) {
					all[term] = append(all[term], alt)
				}
			}
		}
	}
	return all
}
