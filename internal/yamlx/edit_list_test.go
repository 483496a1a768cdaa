package yamlx_test

import (
	"strings"
	"testing"

	"durward"
	"durward/internal/yamlx"
)

// Each element goes to the end of its list, and no other line changes.
func TestAppend(t *testing.T) {
	const element = "id: b\nwhen: |-\n  x\n\n  y\n"
	for name, test := range map[string]struct {
		path     yamlx.Path
		old, now string
	}{
		"to a list":        {yamlx.Path{"p", "rules"}, "p:\n  rules: # all\n    # first\n    - id: a\n      on: [x]\n      # end\n\n    # tail\nq: 1\n", "p:\n  rules: # all\n    # first\n    - id: a\n      on: [x]\n      # end\n    - id: b\n      when: |-\n        x\n\n        y\n\n    # tail\nq: 1\n"},
		"dashes below":     {yamlx.Path{"rules"}, "rules:\n- id: a\n- id: c\nq: 1\n", "rules:\n- id: a\n- id: c\n- id: b\n  when: |-\n    x\n\n    y\nq: 1\n"},
		"to none":          {yamlx.Path{"p", "rules"}, "p:\n  q: 1\n", "p:\n  q: 1\n  rules:\n    - id: b\n      when: |-\n        x\n\n        y\n"},
		"to nothing":       {yamlx.Path{"p", "rules"}, "v: 1\n", "v: 1\np:\n  rules:\n    - id: b\n      when: |-\n        x\n\n        y\n"},
		"to an empty one":  {yamlx.Path{"rules"}, "rules: []\nq: 1\n", "rules:\n  - id: b\n    when: |-\n      x\n\n      y\nq: 1\n"},
		"to a null":        {yamlx.Path{"rules"}, "rules:\nq: 1\n", "rules:\n  - id: b\n    when: |-\n      x\n\n      y\nq: 1\n"},
		"behind nested":    {yamlx.Path{"rules"}, "rules:\n  - l:\n      - - x\n    m: |\n      - z\n", "rules:\n  - l:\n      - - x\n    m: |\n      - z\n  - id: b\n    when: |-\n      x\n\n      y\n"},
		"behind a comment": {yamlx.Path{"rules"}, "rules:\n  - a # x\n# end\n", "rules:\n  - a # x\n  - id: b\n    when: |-\n      x\n\n      y\n# end\n"},
	} {
		e := edit(t, test.old)
		if err := e.Append(test.path, element); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := string(e.Bytes()); got != test.now {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.now)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": "rules: [a, b]\n", "a mapping": "rules: {a: 1}\n", "a text": "rules: a\n", "an alias": "x: &x\n- a\nrules: *x\n",
	} {
		e := edit(t, text)
		err := e.Append(yamlx.Path{"rules"}, "c")
		if durward.KindOf(err) != durward.Conflict || err == nil || !strings.Contains(err.Error(), "rules") {
			t.Errorf("%s: %v", name, err)
		}
		if got := string(e.Bytes()); got != text {
			t.Errorf("%s: it changed to %s", name, got)
		}
	}
}
