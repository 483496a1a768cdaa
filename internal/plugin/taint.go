package plugin

import (
	"bytes"
	"path"
	"strings"

	"durward"
	"durward/internal/wire"
)

// The labels that taint sets by itself.
const (
	labelUntrusted = "untrusted-content"
	labelPrivate   = "private-data"
)

// What makes taint set a label by itself.
const (
	sourceOpen      = "open-world"
	sourceDeclared  = "declared-open-world"
	sourceInjection = "injection"
	sourceFindings  = "findings"
)

// taint marks the session by where a result comes from and by what was found in it.
// What the agent itself sends marks it only by findings.
func (r *run) taint(o *one) {
	before := len(r.labels)
	if o.kinds[sourceFindings] && r.personal {
		r.label(labelPrivate)
	}
	if r.stage == stagePost {
		named := false
		for _, l := range o.labels {
			if matches(l.server, r.call.Server) && matches(l.tool, r.call.Name) {
				named = true
				r.label(l.labels...)
			}
		}
		open, declared := openWorld(r.call.Tool)
		if !named && (open && o.kinds[sourceOpen] || declared && o.kinds[sourceDeclared]) {
			r.label(labelUntrusted)
		}
		if r.scored && o.kinds[sourceInjection] && r.score() >= o.threshold {
			r.label(labelUntrusted)
		}
	}
	if len(r.labels) > before {
		r.match(o, LevelInfo, observe.String(), "labels: "+join(r.labels[before:]))
	}
}

func join(list []string) string {
	var b bytes.Buffer
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// matches reports whether a name fits a pattern, in which * stands for slashes as
// well, as in rules: no tool escapes by a name that has one.
func matches(pattern, name string) bool {
	if strings.Contains(name, "/") {
		pattern, name = strings.ReplaceAll(pattern, "/", "\x01"), strings.ReplaceAll(name, "/", "\x01")
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// openWorld reads openWorldHint, which counts as true where it is absent
// (2025-11-25, schema "ToolAnnotations"). Resources and prompts say nothing of it.
func openWorld(tool *durward.Tool) (open, declared bool) {
	if tool == nil {
		return false, false
	}
	if tool.Annotations == nil {
		return true, false
	}
	switch string(bytes.TrimSpace(wire.Get(tool.Annotations, "openWorldHint"))) {
	case "true":
		return true, true
	case "false":
		return false, false
	}
	return true, false
}
