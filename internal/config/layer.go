package config

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"durward"
	"durward/internal/yamlx"
	"durward/policy"
)

// Layer is where a value comes from. Higher layers win.
type Layer string

// The layers, from the lowest.
const (
	LayerDefault Layer = "default"
	LayerUser    Layer = "user"
	LayerCorp    Layer = "corp"
)

// How layers are merged:
//
//   - a single value, and a list, of a higher layer replaces that of a lower one;
//     an empty list is a value too;
//   - limits, defaults, ledger and log are merged key by key;
//   - tls is one value: certificate and key belong together; and so is
//     telemetry.otlp: headers of one layer do not go to the endpoint of another;
//   - servers, toolsets and principals are merged by name, and an entry of a
//     higher layer replaces one of the same name as a whole, so that nobody can add
//     a variable or an argument to a server that a higher layer defines;
//   - policy is not merged: each layer decides for itself, see package policy;
//   - locked, in the corp layer only, names keys that the user's file must not
//     have at all.

// layer is one document with its faults.
type layer struct {
	document
	src    *yamlx.Source
	policy policy.Spec // as this layer writes it: layers of policy are not merged by key
}

// layers are all of them, the lowest first; at least one.
type layers []*layer

// decodeLayers decodes the documents into raw, which holds the defaults.
func decodeLayers(docs []document, raw *file) layers {
	if len(docs) == 0 {
		docs = []document{{layer: LayerDefault, name: "default", dir: ".", data: []byte("version: 1")}}
	}
	var ls layers
	for _, d := range docs {
		src := yamlx.Parse(d.name, d.data, limitsOf())
		servers, toolsets, principals := raw.Servers, raw.Toolsets, raw.Principals
		raw.Locked, raw.Policy = nil, policy.Spec{} // of no other layer
		if src.Has(otlpPath) {
			raw.Telemetry.OTLP = defaultTelemetry().OTLP
		}
		src.Decode(raw)
		raw.Servers = over(servers, raw.Servers)
		raw.Toolsets = over(toolsets, raw.Toolsets)
		raw.Principals = over(principals, raw.Principals)
		ls = append(ls, &layer{document: d, src: src, policy: raw.Policy})
	}
	return ls
}

// otlpPath leads to a mapping that is replaced as a whole. It is never changed.
var otlpPath = yamlx.Path{"telemetry", "otlp"}

// over merges two mappings by name.
func over[V any](lower, higher map[string]V) map[string]V {
	if len(lower) == 0 {
		return higher
	}
	merged := maps.Clone(lower)
	maps.Copy(merged, higher)
	return merged
}

// byName says whether a key at the top is a mapping that is merged by name.
func byName(key string) bool { return key == "servers" || key == "toolsets" || key == "principals" }

// owner returns the layer whose value at path counts; the lowest when none has one.
func (ls layers) owner(path yamlx.Path) *layer {
	whole := path
	if len(path) > 2 && (byName(path[0]) || path[0] == otlpPath[0] && path[1] == otlpPath[1]) {
		whole = path[:2]
	}
	for n := len(whole); n > 0; n-- {
		for _, l := range slices.Backward(ls) {
			if l.src.Has(whole[:n]) {
				return l
			}
		}
	}
	return ls[0]
}

func (ls layers) has(path yamlx.Path) bool { return ls.owner(path).src.Has(path) }

// report adds a problem with the value at path, in the layer it is from.
func (ls layers) report(code yamlx.Code, path yamlx.Path, format string, args ...any) {
	ls.owner(path).src.Report(code, path, format, args...)
}

// reportKey is report for the key.
func (ls layers) reportKey(code yamlx.Code, path yamlx.Path, format string, args ...any) {
	ls.owner(path).src.ReportKey(code, path, format, args...)
}

// path makes a relative path relative to the file that says it.
func (ls layers) path(at yamlx.Path, p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(ls.owner(at).dir, p)
}

// sources are the documents of all layers.
func (ls layers) sources() (all []*yamlx.Source) {
	for _, l := range ls {
		all = append(all, l.src)
	}
	return all
}

// problemsOf joins the problems of several documents.
func problemsOf(sources []*yamlx.Source) error {
	var all yamlx.Problems
	for _, src := range sources {
		if ps, ok := src.Err().(yamlx.Problems); ok { //nolint:errorlint // what Err returns, as it says
			all = append(all, ps...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// readCorp reads the corp layer, if it can be trusted.
func readCorp(path string) (document, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return document{}, durward.Errorf(durward.Invalid, "config "+path, "its directory cannot be found: %w", err)
	}
	data, err := readFile(path, func(info fs.FileInfo) error { return checkOwner(path, info) })
	if err != nil {
		return document{}, err
	}
	return document{layer: LayerCorp, name: path, dir: filepath.Dir(full), data: data}, nil
}
