package policy

import (
	"strings"

	"durward/internal/yamlx"
)

// knownFunctions are those that conditions may call: the standard ones and ours.
func knownFunctions() []string {
	names := []string{
		"contains", "startsWith", "endsWith", "matches", "size", "all", "exists", "exists_one", "filter", "map", "has", "absent",
		"int", "double", "string", "bool", "duration", "timestamp", "getHours", "getMinutes", "getDayOfWeek", "getDate", "getMonth", "getFullYear",
	}
	for _, f := range ownFunctions() {
		names = append(names, f.name)
	}
	return names
}

// help puts what the library says of a condition in words that say what to do.
func (f *fault) help(src string) {
	quoted := func(prefix string) (string, bool) { // what stands in quotes behind it
		rest, ok := strings.CutPrefix(f.message, prefix+"'")
		if !ok {
			return "", false
		}
		end := strings.Index(rest, "' expecting")
		if end < 0 {
			end = strings.LastIndexByte(rest, '\'')
		}
		return rest[:max(end, 0)], true
	}
	if name, ok := quoted("undeclared reference to "); ok {
		f.message = "there is no function " + name
		f.suggestion = strings.TrimPrefix(yamlx.DidYouMean(name, knownFunctions()), "; ")
		if f.suggestion == "" {
			f.suggestion = "durward rule fields lists the functions"
		}
		return
	}
	if text, ok := quoted("token recognition error at: "); ok {
		f.unread(text)
		return
	}
	if strings.HasPrefix(f.message, "missing ')'") {
		f.message, f.suggestion = "a ) is missing", "each ( needs one"
		return
	}
	for _, prefix := range []string{"mismatched input ", "extraneous input ", "no viable alternative at input "} {
		if text, ok := quoted(prefix); ok {
			f.unexpected(text, src)
			return
		}
	}
	switch {
	case strings.HasPrefix(f.message, "there is no in for "):
		f.suggestion = `in looks for a value in a list; for a part of a text write text.contains("…")`
	case strings.HasPrefix(f.message, "there is no "):
		f.suggestion = "both sides have to be of one kind; string(), int() and double() convert"
	case strings.HasPrefix(f.message, "error parsing regexp"):
		f.suggestion = `matches takes expressions of RE2; within quotes a backslash is written \\`
	}
}

// unread says what is wrong with characters that mean nothing.
func (f *fault) unread(text string) {
	switch sign := strings.TrimSpace(text); {
	case sign == "=":
		f.message, f.suggestion = "a single = means nothing", "compare with =="
	case sign == "&":
		f.message, f.suggestion = "a single & means nothing", "join conditions by &&"
	case sign == "|":
		f.message, f.suggestion = "a single | means nothing", "join conditions by ||"
	case strings.HasPrefix(sign, "'") || strings.HasPrefix(sign, `"`):
		f.message, f.suggestion = "the text that begins here does not end", "close it with the same quote"
	default:
		f.message, f.suggestion = clip(sign)+" means nothing in a condition", "texts stand in quotes"
	}
}

// unexpected says what is wrong with a word that stands where none can.
func (f *fault) unexpected(text, src string) {
	word := strings.TrimSpace(text)
	before := strings.Fields(string([]rune(src)[:min(max(f.offset, 0), len([]rune(src)))]))
	last := ""
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	instead := map[string]string{"and": "&&", "AND": "&&", "or": "||", "OR": "||", "not": "!", "NOT": "!"}
	switch {
	case instead[word] != "":
		f.message, f.suggestion = word+" means nothing here", "write "+instead[word]
	case last == "not" || last == "NOT":
		f.message, f.suggestion = last+" means nothing here", "write ! before what is not to be"
	case strings.HasSuffix(word, "<EOF>"):
		f.message, f.suggestion = "the condition ends too early", "something has to follow"
		if last != "" {
			f.suggestion += " " + clip(last)
		}
	default:
		f.message, f.suggestion = clip(word)+" cannot stand here", "join conditions by && or ||"
	}
}
