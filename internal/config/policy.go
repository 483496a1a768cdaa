package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"durward"
	"durward/internal/yamlx"
	"durward/policy"
)

// Policy is what decides calls.
type Policy struct {
	// Rules are those of all layers, checked and indexed.
	Rules *policy.Set
	// Files are the files of rules and of plugins that the layers name, sorted. One of
	// them that changes changes the configuration.
	Files []string
	// Patterns are those of files of rules. A file that comes and fits one changes it, too.
	Patterns []string
}

// policyPath leads to the policy of a layer.
var policyPath = yamlx.Path{"policy"}

// policy compiles the policies of the layers. Problems are reported in the
// documents that they are in.
func (b *builder) policy() Policy {
	var docs []policy.Document
	var out Policy
	for _, l := range b.layers {
		if !l.src.Has(policyPath) {
			continue
		}
		d := policy.Document{Layer: policyLayer(l.layer), Name: l.name, Spec: l.policy, Src: l.src, Path: policyPath}
		if hook := policyPath.In("approvals", "webhook"); d.Spec.Approvals.Webhook != "" {
			d.Spec.Approvals.Webhook, _ = b.expandOf(l, hook, d.Spec.Approvals.Webhook)
		}
		d.Spec.Plugins = l.plugins(&out)
		docs = append(docs, d)
		for _, file := range b.ruleFiles(l, &out) {
			out.Files = append(out.Files, file)
			if rules := b.ruleFile(l, file); rules != nil {
				docs = append(docs, *rules)
			}
		}
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files)
	slices.Sort(out.Patterns)
	out.Patterns = slices.Compact(out.Patterns)
	out.Rules, _ = policy.Compile(docs, policy.CompileOptions{}) // what is wrong is in the documents
	return out
}

// plugins are those of the layer, their files relative to the file that names them,
// and each with the digest of its file, so that another file is another policy.
func (l *layer) plugins(out *Policy) map[string]policy.PluginSpec {
	all := maps.Clone(l.policy.Plugins)
	for name, p := range all {
		if p.WASM == "" {
			continue
		}
		if !filepath.IsAbs(p.WASM) {
			p.WASM = filepath.Join(l.dir, p.WASM)
		}
		out.Files = append(out.Files, p.WASM)
		at := policyPath.In("plugins", name)
		sum, err := l.digestOf(p.WASM)
		switch {
		case err != nil:
			l.src.Report(yamlx.CodeValue, at.In("wasm"), "%s", message(err))
		case p.SHA256 != "" && p.SHA256 != sum:
			l.src.Report(yamlx.CodeValue, at.In("sha256"), "the file %s has another digest, %s: it is not the one that is meant, or was changed", clip(p.WASM), sum)
		default:
			p.SHA256 = sum
		}
		all[name] = p
	}
	return all
}

// maxModule bounds the file of a plugin, in bytes.
const maxModule = 64 << 20

// digestOf is the SHA-256 digest of a file of a plugin. That of the corp layer has to
// be root's.
func (l *layer) digestOf(path string) (string, error) {
	data, err := readFileUpTo(path, maxModule, l.owner(path))
	if err != nil {
		return "", err
	}
	if len(data) > maxModule {
		return "", durward.Errorf(durward.Invalid, "config "+path, "it is larger than %d bytes", maxModule)
	}
	if !bytes.HasPrefix(data, []byte("\x00asm")) {
		return "", durward.Errorf(durward.Invalid, "config "+path, "the file is no WebAssembly module")
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// owner checks who owns a file that the layer names; nil: anybody may.
func (l *layer) owner(path string) func(fs.FileInfo) error {
	if l.layer != LayerCorp {
		return nil
	}
	return func(info fs.FileInfo) error { return checkOwner(path, info) }
}

// policyLayer is what policy calls a layer.
func policyLayer(l Layer) policy.Layer {
	switch l {
	case LayerCorp:
		return policy.Corp
	case LayerUser:
		return policy.User
	default:
		return policy.Builtin
	}
}

// ruleFiles lists the files that a layer names. A pattern may fit none; a name
// without pattern has to be there.
func (*builder) ruleFiles(l *layer, out *Policy) (files []string) {
	at := policyPath.In("files")
	for i, pattern := range l.policy.Files {
		full := pattern
		if !filepath.IsAbs(full) {
			full = filepath.Join(l.dir, full)
		}
		found, err := filepath.Glob(full)
		switch here := at.In(strconv.Itoa(i)); {
		case err != nil:
			l.src.Report(yamlx.CodeValue, here, "is no path or pattern with *, ? and [a-z]: %q", clip(pattern))
		case len(found) == 0 && !strings.ContainsAny(pattern, "*?["):
			l.src.Report(yamlx.CodeValue, here, "there is no file %q", clip(full))
		}
		if strings.ContainsAny(pattern, "*?[") {
			out.Patterns = append(out.Patterns, full)
		}
		files = append(files, found...)
	}
	return files
}

// maxRuleFile bounds a file of rules, in bytes.
const maxRuleFile = 16 << 20

// ruleFile reads a file of rules. Those of the corp layer have to be root's, too.
func (b *builder) ruleFile(l *layer, path string) *policy.Document {
	data, err := readFileUpTo(path, maxRuleFile, l.owner(path))
	if err != nil {
		l.src.Report(yamlx.CodeValue, policyPath.In("files"), "%s", message(err))
		return nil
	}
	src := yamlx.Parse(path, data, yamlx.Limits{Bytes: maxRuleFile, Nodes: 4 << 20})
	d := &policy.Document{Layer: policyLayer(l.layer), Name: path, Src: src}
	var file policy.RuleFile
	b.others = append(b.others, src)
	src.Decode(&file)
	d.Spec.Rules, d.Spec.Default = file.Rules, file.Default
	return d
}
