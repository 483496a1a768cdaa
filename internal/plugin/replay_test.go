package plugin_test

import (
	"slices"
	"strings"
	"testing"

	"durward"
	"durward/internal/plugin"
)

// What was found when a call was made is not in the record any more: its markers
// stand for it, so that a stricter mode is seen to be stricter.
func TestMarkersInTheRecordAreFindings(t *testing.T) {
	kept := toolCall(`{"to":"[redacted:email]","[redacted:jwt#1]":"x","y":"[redacted:nonsense!"}`)
	for mode, want := range map[string]durward.Action{"observe": durward.Allow, "redact": durward.Allow, "block": durward.Block} {
		set := plugin.Replayed{Set: newSet(t, map[string]plugin.Config{"pii": {Mode: mode}, "taint": {Mode: "observe"}})}
		d, labels, err := set.Preprocess(t.Context(), kept, nil)
		if err != nil || d.Action != want || len(d.Matches) == 0 || d.Matches[0].Rule != "plugin:pii" || !strings.HasPrefix(d.Matches[0].Detail, "1 email") || d.Changed != nil {
			t.Errorf("%s: %v %+v", mode, err, d)
		}
		if !slices.Contains(labels, "private-data") {
			t.Errorf("%s: labels %q", mode, labels)
		}
		d, _, _, err = set.Postprocess(t.Context(), kept, kept.Params, []string{"block-secrets"})
		if err != nil || d.Action != durward.Block || !strings.Contains(d.Reason, "1 jwt") {
			t.Errorf("%s: %v %+v", mode, err, d)
		}
	}
	set := plugin.Replayed{Set: newSet(t, map[string]plugin.Config{"pii": {Mode: "block", Detect: []string{"iban"}}})}
	if d, _, err := set.Preprocess(t.Context(), kept, nil); err != nil || d.Action != durward.Allow {
		t.Errorf("another kind: %v %+v", err, d)
	}
}
