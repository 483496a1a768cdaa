package config

import (
	"slices"
	"strconv"
	"strings"

	"durward/internal/yamlx"
)

// checkLocked applies the corp layer's word on which keys are its own.
func (b *builder) checkLocked() {
	var locked []yamlx.Path
	for _, l := range b.layers {
		at := yamlx.Path{"locked"}
		if !l.src.Has(at) {
			continue
		}
		if l.layer != LayerCorp {
			l.src.ReportKey(codeForbidden, at, "belongs to the corp layer (%s); remove it", CorpFile)
			continue
		}
		for i, text := range b.raw.Locked {
			path := yamlx.Path(strings.Split(text, "."))
			if _, err := Explain(text); err != nil {
				l.src.Report(yamlx.CodeValue, at.In(strconv.Itoa(i)), "%s", message(err))
				continue
			}
			locked = append(locked, path)
		}
	}
	for _, l := range b.layers {
		if l.layer == LayerUser {
			for _, path := range locked {
				reportLocked(l, nil, path, path)
			}
		}
	}
}

// reportLocked reports what a layer has at a locked path; * stands for any name.
func reportLocked(l *layer, at, rest, whole yamlx.Path) {
	if len(rest) == 0 {
		if l.src.Has(at) {
			l.src.ReportKey(codeLocked, at, "is locked by the corp layer (locked: %s); remove it here", strings.Join(whole, "."))
		}
		return
	}
	if rest[0] != anyName {
		reportLocked(l, at.In(rest[0]), rest[1:], whole)
		return
	}
	for _, name := range slices.Sorted(slices.Values(l.src.Keys(at))) {
		reportLocked(l, at.In(name), rest[1:], whole)
	}
}

// anyName stands for each name of a mapping in a path.
const anyName = "*"
