package sigma

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"durward/internal/yamlx"
)

// CodeSigma is the code of what cannot be translated.
const CodeSigma yamlx.Code = "E_SIGMA"

// Rule is one translated rule.
type Rule struct {
	ID        string // of its title: at most 64 characters of [a-z0-9._-]
	Title     string
	SigmaID   string // the UUID of the Sigma rule; empty if it has none
	On        []string
	When      string // CEL
	Action    string // ask, block or allow
	Phase     string // request or response
	Detection string // none, info, low, medium, high or critical
	File      string
	Line      int // of its condition
}

// Options say how rules are translated.
type Options struct {
	// Action of the rules that do not say so themselves with "durward: {action: …}":
	// ask or block. Rules never allow. Default ask; block for those that look at results,
	// which nobody can be asked about.
	Action string
	// Fields are names of fields besides those of [Fields], and what they become.
	Fields map[string]string
	// Limits bound the file.
	Limits yamlx.Limits
}

// maxCondition bounds a translated condition, in bytes.
const maxCondition = 64 << 10

// Translate translates the Sigma rules of one file, which may hold several
// documents. name stands for it in messages. The problems are all there are; the
// rules are those without any.
func Translate(name string, data []byte, opt Options) ([]Rule, yamlx.Problems) {
	t := &translator{name: name, opt: opt, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), ids: map[string]bool{}}
	for _, doc := range documents(data) {
		src := yamlx.Parse(name, doc, opt.Limits)
		root := src.Tree()
		if root == nil {
			t.problems = append(t.problems, src.Err().(yamlx.Problems)...) //nolint:errorlint,forcetypeassert // Err says that it is one
			continue
		}
		t.document(root)
	}
	if len(t.rules) == 0 && len(t.problems) == 0 {
		t.problems = append(t.problems, yamlx.Problem{Code: yamlx.CodeEmpty, File: name, Line: 1, Column: 1, Message: "holds no Sigma rule"})
	}
	return t.rules, t.problems
}

// documents splits a file at the marks between documents. What stands before a
// document is kept as empty lines, so that places stay right.
func documents(data []byte) [][]byte {
	var docs [][]byte
	var doc strings.Builder
	lines, filled := 0, false
	flush := func() {
		if filled {
			docs = append(docs, []byte(doc.String()))
		}
		doc.Reset()
		doc.WriteString(strings.Repeat("\n", lines))
		filled = false
	}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		lines++
		if rest, mark := strings.CutPrefix(line, "---"); mark && strings.Trim(rest, " \t\r\n") == "" {
			flush()
			continue
		}
		doc.WriteString(line)
		content := strings.TrimSpace(line)
		filled = filled || content != "" && !strings.HasPrefix(content, "#") && content != "..."
	}
	flush()
	return docs
}

type translator struct {
	name     string
	opt      Options
	lines    []string
	rules    []Rule
	problems yamlx.Problems
	ids      map[string]bool
}

// problem reports what is wrong at a place.
func (t *translator) problem(line, column int, path, format string, args ...any) {
	p := yamlx.Problem{Code: CodeSigma, File: t.name, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...)}
	if line <= len(t.lines) {
		if shown := strings.TrimRight(t.lines[line-1], " "); utf8.RuneCountInString(shown) <= 160 {
			p.Excerpt, p.Width = shown, 1
		}
	}
	t.problems = append(t.problems, p)
}

// ignored are keys of a Sigma rule that say nothing about what it finds.
const ignored = " title id name status description license author references date modified tags level logsource detection fields falsepositives related scope taxonomy durward "

// document translates one document.
func (t *translator) document(root *yamlx.Value) {
	before := len(t.problems)
	if root.Kind != yamlx.Mapping {
		t.problem(root.Line, root.Column, "", "is no Sigma rule: a mapping with title, logsource and detection is expected")
		return
	}
	for _, key := range root.Keys {
		if strings.Contains(ignored, " "+key.Text+" ") {
			continue
		}
		switch key.Text {
		case "correlation", "filter", "action":
			t.problem(key.Line, key.Column, key.Text, "Sigma documents with %s cannot be translated: they belong to other rules", key.Text)
			return
		default:
			if !strings.HasPrefix(key.Text, "x-") {
				t.problem(key.Line, key.Column, key.Text, "unknown key%s", yamlx.DidYouMean(key.Text, strings.Fields(ignored)))
			}
		}
	}
	base := t.head(root)
	detection := root.Get("detection")
	if detection == nil || detection.Kind != yamlx.Mapping {
		t.problem(root.Line, root.Column, "detection", "is missing: it holds selections and a condition")
		return
	}
	if len(t.problems) > before {
		return
	}
	t.detection(base, detection)
}

