package policy

import (
	"errors"
	"slices"

	"durward/internal/yamlx"
)

// RuleFile is what a file of rules holds: what policy.files names, and what durward
// rule lint, test and replay read.
type RuleFile struct {
	// Default is the default of the layer that the file belongs to.
	Default string `yaml:"default" enum:"allow|ask|block"`
	// Rules of the file.
	Rules []Rule `yaml:"rules"`
}

// Bounds of a file of rules: it may be much larger than a configuration.
const (
	maxFileBytes = 16 << 20
	maxFileNodes = 2_000_000
)

// ParseFile reads a file of rules for a layer; name stands for it in messages. A
// whole policy is read too: a document whose keys are those of [Spec], at its top or
// below the key policy of a configuration. The document is nil if there are problems.
func ParseFile(name string, data []byte, layer Layer) (*Document, yamlx.Problems) {
	src := yamlx.Parse(name, data, yamlx.Limits{Bytes: maxFileBytes, Nodes: maxFileNodes})
	doc := &Document{Layer: layer, Name: name, Src: src}
	switch keys := src.Keys(nil); {
	case src.Err() != nil:
	case slices.Contains(keys, "policy"):
		var whole struct {
			Policy Spec `yaml:"policy"`
		}
		part := yamlx.Parse(name, data, yamlx.Limits{Bytes: maxFileBytes, Nodes: maxFileNodes})
		part.Decode(&whole)
		if problems := problemsBelow(part, keys); len(problems) > 0 {
			return nil, problems
		}
		doc.Src, doc.Spec, doc.Path = part, whole.Policy, yamlx.Path{"policy"}
		return doc, nil
	case !slices.ContainsFunc(keys, func(k string) bool { return k != "default" && k != "rules" }):
		var file RuleFile
		src.Decode(&file)
		doc.Spec = Spec{Default: file.Default, Rules: file.Rules}
	default:
		src.Decode(&doc.Spec)
	}
	if err := src.Err(); err != nil {
		var problems yamlx.Problems
		errors.As(err, &problems)
		return nil, problems
	}
	return doc, nil
}

// problemsBelow are the problems of a configuration with its policy: what its other
// keys are, is for others to say.
func problemsBelow(src *yamlx.Source, keys []string) yamlx.Problems {
	var problems yamlx.Problems
	if err := src.Err(); err != nil {
		errors.As(err, &problems)
	}
	return slices.DeleteFunc(problems, func(p yamlx.Problem) bool {
		return p.Code == yamlx.CodeUnknownKey && p.Path != "policy" && slices.Contains(keys, p.Path)
	})
}
