package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"durward"
	"durward/internal/secret"
	"durward/internal/yamlx"
)

// CorpFile is where the corp layer is (names-and-limits, "Paths").
const CorpFile = "/etc/durward/corp.yaml"

// Env looks a variable of the service's environment up; os.LookupEnv is one.
type Env func(name string) (string, bool)

// Options say where a configuration comes from.
type Options struct {
	User     string // path of the user's file; empty: no user layer
	Optional bool   // User may be absent; otherwise that is an error of kind NotFound
	Demo     bool   // the embedded configuration takes the place of User

	// Corp is the path of the corp layer, usually CorpFile; empty: none. The file
	// may be absent. One that is not root's, or that others may write, is an error.
	Corp string

	// LastGood is the path of a copy that KeepLastGood made; it is read in the
	// place of User. Empty: User itself is read.
	LastGood string

	Env     Env          // for ${env:NAME}; default: no variable is set
	Secrets secret.Store // for ${secret:NAME}; default: there is no store
}

// maxFile bounds a configuration file (yamlx refuses what is larger).
const maxFile = 1 << 20

// Load reads and merges the layers. Relative paths in a file are relative to its
// directory. Everything that is wrong with the files' content comes back as one
// yamlx.Problems (durward.Invalid), of all layers.
func Load(opt Options) (*Config, error) {
	var docs []document
	if opt.User != "" || opt.Demo {
		user, err := opt.user()
		switch {
		case err == nil:
			docs = append(docs, user)
		case durward.KindOf(err) != durward.NotFound || !opt.Optional:
			return nil, err
		}
	}
	if opt.Corp != "" {
		corp, err := readCorp(opt.Corp)
		switch {
		case err == nil:
			docs = append(docs, corp)
		case durward.KindOf(err) != durward.NotFound:
			return nil, err
		}
	}
	return parse(docs, opt)
}

// user is the lowest layer that is not the defaults.
func (o *Options) user() (document, error) {
	if o.Demo {
		return document{layer: LayerUser, name: "demo.yaml", dir: ".", data: demo}, nil
	}
	full, err := filepath.Abs(o.User)
	if err != nil {
		return document{}, durward.Errorf(durward.Invalid, "config "+o.User, "its directory cannot be found: %w", err)
	}
	d := document{layer: LayerUser, name: o.User, dir: filepath.Dir(full)}
	if o.LastGood != "" {
		d.name, d.copied = o.LastGood, true
	}
	d.data, err = readFile(d.name, nil)
	if d.copied && durward.KindOf(err) == durward.NotFound && err != nil {
		return d, durward.Errorf(durward.Unavailable, "config "+o.User, "there is no last good copy of it; it has never been in use here")
	}
	return d, err
}

// Parse is Load for one text that has been read already, as the user's layer;
// name is the path it came from, for messages and relative paths.
func Parse(name string, data []byte, opt Options) (*Config, error) {
	return parse([]document{{layer: LayerUser, name: name, dir: filepath.Dir(name), data: data}}, opt)
}

// ParseLayers is Parse with a corp layer.
func ParseLayers(name string, data []byte, corpName string, corp []byte, opt Options) (*Config, error) {
	return parse([]document{
		{layer: LayerUser, name: name, dir: filepath.Dir(name), data: data},
		{layer: LayerCorp, name: corpName, dir: filepath.Dir(corpName), data: corp},
	}, opt)
}

// document is the text of one layer.
type document struct {
	layer Layer
	name  string // for messages
	dir   string // what relative paths in it are relative to
	data  []byte

	copied bool // it is a last good copy
}

// parse merges documents, the lowest layer first.
func parse(docs []document, opt Options) (*Config, error) {
	raw := defaultFile()
	ls := decodeLayers(docs, &raw)
	b := builder{layers: ls, raw: &raw, refs: &references{lookup: opt.Env, store: opt.Secrets}}
	c := b.build()
	if err := problemsOf(append(ls.sources(), b.others...)); err != nil {
		return nil, err
	}
	c.settings = settings(ls, &raw, c.Policy.Rules.Digest())
	if ls[0].layer == LayerUser && !opt.Demo {
		c.source = &ls[0].document
	}
	return c, nil
}

// readFile reads a configuration file. check, which may be nil, looks at the
// open file, so that what is checked is what is read.
func readFile(path string, check func(fs.FileInfo) error) ([]byte, error) {
	return readFileUpTo(path, maxFile, check)
}

// readFileUpTo reads one byte more than most at the most: who parses it says that
// it is too large.
func readFileUpTo(path string, most int64, check func(fs.FileInfo) error) ([]byte, error) {
	op := "config " + path
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, durward.Errorf(durward.NotFound, op, "there is no such file; write one, or name another with --config")
	}
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, op, "it cannot be opened: %w", reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, durward.Errorf(durward.Invalid, op, "it cannot be read: %w", reason(err))
	case !info.Mode().IsRegular():
		return nil, durward.Errorf(durward.Invalid, op, "it is not a regular file")
	}
	if check != nil {
		if err := check(info); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, durward.Errorf(durward.Invalid, op, "it cannot be read: %w", reason(err))
	}
	return data, nil
}

// limitsOf bounds what the YAML parser takes.
func limitsOf() yamlx.Limits { return yamlx.Limits{Bytes: maxFile} }
