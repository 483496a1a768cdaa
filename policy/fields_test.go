package policy

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the reference anew")

func TestTheReferenceOfFieldsIsUpToDate(t *testing.T) {
	const file = "../docs/reference/rule-fields.md"
	want := FieldsReference()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v): make docs", file, err)
	}
}

func TestTheTableOfFieldsIsWhole(t *testing.T) {
	table := fieldTable()
	seen := make(map[string]bool)
	for f := range numFields {
		info := table[f]
		if info.name == "" || info.doc == "" || !strings.HasSuffix(info.doc, ".") && !strings.HasSuffix(info.doc, "…") || seen[info.name] {
			t.Errorf("field %d: %+v", f, info)
		}
		seen[info.name] = true
		if info.listed == onlyCalls(f) {
			t.Errorf("%s: the table says listed %v, onlyCalls another thing", info.name, info.listed)
		}
	}
}

// TestEveryFieldHasAValue: a full event gives every field its value, of the type that the table
// says, and an empty one gives almost none.
func TestEveryFieldHasAValue(t *testing.T) {
	full := fullEvent()
	table := fieldTable()
	for f := range numFields {
		ev := *full
		switch f {
		case fieldPromptName, fieldPromptArguments:
			ev.Prompt, ev.Tool = "review", EventTool{}
		}
		got := fieldValue(&ev, f)
		if got == nil {
			t.Errorf("%s is absent", table[f].name)
			continue
		}
		if want := celType(table[f].kind); table[f].kind != kindAny && !strings.HasPrefix(want.TypeName(), got.Type().TypeName()) {
			t.Errorf("%s is %s, want %s", table[f].name, got.Type().TypeName(), want)
		}
		switch f {
		case fieldGroups, fieldSessionLabels, fieldSessionCalls:
			continue // never absent
		}
		if got := fieldValue(&Event{}, f); got != nil {
			t.Errorf("%s of nothing is %v", table[f].name, got)
		}
	}
}
