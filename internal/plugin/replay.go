package plugin

import (
	"bytes"
	"context"

	"durward"
)

// Replayed runs plugins on what the record has of a call. What secrets and pii found
// when the call was made was replaced before it was kept, so that they cannot find it again: its
// markers stand for it.
type Replayed struct{ *Set }

// Preprocess is [Set.Preprocess].
func (r Replayed) Preprocess(ctx context.Context, call *durward.Call, names []string) (durward.Decision, []string, error) {
	d, labels, err := r.Set.Preprocess(ctx, call, names)
	if err == nil {
		labels, err = r.marked(&d, labels, call.Params, names, stagePre)
	}
	return d, labels, err
}

// Postprocess is [Set.Postprocess].
func (r Replayed) Postprocess(ctx context.Context, call *durward.Call, result []byte, names []string) (durward.Decision, []string, float64, error) {
	d, labels, score, err := r.Set.Postprocess(ctx, call, result, names)
	if err == nil {
		labels, err = r.marked(&d, labels, result, names, stagePost)
	}
	return d, labels, score, err
}

// marked adds what the markers in a content stand for.
func (r Replayed) marked(d *durward.Decision, labels []string, content []byte, names []string, stage string) ([]string, error) {
	kinds := markersIn(content)
	if len(kinds) == 0 {
		return labels, nil
	}
	list, err := r.pick(names)
	own := run{set: r.Set, stage: stage, list: list, matches: d.Matches, labels: labels, action: d.Action, cause: d.Cause, reason: d.Reason}
	for _, o := range list {
		counts := map[string]int{}
		for kind, n := range kinds {
			if (o.by == wantSecrets || o.by == wantPII) && o.kinds[kind] {
				counts[kind] = n
			}
		}
		if len(counts) > 0 {
			own.personal = true
			own.match(o, LevelNone, o.mode.String(), counted(counts)+", as the record says")
			if o.mode == block {
				own.stricter(durward.Block, "plugin", o.name+" found "+counted(counts)+", as the record says")
			}
		}
	}
	for _, o := range list {
		if o.name == nameTaint && o.kinds[sourceFindings] && own.personal {
			own.label(labelPrivate)
		}
	}
	d.Action, d.Cause, d.Reason, d.Matches = own.action, own.cause, own.reason, own.matches
	return own.labels, err
}

// markersIn counts the markers of [replaced] by their kinds.
func markersIn(content []byte) map[string]int {
	kinds := map[string]int{}
	begin := []byte("[redacted:")
	for at := bytes.Index(content, begin); at >= 0; at = bytes.Index(content, begin) {
		content = content[at+len(begin):]
		if end := bytes.IndexAny(content, "#]"); end > 0 && isLabel(string(content[:end])) {
			kinds[string(content[:end])]++
		}
	}
	return kinds
}