// detection translates selections and conditions.
func (t *translator) detection(base Rule, detection *yamlx.Value) {
	before := len(t.problems)
	c := condition{means: map[string]string{}}
	uses := map[string]bool{} // which selections look at the result
	for i, key := range detection.Keys {
		switch key.Text {
		case "condition":
			continue
		case "timeframe":
			t.problem(key.Line, key.Column, "detection.timeframe", "what is counted over a time cannot be translated; a rule's limit counts")
			continue
		}
		c.known = append(c.known, key.Text)
		c.means[key.Text] = t.selection("detection."+key.Text, &detection.Items[i], uses, key.Text)
	}
	written := detection.Get("condition")
	if written == nil {
		t.problem(detection.Line, detection.Column, "detection.condition", "is missing")
	}
	if len(t.problems) > before {
		return
	}
	conditions := []yamlx.Value{*written}
	if written.Kind == yamlx.List {
		conditions = written.Items // each is a rule of its own
	}
	for i := range conditions {
		t.condition(base, c, &conditions[i], uses)
	}
}

// condition makes a rule of one condition.
func (t *translator) condition(rule Rule, c condition, written *yamlx.Value, results map[string]bool) {
	const path = "detection.condition"
	if written.Kind != yamlx.Single || written.Type != "text" {
		t.problem(written.Line, written.Column, path, "must be a text")
		return
	}
	rule.When, rule.Line = c.translate(written.Text), written.Line
	switch {
	case c.wrong != "":
		column := written.Column
		if line := t.lines[written.Line-1]; strings.Contains(line, written.Text) {
			column = utf8.RuneCountInString(line[:strings.Index(line, written.Text)]) + 1 + c.column
		}
		t.problem(written.Line, column, path, "%s", c.wrong)
		return
	case len(rule.When) > maxCondition:
		t.problem(written.Line, written.Column, path, "has %d bytes when it is translated, more than %d; split the rule", len(rule.When), maxCondition)
		return
	}
	for name := range c.used {
		if results[name] {
			rule.Phase = "response"
		}
	}
	t.finish(rule)
}

// finish settles what a rule needs besides its condition.
func (t *translator) finish(rule Rule) {
	if rule.Phase == "" {
		rule.Phase = "request"
	}
	if rule.Action == "" {
		rule.Action = t.opt.Action
	}
	if rule.Action == "" && rule.Phase == "response" {
		rule.Action = "block"
	}
	if rule.Action == "" {
		rule.Action = "ask"
	}
	if rule.Action == "ask" && rule.Phase == "response" {
		t.problem(rule.Line, 1, "detection", "the rule looks at results, which nobody can be asked about: give it the action block (durward: {action: block}, or --action block)")
		return
	}
	rule.File = t.name
	stem := rule.ID
	for n := 2; t.ids[rule.ID]; n++ {
		tail := "-" + strconv.Itoa(n)
		rule.ID = stem[:min(len(stem), 64-len(tail))] + tail
	}
	t.ids[rule.ID] = true
	t.rules = append(t.rules, rule)
}

// head reads what is not the detection.
func (t *translator) head(root *yamlx.Value) Rule {
	rule := Rule{Title: t.single(root, "title"), SigmaID: t.single(root, "id"), Detection: "medium"}
	if rule.Title == "" {
		t.problem(root.Line, root.Column, "title", "is missing")
	}
	rule.ID = slug(rule.Title)
	if level := root.Get("level"); level != nil {
		levels := []string{"informational", "low", "medium", "high", "critical"}
		if !slices.Contains(levels, level.Text) {
			t.problem(level.Line, level.Column, "level", "must be one of %s", strings.Join(levels, ", "))
		}
		rule.Detection = strings.Replace(level.Text, "informational", "info", 1)
	}
	if source := root.Get("logsource"); source != nil && source.Kind == yamlx.Mapping {
		if category := source.Get("category"); category != nil {
			rule.On = methods(category.Text)
		}
	}
	t.extension(root.Get("durward"), &rule)
	return rule
}

// methods are those that a category of events is.
func methods(category string) []string {
	return map[string][]string{"tool_call": {"tools/call"}, "resource_read": {"resources/read"}, "prompt_get": {"prompts/get"}}[category]
}

// extension reads the key durward, which other readers of Sigma pass over.
func (t *translator) extension(v *yamlx.Value, rule *Rule) {
	if v == nil {
		return
	}
	for i, key := range v.Keys {
		value := &v.Items[i]
		switch {
		case key.Text == "action" && (value.Text == "ask" || value.Text == "block"):
			rule.Action = value.Text
		case key.Text == "action":
			t.problem(value.Line, value.Column, "durward.action", "must be ask or block")
		case key.Text == "id" && value.Text != "" && slug(value.Text) == value.Text:
			rule.ID = value.Text
		case key.Text == "id":
			t.problem(value.Line, value.Column, "durward.id", "must be at most 64 characters of [a-z0-9._-]")
		default:
			t.problem(key.Line, key.Column, "durward."+key.Text, "unknown key; action and id may stand here")
		}
	}
}

func (t *translator) single(root *yamlx.Value, key string) string {
	v := root.Get(key)
	if v == nil {
		return ""
	}
	if v.Kind != yamlx.Single {
		t.problem(v.Line, v.Column, key, "must be a text")
	}
	return v.Text
}

// slug makes an id of a title.
func slug(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && (r == '.' || r == '_'):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	id := strings.TrimRight(b.String()[:min(b.Len(), 64)], "-")
	if id == "" {
		return "sigma"
	}
	return id
}
